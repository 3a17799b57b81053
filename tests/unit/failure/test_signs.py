"""Signs of a failure in prose: the cheap question before the costly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.failure import signs
from lastword.core.failure.signs import MAX_PROSE_CHARS, is_retry_by_form, may_be_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PLAIN = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{}}}'


def test_a_message_that_begins_like_an_agents_error_may_be_one_unless_it_is_longer() -> None:
    assert may_be_error("Prompt is too long")
    assert not may_be_error("Here is the plan.")
    assert not may_be_error("Prompt is too long" + " x" * MAX_PROSE_CHARS)


@pytest.mark.parametrize(
    ("text", "begins", "goes_on"),
    [
        ("Retrying (attempt 1/3, waiting 2s)...", True, True),
        ("Reconnecting... 2/5", True, True),
        ("\u26a0 Retrying request (2 of 10) in 4.5s", True, True),
        ("Retry finished, resuming.", False, True),
        ("", False, False),
        ("Retrying helps.", False, False),
        ("Retrying 3 of 5 tests fixed it.", False, False),
        ("Retry logic was added to 3 of 5 handlers.", False, False),
        ("I see `Retrying (attempt 1/3)` in the log.", False, False),
        ("Retrying (attempt 1/3) means that the first try failed.", False, False),
        ("Retrying (attempt 1/3)" + " " * 240, False, False),
    ],
)
def test_a_retry_text_is_recognised_by_its_form(text: str, *, begins: bool, goes_on: bool) -> None:
    assert is_retry_by_form(text, begun=False) is begins
    assert is_retry_by_form(text, begun=True) is goes_on


@pytest.mark.parametrize(
    ("may", "marks"),
    [
        (signs.may_hold_payload, [b'"agent_error"']),
        (signs.has_air_report, [signs.wire.AIR_MARK]),
        (signs.may_report_retry, signs.wire.RETRY_MARKS),
        (signs.may_report_failed_state, signs._FAILED_ENDS),
        (signs.may_report_failure, signs.wire.FAILURE_MARKS),
        (signs.may_hold_error, signs.wire.FAILURE_MARKS),
    ],
)
def test_a_frame_is_looked_into_only_where_it_has_a_sign(
    may: Callable[[bytes], bool], marks: Iterable[bytes]
) -> None:
    assert not may(PLAIN)
    assert [mark for mark in marks if not may(PLAIN + mark)] == []
