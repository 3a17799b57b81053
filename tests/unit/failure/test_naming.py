"""Plain English for the closed words of a failure: every word has its phrase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.failure.phrases import plain
from lastword.core.failure.sentences import (
    ADVICE,
    BUTTONS,
    CANCELLED_BY,
    ORIGINS,
    PHASES,
    TITLES,
    TYPES,
    WHAT,
    retry_words,
)
from lastword.core.failure.taxonomy import Action, ErrorType, Origin, Phase
from lastword.core.timeline.entry import By

if TYPE_CHECKING:
    from enum import StrEnum


@pytest.mark.parametrize(
    ("table", "words", "columns"),
    [
        *((TYPES, ErrorType, 20), (TITLES, ErrorType, 32), (WHAT, ErrorType, 100)),
        *((BUTTONS, Action, 32), (ADVICE, Action, 100)),
        *((PHASES, Phase, 100), (ORIGINS, Origin, 100), (CANCELLED_BY, By, 100)),
    ],
)
def test_every_word_of_a_closed_set_has_a_unique_text_that_fits_where_it_is_shown(
    table: dict[str, str], words: type[StrEnum], columns: int
) -> None:
    assert set(table) == set(words)
    assert all(text and "_" not in text and len(text) <= columns for text in table.values())
    assert len({*table.values()}) == len(table) or table is BUTTONS


def test_an_unknown_word_is_shown_as_it_stands() -> None:
    assert plain("budget", TYPES) == "budget used up"
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
        ({"retry_safety": "never", "type": "auth"}, "no, the same prompt would fail again"),
        (
            {"retry_safety": "never", "type": "rate_limit", "retry_after_seconds": 5400},
            "not by itself, and not before the wait is over",
        ),
        (
            {"retry_safety": "never", "type": "budget", "reset_at_epoch_ms": 1_790_000_000_000},
            "not by itself, and not before the wait is over",
        ),
        ({"retry_safety": "never"}, "not by itself: whether it would help is not known"),
        ({}, ""),
    ],
)
def test_retry_advice_includes_its_reason(facts: dict[str, object], said: str) -> None:
    assert retry_words(facts) == said
