"""Waits: the pause and the moment of a reset, from headers, body, exception and prose.

A server's value is a minimum. The order is fixed: headers, body, exception, prose. A value that
makes no sense is skipped: negative, infinite, not a number, without a zone, or absurd (over ten
years). Reads no clock: a moment becomes a wait only relative to the server's own `Date`, and a time
of day in prose is read relative to the time that the caller passes. The names and the words that
state a wait or a reset are in `protocol/failures/resets.json`.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify.text import plain_key
from lastword.core.failure.signs import stated_reset
from lastword.quirks import failure_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    from lastword.core.classify.evidence import Evidence


# --- waits and moments as servers write them, in seconds and epoch milliseconds -------------------

MAX_WAIT_SECONDS = 10 * 366 * 86_400
MAX_EPOCH_MS = 4_102_444_800_000  # the year 2100: anything later is not a moment
MIN_EPOCH_SECONDS = 100_000_000  # 1973: anything smaller is a wait, not a moment
_EPOCH_MS_FROM = 1_000_000_000_000  # numbers from here on count milliseconds
_MAX_TEXT = 64

_GROUPS = failure_groups("resets")
_BY_TIER = {group.tier: group for group in _GROUPS}

_UNIT_SECONDS: dict[str, float] = {row["match"]: row["seconds"] for row in _BY_TIER["unit"].entries}
_UNIT = _BY_TIER["unit"].alternatives
_WHOLE = re.compile(rf"(?:\d{{1,12}}(?:\.\d{{1,12}})?\s?{_UNIT} ?){{1,6}}", re.ASCII)
_PIECE = re.compile(rf"(\d{{1,12}}(?:\.\d{{1,12}})?)\s?({_UNIT})", re.ASCII)
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
    if isinstance(value, str):
        text = value.strip()
        if len(value) > _MAX_TEXT:
            return None
        if not _NUMBER.fullmatch(text):
            # `Fri, 31 Dec 1999 23:59:59 GMT`: importing `email.utils` would cost 20 ms.
            match = _HTTP_DATE.fullmatch(text)
            try:
                if match is None:
                    date = datetime.fromisoformat(text)
                else:
                    day, name, *rest = match.groups()
                    year, hour, minute, second = map(int, rest)
                    month, second = _MONTHS.index(name) // 3 + 1, min(second, 59)
                    date = datetime(year, month, int(day), hour, minute, second, tzinfo=UTC)
                moment = round(date.timestamp() * 1000) if date.tzinfo is not None else 0
            except (ValueError, OverflowError):
                return None
            return moment if 0 < moment <= MAX_EPOCH_MS else None
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 < value <= MAX_EPOCH_MS:
        return None
    milliseconds = float(value) if value >= _EPOCH_MS_FROM else float(value) * 1000
    in_range = MIN_EPOCH_SECONDS * 1000 <= milliseconds <= MAX_EPOCH_MS
    return int(milliseconds) if in_range else None


# --- the wait and the reset in a failure -------------------------------------------------------

_WAIT_HEADERS = _BY_TIER["wait_header"].entries
_WAIT_KEYS = {plain_key(row["match"]): row for row in _BY_TIER["wait_key"].entries}
_WAIT_BUCKETS = [group.entries for group in _GROUPS if group.tier == "wait_bucket"]
_MOMENT_KEYS = tuple(map(plain_key, _BY_TIER["moment_key"].matches))
_MOMENT_HEADERS = _BY_TIER["moment_header"].entries
_MOMENT_BUCKETS = _BY_TIER["moment_bucket"].entries
_MOMENT_TEXT = re.compile(_BY_TIER["moment_text"].alternatives, re.ASCII)
_TEXT_WAIT = re.compile(
    rf"\b{_BY_TIER['wait_word'].alternatives}{_BY_TIER['wait_amount'].alternatives}".replace(
        "<unit>", _UNIT
    ),
    re.ASCII,
)
"""A wait in prose: an amount with units after a word that asks for it, or bare seconds."""

_PER_CENT = 100
_REQUESTS = ("please", "before", "after", "until", "try")
_REQUEST_CHARS = 16
"""How close such a word stands before `retrying in 4 s`, which makes it a request."""


class Waits(msgspec.Struct, frozen=True):
    """The least wait in seconds (rounded up), and the moment a window reopens (epoch ms).

    `wait_from` and `reset_from` name the source of the value: `header retry-after`, `text`.
    """

    retry_after_seconds: int | None = None
    reset_at_epoch_ms: int | None = None
    wait_from: str | None = None
    reset_from: str | None = None


class Wait(msgspec.Struct, frozen=True):
    """Seconds, and the source that stated them."""

    seconds: float
    carrier: str


class Moment(msgspec.Struct, frozen=True):
    """Epoch milliseconds, and the source that stated them."""

    epoch_ms: int
    carrier: str


def read_waits(evidence: Evidence) -> Waits:
    """Return the wait and the moment of a reset that the evidence states."""
    wait, moment = _stated_wait(evidence), _stated_moment(evidence)
    return Waits(
        math.ceil(round(wait.seconds, 6)) if wait else None,
        moment.epoch_ms if moment else None,
        wait.carrier if wait else None,
        moment.carrier if moment else None,
    )


def read_seconds(evidence: Evidence) -> float | None:
    """Return the wait in seconds that the evidence states, not rounded."""
    wait = _stated_wait(evidence)
    return wait.seconds if wait else None


def _stated_wait(evidence: Evidence) -> Wait | None:
    headers = evidence.headers
    for row in _WAIT_HEADERS:
        seconds = parse_wait(headers.get(row["match"]))
        if seconds is not None:
            return Wait(seconds * row.get("seconds", 1), f"header {row['match']}")
    moment, now = _retry_after_date(headers), parse_moment(headers.get("date"))
    if moment is not None and now is not None:
        return Wait((moment - now) / 1000, "header retry-after")
    for key, row in _WAIT_KEYS.items():
        seconds = parse_wait(evidence.fields.get(key))
        if seconds is not None:
            return Wait(seconds * row.get("seconds", 1), f"field {key}")
    if evidence.wait_seconds is not None:
        return Wait(evidence.wait_seconds, "exception's retry_after")
    for rows in _WAIT_BUCKETS:
        stated = [(parse_wait(value) or 0, name) for name, value in _used_up(rows, headers)]
        longest, name = max(stated, default=(0, ""))
        if longest:
            return Wait(longest, f"header {name}")
    seconds = wait_in_text(evidence.folded)
    return None if seconds is None else Wait(seconds, "text")


def _used_up(rows: list[dict[str, Any]], headers: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the headers of these rows whose limits are used up; `*` is a limit's name."""
    for row in rows:
        head, star, tail = row["match"].partition("*")
        for name in [name for name in headers if name.startswith(head)] if star else [head]:
            if name not in headers or not name.endswith(tail):
                continue
            shown = row.get("used_up", "").replace("*", name[len(head) : len(name) - len(tail)])
            if shown in headers:
                left = parse_wait(headers[shown])
                full = left is not None and left >= _PER_CENT
                used_up = full if shown.endswith("percent") else left == 0
            else:
                used_up = not star
            if used_up:
                yield name, headers[name]


