"""The events API: one method for each path, and the stream of a session's events.

Owns who may request what. A token for one session gets the same answer for any other session as for
one that does not exist. Waiting is done in a holder or a thread, since viewers need the event loop.

A session's events as a stream: everything from a cursor on, then new events as they come. Owns the
stream's format (`text/event-stream`) and pace. It pulls as a viewer does: the next part of the log
is read when the client has taken the previous one, so a slow client costs the memory of one part.

    event: open   the log's epoch and head, and the beginning; again when the epoch changes
    event: gap    entries that are no longer kept; its id is the cursor after them
    (no name)     an event; its id is its cursor
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from lastword.core.protocol import jsonrpc
from lastword.errors import StoreError
from lastword.gateway.api import requests
from lastword.gateway.api.openapi import document
from lastword.gateway.api.requests import (
    EVENTS_TYPE,
    JSON_TYPE,
    MAX_BODY_BYTES,
    REPORTS,
    NoSessionError,
    ProblemError,
    count_report,
    facts_of,
    failure_of,
    read_report,
)
from lastword.gateway.api.shapes import (
    VERSION,
    ClientEventTaken,
    GatewayCounts,
    SessionList,
    SessionOne,
    StatsView,
    ViewerCount,
    attaches_of,
    closed_of,
    round_trips_of,
)
from lastword.gateway.api.views import visible
from lastword.gateway.front.doorkeeper import peer_of, too_many
from lastword.gateway.front.protocols import EventResponse
from lastword.gateway.front.tokens import Shares, Slots
from lastword.gateway.viewing.access import LastMinute
from lastword.gateway.viewing.reader import COMMENT_SECONDS, CursorError, Role
from lastword.outbox.store import now_ms
from lastword.record.trends import trends_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from starlette.requests import Request

    from lastword.gateway.api.requests import EventQuery
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.front.directory import SessionSource
    from lastword.gateway.front.doorkeeper import Doorkeeper
    from lastword.gateway.front.tokens import Grant
    from lastword.gateway.quality.metrics import FrontCounts


STREAM_SHARES = Shares(of_all=256, of_guests=128, of_address=64, of_token=32)


class EventsApi:
    """Everything that the front serves below `/v1`, except WebSockets."""

    def __init__(
        self, source: SessionSource, doorkeeper: Doorkeeper, measured: FrontCounts, record: str = ""
    ) -> None:
        """Serve sessions, the front's measurements, and a record.

        Args:
            source: Reads the sessions.
            doorkeeper: Knows when a token expires.
            measured: The front's own counts.
            record: The record's file; empty for none.
        """
        self._source = source
        self._doorkeeper = doorkeeper
        self._outbox = source.reports
        self._measured = measured
        self._record = record
        self._pace = LastMinute(REPORTS, time.monotonic)
        self._reports: Counter[str] = Counter()
        self._since_ms = now_ms()
        self._streams: set[asyncio.Event] = set()
        """Set to end an open stream; one event for each."""
        self._slots = Slots(STREAM_SHARES)

    def close(self) -> None:
        """End every stream."""
        for closing in self._streams:
            closing.set()

    async def sessions(self, request: Request, grant: Grant) -> Response:
        """`GET /v1/sessions`."""
        requests.accepts(request, JSON_TYPE)
        content = _content(request, grant)
        views, more = await self._all(grant)
        shown = [
            visible(view, controls=grant.role is Role.CONTROLLER, content=content) for view in views
        ]
        return requests.answer(
            SessionList(version=VERSION, role=grant.role, sessions=shown, more=more)
        )

    async def _all(self, grant: Grant) -> tuple[list[SessionView], int]:
        if grant.session:
            try:
                return [await self._source.one(grant.session)], 0
            except (NoSessionError, StoreError):
                return [], 0
        live = self._source.live()
        ended, more = await self._source.ended(set(live))
        views = sorted([*live.values(), *ended], key=lambda view: -view.since_epoch_ms)
        return views, more

    async def session(self, request: Request, grant: Grant) -> Response:
        """`GET /v1/sessions/{session_id}`."""
        requests.accepts(request, JSON_TYPE)
        content = _content(request, grant)
        session_id = _session_of(request, grant)
        try:
            view = await self._source.one(session_id)
        except StoreError as error:
            raise _unreadable(error, grant) from None
        shown = visible(view, controls=grant.role is Role.CONTROLLER, content=content)
        return requests.answer(SessionOne(version=VERSION, role=grant.role, session=shown))

    async def events(self, request: Request, grant: Grant) -> Response:
        """`GET /v1/sessions/{session_id}/events`, as one page or as a stream."""
        kind = requests.accepts(request, JSON_TYPE, EVENTS_TYPE)
        query = requests.event_query(request)
        _content(request, grant)
        session_id = _session_of(request, grant)
        is_stream = kind == EVENTS_TYPE and request.method == "GET"
        try:
            page = await self._source.page(session_id, query)
        except CursorError as error:
            raise ProblemError(400, "bad_cursor", f"{str(error).capitalize()}.") from None
        except StoreError as error:
            raise _unreadable(error, grant) from None
        if not is_stream:
            return requests.answer(page)
        closing = asyncio.Event()
        slot = self._slots.acquire(grant, peer_of(request), closing.set)
        if slot is None:
            raise too_many("streams")
        self._streams.add(closing)

        def is_over() -> None:
            self._streams.discard(closing)
            self._slots.release(slot)

        stream = stream_of(self._source, session_id, query, page, closing)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return EventResponse(self._while_valid(stream, grant), headers, is_over)

    async def _while_valid(
        self, stream: AsyncIterator[bytes], grant: Grant
    ) -> AsyncGenerator[bytes]:
        async for part in stream:
            if self._doorkeeper.has_expired(grant):
                return
            yield part

    async def stats(self, request: Request, grant: Grant) -> Response:
        """`GET /v1/stats`."""
        requests.accepts(request, JSON_TYPE)
        if grant.session:
            message = "The token is for one session. `lastword gateway token` prints one for all."
            raise ProblemError(403, "forbidden", message)
        days = requests.number(request, "days", requests.DEFAULT_DAYS, requests.MAX_DAYS)
        end = now_ms() + 1
        trends = None
        if self._record:
            try:
                trends = await asyncio.to_thread(trends_of, self._record, days, end)
            except StoreError:
                trends = None  # no record, or none that can be read
        views, _ = await self._all(grant)
        measured = self._measured.counts
        return requests.answer(
            StatsView(
                version=VERSION,
                days=days,
                from_epoch_ms=end - days * 24 * 3600 * 1000,
                to_epoch_ms=end,
                now=trends.now if trends else None,
                before=trends.before if trends else None,
                gateway=GatewayCounts(
                    since_epoch_ms=self._since_ms,
                    sessions=dict(Counter(view.state.value for view in views)),
                    viewers=ViewerCount(
                        sum(view.viewers.controllers for view in views),
                        sum(view.viewers.observers for view in views),
                    ),
                    closed=closed_of(measured),
                    round_trips=round_trips_of(measured),
                    attaches=attaches_of(measured),
                    client_errors=dict(self._reports),
                ),
            )
        )

    async def client_event(self, request: Request, grant: Grant) -> Response:
        """`POST /v1/client-events`."""
        requests.accepts(request, JSON_TYPE)
        sender = (peer_of(request), grant)
        wait = self._pace.wait_seconds(sender)
        if wait:
            message = f"Too many reports came from here. Send the next in {wait} seconds."
            raise ProblemError(429, "too_many", message, {"retry-after": str(wait)})
        self._pace.note(sender)
        if not requests.is_json(request):
            raise ProblemError(415, "bad_request", f"Post {JSON_TYPE}.")
        event = read_report(await requests.body_of(request, MAX_BODY_BYTES))
        if event.session_id is not UNSET and grant.session not in {"", event.session_id}:
            raise NoSessionError
        count_report(self._reports, event)
        session_id = "" if event.session_id is UNSET else event.session_id
        seq = await self._source.note(session_id, facts_of(event)) if session_id else None
        if seq is None:  # no log has it
            self._outbox.add("client", failure_of(event), session_id)
        return requests.answer(ClientEventTaken(version=VERSION, seq=seq), 202)

    async def openapi(self, request: Request, _: Grant) -> Response:
        """`GET /v1/openapi.json`."""
        requests.accepts(request, JSON_TYPE)
        document_of = document(self._doorkeeper.cookies.cookie)
        return Response(document_of, 200, {"cache-control": "no-store"}, JSON_TYPE)


def _content(request: Request, grant: Grant) -> bool:
    """Return whether content is requested.

    Raises:
        ProblemError: The requester may not see it.
    """
    content = requests.flag(request, "content")
    if content and grant.role is not Role.CONTROLLER:
        message = "content=1 needs a controller's token; this is an observer's. Leave content out."
        raise ProblemError(403, "forbidden", message)
    return content


def _session_of(request: Request, grant: Grant) -> str:
    session_id: str = request.path_params["session_id"]
    if grant.session not in {"", session_id}:
        raise NoSessionError
    return session_id


def _unreadable(error: StoreError, grant: Grant) -> ProblemError:
    """Return the refusal, which names the log's file to the owner alone."""
    message = str(error).capitalize() if grant.is_owners else "The session's log cannot be read"
    return ProblemError(503, "log_unreadable", f"{message}. Try again.")


