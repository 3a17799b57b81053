"""The policy of automatic retries: whether a failure is worth another try, and after what wait.

Owns the one decision that both retriers share: `lastword run --retry` (`core.link.resend`) and the
guard (`inprocess.retry`); the bound on the retries of one process; and the record of attempts.
Reads no clock and draws no random numbers: both are passed in. Whether a try may be repeated
without harm is for the caller to know (`core.failure.taxonomy`).

A wait that the server asks for is a minimum. Without one, waits grow exponentially with full
jitter, so that clients which failed together do not come back together
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.taxonomy import (
    MAX_AUTO_WAIT_SECONDS,
    MAX_DETAIL_BYTES,
    AgentError,
    ErrorType,
)
from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.classify import Verdict

FIRST_WAIT_SECONDS = 1.0
"""The wait after the first failure where the server gave none, before its jitter."""

_MOST_DOUBLINGS = 20
_SERVER_JITTER_SECONDS = 1.0

HEALED_BY_TIME = frozenset({ErrorType.RATE_LIMIT, ErrorType.PROVIDER_UNAVAILABLE, ErrorType.BUDGET})
"""Types whose failures end by themselves at a moment that the server names."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a failure that the policy needs.

    Attributes:
        type: the type of the failure.
        retryable: whether the same request would help later, within the longest automatic wait.
        refused: the server, or the rule that matched its words, says that a retry is pointless.
        retry_after_seconds: the wait that the server asked for.
        reset_at_epoch_ms: the moment at which the server's limit ends.
    """

    type: ErrorType
    retryable: bool
    refused: bool = False
    retry_after_seconds: float | None = None
    reset_at_epoch_ms: int | None = None


def failed_of(cause: AgentError | Verdict) -> Failed:
    """Return the facts about a failure that the policy needs."""
    return Failed(
        type=cause.type,
        retryable=cause.retryable,
        refused=not isinstance(cause, AgentError) and cause.refused,
        retry_after_seconds=cause.retry_after_seconds,
        reset_at_epoch_ms=cause.reset_at_epoch_ms,
    )


class RetryBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of retrying.

    Attributes:
        tries: the number of tries in all, including the first.
        max_wait_seconds: the longest single wait; if the server asks for more, there is no retry.
        first_wait_seconds: as `FIRST_WAIT_SECONDS`.
        sits_out: also wait for a window that opens at a known time, beyond the 300 s up to which
            a failure is called retryable.
    """

    tries: int
    max_wait_seconds: float = MAX_AUTO_WAIT_SECONDS
    first_wait_seconds: float = FIRST_WAIT_SECONDS
    sits_out: bool = False


def next_wait(
    failed: Failed,
    tried: Sequence[int],
    limits: RetryBounds,
    *,
    epoch_seconds: float | None,
    roll: float,
) -> float | None:
    """Return the wait before the next try, in seconds, or `None` if there will not be a retry.

    Args:
        failed: The last failure.
        tried: The number of requests that each try so far has made, including the last. The next
            try is assumed to make as many as the longest of them.
        limits: What the user or the author allows.
        epoch_seconds: The time of day; without it, the moment of a reset counts as too far away.
        roll: A random number from 0 to 1.
    """
    if sum(tried) + max(tried) > limits.tries:
        return None
    requested = requested_wait_seconds(failed, epoch_seconds)
    if not failed.retryable:
        # Only the length of its wait may keep a failure from being retryable: a limit or a service
        # that takes over 300 s, or a used-up budget whose next window has a known beginning.
        may_heal = failed.type in HEALED_BY_TIME and not failed.refused
        if not limits.sits_out or not may_heal or requested is None:
            return None
        if failed.type is not ErrorType.BUDGET and requested <= MAX_AUTO_WAIT_SECONDS:
            return None
    if requested is not None and (requested > limits.max_wait_seconds or requested == math.inf):
        return None
    return wait_seconds(requested, len(tried), limits, roll=roll)


