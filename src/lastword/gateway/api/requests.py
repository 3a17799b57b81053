"""Requests to the events API: reading them, the page of a log that they get, and reports of errors.

Owns the query's parameters, the choice of the response's type, and the one shape of a refusal:
`{error, reason}`.

Errors that pages and connectors report about themselves. Owns how many reports one sender may send,
how they are counted, and the log entry or report that each becomes.

One page of a log as events: where it begins, and how much of the log one request may read. Owns the
bounds of a page. A scan has steps, each of which decodes one read of the log, so that a holder can
serve its agent and viewers between two steps: it has one event loop for all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from lastword.client.link_words import BY_NAME
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import jsonrpc
from lastword.gateway.api.shapes import (
    VERSION,
    ApiProblem,
    ClientEvent,
    EventGap,
    EventKind,
    EventsPage,
    SessionEvent,
)
from lastword.gateway.api.views import event_of
from lastword.gateway.log.entries import Cursor
from lastword.gateway.viewing.reader import start

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from starlette.requests import Request

    from lastword.gateway.log.store import ReadableLog


JSON_TYPE, EVENTS_TYPE = "application/json", "text/event-stream"
CURSOR = "^[A-Za-z0-9_-]{1,64}:[0-9]{1,15}$"
DEFAULT_DAYS, MAX_DAYS = 7, 3650

_CURSOR = re.compile(r"([A-Za-z0-9_-]{1,64}):([0-9]{1,15})")
_NUMBER = re.compile(r"[0-9]{1,9}")


class ProblemError(Exception):
    """A request is refused.

    Attributes:
        status: the status of the response.
        reason: a word.
        headers: further headers of the response.
    """

    def __init__(
        self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.headers: dict[str, str] = dict(headers or {})


class NoSessionError(ProblemError):
    """A session does not exist, or is not open to the requester."""

    def __init__(self) -> None:
        super().__init__(404, "session_unknown", "There is no such session on this gateway.")


def problem(
    status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal as a response."""
    shown = {"cache-control": "no-store"} | dict(headers or {})
    return Response(msgspec.json.encode(ApiProblem(message, reason)), status, shown, JSON_TYPE)


def answer(value: Any, status: int = 200) -> Response:
    """Return a response."""
    try:
        body = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, as of a title that was cut within an emoji
        body = jsonrpc.dumps(msgspec.to_builtins(value))
    return Response(body, status, {"cache-control": "no-store"}, JSON_TYPE)


def _bad(message: str) -> ProblemError:
    return ProblemError(400, "bad_request", message)


def accepts(request: Request, *types: str) -> str:
    """Return the type that a client accepts, out of those available.

    Raises:
        ProblemError: It accepts none of them.
    """
    accepted = set()
    for part in request.headers.get("accept", "").split(","):
        kind, _, options = part.partition(";")
        if kind.strip() and not re.search(r"\bq=0(\.0*)?\s*$", options):
            accepted.add(kind.strip().lower())
    for kind in types:
        if kind in accepted:
            return kind
    for kind in types:
        if not accepted or {"*/*", f"{kind.partition('/')[0]}/*"} & accepted:
            return kind
    message = f"The answer is {' or '.join(types)}, which the request does not accept."
    raise ProblemError(406, "not_acceptable", message)


def is_json(request: Request) -> bool:
    """Return whether the body of a request says that it is JSON."""
    kind: str = request.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == JSON_TYPE


async def body_of(request: Request, limit_bytes: int) -> bytes:
    """Return the body of a request; of a longer one, a part that is over the limit, too."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit_bytes:
            break
    return bytes(body)


def number(request: Request, name: str, default: int, most: int) -> int:
    """Return a number of the query, from 1 up.

    Raises:
        ProblemError: It is not a number, or over the bound.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= most:
        raise _bad(f"{name} is a whole number from 1 to {most}.")
    return int(text)


def flag(request: Request, name: str) -> bool:
    """Return whether a flag of the query is set.

    Raises:
        ProblemError: It is neither 0 nor 1.
    """
    text = request.query_params.get(name, "0")
    if text not in {"0", "1"}:
        raise _bad(f"{name} is 0 or 1.")
    return text == "1"