COMMENT = b": still here\n\n"


async def stream_of(
    source: SessionSource,
    session_id: str,
    query: EventQuery,
    first: dict[str, Any],
    closing: asyncio.Event,
) -> AsyncIterator[bytes]:
    """Return the stream, from its first page until the front closes or the session is gone."""
    page, epoch = first, ""
    while True:
        if page["epoch"] != epoch or page.get("reset"):
            epoch = page["epoch"]
            names = ("version", "session_id", "epoch", "head", "from", "reset")
            opened = {name: page[name] for name in names if name in page}
            yield _part(f"{epoch}:{page['from'] - 1}", opened, "open")
        if "gap" in page:
            yield _part(f"{epoch}:{page['gap']['to']}", page["gap"], "gap")
        if page["events"]:
            parts = [_part(f"{epoch}:{event['seq']}", event) for event in page["events"]]
            yield b"".join(parts)
        elif "gap" not in page:
            yield COMMENT
        seq = int(page["next"].rpartition(":")[2])
        query = msgspec.structs.replace(query, epoch=epoch, seq=seq)
        task = asyncio.create_task(_next(source, session_id, query))
        closed = asyncio.create_task(closing.wait())
        try:
            await asyncio.wait((task, closed), return_when=asyncio.FIRST_COMPLETED)
            next_page = task.result() if task.done() else None
        finally:
            for each in (task, closed):
                each.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await each
        if next_page is None:
            return
        page = next_page


async def _next(source: SessionSource, session_id: str, query: EventQuery) -> dict[str, Any] | None:
    """Return the next part; `None` at the end."""
    try:
        return await source.page(session_id, query, COMMENT_SECONDS)
    except CursorError:
        # The log has begun anew: its head is before the cursor.
        return await source.page(session_id, msgspec.structs.replace(query, epoch="", seq=0))
    except (NoSessionError, StoreError):
        return None


def _part(cursor: str, data: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}id: {cursor}\ndata: ".encode() + jsonrpc.dumps(data) + b"\n\n"
