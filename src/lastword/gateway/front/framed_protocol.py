"""uvicorn's WebSocket, extended to take encoded frames and to report its pings.

Owns these additions, an entry in the ASGI scope's `extensions`, and the close code of a broken
connection. Handshake, pings, close and reading are left to uvicorn and websockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from uvicorn.protocols.utils import ClientDisconnected

from lastword.gateway.front.abortable import AbortableProtocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Scope
    from uvicorn._types import ASGIReceiveEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

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
