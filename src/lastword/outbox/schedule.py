"""The schedule of a report: the meaning of a collector's answer, and when to try again.

Owns both as pure functions: no clock, no file, no socket. The final statuses are those of OTLP's
specification, except for two that HTTP allows to retry (408, 425). Every other failure may be
temporary, and the outbox's bounds limit the retries.
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
"""A wait is up to a quarter shorter or longer, so that many machines do not return together."""

MAX_REQUESTED_SECONDS = 24 * 3600.0
"""The longest wait that a collector can request."""

TRANSIENT_STATUSES = frozenset({408, 425, 429})
_MAX_DIGITS = 9
_MAX_DOUBLINGS = 16


class Fate(Enum):
    """The outcome of sending a report."""

    DELIVERED = auto()
    REFUSED = auto()
    """It will never be accepted: it goes to the dead letters."""
    FAILED = auto()
    """It may be accepted later."""


class CollectorAnswer(msgspec.Struct, frozen=True):
    """A collector's answer.

    Attributes:
        status: the HTTP status.
        body: the part that was read.
        retry_after: the header of that name.
        date: the collector's own time, from its header.
        is_whole: the whole body was read.
    """

    status: int
    body: bytes = b""
    retry_after: str = ""
    date: str = ""
    is_whole: bool = True


class _PartialSuccess(msgspec.Struct, rename="camel"):
    rejected_log_records: int | str = 0


class _ExportResponse(msgspec.Struct, rename="camel"):
    partial_success: _PartialSuccess | None = None


def fate_of(answer: CollectorAnswer, *, is_otlp: bool) -> tuple[Fate, str]:
    """Return what an answer means, and briefly why."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return _fate_of_response(answer) if is_otlp else (Fate.DELIVERED, "")
    words = _words(status)
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        final = status not in TRANSIENT_STATUSES
        return (Fate.REFUSED if final else Fate.FAILED), words
    # A login page of a network answers with a redirect too; none is ever followed.
    return Fate.FAILED, words


def _fate_of_response(answer: CollectorAnswer) -> tuple[Fate, str]:
    """Return whether it was accepted: a network's login page also has 200, but is not JSON."""
    if not answer.body.strip() and answer.is_whole:
        return Fate.DELIVERED, ""
    try:
        partial = msgspec.json.decode(answer.body, type=_ExportResponse).partial_success
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Fate.FAILED, "not an answer of a collector"
    if partial is not None and str(partial.rejected_log_records) != "0":
        return Fate.REFUSED, "rejected by the collector"
    return Fate.DELIVERED, ""


def _words(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def requested_wait(answer: CollectorAnswer, now_seconds: float) -> float | None:
    """Return the wait in seconds that the collector asks for, as a number or a date.

    Args:
        answer: The answer.
        now_seconds: The local time of day, in seconds since 1970 UTC.
    """
    text = answer.retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:_MAX_DIGITS]) if len(text) <= _MAX_DIGITS else MAX_REQUESTED_SECONDS
        return min(seconds, MAX_REQUESTED_SECONDS)
    until = _moment(text)
    if until is None:
        return None
    theirs = _moment(answer.date)
    since = now_seconds if theirs is None else theirs
    return min(max(until - since, 0.0), MAX_REQUESTED_SECONDS)


def _moment(text: str) -> float | None:
    try:
        date: datetime = parsedate_to_datetime(text)
        # A date of HTTP without a zone is UTC's.
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return float(aware.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def wait_seconds(failures: int, requested: float | None, roll: float) -> float:
    """Return how many seconds to wait after this many failures in a row.

    Args:
        failures: From 1 up.
        requested: The wait that the collector asked for, which is the minimum.
        roll: A random number from 0 to 1.
    """
    doublings = min(failures - 1, _MAX_DOUBLINGS)
    plain = min(FIRST_WAIT_SECONDS * 2.0**doublings, MAX_WAIT_SECONDS)
    own = min(plain * (1 + JITTER * (2 * roll - 1)), MAX_WAIT_SECONDS)
    return own if requested is None else max(own, requested)


def is_due(due_epoch_ms: int, now_epoch_ms: int) -> bool:
    """Return whether it is time. A time beyond any wait means that a clock was set back."""
    longest = int(MAX_REQUESTED_SECONDS * 1000)
    return due_epoch_ms <= now_epoch_ms or due_epoch_ms - now_epoch_ms > longest
