"""The words and marks that a record is shown in, whatever it holds."""

from __future__ import annotations

import pytest

from lastword.core.timeline.entry import Entry, Kind
from lastword.record.present import strip, words


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_words_whatever_its_facts_are(kind: Kind) -> None:
    values: list[object] = [None, 3, "word", ["a"], {"b": 1}, 2.5, True]
    bare = words.words(Entry(kind=kind, at_seconds=0.0))
    assert bare
    names = ("type", "reason", "wait_seconds", "call", "tool", "status", "count", "kinds", "bytes")
    names += ("tail", "by", "stop_reason", "attempt", "retry_safety", "action", "open_turns")
    for value in values:
        facts = dict.fromkeys(names, value)
        assert words.words(Entry(kind=kind, at_seconds=0.0, facts=facts))


def test_a_strip_keeps_the_latest_and_says_that_there_were_more() -> None:
    assert strip.turns(".x", 5) == ".x"
    assert strip.turns(".....xx-", 4) == "<xx-"
    assert strip.retries([0, 1.5, 4, 10, 30, 100, 500, 5000], 8, bars=False) == ".:-=+*%#"
    assert strip.retries([0] * 9, 3, bars=True) == "<▁▁"
