"""The policy of automatic retries: is a failure worth another try, and how long is waited first?

Owns the one decision of both who retry: `lastword run --retry` (`core.link.resend`) and the guard
(`inprocess.retry`). Reads no clock and draws no lots: the moment and the random number are given.
Whether a try may be repeated without harm is the caller's to know (`core.failure.safety`).

A server's wait is a minimum; without one the waits grow exponentially with full jitter, so that
clients which failed together do not come back together
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.taxonomy import MAX_AUTO_WAIT_SECONDS, ErrorType

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
    """What the policy needs to know of a failure.

    Attributes:
        type: what failed.
        retryable: would the same request help later, within the wait that machines wait by rule?
        refused: the server, or the rule that knew its words, says that a retry is pointless.
        retry_after_seconds: the wait that the server asked for.
        reset_at_epoch_ms: the moment at which its limit ends.
    """

    type: ErrorType
    retryable: bool
    refused: bool = False
    retry_after_seconds: float | None = None
    reset_at_epoch_ms: int | None = None


def failed_of(verdict: Verdict) -> Failed:
    """A verdict as the policy takes it."""
    return Failed(
        type=verdict.type,
        retryable=verdict.retryable,
        refused=verdict.refused,
        retry_after_seconds=verdict.retry_after_seconds,
        reset_at_epoch_ms=verdict.reset_at_epoch_ms,
    )


class RetryBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How often is tried, and how long is waited.

    Attributes:
        tries: in all, the first included.
        max_wait_seconds: the longest single wait; where the server asks for more there is no retry.
        first_wait_seconds: as `FIRST_WAIT_SECONDS`.
        sits_out: wait also for a window that opens at a known time, over the 300 s within which
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
    """How long to wait before the next try, in seconds; `None` where there is to be none.

    Args:
        failed: The last failure.
        tried: How many requests each try so far was, the last included. As many as the longest of
            them were are reckoned for the next.
        limits: What the user or the author allows.
        epoch_seconds: The time of day; without it a reset's moment is too far away.
        roll: A random number from 0 to 1.
    """
    if sum(tried) + max(tried) > limits.tries:
        return None
    asked = asked_seconds(failed, epoch_seconds)
    if not (failed.retryable or (limits.sits_out and only_waits(failed, asked))):
        return None
    if asked is not None and (asked > limits.max_wait_seconds or asked == math.inf):
        return None
    return wait_seconds(asked, len(tried), limits, roll=roll)


def only_waits(failed: Failed, asked: float | None) -> bool:
    """Is the length of its wait all that keeps this failure from being retryable?

    So it is where a limit, or a service, has a wait of more than 300 s; and of a used-up budget,
    which by itself never comes back, where its next window has a known beginning. Not where the
    server refused, and not where nobody knows how long.
    """
    if failed.retryable or failed.refused or asked is None or failed.type not in HEALED_BY_TIME:
        return False
    return failed.type is ErrorType.BUDGET or asked > MAX_AUTO_WAIT_SECONDS


def asked_seconds(failed: Failed, epoch_seconds: float | None) -> float | None:
    """How long the server asked to wait, in seconds or by the moment at which a limit ends."""
    if failed.retry_after_seconds is not None or failed.reset_at_epoch_ms is None:
        return failed.retry_after_seconds
    if epoch_seconds is None:
        return math.inf
    left = failed.reset_at_epoch_ms / 1000 - epoch_seconds
    return left if left > 0 else None


def wait_seconds(asked: float | None, failures: int, limits: RetryBounds, *, roll: float) -> float:
    """How long to wait after so many failures, the first included."""
    first, most = limits.first_wait_seconds, limits.max_wait_seconds
    if asked is not None:
        jitter = min(_SERVER_JITTER_SECONDS, first)
        # Upward only, and over the longest wait not even that.
        return max(asked, min(asked + roll * jitter, most))
    doubled: float = first * 2 ** min(failures - 1, _MOST_DOUBLINGS)
    # Whoever sits out hours does so where a server named them, and not for a guess of ours.
    return roll * min(doubled, most, MAX_AUTO_WAIT_SECONDS)
