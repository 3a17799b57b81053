"""One line of an agent's journal, and what it says of a model call that failed.

Owns reading a line by its row (`quirks.journals`): the moment, the verdict, the try. Reads no file
and no clock; a line that does not fit its row tells nothing. Nothing of the line leaves but in the
verdict, whose text the core redacts.
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
"""A line longer than that is no line about a failed call."""

MAX_TEXT_BYTES = 16 * 1024
"""The same of one that is no JSON."""

MAX_ATTEMPT = 10_000
_SECONDS_FROM, _SECONDS_TO = 1_500_000_000, 10_000_000_000
"""Between them is a count of seconds that is a moment of our time."""

MAX_WAIT_SECONDS = 366 * 24 * 3600.0


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a line tells of.

    Attributes:
        at_epoch: when the line was written, in seconds of the time of day.
        verdict: what the call failed of.
        session_id: the agent's id of the session, where the line has it.
        attempt: the number of the try that comes next; the first was 1.
        max_attempts: how many there are at most.
        wait_seconds: how long the agent waits until then.
        side: the call was for something beside the turn.
        goes_on: does the line say that the agent tries again? `None` where its row does, or nobody.
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
    """What a marked line says, `None` where it says nothing that is understood."""
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
    status, attempt, wait = told.get("status"), told.get("attempt"), told.get("wait")
    failure = {
        "message": told["message"] if told.get("quoted") is None else _unquoted(told["quoted"]),
        "http_status": int(status) if status else None,
        "exception_class": told.get("name"),
    }
    return FailedCall(
        at_epoch=at,
        verdict=classify(failure),
        session_id=told.get("session"),
        attempt=_next_try(int(attempt)) if attempt else None,
        wait_seconds=float(wait) if wait else None,
        side=bool(told.get("side")),
    )


def _unquoted(told: str) -> str:
    try:
        return msgspec.json.decode(f'"{told}"', type=str)
    except (msgspec.DecodeError, ValueError):
        return told


def _within(told: Any, path: Path) -> Any:
    """The value that this path leads to, or nothing."""
    if not path:
        return None
    for member in path:
        told = told.get(member) if isinstance(told, dict) else None
    return told


def moment(told: object) -> float | None:
    """A moment as seconds of the time of day: in ISO 8601, without a zone a local one, or counted.

    A count that is too great for seconds is one of milliseconds.
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
    """The number of the try that follows so many."""
    count = _number(told, MAX_ATTEMPT)
    return None if count is None else int(count) + 1


def _number(told: object, most: float) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return told if 0 <= told <= most else None
