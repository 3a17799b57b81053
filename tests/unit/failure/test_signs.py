"""Signs of a failure in prose: the cheap question before the costly one."""

from __future__ import annotations

from lastword.core.failure.signs import MAX_PROSE_CHARS, may_be_error


def test_a_message_that_begins_as_an_agents_error_does_may_be_one() -> None:
    assert may_be_error("Prompt is too long")
    assert not may_be_error("Here is the plan.")


def test_a_message_longer_than_any_error_is_none() -> None:
    assert not may_be_error("Prompt is too long" + " x" * MAX_PROSE_CHARS)
