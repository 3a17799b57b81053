"""uvicorn's WebSocket, which also takes frames that are ready to be written.

Owns that one addition: an entry in the ASGI scope's `extensions`. Handshake, pings, close and what
comes from the viewer stay uvicorn's and websockets'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from uvicorn.protocols.utils import ClientDisconnected

from lastword.gateway.abortable import AbortableProtocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Scope
    from websockets.http11 import Request

EXTENSION = "lastword.frames"


class FramedProtocol(AbortableProtocol):
    """One socket."""

    def handle_connect(self, event: Request) -> None:
        """Take the upgrade, and say to the application what this server can."""
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions: dict[str, object] = {EXTENSION: {"socket": self}}
            extensions |= self.scope.get("extensions") or {}
            cast("dict[str, object]", self.scope)["extensions"] = extensions

    async def send_frames(self, frames: bytes) -> None:
        """Write whole frames, once what was written before has been taken.

        Raises:
            OSError: The socket is closed, or closing.
        """
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(frames)

    @property
    def is_compressed(self) -> bool:
        """Did the client agree to compress frames? Then those that are ready are not to be sent."""
        return bool(self.conn.extensions)


def frames_of(scope: Scope) -> Callable[[bytes], Awaitable[None]] | None:
    """How frames that are ready are sent on an accepted socket; `None` where they cannot be."""
    server = scope.get("extensions", {}).get(EXTENSION, {}).get("socket")
    if not isinstance(server, FramedProtocol) or server.is_compressed:
        return None
    return server.send_frames