def wait_in_text(folded: str, *, is_own: bool = False) -> float | None:
    """Return the wait that prose (lower case, single spaces) asks for, if it names one.

    Args:
        folded: The text.
        is_own: Read the wait before an agent's own next try, which no server asked for, instead.
    """
    for match in _TEXT_WAIT.finditer(folded):
        before = folded[max(0, match.start() - _REQUEST_CHARS) : match.start()]
        announces = match.group().startswith(("retrying", "trying", "waiting"))
        if (announces and not any(word in before for word in _REQUESTS)) is not is_own:
            continue
        amount = match.group(1) or match.group(2) or match.group(3)
        seconds = parse_wait(amount.replace(",", "").replace(" and ", " ").strip())
        if seconds is not None:
            return seconds
    return None


def _stated_moment(evidence: Evidence) -> Moment | None:
    headers = evidence.headers
    for key in _MOMENT_KEYS:
        moment = parse_moment(evidence.fields.get(key))
        if moment is not None:
            return Moment(moment, f"field {key}")
    for name, value in _used_up(_MOMENT_HEADERS, headers):
        moment = parse_moment(value)
        if moment is not None:
            return Moment(moment, f"header {name}")
    dated = _retry_after_date(headers)
    if dated is not None:
        return Moment(dated, "header retry-after")
    refills = [
        (moment, name)
        for name, value in _used_up(_MOMENT_BUCKETS, headers)
        if (moment := parse_moment(value)) is not None
    ]
    if refills:
        latest, name = max(refills)
        return Moment(latest, f"header {name}")
    match = _MOMENT_TEXT.search(evidence.folded)
    moment = parse_moment(match[1]) if match else None
    return None if moment is None else Moment(moment, "text")


def _retry_after_date(headers: dict[str, str]) -> int | None:
    """Read `Retry-After` as a date; one already past when the server wrote it does not count."""
    stated = headers.get("retry-after", "")
    moment = parse_moment(stated) if not stated.replace(".", "").isdigit() else None
    now = parse_moment(headers.get("date"))
    return None if moment is None or (now is not None and moment < now) else moment


# --- clock times in prose, which need a clock: `12:28am (UTC)`, `Nov 26th, 2026 12:28 AM` ---------

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UTC_NAMES = frozenset({"utc", "gmt", "z"})
_MINUTE, _HALF_YEAR = timedelta(minutes=1), timedelta(days=183)

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

    A time of day is the next one, a day without a year the nearest one, so that it may be over. The
    current minute counts until its end, since such texts omit seconds.

    Args:
        text: The failure's own words.
        now: The local time, with the zone of a text that names none.
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
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if zone is None or (half and not 1 <= hour <= 12):  # noqa: PLR2004 - the hours of such a clock
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        day = now = now.astimezone(zone)
        if match["date"]:
            date = datetime.fromisoformat(match["date"])
            day = now.replace(year=date.year, month=date.month, day=date.day)
        elif match["month"]:
            month = _MONTH_NAMES.index(match["month"].lower()) + 1
            year = int(match["year"] or now.year)
            day = now.replace(year=year, month=month, day=int(match["day"]))
        minute, second = int(match["minute"] or 0), int(match["second"] or 0)
        at = day.replace(hour=hour, minute=minute, second=second, microsecond=0)
        if at <= now < at + _MINUTE and not match["second"]:
            at += _MINUTE
        elif at < now and day is now:
            at += timedelta(days=1)
        elif match["month"] and not match["year"] and abs(at - now) > _HALF_YEAR:
            at = at.replace(year=now.year + (1 if at < now else -1))
        return round(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
