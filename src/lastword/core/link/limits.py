"""The end of a limit: where an agent states it, and how long a turn that failed at it waits.

Owns the reading of what claude-agent-acp and codex-acp state of the plan's windows (in the `_meta`
of a `usage_update`, or in an event that was asked for), what a limit's end means for a failure, and
the rule of `--continue-at-reset`. Works on values alone: `core.link.ending` begins the wait, and
`core.link.resend` says which prompt ends it. Loaded with the first limit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify.decide import DAY_SECONDS, of_plan_window
from lastword.core.classify.waits import parse_moment, reset_in
from lastword.core.failure import phrases, retry_policy
from lastword.core.failure.taxonomy import LIMITS, PLAN_WINDOW
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime, tzinfo

    from lastword.core.classify import Verdict


# --- the account's limits -------------------------------------------------------------------------

CLAUDE_KEY = "_claude/rateLimit"
CLAUDE_EVENT_MEMBER = "rate_limit_info"
"""The same in the event that Claude can be asked for."""

CODEX_KEY = "_codex/rateLimits"

_REJECTED = "rejected"
_UNDER_A_DAY = frozenset({"five_hour"})
"""The windows of `rateLimitType` that are shorter than a day."""

_CODEX_ACCOUNT = "codex"
_CODEX_WINDOWS = ("primary", "secondary")
_USED_UP_PER_CENT = 100
_DAY_MINUTES = 1440

_NOT_OF_A_WINDOW = frozenset({"credits", "spend_cap"})
"""Reasons for a limit that does not end with a window."""


class AccountLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of the account that the agent reported as used up.

    Attributes:
        reset_at_epoch_ms: when it ends.
        under_a_day: whether its window is shorter than a day.
    """

    reset_at_epoch_ms: int
    under_a_day: bool


def read_account_limit(stated: object) -> AccountLimit | None:
    """Return the limit that an update or event reports as used up, if any."""
    members = object_of(stated)
    meta = object_of(members.get("_meta"))
    of_event = members.get(CLAUDE_EVENT_MEMBER)
    return of_claude(meta.get(CLAUDE_KEY, of_event)) or of_codex(meta.get(CODEX_KEY))


def of_claude(stated: object) -> AccountLimit | None:
    """Read a `rate_limit_info` of Anthropic's SDK."""
    info: dict[str, Any] = object_of(stated)
    reset = parse_moment(info.get("resetsAt"))
    if info.get("status") != _REJECTED or reset is None:
        return None
    under_a_day = info.get("rateLimitType") in _UNDER_A_DAY
    return AccountLimit(reset_at_epoch_ms=reset, under_a_day=under_a_day)


def of_codex(stated: object) -> AccountLimit | None:
    """Read Codex's rate limits: of the windows that are used up, return the one that ends last.

    The account's own limit comes before those of single models.
    """
    limits = [object_of(limit) for limit in stated] if isinstance(stated, list) else []
    own = [limit for limit in limits if limit.get("limitId", _CODEX_ACCOUNT) == _CODEX_ACCOUNT]
    used_up = [*_used_up(own)] or [*_used_up(limits)]
    return max(used_up, key=lambda limit: limit.reset_at_epoch_ms, default=None)


def _used_up(limits: list[dict[Any, Any]]) -> Iterator[AccountLimit]:
    for limit in limits:
        for name in _CODEX_WINDOWS:
            window = object_of(limit.get(name))
            used, minutes = window.get("usedPercent"), window.get("windowDurationMins")
            reset = parse_moment(window.get("resetsAt"))
            if reset is None or not isinstance(used, int | float) or used < _USED_UP_PER_CENT:
                continue
            under_a_day = isinstance(minutes, int | float) and minutes < _DAY_MINUTES
            yield AccountLimit(reset_at_epoch_ms=reset, under_a_day=under_a_day)


