"""uvicorn's protocols, extended, and a viewer's WebSocket.

uvicorn connections that can be closed without waiting for a viewer that no longer reads. Owns that
addition, and the HTTP response for a stream of events. A transport sends its buffer before it
closes. If the viewer does not read, or the link is dead, that never happens, and its memory and
descriptor are never freed.

uvicorn's WebSocket, extended to take encoded frames and to report its pings. Owns these additions,
an entry in the ASGI scope's `extensions`, and the close code of a broken connection. Handshake,
pings, close and reading are left to uvicorn and websockets.

A viewer's WebSocket. Owns its life: the viewer must introduce itself in time and read what it is
sent; otherwise the socket is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.front.viewer_link import ViewerLink
from lastword.gateway.viewing import frames, reader
from lastword.gateway.viewing.frames import text_frames
from lastword.gateway.wire import MovesProtocol
from lastword.web.files import GUARDED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from starlette.types import Message, Receive, Scope, Send
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

    from lastword.gateway.front.services import FrontServices
    from lastword.gateway.front.tokens import Grant
    from lastword.gateway.quality.metrics import FrontCounts


TRANSPORT = "lastword.transport"
"""The entry of the ASGI scope's `extensions` with the connection's transport."""

EVENTS_TYPE = "text/event-stream"

REQUEST_SECONDS = 30.0
"""How long a connection may take to send a request's head, and each further part of its body.
uvicorn waits without end, so a thousand connections that send nothing, or half a request, would use
up the descriptors."""


def abort(scope: Scope) -> None:
    """End a connection at once."""
    if (transport := scope.get("extensions", {}).get(TRANSPORT)) is not None:
        transport.abort()


async def while_it_takes(scope: Scope, send: Callable[[], Awaitable[object]]) -> None:
    """Send once there is room, which may take long while the other end takes what is before.

    Raises:
        TimeoutError: It took nothing for too long.
    """
    transport = scope.get("extensions", {}).get(TRANSPORT)
    while True:
        before = transport.get_write_buffer_size() if transport is not None else 0
        try:
            async with asyncio.timeout(reader.STALL_SECONDS):
                await send()
                return
        except TimeoutError:  # while it waited for room: nothing has been written
            if transport is None or transport.get_write_buffer_size() >= before:
                raise


class AbortableHttp(H11Protocol):
    """One connection over HTTP."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Tell the application what this server supports."""
        super().__init__(*args, **options)
        app = self.app

        async def with_abort(scope: Any, receive: Any, send: Any) -> None:
            extensions = (scope.get("extensions") or {}) | {TRANSPORT: self.transport}
            await app(scope | {"extensions": extensions}, receive, send)

        self.app = with_abort

        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and wait for its first request."""
        super().connection_made(transport)
        self._waiting = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Receive data, which may be a part of a request."""
        before = self.scope
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._waiting is None and is_idle:
            self._waiting = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        super().data_received(data)
        if is_idle and self.scope is before:
            return  # the head goes on
        self._wait_no_more()
        if self.cycle is not None and self.cycle.more_body:
            self._waiting = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, with the headers of every answer."""
        head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"
        facts = {"content-type": "text/plain", "content-length": str(len(msg))} | GUARDED
        lines = "".join(f"{name}: {value}\r\n" for name, value in facts.items())
        self.transport.write(f"{head}{lines}\r\n{msg}".encode())
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        self._wait_no_more()

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class EventResponse(StreamingResponse):
    """A stream of events, which ends if it is not read for too long."""

    def __init__(
        self,
        events: AsyncGenerator[bytes],
        headers: Mapping[str, str],
        is_over: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin; `is_over` is called at the end."""
        super().__init__(events, headers=headers, media_type=EVENTS_TYPE)
        self._events = events
        self._is_over = is_over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""

        async def sent(message: Message) -> None:
            await while_it_takes(scope, lambda: send(message))

        async with contextlib.aclosing(self._events):
            try:
                await super().__call__(scope, receive, sent)
            except TimeoutError:
                abort(scope)
            finally:
                self._is_over()


SOCKET = "lastword.socket"
"""The entry that is the socket's own protocol, which takes encoded frames."""

CUT, NO_PONG = 1006, 1011
NO_PONG_REASON = "keepalive ping timeout"


