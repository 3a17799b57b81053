"""The way to the client: lines in, frames out, on two descriptors that are waited for.

Owns the reading and writing of `serve`, and how much may wait for a client that does not read.
Looks into nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

import anyio

from lastword.lines import (
    HIGH_WATER_BYTES,
    LINE_LIMIT_BYTES,
    READ_BYTES,
    LineReader,
    Outlet,
    whole_lines,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.serving.bell import Bell

ANSWERS_HIGH_WATER_BYTES = 16 * HIGH_WATER_BYTES
"""With more than this waiting, no further request is read. Handlers that send updates wait far
earlier; the rest leaves room for a client that writes before it reads."""

LAST_FRAMES_SECONDS = 2.0
"""How long the client may take, at the end, to read what was sent before."""


class Pipes:
    """Two descriptors to a client."""

    def __init__(self, source: int, sink: int, bell: Bell) -> None:
        """Neither descriptor is closed here.

        Args:
            source: To read from; says when it is ready.
            sink: To write to.
            bell: Rung when the writer may have to go on.
        """
        self._source = source
        self._outlet = Outlet(sink)
        self._bell = bell
        # Frames may come from a handler's own thread, while the event loop's writes on.
        self._lock = threading.Lock()
        self._waiting = anyio.Event()
        self._moved = anyio.Event()

    @property
    def broken(self) -> bool:
        """Does nobody read any more?"""
        return self._outlet.broken

    async def blocks(self) -> AsyncIterator[tuple[bytes | None, list[bytes]]]:
        """What comes: how an oversized line began, if one was skipped, and whole lines."""
        lines = LineReader(LINE_LIMIT_BYTES)
        while data := await self._read():
            oversized, block = lines.feed(data)
            if oversized is not None or block:
                yield oversized, whole_lines(block)
            await self._room(ANSWERS_HIGH_WATER_BYTES)
        rest = lines.rest().strip()
        if rest:
            yield None, [rest]

    async def _read(self) -> bytes:
        while True:
            await anyio.wait_readable(self._source)
            try:
                return os.read(self._source, READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:  # a connection that was reset has no more to say
                return b""

    def write(self, frame: bytes) -> None:
        """Send a frame, without its line end, or keep it until the client reads; any thread."""
        with self._lock:
            self._outlet.write(frame + b"\n")
            done = not self._outlet.pending_bytes and not self._outlet.broken
        if not done:
            self._bell.ring()

    def go_on(self) -> None:
        """Let the writer look; from the event loop."""
        if self._outlet.pending_bytes:
            self._waiting.set()
        elif self._outlet.broken:
            self._moved.set()

    async def drain(self) -> None:
        """Wait until the client has room for more."""
        await anyio.lowlevel.checkpoint()
        await self._room(HIGH_WATER_BYTES)

    async def _room(self, limit_bytes: int) -> None:
        while self._outlet.pending_bytes > limit_bytes and not self._outlet.broken:
            moved = self._moved
            await moved.wait()

    async def write_on(self) -> None:
        """Write what waits as the client reads; runs until it is cancelled."""
        while True:
            await self._waiting.wait()
            self._waiting = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Write all that waits."""
        while self._outlet.pending_bytes and not self._outlet.broken:
            await anyio.wait_writable(self._outlet.fd)
            with self._lock:
                self._outlet.flush()
            self._moved.set()
            self._moved = anyio.Event()
        if self._outlet.broken:
            self._bell.ring()

    async def last_frames(self) -> None:
        """Write what is left, for as long as a client that reads may take; then no more."""
        with anyio.move_on_after(LAST_FRAMES_SECONDS, shield=True), contextlib.suppress(OSError):
            await self.flush()
        with self._lock:
            # A thread that still speaks must not write to what has this descriptor next.
            self._outlet.give_up()
