"""Limits of the account, as agents state them beside the conversation: when a window opens again.

Owns the reading of `_claude/rateLimit`, which claude-agent-acp puts into the `_meta` of a
`usage_update` (the `rate_limit_info` of Anthropic's SDK). Loaded with the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.taxonomy import MAX_AUTO_WAIT_SECONDS, ErrorType
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from lastword.core.classify import Verdict

KEY = "_claude/rateLimit"

_REJECTED = "rejected"
_UNDER_A_DAY = frozenset({"five_hour"})
"""The windows of `rateLimitType` that are shorter than a day; the others are `budget`."""

_EPOCH_SECONDS = range(1_000_000_000, 100_000_000_000)
_LIMITS = frozenset({ErrorType.RATE_LIMIT, ErrorType.BUDGET})


class AccountLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of the account that the agent said is used up.

    Attributes:
        reset_at_epoch_ms: when it ends.
        under_a_day: whether its window is shorter than a day.
    """

    reset_at_epoch_ms: int
    under_a_day: bool


def read(update: object) -> AccountLimit | None:
    """Return the limit that an update says is used up, or `None` if it says that none is."""
    info: dict[str, Any] = object_of(object_of(object_of(update).get("_meta")).get(KEY))
    resets_at = info.get("resetsAt")
    if info.get("status") != _REJECTED or isinstance(resets_at, bool):
        return None
    if not isinstance(resets_at, int | float) or int(resets_at) not in _EPOCH_SECONDS:
        return None
    return AccountLimit(
        reset_at_epoch_ms=int(resets_at * 1000),
        under_a_day=info.get("rateLimitType") in _UNDER_A_DAY,
    )


def apply(verdict: Verdict, limit: AccountLimit, left_seconds: int | None) -> Verdict:
    """Return the verdict with the limit's end, where it is about a limit and states no end itself.

    Args:
        verdict: Why the turn failed.
        limit: The limit that the agent stated.
        left_seconds: How long it still lasts, if there is a clock for that.
    """
    if verdict.type not in _LIMITS or verdict.retry_after_seconds is not None or verdict.refused:
        return verdict
    if verdict.reset_at_epoch_ms is not None or (left_seconds is not None and left_seconds <= 0):
        return verdict
    kind = ErrorType.RATE_LIMIT if limit.under_a_day else verdict.type
    near = left_seconds is None or left_seconds <= MAX_AUTO_WAIT_SECONDS
    return msgspec.structs.replace(
        verdict,
        type=kind,
        retryable=kind is ErrorType.RATE_LIMIT and near,
        retry_after_seconds=left_seconds,
        reset_at_epoch_ms=limit.reset_at_epoch_ms,
    )
