"""Plain English for the closed words of a failure: every word has its phrase."""

from __future__ import annotations

import pytest

from lastword.core.failure.phrases import plain
from lastword.core.failure.sentences import CANCELLED_BY, ORIGINS, PHASES, TYPES, retry_words
from lastword.core.failure.taxonomy import ErrorType, Origin, Phase
from lastword.core.timeline.entry import By

_LIST_COLUMNS = 20


@pytest.mark.parametrize(
    ("names", "words"), [(TYPES, ErrorType), (PHASES, Phase), (ORIGINS, Origin), (CANCELLED_BY, By)]
)
def test_every_word_of_a_closed_set_has_a_phrase_without_underscores(
    names: dict[str, str], words: type[ErrorType | Phase | Origin | By]
) -> None:
    assert set(names) == set(words)
    assert all(said and "_" not in said for said in names.values())


def test_a_type_fits_into_a_column_of_a_list() -> None:
    assert max(map(len, TYPES.values())) <= _LIST_COLUMNS
    assert len(set(TYPES.values())) == len(TYPES)


def test_a_word_that_no_table_has_is_said_as_it_stands() -> None:
    assert plain("budget", TYPES) == "usage limit"
    assert (plain("a_new_type", TYPES), plain(3)) == ("a new type", "3")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"retry_safety": "auto", "retry_after_seconds": 20}, "yes, after 20 s"),
        ({"retry_safety": "auto", "retry_after_seconds": "20"}, "yes, it is safe"),
        ({"retry_safety": "auto", "retry_after_seconds": 0}, "yes, it is safe"),
        (
            {"retry_safety": "offer_continue"},
            "it would repeat what was shown, so ask the agent to continue",
        ),
        (
            {"retry_safety": "ask", "phase": "after_tool"},
            "only if the user agrees, because a tool had run",
        ),
        (
            {"retry_safety": "ask", "phase": "before_output"},
            "only if the user agrees, because a tool may have run",
        ),
        ({"retry_safety": "never"}, "no, the same prompt would fail again"),
        ({}, ""),
    ],
)
def test_whether_to_try_again_is_said_with_its_reason(facts: dict[str, object], said: str) -> None:
    assert retry_words(facts) == said
