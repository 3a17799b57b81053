"""ACP's streamable HTTP transport: posts, event streams, and the end of a connection.

Owns its statuses and headers, which are those of the official transport.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.api.requests import problem
from lastword.gateway.front.abortable import EVENTS_TYPE, EventResponse
from lastword.gateway.front.doorkeeper import too_many
from lastword.gateway.front.limits import Shares, Slots
from lastword.gateway.front.streams import ViewerStreams
from lastword.gateway.viewing import viewer_frames
from lastword.gateway.viewing.reader import CursorError

if TYPE_CHECKING:
    from starlette.requests import Request

    from lastword.gateway.front.doorkeeper import Doorkeeper
    from lastword.gateway.front.limits import Slot
    from lastword.gateway.front.services import FrontServices
    from lastword.gateway.front.tokens import Grant

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
        if isinstance(connection, Response):
            return connection
        if request.method == "DELETE":
            await connection.close(1000, "deleted")
            return Response(status_code=202)
        return await self._stream(request, connection, grant)

    async def close(self, code: int, reason: str) -> None:
        """End every connection."""
        for connection in list(self._connections.values()):
            await connection.close(code, reason)

    async def _post(self, request: Request, grant: Grant) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != JSON_TYPE:
            return problem(415, "bad_request", f"Post {JSON_TYPE}.")
        line = await self._body(request)
        if line is None:
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": TOO_LARGE}, 413)
        try:
            frame = viewer_frames.read(line)
        except viewer_frames.FrameError as error:
            return Response(error.answer, 400, media_type=JSON_TYPE)
        if frame.message.method == acp.INITIALIZE:
            return await self._open(request, frame, grant)
        connection = self._connection_of(request, grant)
        if isinstance(connection, Response):
            return connection
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

    async def _body(self, request: Request) -> bytes | None:
        """Return the body; `None` if it is over the limit."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self._limit:
                return None
        return bytes(body)

    async def _open(self, request: Request, frame: jsonrpc.Frame, grant: Grant) -> Response:
        connection = ViewerStreams(self._services, grant)
        peer = request.client.host if request.client else ""
        slot = self._slots.acquire(grant, peer, lambda: connection.end(4429, "too_many"))
        answer = None
        try:
            if slot is None:
                raise too_many("connections")
            answer = await _greet(request, connection, frame)
        finally:
            if answer is None:
                self._over(connection, slot)
                await connection.leave()  # its agent may still be starting
        if answer is None:
            return Response(status_code=408)  # for nobody to read
        self._connections[connection.connection_id] = connection
        task = asyncio.create_task(self._until_over(connection, slot))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        headers = {"Acp-Connection-Id": connection.connection_id, "set-cookie": self._cookie}
        return Response(answer, 200, headers, JSON_TYPE)

    async def _until_over(self, connection: ViewerStreams, slot: Slot | None) -> None:
        try:
            await connection.wait_until_over()
        finally:
            self._over(connection, slot)

    def _over(self, connection: ViewerStreams, slot: Slot | None) -> None:
        self._connections.pop(connection.connection_id, None)
        self._services.quality.measured.close_link(
            connection.quality, connection.code, connection.cause
        )
        if slot is not None:
            self._slots.release(slot)

    def _connection_of(self, request: Request, grant: Grant) -> ViewerStreams | Response:
        """Return the connection that a request names, for a token like the one it began with.

        A later one is as good: tokens expire, and a connection is to outlive them.
        """
        name = request.headers.get(CONNECTION)
        if name is None:
            return problem(
                400, "bad_request", "Acp-Connection-Id is missing. Post initialize first."
            )
        connection = self._connections.get(name)
        if connection is None or connection.is_over.is_set() or not _are_alike(connection, grant):
            return problem(404, "connection_unknown", GONE)
        return connection

    async def _stream(self, request: Request, connection: ViewerStreams, grant: Grant) -> Response:
        if EVENTS_TYPE not in request.headers.get("accept", ""):
            return problem(406, "not_acceptable", f"Accept {EVENTS_TYPE}.")
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


def _are_alike(connection: ViewerStreams, grant: Grant) -> bool:
    of = connection.grant
    return (of.role, of.session) == (grant.role, grant.session)


async def _greet(request: Request, connection: ViewerStreams, frame: jsonrpc.Frame) -> bytes | None:
    """Return the answer to `initialize`; `None` if the viewer leaves before."""
    greeting = asyncio.create_task(connection.introduce(frame))
    left = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((greeting, left), return_when=asyncio.FIRST_COMPLETED)
        return await greeting if greeting.done() else None
    finally:
        greeting.cancel()
        left.cancel()
