"""Phrases in plain English: durations and moments, numbers with nouns.

Owns short phrases; `sentences` and `wording` own what is said of a failure. A phrase never
understates a wait or names too early a moment: `plain_duration` is for sentences, `short_duration`
for countdowns, `duration` for measurements. An unknown word is shown as it is, with spaces for its
underscores. Reads no clock.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


# --- durations and moments ------------------------------------------------------------------------

_A_CLOCK_IS_CLEARER = 600
"""From this many seconds on, a reset is given as a time of day rather than as a wait."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
"""In English, as the sentences are, whatever the locale."""

_SHORT_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def plain_moment(epoch_ms: int, now: datetime | None = None) -> str:
    """Return a moment in plain English, never too early: `at 14:05`, `on 6 May at 09:00`.

    Args:
        epoch_ms: The moment, in milliseconds since 1970 UTC.
        now: The reader's local time, with its zone; without it, the date is given in UTC.

    Returns:
        Words that complete a sentence; empty if the moment is in the past or invalid.
    """
    try:
        moment = datetime.fromtimestamp(-(-epoch_ms // 1000), tz=now.tzinfo if now else UTC)
        if now is None:
            return f"after {moment:%Y-%m-%d %H:%M} UTC"
        left = math.ceil(moment.timestamp() - now.timestamp())
        if left <= 0:
            return ""
        if left < _A_CLOCK_IS_CLEARER:
            return f"in {plain_duration(left)}"
        full = moment + timedelta(seconds=-moment.second % 60)
    except (ValueError, OverflowError, OSError):
        return ""
    days = (full.date() - now.date()).days
    if days > 1:
        year = f" {full.year}" if full.year != now.year else ""
        return f"on {full.day} {_MONTHS[full.month - 1]}{year} at {full:%H:%M}"
    return f"{'tomorrow ' if days else ''}at {full:%H:%M}"


class LocalZone(tzinfo):
    """This machine's zone, with the offset of each moment: a limit may end in summer time."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else _fixed(dt).utcoffset()

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else _fixed(dt).dst()

    def tzname(self, dt: datetime | None) -> str | None:
        return None if dt is None else _fixed(dt).tzname()

    def fromutc(self, dt: datetime) -> datetime:
        local = datetime.fromtimestamp(dt.replace(tzinfo=UTC).timestamp())  # noqa: DTZ006 - in ours
        return local.replace(tzinfo=self)


def _fixed(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None).astimezone()


LOCAL_ZONE = LocalZone()


def moment_of(epoch_ms: float, zone: tzinfo | None = None) -> datetime:
    """Return a moment in a zone, or in local time; the earliest one if it is out of range."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, zone or UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, zone or UTC).astimezone(zone)


def plain_duration(seconds: int) -> str:
    """Return a wait in plain English, never understated: `20 seconds`, `2 hours`, `6 days`."""
    size, unit = 86_400, "day"
    for smaller, name, limit in ((3600, "hour", 172_801), (60, "minute", 5401), (1, "second", 91)):
        if seconds < limit:
            size, unit = smaller, name
    count = -(-seconds // size)
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def counted(count: int, word: str) -> str:
    """Return a number with its noun: `1 turn`, `2 turns`, `2 retries`."""
    if count != 1:
        word = f"{word[:-1]}ies" if word.endswith("y") and not word.endswith("ay") else f"{word}s"
    return f"{count:,} {word}"


def times(count: int) -> str:
    """Return how often something happened: `once`, `2 times`."""
    return "once" if count == 1 else f"{count:,} times"


def attempt_words(attempt: float, most: float | None) -> str:
    """Return which attempt it is: `attempt 2`, `attempt 2 of 5`."""
    return f"attempt {attempt}" if most is None else f"attempt {attempt} of {most}"


def short_duration(seconds: int) -> str:
    """Return a wait in at most two units, never understated: `18 s`, `2 min 5 s`, `3 h 10 min`."""
    for (size, unit), (less, smaller) in pairwise(_SHORT_UNITS):
        if seconds >= size:
            # Round up before dividing: 59 min 59 s counts as a whole hour.
            count, rest = divmod(-(-seconds // less) * less, size)
            return f"{count} {unit} {rest // less} {smaller}" if rest else f"{count} {unit}"
    return f"{seconds} s"


def duration(seconds: float | None) -> str:
    """Return a duration in a few characters: `15 ms`, `2.4 s`, `3m 20s`, `2h 05m`."""
    if seconds is None:
        return ""
    if seconds < 0.9995:  # noqa: PLR2004 - what rounds to 1000 ms is a second
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < 9.95:  # noqa: PLR2004 - what rounds to 10.0 is written without a fraction
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def plain(word: object, names: Mapping[str, str] | None = None) -> str:
    """Return a word in plain English, from the table or else without its underscores."""
    text = str(word)
    return (names or {}).get(text) or text.replace("_", " ")
