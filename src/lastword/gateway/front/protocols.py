"""uvicorn's protocols, extended.

uvicorn connections that can be closed without waiting for a viewer that no longer reads. Owns that
addition, and the HTTP response that continues as events come. A transport that is closed first
sends what is in its buffer. With a viewer that does not read, or behind a dead link, that never
happens, and its memory and descriptor are never freed.

uvicorn's WebSocket, extended to take encoded frames and to report its pings. Owns these additions,
an entry in the ASGI scope's `extensions`, and the close code of a broken connection. Handshake,
pings, close and reading are left to uvicorn and websockets.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from starlette.responses import StreamingResponse
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from lastword.gateway.viewing import reader
from lastword.web.files import GUARDED

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from starlette.types import Message, Receive, Scope, Send
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
    from websockets.frames import Frame
    from websockets.http11 import Request


ABORT = "lastword.abort"
"""The entry of the ASGI scope's `extensions` that ends the connection at once."""

EVENTS_TYPE = "text/event-stream"

REQUEST_SECONDS = 30.0
"""How long a connection may take until a request's head has come. uvicorn waits without end, and
whoever opens a thousand connections and says nothing, or half, has all the descriptors."""


class AbortableProtocol(WebSocketsSansIOProtocol):
    """One WebSocket."""

    def handle_connect(self, event: Request) -> None:
        """Accept the upgrade, and tell the application what this server supports."""
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions = cast("dict[str, object]", self.scope.get("extensions"))
            extensions[ABORT] = self.transport.abort

    async def send(self, message: ASGISendEvent) -> None:
        """Send the application's message; after a close, end the connection within a bound."""
        await super().send(message)
        if message["type"] == "websocket.close":
            self.loop.call_later(reader.ABORT_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """End the connection: no pong came, so there may be nobody to read the rest."""
        super().keepalive_timeout()
        self.loop.call_later(reader.ABORT_SECONDS, self.transport.abort)


def abort_of(scope: Scope) -> Callable[[], None]:
    """Return what ends a socket's connection at once; `None` under another server."""
    abort: Callable[[], None] = scope.get("extensions", {}).get(ABORT, lambda: None)
    return abort


class AbortableHttp(H11Protocol):
    """One connection over HTTP."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Tell the application what this server supports."""
        super().__init__(*args, **options)
        app = self.app

        async def with_abort(scope: Any, receive: Any, send: Any) -> None:
            extensions = (scope.get("extensions") or {}) | {ABORT: self.transport.abort}
            await app(scope | {"extensions": extensions}, receive, send)

        self.app = with_abort

        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and wait for its first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in what came, which may be a part of a request."""
        before = self.scope
        if self._waiting is None and self._is_idle:
            self._wait()
        super().data_received(data)
        if self.scope is not before:
            self._wait_no_more()

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

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class EventResponse(StreamingResponse):
    """A stream of events that ends if its reader does not read for too long."""

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

        async def while_it_takes(message: Message) -> None:
            async with reader.stall_limit():
                await send(message)

        async with contextlib.aclosing(self._events):
            try:
                await super().__call__(scope, receive, while_it_takes)
            except TimeoutError:
                abort_of(scope)()
            finally:
                self._is_over()


EXTENSION = "lastword.frames"


CUT, NO_PONG = 1006, 1011
NO_PONG_REASON = "keepalive ping timeout"


class Pings(Protocol):
    """A listener for pings."""

    def pong(self, seconds: float) -> None:
        """A ping was answered after this long."""

    def ping_missed(self) -> None:
        """A ping was not answered in time, and the socket is closed."""


class FramedProtocol(AbortableProtocol):
    """One socket."""

    pings: Pings | None = None
    _is_silent = False

    def handle_connect(self, event: Request) -> None:
        """Accept the upgrade, and tell the application what this server supports."""
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions: dict[str, object] = {EXTENSION: {"socket": self}}
            extensions |= self.scope.get("extensions") or {}
            cast("dict[str, object]", self.scope)["extensions"] = extensions

    def handle_pong(self, event: Frame) -> None:
        """Take a pong, and report the round trip that it ends."""
        is_awaited = self.pending_ping_payload is not None
        super().handle_pong(event)
        if is_awaited and self.pending_ping_payload is None and self.pings is not None:
            self.pings.pong(self.last_ping_rtt)

    def keepalive_timeout(self) -> None:
        """Close a socket whose ping was not answered."""
        self._is_silent = True
        super().keepalive_timeout()
        if self.pings is not None:
            self.pings.ping_missed()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report a connection that nobody closed; uvicorn reports it as 1005, no code."""
        if self.conn.close_rcvd is None and not self.disconnected:
            code, reason = (NO_PONG, NO_PONG_REASON) if self._is_silent else (CUT, "cut")
            left = {"type": "websocket.disconnect", "code": code, "reason": reason}
            # The first one counts.
            self.queue.put_nowait(cast("ASGIReceiveEvent", left))
        super().connection_lost(exc)

    async def send_frames(self, frames: bytes) -> None:
        """Write whole frames, once what was written before has been taken.

        Raises:
            OSError: The socket is closed or closing.
        """
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(frames)

    @property
    def is_compressed(self) -> bool:
        """Return whether the client agreed to compression, which rules out encoded frames."""
        return bool(self.conn.extensions)


def frames_of(scope: Scope) -> Callable[[bytes], Awaitable[None]] | None:
    """Return how to send encoded frames on an accepted socket; `None` if it cannot."""
    server = scope.get("extensions", {}).get(EXTENSION, {}).get("socket")
    if not isinstance(server, FramedProtocol) or server.is_compressed:
        return None
    return server.send_frames


def tell_of_pings(scope: Scope, pings: Pings) -> None:
    """Report the pings of an accepted socket, if its server can."""
    server = scope.get("extensions", {}).get(EXTENSION, {}).get("socket")
    if isinstance(server, FramedProtocol):
        server.pings = pings
