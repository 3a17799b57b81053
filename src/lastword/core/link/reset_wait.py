"""The end of a limit: how long a turn that failed of one waits for it, and in which words.

Owns the rule of `--continue-at-reset`, over values alone: `core.link.ending` begins the wait, and
`core.link.resend` says which prompt ends it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lastword.core.failure import durations, retry_policy

if TYPE_CHECKING:
    from datetime import datetime

    from lastword.core.link.limit_wait import StoredWait

LONGEST_DRAW_SECONDS = 60.0
"""The most that chance adds to a wait, so that sessions of one account do not return together."""

DRAW = 0.1
"""The most that it adds to a shorter wait, as a part of the wait."""

AGAIN_SECONDS = 10.0
"""What each earlier wait of the turn adds to the shortest next one: a clock that is wrong must not
lead to one request after another."""


LATE_SECONDS = 60.0
"""How long after the time that the user allows a turn may still go on: a computer that wakes up,
and an agent that starts, take a moment."""


def wait_seconds(
    failed: retry_policy.Failed,
    *,
    left_seconds: float,
    waits: int,
    epoch_seconds: float | None,
    roll: float,
) -> float | None:
    """Return how long to wait for the end of the limit, or `None` if the turn is to fail.

    Args:
        failed: What the turn failed of.
        left_seconds: What is left of the time that the user allows for all of the turn's waits.
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


def left_seconds(stored: StoredWait, epoch_seconds: float | None) -> float:
    """Return what is left of a wait that began in another process, at this time of day.

    A clock that was set back makes no wait longer.
    """
    until = stored.wait.until_epoch_seconds
    if until is None or epoch_seconds is None:
        return stored.waited_seconds
    return min(max(until - epoch_seconds, 0.0), stored.waited_seconds)


def sentence(seconds: float, now: datetime | None) -> str:
    """Return what the user reads about the wait; `now` is the local time, if there is a clock."""
    when = ""
    if now is not None:
        when = durations.plain_moment(math.ceil((now.timestamp() + seconds) * 1000), now)
    if not when:  # no calendar has the moment, or it is now
        when = f"in {durations.plain_duration(max(math.ceil(seconds), 1))}"
    return f"Going on {when}, when the limit ends."
