"""The words and marks that a record is shown in, whatever it holds."""

from __future__ import annotations

import pytest

from lastword.cli import entry_words, strip
from lastword.cli.columns import duration
from lastword.core.timeline import Entry, Kind


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_words_whatever_its_facts_are(kind: Kind) -> None:
    values: list[object] = [None, 3, "word", ["a"], {"b": 1}, 2.5, True]
    bare = entry_words.words(Entry(kind=kind, at_seconds=0.0))
    assert bare
    names = ("type", "reason", "wait_seconds", "call", "tool", "status", "count", "kinds", "bytes")
    names += ("tail", "by", "stop_reason", "attempt", "retry_safety", "action", "open_turns")
    for value in values:
        facts = dict.fromkeys(names, value)
        assert entry_words.words(Entry(kind=kind, at_seconds=0.0, facts=facts))


def test_a_strip_keeps_the_latest_and_says_that_there_were_more() -> None:
    assert strip.turns(".x", 5) == ".x"
    assert strip.turns(".....xx-", 4) == "<xx-"
    assert strip.retries([0, 1.5, 4, 10, 30, 100, 500, 5000], 8, bars=False) == ".:-=+*%#"
    assert strip.retries([0] * 9, 3, bars=True) == "<▁▁"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 ms"),
        (0.0154, "15 ms"),
        (0.9996, "1.0 s"),
        (9.96, "10 s"),
        (59.6, "1m 00s"),
        (3599.7, "1h 00m"),
        (7500, "2h 05m"),
        (None, ""),
    ],
)
def test_a_duration_takes_few_characters(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown
