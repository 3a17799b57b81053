"""One line of an agent's journal, and what it says about a failed model call.

Owns reading a line according to its row (`quirks.journals`): its time, the verdict, the attempt.
It reads no file and no clock, and ignores a line that does not fit its row. Nothing of the line
is passed on except in the verdict, whose text the core redacts.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify import Verdict, classify

if TYPE_CHECKING:
    from lastword.quirks.journals import JournalMembers, KnownJournal, Path

MAX_LINE_BYTES = 64 * 1024
"""A line longer than that is not about a failed call."""

MAX_TEXT_BYTES = 16 * 1024
"""The same for a line that is not JSON."""

MAX_ATTEMPT = 10_000
MAX_STATUS = 599
_SECONDS_FROM, _SECONDS_TO = 1_500_000_000, 10_000_000_000
"""Between them is a count of seconds that is a moment of our time."""

MAX_WAIT_SECONDS = 366 * 24 * 3600.0


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a line says about a failed call.

    Attributes:
        at_epoch: when the line was written, in seconds of the time of day.
        verdict: why the call failed.
        session_id: the agent's id of the session, if the line has it.
        attempt: the number of the next attempt; the first was 1.
        max_attempts: the maximum number of attempts.
        wait_seconds: how long the agent waits before it.
        side: the call was not part of the turn itself.
        goes_on: the line says whether the agent tries again; `None` if the line does not say.
    """

    at_epoch: float
    verdict: Verdict
    session_id: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: float | None = None
    side: bool = False
    goes_on: bool | None = None


def read_line(row: KnownJournal, line: bytes) -> FailedCall | None:
    """Return what a marked line says; `None` if it is not understood."""
    if len(line) > (MAX_LINE_BYTES if row.members else MAX_TEXT_BYTES):
        return None
    if row.members is None:
        return _from_text(row, line.decode(errors="replace"))
    try:
        told = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return _from_object(row.members, told)


def _from_object(members: JournalMembers, told: Any) -> FailedCall | None:
    if any(_within(told, path) != value for path, value in members.must.items()):
        return None
    at = moment(_within(told, members.at))
    if at is None:
        return None
    wait_ms = _number(_within(told, members.wait_ms), MAX_WAIT_SECONDS * 1000)
    session = _within(told, members.session)
    return FailedCall(
        at_epoch=at,
        verdict=classify({key: _within(told, path) for key, path in members.failure.items()}),
        session_id=session if isinstance(session, str) else None,
        attempt=_next_try(_within(told, members.attempt)),
        # The first try is none of the retries that are counted.
        max_attempts=_next_try(_within(told, members.max_attempts)),
        wait_seconds=None if wait_ms is None else wait_ms / 1000,
    )


def _from_text(row: KnownJournal, line: str) -> FailedCall | None:
    found = re.match(row.pattern, line)
    if found is None:
        return None
    told = found.groupdict()
    at = moment(told["at"])
    if at is None:
        return None
    attempt = _next_try(_number_in(told.get("attempt"), MAX_ATTEMPT))
    failure = {
        "message": told["message"] if told.get("quoted") is None else _unquoted(told["quoted"]),
        "http_status": _number_in(told.get("status"), MAX_STATUS),
        "exception_class": told.get("name"),
    }
    return FailedCall(
        at_epoch=at,
        verdict=classify(failure),
        session_id=told.get("session"),
        attempt=attempt,
        wait_seconds=_number_in(told.get("wait"), MAX_WAIT_SECONDS),
        side=bool(told.get("side")),
    )


def _unquoted(told: str) -> str:
    try:
        return msgspec.json.decode(f'"{told}"', type=str)
    except (msgspec.DecodeError, ValueError):
        return told


def _within(told: Any, path: Path) -> Any:
    """Return the value at this path, or nothing."""
    if not path:
        return None
    for member in path:
        told = told.get(member) if isinstance(told, dict) else None
    return told


def moment(told: object) -> float | None:
    """Return a time in seconds: ISO 8601 (local without a zone), or a number.

    A number too large for seconds is in milliseconds.
    """
    if isinstance(told, int | float) and not isinstance(told, bool):
        seconds = told / 1000 if told > _SECONDS_TO else told
        return seconds if _SECONDS_FROM <= seconds <= _SECONDS_TO else None
    if not isinstance(told, str):
        return None
    try:
        return datetime.fromisoformat(told[:40]).timestamp()  # noqa: DTZ007, RUF100
    except (ValueError, OverflowError, OSError):
        return None


def _next_try(told: object) -> int | None:
    """Return the number of the attempt after this many."""
    count = _number(told, MAX_ATTEMPT)
    return None if count is None else int(count) + 1


def _number_in(text: str | None, most: float) -> float | None:
    """Return the number that a group of a pattern has, if it has one."""
    try:
        return _number(float(text), most) if text else None
    except ValueError:
        return None


def _number(told: object, most: float) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return told if 0 <= told <= most else None
