"""The schedule of a report: what a collector's answer means, and when it is tried again.

Owns both as functions of their arguments: no clock, no file, no socket. Which statuses are final
follows OTLP's specification, with two that HTTP says may be tried again (408, 425); every other
failure may be of the moment, and the outbox's bounds end it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from http import HTTPStatus

import msgspec

FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 300.0
JITTER = 0.25
"""A wait is up to a quarter shorter or longer, lest many machines come back together."""

MAX_ASKED_SECONDS = 24 * 3600.0
"""The longest wait of the collector's own that is obeyed."""

TRANSIENT_STATUSES = frozenset({408, 425, 429})
_MAX_DIGITS = 9
_MAX_DOUBLINGS = 16


class Fate(Enum):
    """What became of a report that was sent."""

    DELIVERED = auto()
    REFUSED = auto()
    """It will never be taken: it goes to the dead letters."""
    FAILED = auto()
    """It may be taken later."""


class CollectorAnswer(msgspec.Struct, frozen=True):
    """What a collector answered.

    Attributes:
        status: of HTTP.
        body: as far as it was read.
        retry_after: the header of that name.
        date: the collector's own clock, as its header has it.
        is_whole: the body was read to its end.
    """

    status: int
    body: bytes = b""
    retry_after: str = ""
    date: str = ""
    is_whole: bool = True


class _PartialSuccess(msgspec.Struct, rename="camel"):
    rejected_log_records: int | str = 0


class _Taken(msgspec.Struct, rename="camel"):
    partial_success: _PartialSuccess | None = None


def fate_of(answer: CollectorAnswer, *, is_otlp: bool) -> tuple[Fate, str]:
    """What an answer means, and in a few words why."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return _taken(answer) if is_otlp else (Fate.DELIVERED, "")
    said = _words(status)
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        final = status not in TRANSIENT_STATUSES
        return (Fate.REFUSED if final else Fate.FAILED), said
    # A login page of a network answers with a redirect too; none is ever followed.
    return Fate.FAILED, said


def _taken(answer: CollectorAnswer) -> tuple[Fate, str]:
    """A page that a network puts in a collector's place says 200 as well: it is no JSON."""
    if not answer.body.strip() and answer.is_whole:
        return Fate.DELIVERED, ""
    try:
        partial = msgspec.json.decode(answer.body, type=_Taken).partial_success
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Fate.FAILED, "no collector's answer"
    if partial is not None and str(partial.rejected_log_records) != "0":
        return Fate.REFUSED, "rejected by the collector"
    return Fate.DELIVERED, ""


def _words(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def asked_wait(answer: CollectorAnswer, now_seconds: float) -> float | None:
    """How long the collector asks to wait, in seconds: from a number, or a date by its own clock.

    Args:
        answer: What it answered.
        now_seconds: The time of day here, in seconds since 1970 UTC.
    """
    text = answer.retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:_MAX_DIGITS]) if len(text) <= _MAX_DIGITS else MAX_ASKED_SECONDS
        return min(seconds, MAX_ASKED_SECONDS)
    until = _moment(text)
    if until is None:
        return None
    theirs = _moment(answer.date)
    since = now_seconds if theirs is None else theirs
    return min(max(until - since, 0.0), MAX_ASKED_SECONDS)


def _moment(text: str) -> float | None:
    try:
        found: datetime = parsedate_to_datetime(text)
        # A date of HTTP without a zone is UTC's.
        aware = found if found.tzinfo else found.replace(tzinfo=UTC)
        return float(aware.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def wait_seconds(failures: int, asked: float | None, roll: float) -> float:
    """How long to wait after so many failures in a row, in seconds.

    Args:
        failures: From 1 up.
        asked: What the collector asked for; never waited less.
        roll: A random number from 0 to 1.
    """
    doublings = min(failures - 1, _MAX_DOUBLINGS)
    plain = min(FIRST_WAIT_SECONDS * 2.0**doublings, MAX_WAIT_SECONDS)
    own = min(plain * (1 + JITTER * (2 * roll - 1)), MAX_WAIT_SECONDS)
    return own if asked is None else max(own, asked)


def is_due(due_epoch_ms: int, now_epoch_ms: int) -> bool:
    """Is it time? A moment further away than any wait was set by a clock that has been set back."""
    longest = int(MAX_ASKED_SECONDS * 1000)
    return due_epoch_ms <= now_epoch_ms or due_epoch_ms - now_epoch_ms > longest
