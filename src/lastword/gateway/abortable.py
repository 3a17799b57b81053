"""uvicorn's WebSocket, whose end does not wait for a viewer that takes no byte any more.

Owns that one addition. A transport that is closed first sends what is in its buffer: with a viewer
that is deaf, or behind a link that is dead, that is never, and memory and descriptor stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope
    from uvicorn._types import ASGISendEvent
    from websockets.http11 import Request

ABORT = "lastword.abort"
"""The entry of the ASGI scope's `extensions` that ends the connection at once."""

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
