"""A viewer's WebSocket.

Owns its life: the viewer must introduce itself in time and read what it is sent; otherwise the
socket is closed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.front.protocols import abort_of, frames_of
from lastword.gateway.front.viewer_link import ViewerLink
from lastword.gateway.viewing import frames, reader
from lastword.gateway.viewing.frames import text_frames

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from lastword.gateway.front.services import FrontServices
    from lastword.gateway.front.tokens import Grant

INITIALIZE_SECONDS = 30.0
"""How long a viewer may take to say who it is, as the official server's."""

NO_INITIALIZE, STALLED = 1002, 4408

_GONE = (RuntimeError, OSError, WebSocketDisconnect)
"""What sending raises once the viewer has gone, by the moment at which it went."""


class ViewerSocket(ViewerLink):
    """One socket of one viewer."""

    transport = "websocket"

    def __init__(
        self, services: FrontServices, websocket: WebSocket, grant: Grant, only: str
    ) -> None:
        super().__init__(services, grant, only)
        self._websocket = websocket
        self._ahead: asyncio.Task[bytes | None] | None = None
        """The next frame, waited for while the agent starts: so it is seen that a viewer leaves."""

    async def run(self) -> None:
        """Serve it until it closes."""
        try:
            is_welcome = await self._introduce()
            while is_welcome:
                ahead, self._ahead = self._ahead, None
                line = await (ahead or self._receive())
                if line is not None:
                    await self.receive(line)
        except TimeoutError:
            await self.close(NO_INITIALIZE, "initialize_first")
        except WebSocketDisconnect as left:
            self.ended(left.code, left.reason or "left")
        finally:
            if self._ahead is not None:
                self._ahead.cancel()
            await self.leave()

    async def close(self, code: int, reason: str) -> None:
        """Close the socket."""
        self.ended(code, reason)
        if self._websocket.application_state is WebSocketState.CONNECTED:
            try:
                async with asyncio.timeout(reader.CLOSE_SECONDS):
                    await self._websocket.close(code, reason)
            except TimeoutError:  # it takes nothing: not even that it is closed
                abort_of(self._websocket.scope)()
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
        return not self._takes_lines and frames_of(self._websocket.scope) is not None

    async def send(self, *lines: bytes) -> None:
        """Send frames, or close a socket that does not take them.

        A browser needs 60 µs for a message, however short. A viewer that asked for lines gets the
        frames of one read in one message.
        """
        texts = [jsonrpc.as_text(line) for line in lines]
        if self._takes_lines:
            texts = [b"\n".join(texts)]
        if frames_of(self._websocket.scope) is not None:
            for block in text_frames(texts):
                await self.send_framed(block)
            return
        for text in texts:
            await self._while_it_takes(self._websocket.send_text(text.decode()))

    async def send_framed(self, frames: bytes) -> None:
        """Send encoded frames."""
        write = frames_of(self._websocket.scope)
        if write is not None:
            await self._while_it_takes(write(frames))

    async def _while_it_takes(self, sending: Awaitable[None]) -> None:
        try:
            async with reader.stall_limit():
                await sending
        except TimeoutError:
            await self.close(STALLED, "stalled")
        except _GONE:
            pass  # the reading side hears of it

    async def _introduce(self) -> bool:
        """Take the first frame, which must be `initialize`."""
        line = None
        async with asyncio.timeout(INITIALIZE_SECONDS):  # its agent's start takes what it takes
            while line is None:
                line = await self._receive()
        try:
            frame = frames.read(line)
        except frames.FrameError:
            frame = None
        if frame is None or frame.message.method != acp.INITIALIZE:
            await self.close(NO_INITIALIZE, "initialize_first")
            return False
        await self.send(await self._greet(frame))
        return True

    async def _greet(self, frame: jsonrpc.Frame) -> bytes:
        """Return the answer to `initialize`, unless the viewer leaves before.

        Raises:
            WebSocketDisconnect: It has left.
        """
        greeting = asyncio.create_task(self.introduce(frame))
        self._ahead = asyncio.create_task(self._receive())
        try:
            await asyncio.wait((greeting, self._ahead), return_when=asyncio.FIRST_COMPLETED)
            if not greeting.done():
                self._ahead.result()  # raises where it has left
            return await greeting
        finally:
            greeting.cancel()
