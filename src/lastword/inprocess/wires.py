"""The way to the client on asyncio: byte streams, or a transport of whole messages.

Owns the two ways to read and write. Looks into nothing.
"""

from __future__ import annotations

import asyncio
import os
import select
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from lastword.core import jsonrpc
from lastword.lines import READ_BYTES, LineReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""As `lastword run --line-limit`: no real message is so long."""

BLOCKED_WRITE_SECONDS = 5.0
"""How long a client that takes no bytes may hold up the thread that stands in for the loop."""


class Wire(Protocol):
    """A client, as far as it can be read and written."""

    def blocks(self) -> AsyncIterator[tuple[bytes | None, list[bytes]]]:
        """What comes: how an oversized line began, if one was skipped, and whole lines."""
        ...

    def write(self, frame: bytes) -> None:
        """Send a frame, without its line end, or keep it until `drain`."""

    def write_for_blocked_loop(self, frame: bytes) -> None:
        """Send a frame from another thread, while the event loop stands still."""

    async def drain(self) -> None:
        """Wait until the client has room; raises where it is gone."""

    async def aclose(self) -> None:
        """Close it."""


class StreamWire:
    """Byte streams. It passes for a transport of the SDK's, which only hands it on to the guard."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        receive_timeout: float | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._receive_timeout = receive_timeout

    async def blocks(self) -> AsyncIterator[tuple[bytes | None, list[bytes]]]:
        """As `Wire.blocks`."""
        lines = LineReader(LINE_LIMIT_BYTES)
        while data := await self._read():
            oversized, block = lines.feed(data)
            if oversized is not None or block:
                yield oversized, [line for line in block.split(b"\n") if line.strip()]
        rest = lines.rest().strip()
        if rest:
            yield None, [rest]

    async def _read(self) -> bytes:
        if self._receive_timeout is None:
            return await self._reader.read(READ_BYTES)
        return await asyncio.wait_for(self._reader.read(READ_BYTES), self._receive_timeout)

    def write(self, frame: bytes) -> None:
        """As `Wire.write`."""
        self._writer.write(frame + b"\n")

    def write_for_blocked_loop(self, frame: bytes) -> None:
        """As `Wire.write_for_blocked_loop`, past the loop: straight to the descriptor."""
        transport = self._writer.transport
        if transport.get_write_buffer_size():
            return  # part of a frame may be in the pipe: ours must not stand in the middle of it
        end = transport.get_extra_info("pipe") or transport.get_extra_info("socket")
        rest = memoryview(frame + b"\n")
        until = time.monotonic() + BLOCKED_WRITE_SECONDS
        while rest and time.monotonic() < until:
            if select.select([], [end], [], BLOCKED_WRITE_SECONDS)[1]:
                rest = rest[os.write(end.fileno(), rest) :]

    async def drain(self) -> None:
        """As `Wire.drain`."""
        await self._writer.drain()

    async def aclose(self) -> None:
        """As `Wire.aclose`: the streams are whose they were, as under the SDK."""

    async def send(self, message: dict[str, Any]) -> None:
        """As the SDK's transport."""
        self.write(jsonrpc.dumps(message))
        await self.drain()

    async def receive(self) -> dict[str, Any] | None:
        """As the SDK's transport; the guard reads `blocks` in its place."""
        raise RuntimeError("this stream is read by lastword")

    async def close(self) -> None:
        """As the SDK's transport."""
        await self.aclose()


class MessageWire:
    """A transport of the SDK's that moves decoded messages, such as its WebSocket's."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._waiting: deque[bytes] = deque()
        self._lock = asyncio.Lock()
        self._sending: asyncio.Task[None] | None = None

    async def blocks(self) -> AsyncIterator[tuple[bytes | None, list[bytes]]]:
        """As `Wire.blocks`."""
        while (message := await self._transport.receive()) is not None:
            yield None, [jsonrpc.dumps(message)]

    def write(self, frame: bytes) -> None:
        """As `Wire.write`."""
        self._waiting.append(frame)
        if self._sending is None or self._sending.done():
            # For what comes of no handler, such as a watchdog's: nobody would call `drain`.
            self._sending = asyncio.ensure_future(self._send_quietly())

    def write_for_blocked_loop(self, frame: bytes) -> None:
        """As `Wire.write_for_blocked_loop`: the transport is the loop's, and waits for it."""
        self._waiting.append(frame)

    async def _send_quietly(self) -> None:
        try:
            await self.drain()
        except (OSError, RuntimeError):
            self._waiting.clear()

    async def drain(self) -> None:
        """As `Wire.drain`."""
        async with self._lock:
            while self._waiting:
                await self._transport.send(jsonrpc.loads(self._waiting.popleft()))

    async def aclose(self) -> None:
        """As `Wire.aclose`."""
        await self._send_quietly()
        await self._transport.close()
