"""ACP's streamable HTTP transport: posts, event streams, and the end of a connection.

Owns its statuses and headers, which are those of the official transport.

A viewer over plain HTTP: its posts, and the event streams that carry the answers. Owns one
connection of ACP's streamable HTTP transport: a queue for the connection's own stream and one for
each session's, the choice between them, and the event for each frame. A full queue pauses its
holder's connection, so that no more is pulled from the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway import wire
from lastword.gateway.api.requests import ProblemError, body_of, is_json, problem
from lastword.gateway.front.doorkeeper import peer_of, too_many
from lastword.gateway.front.protocols import EVENTS_TYPE, EventResponse
from lastword.gateway.front.tokens import Shares, Slots
from lastword.gateway.front.upstream import SessionFrames
from lastword.gateway.front.viewer_link import ViewerLink
from lastword.gateway.viewing import frames, reader
from lastword.gateway.viewing.reader import CursorError
from lastword.gateway.viewing.render import LogPlace, StreamEvent, read_id

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.requests import Request

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front.doorkeeper import Doorkeeper
    from lastword.gateway.front.services import FrontServices
    from lastword.gateway.front.tokens import Grant, Slot
    from lastword.gateway.front.upstream import Item, Upstream


CONNECTION = "acp-connection-id"
SESSION = "acp-session-id"
LAST_EVENT = "last-event-id"
JSON_TYPE = "application/json"
TOO_LARGE: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "The message is larger than the gateway accepts; see --frame-limit.",
}
HTTP_SHARES = Shares(of_all=256, of_guests=128, of_address=64, of_token=32)
"""Connections, and as many streams of the events API."""

GONE = "There is no such connection. Post initialize for a new one."


class HttpTransport:
    """The connections over HTTP."""

    def __init__(
        self,
        services: FrontServices,
        doorkeeper: Doorkeeper,
        *,
        frame_limit_bytes: int,
        cookie: str,
    ) -> None:
        self._services = services
        self._doorkeeper = doorkeeper
        self._limit = frame_limit_bytes
        self._cookie = cookie
        self._connections: dict[str, ViewerStreams] = {}
        self._slots = Slots(HTTP_SHARES)
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, request: Request, grant: Grant) -> Response:
        """Answer an admitted request."""
        if request.method == "POST":
            return await self._post(request, grant)
        connection = self._connection_of(request, grant)
        if request.method == "DELETE":
            await connection.close(1000, "deleted")
            return Response(status_code=202)
        return await self._stream(request, connection, grant)

    async def close(self, code: int, reason: str) -> None:
        """End every connection."""
        for connection in list(self._connections.values()):
            await connection.close(code, reason)

    async def _post(self, request: Request, grant: Grant) -> Response:
        if not is_json(request):
            return problem(415, "bad_request", f"Post {JSON_TYPE}.")
        line = await body_of(request, self._limit)
        if len(line) > self._limit:
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": TOO_LARGE}, 413)
        try:
            frame = frames.read(line)
        except frames.FrameError as error:
            return Response(error.answer, 400, media_type=JSON_TYPE)
        if frame.message.method == acp.INITIALIZE:
            return await self._open(request, frame, grant)
        connection = self._connection_of(request, grant)
        named = request.headers.get(SESSION)
        session_id = frame.message.session_id
        if session_id is not None and named is not None and named != session_id:
            return problem(
                400, "bad_request", f"{SESSION} and the message name different sessions."
            )
        if frame.message.request_id is not None and connection.is_unread:
            message = "Answers on this connection are not being read. Open its stream."
            return problem(503, "stream_unread", message, {"retry-after": "5"})
        await connection.post(frame)
        return Response(status_code=202)

    async def _open(self, request: Request, frame: jsonrpc.Frame, grant: Grant) -> Response:
        """Open a connection by its `initialize`, unless the viewer leaves before the answer."""
        connection = ViewerStreams(self._services, grant)
        peer = peer_of(request)
        slot = self._slots.acquire(grant, peer, lambda: connection.end(4429, "too_many"))
        answer = None
        try:
            if slot is None:
                raise too_many("connections")
            greeting = asyncio.create_task(connection.introduce(frame))
            left = asyncio.ensure_future(request.receive())
            try:
                await asyncio.wait((greeting, left), return_when=asyncio.FIRST_COMPLETED)
                answer = await greeting if greeting.done() else None
            finally:
                greeting.cancel()
                left.cancel()
        finally:
            if answer is None:
                self._over(connection, slot)
                await connection.leave()  # its agent may still be starting
        if answer is None:
            return Response(status_code=408)  # nobody reads it
        self._connections[connection.connection_id] = connection
        task = asyncio.create_task(self._until_over(connection, slot))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        headers = {"Acp-Connection-Id": connection.connection_id, "set-cookie": self._cookie}
        return Response(answer, 200, headers, JSON_TYPE)

    async def _until_over(self, connection: ViewerStreams, slot: Slot | None) -> None:
        """Wait until a connection is closed, or its streams have had no reader for a while."""
        try:
            while not connection.is_over.is_set():
                left = connection.seconds_left
                if left <= 0:
                    connection.end(1006, "no stream is open")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await connection.is_over.wait()
            await connection.leave()
        finally:
            self._over(connection, slot)

    def _over(self, connection: ViewerStreams, slot: Slot | None) -> None:
        self._connections.pop(connection.connection_id, None)
        self._services.quality.measured.close_link(
            connection.quality, connection.code, connection.cause
        )
        if slot is not None:
            self._slots.release(slot)

    def _connection_of(self, request: Request, grant: Grant) -> ViewerStreams:
        """Return the connection that a request names.

        The token may differ from the first one, which may have expired, but allows the same.

        Raises:
            ProblemError: The connection does not exist.
        """
        name = request.headers.get(CONNECTION)
        if name is None:
            message = "Acp-Connection-Id is missing. Post initialize first."
            raise ProblemError(400, "bad_request", message)
        connection = self._connections.get(name)
        if (
            connection is None
            or connection.is_over.is_set()
            or connection.grant.role != grant.role
            or connection.grant.session != grant.session
        ):
            raise ProblemError(404, "connection_unknown", GONE)
        return connection

    async def _stream(self, request: Request, connection: ViewerStreams, grant: Grant) -> Response:
        if EVENTS_TYPE not in request.headers.get("accept", "").lower():
            return problem(406, "not_acceptable", f"Accept {EVENTS_TYPE}.")
        if request.method == "HEAD":  # would take the stream from its reader, and read nothing
            return Response(headers={"cache-control": "no-store"}, media_type=EVENTS_TYPE)
        session_id, last = request.headers.get(SESSION, ""), request.headers.get(LAST_EVENT)
        stream = connection.stream(session_id)
        if stream is None:
            message = "Too many sessions' streams are open on this connection."
            return problem(404, "too_many", message)
        try:
            if session_id and last:
                await connection.resume(session_id, last)
        except CursorError as error:
            wrong = {"code": acp.INVALID_PARAMS, "message": f"{error}."}
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": wrong}, 400)
        except ConnectionError:
            return problem(404, "connection_unknown", GONE)
        except TimeoutError:
            headers = {"retry-after": "5"}
            message = "Another stream of this connection is not being read."
            return problem(503, "stream_unread", message, headers)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}

        def is_over() -> bool:
            return connection.is_over.is_set() or self._doorkeeper.has_expired(grant)

        return EventResponse(stream.events(is_over), headers)


MAX_STREAMS = 64
"""The most sessions' streams of one connection."""