def settle(
    verdict: Verdict,
    limit: AccountLimit | None,
    now: datetime | None,
    zone_of: Callable[[str], tzinfo | None] | None = None,
) -> Verdict:
    """Return the verdict with the end of its limit, if it is about one and the end can be known.

    An end that the failure itself states stands. Otherwise it is that of the account's limit, or
    the clock time in the failure's own words.

    Args:
        verdict: Why the turn failed.
        limit: The limit that the agent stated last.
        now: The local time, with its zone, if there is a clock.
        zone_of: As for `clock_times.reset_in`.
    """
    if verdict.type not in LIMITS or verdict.retry_after_seconds is not None or verdict.refused:
        return verdict
    reset = verdict.reset_at_epoch_ms
    if verdict.reason in _NOT_OF_A_WINDOW or reset is not None:
        limit = None
    if limit is not None and now is not None and limit.reset_at_epoch_ms <= _epoch_ms(now):
        limit = None
    if limit is not None:
        reset = limit.reset_at_epoch_ms
    elif reset is None and now is not None:
        reset = reset_in(verdict.detail or "", now, zone_of)
    if reset is None:
        return verdict
    left = None if now is None else math.ceil((reset - _epoch_ms(now)) / 1000)
    if left is not None and left <= 0:
        return of_plan_window(verdict, 0) if verdict.reason == PLAN_WINDOW else verdict
    stated = msgspec.structs.replace(verdict, reset_at_epoch_ms=reset, retry_after_seconds=left)
    if limit is not None:
        stated = msgspec.structs.replace(stated, reason=verdict.reason or PLAN_WINDOW)
    if stated.reason != PLAN_WINDOW and limit is None:
        return stated
    if left is None:
        left = 0 if limit is not None and limit.under_a_day else DAY_SECONDS
    return of_plan_window(stated, left)


def _epoch_ms(now: datetime) -> float:
    return now.timestamp() * 1000


# --- the wait for a limit's end -------------------------------------------------------------------

LONGEST_DRAW_SECONDS = 60.0
"""The most jitter added to a wait, so that sessions of one account do not continue together."""

DRAW = 0.1
"""The most jitter added to a shorter wait, as a part of it."""

AGAIN_SECONDS = 10.0
"""How much each earlier wait of the turn adds to the minimum of the next: a wrong clock must not
lead to one request after another."""


LATE_SECONDS = 60.0
"""How long after the time that the user allows a turn may still continue: a computer takes a moment
to wake up, and an agent to start."""


def reset_wait_seconds(
    failed: retry_policy.Failed,
    *,
    left_seconds: float,
    waits: int,
    epoch_seconds: float | None,
    roll: float,
) -> float | None:
    """Return how long to wait for the end of the limit, or `None` if the turn is to fail.

    Args:
        failed: Why the turn failed.
        left_seconds: The rest of the time that the user allows for all of the turn's waits.
        waits: How often the turn has waited before.
        epoch_seconds: The time of day; without it, the moment of a reset counts as unknown.
        roll: A random number from 0 to 1.
    """
    if failed.type not in retry_policy.HEALED_BY_TIME or failed.refused:
        return None
    requested = retry_policy.requested_wait_seconds(failed, epoch_seconds)
    if requested is None or requested == math.inf:
        return None
    shortest = max(requested, waits * AGAIN_SECONDS)
    if shortest > left_seconds:
        return None
    return min(shortest + roll * min(shortest * DRAW, LONGEST_DRAW_SECONDS), left_seconds)


def sentence_of_wait(seconds: float, now: datetime | None) -> str:
    """Return the sentence about the wait for the user; `now` is the local time, if known."""
    when = ""
    if now is not None:
        when = phrases.plain_moment(math.ceil((now.timestamp() + seconds) * 1000), now)
    if not when:  # no calendar has the moment, or it is now
        when = f"in {phrases.plain_duration(max(math.ceil(seconds), 1))}"
    return f"Continuing {when}, when the limit ends."
