"""Signs of a failure in prose: the cheap question before the costly one."""

from __future__ import annotations

import pytest

from lastword.core.failure.signs import MAX_PROSE_CHARS, is_retry_by_form, may_be_error


def test_a_message_that_begins_as_an_agents_error_does_may_be_one() -> None:
    assert may_be_error("Prompt is too long")
    assert not may_be_error("Here is the plan.")


def test_a_message_longer_than_any_error_is_none() -> None:
    assert not may_be_error("Prompt is too long" + " x" * MAX_PROSE_CHARS)


@pytest.mark.parametrize(
    "text",
    [
        "Retrying (attempt 1/3, waiting 2s)...",
        "Reconnecting... 2/5",
        "\u26a0 Retrying request (2 of 10) in 4.5s",
    ],
)
def test_a_text_about_a_retry_is_one_by_its_form(text: str) -> None:
    assert is_retry_by_form(text, begun=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Retrying helps.",
        "Retrying 3 of 5 tests fixed it.",
        "Retry logic was added to 3 of 5 handlers.",
        "I see `Retrying (attempt 1/3)` in the log.",
        "Retrying (attempt 1/3) means that the first try failed.",
        "Retrying (attempt 1/3)" + " " * 240,
    ],
)
def test_a_text_that_speaks_of_retries_is_none(text: str) -> None:
    assert not is_retry_by_form(text, begun=True)


def test_a_retry_ends_in_words_only_where_one_has_begun() -> None:
    assert is_retry_by_form("Retry finished, resuming.", begun=True)
    assert not is_retry_by_form("Retry finished, resuming.", begun=False)