RESUME_SECONDS = 10.0
"""How long a stream waits for its holder to go back; only an unread stream takes that long."""

ON_CONNECTION = frozenset({"session/new", acp.LOAD, acp.FORK, "session/list", "authenticate"})
"""Requests that are answered on the connection's stream: no session's need be open yet."""


class SessionEvents:
    """One stream: frames that wait for a reader."""

    def __init__(self) -> None:
        self._waiting: deque[StreamEvent] = deque()
        self._has_come = asyncio.Event()
        self._has_room = asyncio.Event()
        self._goes_back = False
        self._is_finished = False
        self._reader: object = None
        self.unread_bytes: int = 0
        """The size of the waiting frames that are in no log."""
        self.left_at: float = time.monotonic()
        """When its last reader left."""

    async def put(self, event: StreamEvent) -> None:
        """Queue a frame, once there is room."""
        while len(self._waiting) >= reader.QUEUED_FRAMES and not self._goes_back:
            self._has_room.clear()
            await self._has_room.wait()
        self.put_now(event)

    def put_now(self, event: StreamEvent) -> None:
        """Queue a frame at once."""
        self._waiting.append(event)
        self.unread_bytes += 0 if event.is_kept else len(event.frame)
        self._has_come.set()

    def finish(self) -> None:
        """End once what is queued has been read: its session is over."""
        self._is_finished = True
        self._has_come.set()

    @property
    def is_over(self) -> bool:
        """Return whether nothing will ever be read from it again."""
        return self._is_finished and not self._waiting and not self.is_read

    def go_back(self) -> None:
        """Discard frames until the holder has gone back."""
        self._goes_back = True
        self._reader = None
        self._has_come.set()  # wakes the reader
        self._has_room.set()

    def has_gone_back(self, *, is_refused: bool) -> None:
        """Note that the next frames follow the requested position, unless it was refused."""
        self._goes_back = False
        if not is_refused:
            self._waiting = deque(event for event in self._waiting if not event.is_kept)
            self._has_room.set()

    async def events(self, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        """Yield the events to a reader, until `is_over` or until another reader replaces it."""
        self._reader = reader = object()
        self._has_come.set()  # wakes the reader before it
        try:
            yield b": open\n\n"
            while self._reader is reader and not is_over():
                if self._waiting:
                    event = self._waiting.popleft()
                    self.unread_bytes -= 0 if event.is_kept else len(event.frame)
                    self._has_room.set()
                    yield event.encoded
                elif self._is_finished:
                    return
                elif not await self._has_news():
                    yield b": still here\n\n"
        finally:
            self.left_at = time.monotonic()
            if self._reader is reader:
                self._reader = None

    async def _has_news(self) -> bool:
        """Wait for a frame, or until a comment is due; return whether there may be a frame."""
        self._has_come.clear()
        try:
            async with asyncio.timeout(reader.COMMENT_SECONDS):
                return await self._has_come.wait()
        except TimeoutError:
            return False

    @property
    def is_read(self) -> bool:
        """Return whether it has a reader."""
        return self._reader is not None


class ViewerStreams(ViewerLink):
    """One connection of one viewer, over requests and streams."""

    has_events = True

    def __init__(self, services: FrontServices, grant: Grant) -> None:
        super().__init__(services, grant)
        self.is_over: asyncio.Event = asyncio.Event()
        self._own = SessionEvents()
        self._sessions: dict[str, SessionEvents] = {}
        self._places: dict[str, LogPlace] = {}
        """Where sessions that are not attached yet begin: after the last event received."""
        self._resumes: dict[int, asyncio.Future[str]] = {}
        self._last_resume = 0
        self._requested: dict[bytes, str] = {}
        """By open request: the session on whose stream it is answered; empty for our own."""

    def stream(self, session_id: str) -> SessionEvents | None:
        """Return a session's stream, or the connection's own; `None` if there are too many."""
        if not session_id:
            return self._own
        if session_id not in self._sessions or self._sessions[session_id].is_over:
            self._sessions = {
                name: each for name, each in self._sessions.items() if not each.is_over
            }
        if session_id not in self._sessions and len(self._sessions) >= MAX_STREAMS:
            return None
        return self._sessions.setdefault(session_id, SessionEvents())

    @property
    def seconds_left(self) -> float:
        """Return how long it is kept if no stream of it is opened."""
        streams = (self._own, *self._sessions.values())
        if any(stream.is_read for stream in streams):
            return reader.ALONE_SECONDS
        left_at = max(stream.left_at for stream in streams)
        return left_at + reader.ALONE_SECONDS - time.monotonic()

    @property
    def is_unread(self) -> bool:
        """Return whether the viewer has to read answers before it may send another request."""
        waiting = sum(stream.unread_bytes for stream in self._sessions.values())
        return self._own.unread_bytes + waiting > reader.UNREAD_ANSWERS_BYTES

    async def post(self, frame: Frame) -> None:
        """Receive a checked frame from the viewer; its answer comes on a stream."""
        request_id, method = frame.message.request_id, frame.message.method
        if request_id is not None and method is not None:
            own = method in ON_CONNECTION
            self._requested[request_id] = "" if own else frame.message.session_id or ""
        await self.receive_frame(frame)

    def before(self, frame: Frame, upstream: Upstream) -> None:
        """Tell the holder where an attach begins, and whether to answer it first.

        Some clients open a session's stream only after the answer.
        """
        session_id, method = frame.message.session_id or "", frame.message.method
        place = self._places.pop(session_id, None) if method in acp.BRINGS_BACK else None
        stream = self._sessions.get(session_id)
        if place is not None:
            upstream.resume(session_id, 0, place)
        if method == acp.LOAD and (stream is None or not stream.is_read):
            upstream.answer_first()

    async def resume(self, session_id: str, last: str) -> None:
        """Resume a session's stream after the last event that its viewer received.

        Raises:
            CursorError: That is not an event of the session's log.
            ConnectionError: The connection is over.
            TimeoutError: The viewer does not read its other streams, which blocks this one.
        """
        place = read_id(last)
        stream, upstream = self.stream(session_id), self._by_session.get(session_id)
        if upstream is None or stream is None:
            self._places[session_id] = place
            return
        self._last_resume += 1
        number = self._last_resume
        answered = self._resumes[number] = asyncio.get_running_loop().create_future()
        stream.go_back()
        upstream.resume(session_id, number, place)
        try:
            async with asyncio.timeout(RESUME_SECONDS):
                refused = await answered
        finally:
            del self._resumes[number]
        if refused:
            raise CursorError(refused)

    async def _control(self, upstream: Upstream, word: str, facts: dict[str, Any]) -> None:
        session_id = str(facts.get("session"))
        if word == wire.RESUMED:
            refused = str(facts.get("refused", ""))
            stream = self.stream(session_id)
            if stream is not None:
                stream.has_gone_back(is_refused=bool(refused))
            waits = self._resumes.get(facts.get("number", 0))
            if waits is not None and not waits.done():
                waits.set_result(refused)
        else:
            await super()._control(upstream, word, facts)

    async def _session_ended(
        self,
        upstream: Upstream,
        session_id: str,
        code: int,  # noqa: ARG002
        reason: str,  # noqa: ARG002
    ) -> None:
        """End the session's stream; the connection may open others."""
        self._leave_session(session_id, upstream)
        stream = self._sessions.get(session_id)
        if stream is not None and session_id not in self._by_session:
            stream.finish()

    async def send(self, *lines: bytes) -> None:
        """Queue the gateway's own frames without waiting for room."""
        for line in lines:
            self._stream_of(line).put_now(StreamEvent(line))

    async def _pass(self, upstream: Upstream, item: Item) -> None:
        """Queue a holder's frames, each once there is room for it."""
        if isinstance(item, SessionFrames):
            session_id = item.session
            for event in item.events:
                attached = self._by_session.get(session_id)
                if attached is not None:
                    self._note(attached, event.frame)
                frame = jsonrpc.decode(event.frame)
                if isinstance(frame, jsonrpc.Frame) and frame.message.method is None:
                    request_id = frame.message.request_id or b""
                    if not self._requested.pop(request_id, session_id):  # on our own stream
                        await self._own.put(StreamEvent(event.frame))
                        continue
                await (self.stream(session_id) or self._own).put(event)
        elif isinstance(item, list):
            for line in item:
                self._note(upstream, line)
                await self._stream_of(line).put(StreamEvent(line))
        else:
            await super()._pass(upstream, item)

    def _stream_of(self, line: bytes) -> SessionEvents:
        """Return the stream to which a frame belongs."""
        frame = jsonrpc.decode(line)
        session_id = ""
        if isinstance(frame, jsonrpc.Frame):
            if frame.message.method is None:
                session_id = self._requested.pop(frame.message.request_id or b"", "")
            elif frame.message.method != acp.CANCEL_REQUEST:
                session_id = frame.message.session_id or ""
            else:
                session_id = next(iter(self._sessions), "")
        return self.stream(session_id) or self._own

    async def close(self, code: int, reason: str) -> None:
        """End the connection and its streams."""
        self.end(code, reason)

    def end(self, code: int, reason: str) -> None:
        """End the connection and its streams at once."""
        self.ended(code, reason)
        self.is_over.set()
        for waits in self._resumes.values():
            if not waits.done():
                waits.set_exception(ConnectionResetError(reason))