class FramedProtocol(MovesProtocol, WebSocketsSansIOProtocol):
    """One WebSocket."""

    pings: FrontCounts | None = None
    pong_timer: asyncio.TimerHandle | None
    _is_silent = False

    def handle_connect(self, event: Request) -> None:
        """Accept the upgrade, and tell the application what this server supports."""
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions = cast("dict[str, object]", self.scope.get("extensions"))
            extensions |= {TRANSPORT: self.transport, SOCKET: self}

    async def send(self, message: ASGISendEvent) -> None:
        """Send the application's message; after a close, end the connection within a bound."""
        await super().send(message)
        if message["type"] == "websocket.close":
            self.loop.call_later(reader.ABORT_SECONDS, self.transport.abort)

    def handle_pong(self, event: Frame) -> None:
        """Receive a pong, and report the round trip that it ends."""
        is_awaited = self.pending_ping_payload is not None
        super().handle_pong(event)
        if is_awaited and self.pending_ping_payload is None and self.pings is not None:
            self.pings.pong(self.last_ping_rtt)

    def send_keepalive_ping(self) -> None:
        """Ping, and look from here on whether anything moves."""
        super().send_keepalive_ping()
        self.has_moved()

    def keepalive_timeout(self) -> None:
        """Close a socket whose ping was not answered; perhaps nobody reads the rest.

        While bytes move, the pong may be behind a long frame on a slow link.
        """
        if self.ping_timeout is not None and self.has_moved():
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
            return
        self._is_silent = True
        super().keepalive_timeout()
        self.loop.call_later(reader.ABORT_SECONDS, self.transport.abort)
        if self.pings is not None:
            self.pings.ping_missed()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report a connection that was lost without a close; uvicorn reports 1005, no code."""
        if self.conn.close_rcvd is None and not self.disconnected:
            code, reason = (NO_PONG, NO_PONG_REASON) if self._is_silent else (CUT, "cut")
            left = {"type": "websocket.disconnect", "code": code, "reason": reason}
            # The application reads the first one only.
            self.queue.put_nowait(cast("ASGIReceiveEvent", left))
        super().connection_lost(exc)

    def write_frames(self, frames: bytes) -> None:
        """Write whole frames; while `writable` is set, there is room in the transport's buffer.

        Raises:
            OSError: The socket is closed or closing.
        """
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(frames)

    @property
    def is_compressed(self) -> bool:
        """Return whether the client agreed to compression, which rules out encoded frames."""
        return bool(self.conn.extensions)


def framed_of(scope: Scope) -> FramedProtocol | None:
    """Return an accepted socket that takes encoded frames; `None` if it does not."""
    server: FramedProtocol | None = scope.get("extensions", {}).get(SOCKET)
    return None if server is None or server.is_compressed else server


def tell_of_pings(scope: Scope, pings: FrontCounts) -> None:
    """Report the pings of an accepted socket, if its server can."""
    server: FramedProtocol | None = scope.get("extensions", {}).get(SOCKET)
    if server is not None:
        server.pings = pings


INITIALIZE_SECONDS = 30.0
"""How long a viewer may take to send `initialize`, as with the official server."""

NO_INITIALIZE, STALLED = 1002, 4408

_GONE = (RuntimeError, OSError, WebSocketDisconnect)
"""What sending may raise once the viewer has gone."""


class ViewerSocket(ViewerLink):
    """One socket of one viewer."""

    transport = "websocket"

    def __init__(
        self, services: FrontServices, websocket: WebSocket, grant: Grant, only: str
    ) -> None:
        super().__init__(services, grant, only)
        self._websocket = websocket

    async def run(self) -> None:
        """Serve it until it closes; the first frame must be `initialize`."""
        ahead: asyncio.Task[bytes | None] | None = None
        try:
            line = None
            async with asyncio.timeout(INITIALIZE_SECONDS):  # without the agent's start
                while line is None:
                    line = await self._receive()
            try:
                first = frames.read(line)
            except frames.FrameError:
                first = None
            if first is None or first.message.method != acp.INITIALIZE:
                await self.close(NO_INITIALIZE, "initialize_first")
                return
            # The next frame is awaited while the agent starts, to notice that the viewer leaves.
            greeting = asyncio.create_task(self.introduce(first))
            ahead = asyncio.create_task(self._receive())
            try:
                await asyncio.wait((greeting, ahead), return_when=asyncio.FIRST_COMPLETED)
                if not greeting.done():
                    ahead.result()  # raises if it has left
                answer = await greeting
            finally:
                greeting.cancel()
            await self.send(answer)
            while True:
                line = await (ahead or self._receive())
                ahead = None
                if line is None:
                    continue
                try:
                    frame = frames.read(line)
                except frames.FrameError as error:
                    await self.send(error.answer)
                else:
                    await self.receive_frame(frame)
        except TimeoutError:
            await self.close(NO_INITIALIZE, "initialize_first")
        except WebSocketDisconnect as left:
            self.ended(left.code, left.reason or "left")
        finally:
            if ahead is not None:
                ahead.cancel()
            await self.leave()

    async def close(self, code: int, reason: str) -> None:
        """Close the socket."""
        self.ended(code, reason)
        if self._websocket.application_state is WebSocketState.CONNECTED:
            try:
                async with asyncio.timeout(reader.CLOSE_SECONDS):
                    await self._websocket.close(code, reason)
            except TimeoutError:  # it does not even read the close frame
                abort(self._websocket.scope)
            except _GONE:
                pass

    async def _receive(self) -> bytes | None:
        """Return the next text frame; `None` for any other message.

        Raises:
            WebSocketDisconnect: The socket is closed.
        """
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code") or 1005, message.get("reason"))
        text = message.get("text")
        return text.encode(errors="replace") if text is not None else None

    @property
    def takes_framed(self) -> bool:
        """Return whether it can take encoded frames, each of which is one message."""
        return not self._takes_lines and framed_of(self._websocket.scope) is not None

    async def send(self, *lines: bytes) -> None:
        """Send frames, or close a socket that does not take them.

        A browser needs 60 µs for a message, however short. A viewer that asked for lines gets the
        frames of one read in one message.
        """
        texts = [jsonrpc.as_text(line) for line in lines]
        if self._takes_lines:
            texts = [b"\n".join(texts)]
        if framed_of(self._websocket.scope) is not None:
            for block in text_frames(texts):
                await self.send_framed(block)
            return
        for text in texts:
            await self._send(partial(self._websocket.send_text, text.decode()))

    async def send_framed(self, frames: bytes) -> None:
        """Send encoded frames."""
        socket = framed_of(self._websocket.scope)
        if socket is None:
            return
        if not socket.writable.is_set():
            await self._send(socket.writable.wait)
        with contextlib.suppress(*_GONE):  # the reading side notices, too
            socket.write_frames(frames)

    async def _send(self, send: Callable[[], Awaitable[object]]) -> None:
        try:
            await while_it_takes(self._websocket.scope, send)
        except TimeoutError:
            await self.close(STALLED, "stalled")
        except _GONE:
            pass  # the reading side notices, too
