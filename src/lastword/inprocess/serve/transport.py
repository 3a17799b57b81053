"""Transport of `serve`: lines in, frames out, on two non-blocking descriptors.

Owns reading and writing, and how much may be queued for a client that does not read. Does not look
into messages.

Waking a task from any thread. Owns one event that a handler's own thread may set, on asyncio and on
trio alike.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Self

import anyio

from lastword.inprocess.transports import LAST_FRAMES_SECONDS, line_blocks
from lastword.platform.framing import (
    HIGH_WATER_BYTES,
    LINE_LIMIT_BYTES,
    READ_BYTES,
    FrameWriter,
    LineReader,
    whole_lines,
)
from lastword.platform.pipes import read
from lastword.platform.readiness import wait_readable, wait_writable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from lastword.inprocess.transports import Block


ANSWERS_HIGH_WATER_BYTES = 16 * HIGH_WATER_BYTES
"""With more than this waiting, no further request is read. Handlers that send updates wait far
earlier; the rest leaves room for a client that writes before it reads."""


class DescriptorTransport:
    """Two descriptors to a client."""

    def __init__(self, source: int, sink: int, waker: Waker) -> None:
        """Use two descriptors, neither of which is closed here.

        Args:
            source: To read from; it must signal when it is ready.
            sink: To write to.
            waker: Rung when the writer may have to continue.
        """
        self._source = source
        self._lines = LineReader(LINE_LIMIT_BYTES)
        self._outlet = FrameWriter(sink)
        self._waker = waker
        # Frames may come from a handler's own thread while the event loop's write continues.
        self._lock = threading.Lock()
        self._waiting = anyio.Event()
        self._moved = anyio.Event()

    @property
    def broken(self) -> bool:
        """Whether the client no longer reads."""
        return self._outlet.broken

    def blocks(self) -> AsyncIterator[Block]:
        """Yield input while there is room for answers."""
        return line_blocks(self._read, self._lines)

    def read_ready(self) -> Block:
        """Return what has arrived; `blocks` handles the end of input."""
        data = b""
        with contextlib.suppress(OSError):  # there is nothing
            data = read(self._source, READ_BYTES)
        oversized, block = self._lines.feed(data)
        return oversized, whole_lines(block)

    async def _read(self) -> bytes:
        await self._room(ANSWERS_HIGH_WATER_BYTES)
        while True:
            await wait_readable(self._source, self._waker.call_soon)
            try:
                return read(self._source, READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:  # the connection was reset
                return b""

    def write(self, frame: bytes) -> None:
        """Send a frame, without its line end, or queue it; call it from any thread."""
        with self._lock:
            self._outlet.write(frame + b"\n")
            done = not self._outlet.pending_bytes and not self._outlet.broken
        if not done:
            self._waker.ring()

    def go_on(self) -> None:
        """Let the writer check; call it in the event loop."""
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
        """Write what is queued as the client reads, until cancelled."""
        while True:
            await self._waiting.wait()
            self._waiting = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        while self._outlet.pending_bytes and not self._outlet.broken:
            await wait_writable(self._outlet.fd, self._waker.call_soon)
            with self._lock:
                self._outlet.flush()
            self._moved.set()
            self._moved = anyio.Event()
        if self._outlet.broken:
            self._waker.ring()

    async def last_frames(self) -> None:
        """Write what is left, within `LAST_FRAMES_SECONDS`, and then nothing more."""
        with anyio.move_on_after(LAST_FRAMES_SECONDS, shield=True), contextlib.suppress(OSError):
            await self.flush()
        with self._lock:
            # A thread that still sends must not write to the descriptor's next user.
            self._outlet.give_up()


_DRAIN_BYTES = 4096


class Waker:
    """A signal from any thread to the one task that waits."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._calls: deque[Callable[[], object]] = deque()
        self._rung = anyio.Event()
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.settimeout(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._near.close()
        self._far.close()

    @property
    def is_here(self) -> bool:
        """Return whether this is the event loop's own thread."""
        return threading.get_ident() == self._thread

    def ring(self) -> None:
        """Wake the task that waits; never blocks."""
        if self.is_here:
            self._rung.set()
            return
        # With a full socket the signal is already sent; with a closed one nobody waits.
        with contextlib.suppress(OSError):
            self._far.send(b"!")

    def call_soon(self, call: Callable[[], object]) -> None:
        """Schedule a call in the event loop; from any thread."""
        self._calls.append(call)
        with contextlib.suppress(OSError):
            self._far.send(b"!")

    async def listen(self) -> None:
        """Receive the signals of other threads, until cancelled."""
        while True:
            await anyio.wait_readable(self._near)
            with contextlib.suppress(BlockingIOError):
                self._near.recv(_DRAIN_BYTES)
            while self._calls:
                self._calls.popleft()()
            self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = anyio.Event()
