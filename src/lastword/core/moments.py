"""Waits and moments as a person says them.

Owns the words, never too short a wait or too early a moment. Reads no clock.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

_A_CLOCK_IS_CLEARER = 600
"""Seconds from which a reset is told by the clock rather than as a wait."""


def plain_moment(epoch_ms: int, now: datetime | None = None) -> str:
    """A moment as a person says it, never too early: `at 14:05`, `tomorrow at 09:00`, `in 6 days`.

    Args:
        epoch_ms: The moment, in milliseconds since 1970 UTC.
        now: The reader's time of day, with its zone; a date in UTC is given without it.

    Returns:
        Words that go on a sentence; empty for a moment that is past or no moment.
    """
    try:
        moment = datetime.fromtimestamp(-(-epoch_ms // 1000), tz=now.tzinfo if now else UTC)
        if now is None:
            return f"after {moment:%Y-%m-%d %H:%M} UTC"
        left = math.ceil((moment - now).total_seconds())
        if left <= 0:
            return ""
        if left < _A_CLOCK_IS_CLEARER:
            return f"in {plain_duration(left)}"
        full = moment + timedelta(seconds=-moment.second % 60)
    except (ValueError, OverflowError, OSError):
        return ""
    days = (full.date() - now.date()).days
    if days > 1:
        return f"in {plain_duration(left)}"
    return f"{'tomorrow ' if days else ''}at {full:%H:%M}"


def plain_duration(seconds: int) -> str:
    """A wait as a person says it, never shorter than it is: `20 seconds`, `2 hours`, `6 days`."""
    for size, unit, limit in ((1, "second", 91), (60, "minute", 5401), (3600, "hour", 172_801)):
        if seconds < limit:
            return _counted(-(-seconds // size), unit)
    return _counted(-(-seconds // 86_400), "day")


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
