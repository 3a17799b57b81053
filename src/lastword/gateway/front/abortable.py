"""uvicorn connections that can be closed without waiting for a viewer that no longer reads.

Owns that addition, and the HTTP response that continues as events come. A transport that is
closed first sends what is in its buffer. With a viewer that does not read, or behind a dead link,
that never happens, and its memory and descriptor are never freed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import StreamingResponse
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from lastword.gateway.viewing import slow_viewers
from lastword.web.files import GUARDED

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.types import Message, Receive, Scope, Send
    from uvicorn._types import ASGISendEvent
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
            self.loop.call_later(slow_viewers.ABORT_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """End the connection: no pong came, so there may be nobody to read the rest."""
        super().keepalive_timeout()
        self.loop.call_later(slow_viewers.ABORT_SECONDS, self.transport.abort)


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
            async with slow_viewers.stall_limit():
                await send(message)

        async with contextlib.aclosing(self._events):
            try:
                await super().__call__(scope, receive, while_it_takes)
            except TimeoutError:
                abort_of(scope)()
            finally:
                self._is_over()