def requested_wait_seconds(failed: Failed, epoch_seconds: float | None) -> float | None:
    """Return the server's wait in seconds, whether given as a wait or as the moment of a reset."""
    if failed.retry_after_seconds is not None or failed.reset_at_epoch_ms is None:
        return failed.retry_after_seconds
    if epoch_seconds is None:
        return math.inf
    left = failed.reset_at_epoch_ms / 1000 - epoch_seconds
    return left if left > 0 else None


def wait_seconds(
    requested: float | None, failures: int, limits: RetryBounds, *, roll: float
) -> float:
    """Return the wait after this many failures, including the first."""
    first, most = limits.first_wait_seconds, limits.max_wait_seconds
    if requested is not None:
        jitter = min(_SERVER_JITTER_SECONDS, first)
        # Jitter only lengthens the wait, and never beyond the longest one.
        return max(requested, min(requested + roll * jitter, most))
    doubled: float = first * 2 ** min(failures - 1, _MOST_DOUBLINGS)
    # Waits of hours are for a time that a server named, not for our own guess.
    return roll * min(doubled, most, MAX_AUTO_WAIT_SECONDS)


# --- the bound on one process's retries -----------------------------------------------------------

CAPACITY = 500
RETRY_COST = 5
TIMEOUT_COST = 10
SUCCESS_RETURNS = 1

_TIMEOUTS = frozenset({ErrorType.TIMEOUT, ErrorType.NETWORK})


class RetryBucket:
    """The tokens that are left for retries."""

    __slots__ = ("_last_cost", "tokens")

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.tokens: int = capacity
        self._last_cost = 0

    def spend(self, failure: ErrorType) -> bool:
        """Pay for a retry after such a failure; return whether there were enough tokens."""
        cost = TIMEOUT_COST if failure in _TIMEOUTS else RETRY_COST
        if cost > self.tokens:
            return False
        self.tokens -= cost
        self._last_cost = cost
        return True

    def succeed(self) -> None:
        """Note that a request has succeeded, after a retry or without one."""
        self.tokens = min(self.tokens + (self._last_cost or SUCCESS_RETURNS), CAPACITY)
        self._last_cost = 0


# --- the attempts before a turn failed ------------------------------------------------------------

MAX_LISTED = 10
"""The most attempts that are listed: the first and the last ones."""


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


def count_requests(tried: tuple[FailedAttempt, ...]) -> int | None:
    """Return how many requests were made in all, or `None` if no attempt is known."""
    return sum(attempt.tries for attempt in tried) or None


def with_attempts(error: AgentError, tried: tuple[FailedAttempt, ...]) -> AgentError:
    """Return the error with its attempts in `detail.attempts`, cutting the text to make room."""
    if not tried:
        return error
    half = MAX_LISTED // 2
    listed = tried if len(tried) <= MAX_LISTED else (*tried[:half], *tried[-half:])
    detail: dict[str, Any] = dict(error.detail or {})
    attempts: list[dict[str, Any]] = []
    for attempt in listed:
        verdict, wait = attempt.verdict, attempt.wait_seconds
        members = {
            "type": verdict.type.value,
            "reason": verdict.reason,
            "http_status": verdict.http_status,
            "tries": attempt.tries if attempt.tries > 1 else None,
            "waited_seconds": None if wait is None else round(wait, 3),
        }
        attempts.append({key: value for key, value in members.items() if value is not None})
    detail["attempts"] = attempts
    over = len(jsonrpc.dumps(detail)) - MAX_DETAIL_BYTES
    if over > 0 and "text" in detail:
        # A character is at least one byte, so cutting as many is enough, except for the mark.
        detail["text"] = detail["text"][: max(0, len(detail["text"]) - over - 3)] + "..."
    return msgspec.structs.replace(error, detail=detail)


def with_earlier(announced: AgentError, tried: tuple[FailedAttempt, ...]) -> AgentError:
    """Add earlier tries to an agent's count, which covers only the last time that it was asked."""
    before = sum(attempt.tries for attempt in tried)
    if not before:
        return announced
    return msgspec.structs.replace(announced, attempts=before + (announced.attempts or 1))
