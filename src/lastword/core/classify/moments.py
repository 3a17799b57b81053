"""Waits and moments as servers write them, converted to seconds and epoch milliseconds.

Reads no clock: a moment becomes a wait only relative to the server's own `Date`. A value that is
negative, infinite, not a number, without a zone, or absurd (over ten years) is ignored.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

MAX_WAIT_SECONDS = 10 * 366 * 86_400
MAX_EPOCH_MS = 4_102_444_800_000  # the year 2100: anything later is not a moment
MIN_EPOCH_SECONDS = 100_000_000  # 1973: anything smaller is a wait, not a moment
_EPOCH_MS_FROM = 1_000_000_000_000  # numbers from here on count milliseconds
_MAX_TEXT = 64

_UNIT_SECONDS = {
    "ms": 0.001, "msec": 0.001, "msecs": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
    "d": 86_400, "day": 86_400, "days": 86_400,
    "w": 604_800, "week": 604_800, "weeks": 604_800,
}  # fmt: skip

UNIT = r"(?:milliseconds?|msecs?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|[smhdw])"
"""A pattern for one unit of time, lower case."""

_WHOLE = re.compile(rf"(?:\d{{1,12}}(?:\.\d{{1,12}})?\s?{UNIT} ?){{1,6}}", re.ASCII)
_PIECE = re.compile(rf"(\d{{1,12}}(?:\.\d{{1,12}})?)\s?({UNIT})", re.ASCII)
_CLOCK = re.compile(r"(?:(\d{1,4})[.:])?(\d{1,3}):(\d\d):(\d\d)(?:\.\d{1,9})?", re.ASCII)
_NUMBER = re.compile(r"\+?\d{1,15}(?:\.\d{1,15})?(?:e[+-]?\d{1,2})?", re.ASCII)

_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_HTTP_DATE = re.compile(
    r"(?:[A-Z][a-z]{2,8}, )?(\d{1,2})[ -]([A-Z][a-z]{2})[ -](\d{4})"
    r" (\d\d):(\d\d):(\d\d) (?:GMT|UTC|[+-]0000)",
    re.ASCII,
)


def sane_wait(seconds: float) -> float | None:
    """Return the wait, or None if no person or server can have meant it."""
    return seconds if math.isfinite(seconds) and 0 <= seconds <= MAX_WAIT_SECONDS else None


def parse_wait(value: object) -> float | None:
    """Return seconds, given a number (seconds) or a duration (`6m0s`, `34.07s`, `58 hours`)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return sane_wait(float(value)) if abs(value) <= MAX_WAIT_SECONDS else None
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return None
    text = value.strip().lower()
    if _NUMBER.fullmatch(text):
        return sane_wait(float(text))
    clock = _CLOCK.fullmatch(text)  # .NET writes 1.02:03:04
    if clock is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return sane_wait(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if not _WHOLE.fullmatch(text):
        return None
    total = math.fsum(float(n) * _UNIT_SECONDS[unit] for n, unit in _PIECE.findall(text))
    return sane_wait(total)


def parse_moment(value: object) -> int | None:
    """Return epoch milliseconds, given epoch seconds or milliseconds or a date with a zone."""
    number = _epoch_number(value)
    if number is not None:
        milliseconds = number if number >= _EPOCH_MS_FROM else number * 1000
        in_range = MIN_EPOCH_SECONDS * 1000 <= milliseconds <= MAX_EPOCH_MS
        return int(milliseconds) if in_range else None
    if not isinstance(value, str) or not 8 < len(value) <= _MAX_TEXT:  # noqa: PLR2004
        return None
    return _parse_date(value.strip())


def _epoch_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if len(value) > _MAX_TEXT or not _NUMBER.fullmatch(value.strip()):
            return None
        value = float(value)
    if isinstance(value, (int, float)) and 0 < value <= MAX_EPOCH_MS:
        return float(value)
    return None


def _parse_date(text: str) -> int | None:
    try:
        moment = _http_date(text) or datetime.fromisoformat(text)
        milliseconds = round(moment.timestamp() * 1000) if moment.tzinfo is not None else 0
    except (ValueError, OverflowError):
        return None
    return milliseconds if 0 < milliseconds <= MAX_EPOCH_MS else None


def _http_date(text: str) -> datetime | None:
    """Parse `Fri, 31 Dec 1999 23:59:59 GMT`; importing `email.utils` would cost 20 ms."""
    match = _HTTP_DATE.fullmatch(text)
    if match is None:
        return None
    day, month, *rest = match.groups()
    year, hour, minute, second = map(int, rest)
    month_number = _MONTHS.index(month) // 3 + 1
    return datetime(year, month_number, int(day), hour, minute, min(second, 59), tzinfo=UTC)
