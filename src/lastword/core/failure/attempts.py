"""Attempts: the tries of a model call before its turn failed, and how they are reported.

Owns the record of attempts and its bound. `lastword.inprocess.retry` decides when to try again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.taxonomy import MAX_DETAIL_BYTES, AgentError
from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from lastword.core.classify import Verdict

MAX_LISTED = 10
"""Attempts that are listed one by one: the first and the last of them."""


class FailedAttempt(msgspec.Struct, frozen=True):
    """One attempt that failed.

    Attributes:
        verdict: why it failed.
        tries: the number of requests made, since a provider's package may itself have retried.
        wait_seconds: the wait that followed; `None` after the last attempt.
    """

    verdict: Verdict
    tries: int = 1
    wait_seconds: float | None = None


def count(tried: tuple[FailedAttempt, ...]) -> int | None:
    """Return how many requests were made in all, or `None` if nothing is known of them."""
    return sum(attempt.tries for attempt in tried) or None


def with_attempts(error: AgentError, tried: tuple[FailedAttempt, ...]) -> AgentError:
    """Return the error with its attempts in `detail.attempts`, cutting the text to make room."""
    if not tried:
        return error
    half = MAX_LISTED // 2
    listed = tried if len(tried) <= MAX_LISTED else (*tried[:half], *tried[-half:])
    detail: dict[str, Any] = dict(error.detail or {})
    detail["attempts"] = [_summary_of(attempt) for attempt in listed]
    over = len(jsonrpc.dumps(detail)) - MAX_DETAIL_BYTES
    if over > 0 and "text" in detail:
        # A character is at least one byte, so cutting as many is enough, except for the mark.
        detail["text"] = detail["text"][: max(0, len(detail["text"]) - over - 3)] + "..."
    return msgspec.structs.replace(error, detail=detail)


def _summary_of(attempt: FailedAttempt) -> dict[str, Any]:
    verdict, wait = attempt.verdict, attempt.wait_seconds
    members = {
        "type": verdict.type.value,
        "reason": verdict.reason,
        "http_status": verdict.http_status,
        "tries": attempt.tries if attempt.tries > 1 else None,
        "waited_seconds": None if wait is None else round(wait, 3),
    }
    return {key: value for key, value in members.items() if value is not None}


def with_earlier(announced: AgentError, tried: tuple[FailedAttempt, ...]) -> AgentError:
    """Add earlier tries to an agent's count, which covers only the last time that it was asked."""
    before = sum(attempt.tries for attempt in tried)
    if not before:
        return announced
    return msgspec.structs.replace(announced, attempts=before + (announced.attempts or 1))
