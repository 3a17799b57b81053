"""One line of an agent's journal, and the failed model call that it reports.

Owns reading a line according to its row (`quirks.journals`): its time, the verdict, the attempt.
It reads no file and no clock, and ignores a line that does not match its row. Only the verdict has
text from the line, which the core redacts.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify import Verdict, classify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.quirks.journals import JournalRow, Path

MAX_LINE_BYTES = 64 * 1024
"""A longer line is ignored."""

MAX_TEXT_BYTES = 16 * 1024
"""The limit for a line that is not JSON."""

MAX_ATTEMPT = 10_000
MAX_STATUS = 599
_SECONDS_FROM, _SECONDS_TO = 1_500_000_000, 10_000_000_000
"""A number of seconds between them is a plausible time."""

MAX_WAIT_SECONDS = 366 * 24 * 3600.0


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A failed call, as a line reports it.

    Attributes:
        at_epoch: when the line was written, in seconds since 1970.
        verdict: why the call failed.
        session_id: the agent's id of the session, if the line has it.
        attempt: the number of the next attempt; the first was 1.
        max_attempts: the maximum number of attempts.
        wait_seconds: how long the agent waits before the next attempt.
        side: the call was not part of the turn itself.
        goes_on: whether the agent tries again; `None` if the line does not say.
        may_go_on: the line is a warning, or says that the call is tried again.
        pid: the process that wrote the line, if it says.
        strong: the line has the form of a model call's failure, not only its words.
    """

    at_epoch: float
    verdict: Verdict
    session_id: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: float | None = None
    side: bool = False
    goes_on: bool | None = None
    may_go_on: bool = False
    pid: int | None = None
    strong: bool = True


def read_line(row: JournalRow, line: bytes) -> FailedCall | None:
    """Return the failed call that a marked line reports; `None` if it does not match the row."""
    if len(line) > (MAX_LINE_BYTES if row.members else MAX_TEXT_BYTES):
        return None
    members = row.members
    if members is None:
        match = re.match(row.pattern, line.decode(errors="replace"))
        return None if match is None else read_groups(match.groupdict())
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    if any(_within(record, path) != value for path, value in members.must.items()):
        return None
    at = moment(_within(record, members.at))
    if at is None:
        return None
    wait_ms = _number(_within(record, members.wait_ms), MAX_WAIT_SECONDS * 1000)
    session = _within(record, members.session)
    return FailedCall(
        at_epoch=at,
        verdict=classify({key: _within(record, path) for key, path in members.failure.items()}),
        session_id=session if isinstance(session, str) else None,
        attempt=_next_try(_within(record, members.attempt)),
        # The count of retries does not include the first try.
        max_attempts=_next_try(_within(record, members.max_attempts)),
        wait_seconds=None if wait_ms is None else wait_ms / 1000,
        side=_within(record, members.side) is True,
    )


def read_groups(groups: Mapping[str, str | None]) -> FailedCall | None:
    """Return the failed call in the groups that a row's pattern found in a line."""
    at = moment(groups["at"])
    if at is None:
        return None
    attempt = _next_try(_number_in(groups.get("attempt"), MAX_ATTEMPT))
    message = groups.get("message")
    if quoted := groups.get("quoted"):
        try:
            message = msgspec.json.decode(f'"{quoted}"', type=str)
        except (msgspec.DecodeError, ValueError):
            message = quoted
    failure = {
        "message": message,
        "http_status": _number_in(groups.get("status"), MAX_STATUS),
        "exception_class": groups.get("name"),
    }
    return FailedCall(
        at_epoch=at,
        verdict=classify(failure),
        session_id=groups.get("session"),
        attempt=attempt,
        wait_seconds=_number_in(groups.get("wait"), MAX_WAIT_SECONDS),
        side=bool(groups.get("side")),
        pid=int(pid) if (pid := groups.get("pid")) else None,
    )


def _within(value: Any, path: Path) -> Any:
    """Return the value at this path, or `None`."""
    if not path:
        return None
    for member in path:
        value = value.get(member) if isinstance(value, dict) else None
    return value


def moment(value: object) -> float | None:
    """Return a time in seconds since 1970, from ISO 8601 (local without a zone) or a number.

    A number too large for seconds counts as milliseconds.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > _SECONDS_TO else value
        return seconds if _SECONDS_FROM <= seconds <= _SECONDS_TO else None
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value[:40]).timestamp()  # noqa: DTZ007, RUF100
    except (ValueError, OverflowError, OSError):
        return None


def _next_try(value: object) -> int | None:
    """Return the number of the attempt after this many."""
    count = _number(value, MAX_ATTEMPT)
    return None if count is None else int(count) + 1


def _number_in(text: str | None, most: float) -> float | None:
    try:
        return _number(float(text), most) if text else None
    except ValueError:
        return None


def _number(value: object, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None