def event_query(request: Request) -> EventQuery:
    """Return the requested events; a reconnecting stream has its cursor in `Last-Event-ID`.

    Raises:
        ProblemError: A parameter cannot be read.
    """
    began = _cursor(request.query_params.get("after"))
    epoch, seq = _cursor(request.headers.get("last-event-id")) or began or ("", 0)
    limit = number(request, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    words = request.query_params.get("kinds", "").split(",")
    try:
        kinds = frozenset(EventKind(word.strip()) for word in words if word.strip())
    except ValueError:
        known = ", ".join(kind.value for kind in EventKind)
        raise _bad(f"kinds are of these, with commas between them: {known}.") from None
    content = flag(request, "content")
    return EventQuery(epoch=epoch, seq=seq, limit=limit, kinds=kinds, content=content)


def _cursor(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    match = _CURSOR.fullmatch(text)
    if not match:
        message = "after and Last-Event-ID take EPOCH:SEQ, as in the member next of an answer."
        raise ProblemError(400, "bad_cursor", message)
    return match[1], int(match[2])


DEFAULT_LIMIT, MAX_LIMIT = 500, 1000
STEP_ENTRIES = 64
"""Decoding this many takes about a millisecond."""

MAX_SCANNED = 16_384
"""The most entries that one page reads: a rare kind takes several requests."""

PAGE_BYTES = 1024 * 1024
"""The most bytes of frames in one page with content; a larger frame has its own page."""


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A requested part of a log.

    Attributes:
        epoch: of the cursor; empty for the oldest entry that is kept.
        seq: of the cursor.
        limit: the maximum number of events.
        kinds: only these; empty for all.
        content: include frames.
    """

    epoch: str = ""
    seq: int = 0
    limit: int = DEFAULT_LIMIT
    kinds: frozenset[EventKind] = frozenset()
    content: bool = False


class Scan:
    """A page in the making."""

    def __init__(self, log: ReadableLog, session_id: str, query: EventQuery) -> None:
        """Begin at the cursor.

        Raises:
            CursorError: The cursor is ahead of this log.
        """
        cursor = Cursor(query.epoch, query.seq) if query.epoch else None
        self._log = log
        self._session_id = session_id
        self._query = query
        self._epoch = log.epoch
        self._pos, self._is_reset = start(log, cursor)
        if cursor is None or self._is_reset:
            self._pos = log.first - 1  # earlier entries were not requested
        self._begins = self._pos + 1
        self._gap: EventGap | None = None
        self._events: list[SessionEvent] = []
        self._scanned = 0
        self._bytes = 0

    def go_on(self) -> None:
        """Continue after the log has grown."""
        self._scanned = 0

    def step(self) -> bool:
        """Read some more of the log; return whether the page is complete."""
        if self._log.epoch != self._epoch:  # it has begun anew: the next request will report that
            return True
        entries = self._log.read(self._pos, max_entries=STEP_ENTRIES)
        first = entries[0].seq if entries else self._log.head + 1
        if first > self._pos + 1:
            if self._events or self._gap is not None:  # a page begins with its gap
                return True
            self._gap = EventGap(self._pos + 1, first - 1, "trimmed")
            self._pos = first - 1
        query = self._query
        for numbered in entries:
            if len(self._events) >= query.limit:
                return True
            event = event_of(numbered, self._session_id, content=query.content)
            if not query.kinds or event.kind in query.kinds:
                if query.content:
                    size = numbered.entry.size
                    if self._events and self._bytes + size > PAGE_BYTES:
                        return True
                    self._bytes += size
                self._events.append(event)
            self._pos = numbered.seq
        self._scanned += len(entries)
        return not entries or self._scanned >= MAX_SCANNED

    @property
    def is_news(self) -> bool:
        """Return whether there is something to return without waiting."""
        has_part = bool(self._events) or self._gap is not None or self._is_reset
        is_stale = self._log.epoch != self._epoch
        return has_part or is_stale or self._log.head > self._pos

    def page(self) -> EventsPage:
        """Return the page."""
        return EventsPage(
            version=VERSION,
            session_id=self._session_id,
            epoch=self._epoch,
            head=max(self._log.head, self._pos),
            first=self._begins,
            after=f"{self._epoch}:{self._pos}",
            more=self._log.head > self._pos,
            events=self._events,
            reset=self._is_reset or UNSET,
            gap=self._gap if self._gap is not None else UNSET,
        )


def whole_page(log: ReadableLog, session_id: str, query: EventQuery) -> EventsPage:
    """Return a page in one go, for callers in their own thread.

    Raises:
        CursorError: The cursor is ahead of this log.
    """
    scan = Scan(log, session_id, query)
    while not scan.step():
        pass
    return scan.page()


def as_facts(page: EventsPage) -> dict[str, Any]:
    """Return a page as it is sent between processes."""
    facts: dict[str, Any] = msgspec.to_builtins(page)
    return facts


REPORTS = 60
"""The most reports from one address with one token within a minute."""

MAX_BODY_BYTES = 4096
MAX_WORDS = 256
"""The most words with their own count; others are counted together."""


def count_report(counts: Counter[str], event: ClientEvent) -> None:
    """Count a report by its word."""
    known = event.word in counts or len(counts) < MAX_WORDS
    counts[event.word if known else "other"] += 1


def read_report(body: bytes) -> ClientEvent:
    """Return a report.

    Raises:
        ProblemError: It is not a report, or too large.
    """
    if len(body) > MAX_BODY_BYTES:
        message = f"A report has at most {MAX_BODY_BYTES} bytes."
        raise ProblemError(413, "too_large", message)
    try:
        return msgspec.json.decode(body, type=ClientEvent)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        message = f"This is not a report of an error: {str(error)[:200]}."
        raise ProblemError(400, "bad_request", message) from None


def facts_of(event: ClientEvent) -> dict[str, Any]:
    """Return the facts for the log entry."""
    facts: dict[str, Any] = msgspec.to_builtins(event)
    facts.pop("session_id", None)
    return facts


def failure_of(event: ClientEvent) -> dict[str, Any]:
    """Return the members of the payload for a collector."""
    known = BY_NAME.get(event.word)
    members = {
        "type": known.type if known is not None else ErrorType.UNKNOWN.value,
        "reason": event.word,
        "by": event.source.value,
        "http_status": event.status,
        "attempts": event.tries,
    }
    return {name: value for name, value in members.items() if value is not UNSET}
