"""Clock times in prose, converted to moments: `12:28am (UTC)`, `Nov 26th, 2026 12:28 AM`.

Unlike `core.classify.moments`, such a time needs a clock to be read by: it has no date, no year or
no zone. Owns that reading; the words are found by `core.failure.signs`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lastword.core.failure.signs import stated_reset

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UTC_NAMES = frozenset({"utc", "gmt", "z"})
_MINUTE = timedelta(minutes=1)

_STATED = r"""(?xia)
    (?: (?P<month>[a-z]{3})[a-z]{0,6}\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?
            (?:,?\s(?P<year>\d{4}))?,?\s(?:at\s)?
      | (?P<date>\d{4}-\d\d-\d\d)[T\s]
    )?
    (?P<hour>\d{1,2})(?: :(?P<minute>\d\d)(?: :(?P<second>\d\d))? )?
    (?: \s?(?P<half>[ap])m )?
    (?: \s?\((?P<zone>[\w+/-]{1,64})\) | \s?(?P<utc>utc|z) )?
"""


def reset_in(
    text: str, now: datetime, zone_of: Callable[[str], tzinfo | None] | None = None
) -> int | None:
    """Return the moment at which a text says that a limit resets, in milliseconds since 1970 UTC.

    A time of day is the next one, and the minute in which it is ends with the minute: what states
    it leaves out the seconds.

    Args:
        text: The failure's own words.
        now: The local time, with its zone, which a text without a zone is read in.
        zone_of: Returns the zone of this name (`Europe/Berlin`), or `None` if it is not known.
    """
    match = re.fullmatch(_STATED, stated_reset(text))
    if match is None:
        return None
    zone = now.tzinfo
    name = (match["zone"] or match["utc"] or "").lower()
    if name in _UTC_NAMES:
        zone = UTC
    elif name:
        zone = zone_of(match["zone"]) if zone_of is not None else None
    if zone is None:
        return None
    try:
        moment = _next_moment(match, now.astimezone(zone))
    except (ValueError, OverflowError):
        return None
    return round(moment.timestamp() * 1000)


def _next_moment(match: re.Match[str], now: datetime) -> datetime:
    """Return the stated moment; only one with its day and year may be over."""
    day = now
    if match["date"]:
        date = datetime.fromisoformat(match["date"])
        day = now.replace(year=date.year, month=date.month, day=date.day)
    elif match["month"]:
        month = _MONTHS.index(match["month"].lower()) + 1
        year = int(match["year"] or now.year)
        day = now.replace(year=year, month=month, day=int(match["day"]))
    hour, minute = _clock(match)
    at = day.replace(hour=hour, minute=minute, second=int(match["second"] or 0), microsecond=0)
    if at <= now < at + _MINUTE and not match["second"]:
        return at + _MINUTE
    if at < now and day is now:
        return at + timedelta(days=1)
    if at < now and match["month"] and not match["year"]:
        return at.replace(year=now.year + 1)
    return at


def _clock(match: re.Match[str]) -> tuple[int, int]:
    """Return the time of day, on a clock of 24 hours; raises `ValueError` if it is none."""
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:  # noqa: PLR2004 - the hours of such a clock
            raise ValueError
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour, int(match["minute"] or 0)
