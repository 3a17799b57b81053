"""ACP's streamable HTTP transport: posts, event streams, and the end of a connection.

Owns its statuses and headers, which are those of the official transport.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway import viewer_frames
from lastword.gateway.abortable import EVENTS_TYPE, EventResponse
from lastword.gateway.api.requests import problem
from lastword.gateway.pull import CursorError
from lastword.gateway.viewer_link import INVALID_PARAMS
from lastword.gateway.viewer_streams import SessionEvents, ViewerStreams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from lastword.gateway.front import Front
    from lastword.gateway.tokens import Grant

CONNECTION = "acp-connection-id"
SESSION = "acp-session-id"
LAST_EVENT = "last-event-id"
JSON_TYPE = "application/json"
TOO_LARGE: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "The frame is over the gateway's limit.",
}
MAX_CONNECTIONS = 256
GONE = "There is no such connection. Post initialize for a new one."


class HttpTransport:
    """The connections over HTTP."""

    def __init__(self, front: Front, *, frame_limit_bytes: int, cookie: str) -> None:
        self._front = front
        self._limit = frame_limit_bytes
        self._cookie = cookie
        self._connections: dict[str, ViewerStreams] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, request: Request, grant: Grant) -> Response:
        """Answer an admitted request."""
        if request.method == "POST":
            return await self._post(request, grant)
        known = self._known(request, grant)
        if isinstance(known, Response):
            return known
        if request.method == "DELETE":
            await known.close(1000, "deleted")
            return Response(status_code=202)
        return await self._stream(request, known)

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
        known = self._known(request, grant)
        if isinstance(known, Response):
            return known
        named = request.headers.get(SESSION)
        session_id = frame.message.session_id
        if session_id is not None and named is not None and named != session_id:
            return problem(400, "bad_request", f"{SESSION} names another session than the message.")
        await known.post(frame.line)
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
        if len(self._connections) >= MAX_CONNECTIONS:
            headers = {"retry-after": "30"}
            return problem(
                429, "too_many", "Too many connections are open. Close one of them.", headers
            )
        connection = ViewerStreams(self._front, grant)
        answer = await _greet(request, connection, frame)
        if answer is None:
            self._front.quality.measured.closed(connection.met, connection.code)
            return Response(status_code=408)  # for nobody to read
        self._connections[connection.connection_id] = connection
        task = asyncio.create_task(self._until_over(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        headers = {"Acp-Connection-Id": connection.connection_id, "set-cookie": self._cookie}
        return Response(answer, 200, headers, JSON_TYPE)

    async def _until_over(self, connection: ViewerStreams) -> None:
        try:
            await connection.wait_until_over()
        finally:
            self._connections.pop(connection.connection_id, None)
            self._front.quality.measured.closed(connection.met, connection.code)

    def _known(self, request: Request, grant: Grant) -> ViewerStreams | Response:
        """Return the connection that a request names, which only its own grant may use."""
        name = request.headers.get(CONNECTION)
        if name is None:
            return problem(
                400, "bad_request", "Acp-Connection-Id is missing: post initialize first."
            )
        connection = self._connections.get(name)
        if connection is None or connection.grant != grant or connection.is_over.is_set():
            return problem(404, "connection_unknown", GONE)
        return connection

    @staticmethod
    async def _stream(request: Request, connection: ViewerStreams) -> Response:
        if EVENTS_TYPE not in request.headers.get("accept", ""):
            return problem(406, "not_acceptable", f"Accept {EVENTS_TYPE}.")
        session_id, last = request.headers.get(SESSION, ""), request.headers.get(LAST_EVENT)
        stream = connection.stream(session_id)
        if stream is None:
            said = "Too many sessions' streams are open on this connection."
            return problem(404, "too_many", said)
        try:
            if session_id and last:
                await connection.resume(session_id, last)
        except CursorError as error:
            wrong = {"code": INVALID_PARAMS, "message": f"{error}."}
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": wrong}, 400)
        except ConnectionError:
            return problem(404, "connection_unknown", GONE)
        except TimeoutError:
            headers = {"retry-after": "5"}
            said = "Another stream of this connection is not read."
            return problem(503, "stream_unread", said, headers)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return EventResponse(_until(stream, connection), headers)


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


async def _until(stream: SessionEvents, connection: ViewerStreams) -> AsyncGenerator[bytes]:
    """Yield a stream's events until its reader has gone or its connection has ended."""
    async with contextlib.aclosing(stream.events()) as events:
        async for event in events:
            yield event
            if connection.is_over.is_set():
                return
