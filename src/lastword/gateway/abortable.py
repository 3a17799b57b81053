"""uvicorn's connections, whose ends do not wait for a viewer that takes no byte any more.

Owns that one addition, and the answer over HTTP that goes on as events come. A transport that is
closed first sends what is in its buffer: with a viewer that is deaf, or behind a link that is dead,
that is never, and memory and descriptor stay.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import StreamingResponse
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.types import Message, Receive, Scope, Send
    from uvicorn._types import ASGISendEvent
    from websockets.http11 import Request

ABORT = "lastword.abort"
"""The entry of the ASGI scope's `extensions` that ends the connection at once."""

STALL_SECONDS = 60.0
"""A viewer that takes no byte for so long is closed; its position waits for it."""

EVENTS_TYPE = "text/event-stream"

ABORT_SECONDS = 5.0
"""So long a close that was sent may take to reach the other end."""


class AbortableProtocol(WebSocketsSansIOProtocol):
    """One socket."""

    def handle_connect(self, event: Request) -> None:
        """Take the upgrade, and say to the application what this server can."""
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions = cast("dict[str, object]", self.scope.get("extensions"))
            extensions[ABORT] = self.transport.abort

    async def send(self, message: ASGISendEvent) -> None:
        """Send what the application says; after a close, be gone within a bound."""
        await super().send(message)
        if message["type"] == "websocket.close":
            self.loop.call_later(ABORT_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """No pong has come: nobody may be there to take what is still to be sent."""
        super().keepalive_timeout()
        self.loop.call_later(ABORT_SECONDS, self.transport.abort)


def abort_of(scope: Scope) -> Callable[[], None]:
    """What ends a socket's connection at once; nothing, under another server."""
    abort: Callable[[], None] = scope.get("extensions", {}).get(ABORT, lambda: None)
    return abort


class AbortableHttp(H11Protocol):
    """One connection over HTTP."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Say to the application what this server can."""
        super().__init__(*args, **options)
        app = self.app

        async def told(scope: Any, receive: Any, send: Any) -> None:
            extensions = (scope.get("extensions") or {}) | {ABORT: self.transport.abort}
            await app(scope | {"extensions": extensions}, receive, send)

        self.app = told


class EventResponse(StreamingResponse):
    """A stream of events, until its reader takes none for too long."""

    def __init__(self, events: AsyncGenerator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(events, headers=headers, media_type=EVENTS_TYPE)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""

        async def while_it_takes(message: Message) -> None:
            async with asyncio.timeout(STALL_SECONDS):
                await send(message)

        async with contextlib.aclosing(self._events):
            try:
                await super().__call__(scope, receive, while_it_takes)
            except TimeoutError:
                abort_of(scope)()
