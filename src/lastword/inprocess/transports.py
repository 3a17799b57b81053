"""Transports to a client on asyncio: byte streams, or an SDK transport that moves whole messages.

Owns the ways to read and write, and splitting bytes into lines, which `inprocess.serve.transport`
shares. Does not look into messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from lastword.core.protocol import jsonrpc
from lastword.platform import pipes
from lastword.platform.framing import LINE_LIMIT_BYTES, READ_BYTES, LineReader, whole_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


LAST_FRAMES_SECONDS = 2.0
"""How long the client may take at the end to read what was sent before."""

BLOCKED_WRITE_SECONDS = 5.0
"""How long a client that does not read may delay the thread that writes in the loop's place."""


Block: TypeAlias = tuple[bytes | None, list[bytes]]
"""The beginning of an oversized line, if one was skipped, and whole lines."""

OnLines: TypeAlias = "Callable[[bytes | None, list[bytes]], None]"
"""Receives the two parts of a block."""

OnEnd: TypeAlias = "Callable[[Exception | None], None]"
"""Called at the end of input, with the failure if there was one."""


class FrameTransport(Protocol):
    """Reading from a client and writing to it."""

    def start(self, on_lines: OnLines, end: OnEnd) -> None:
        """Begin to read."""
        ...

    def read_ready(self) -> None:
        """Pass on what can be read now without waiting; call it in the event loop."""
        ...

    def write(self, frame: bytes) -> None:
        """Send a frame, without its line end, or keep it until `drain`."""
        ...

    def write_for_blocked_loop(self, frame: bytes) -> None:
        """Send a frame from another thread, while the event loop is blocked."""
        ...

    async def drain(self) -> None:
        """Wait until the client has room; raise if it is gone."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...


async def line_blocks(
    read: Callable[[], Awaitable[bytes]], lines: LineReader
) -> AsyncIterator[Block]:
    """Read to the end, and split into lines; the last one may lack its line end."""
    while data := await read():
        oversized, block = lines.feed(data)
        if oversized is not None or block:
            yield oversized, whole_lines(block)
    rest = lines.rest().strip()
    if rest:
        yield None, [rest]


async def _pull(blocks: AsyncIterator[Block], on_lines: OnLines, end: OnEnd) -> None:
    """Pass on blocks as they arrive."""
    try:
        async for oversized, lines in blocks:
            on_lines(oversized, lines)
    except Exception as error:  # noqa: BLE001  (`end` decides what it means)
        end(error)
    else:
        end(None)


class ByteTransport:
    """Byte streams, as a `FrameTransport`.

    It also has the methods of an SDK transport, since the SDK passes it to the guard.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader | None,
        writer: asyncio.StreamWriter,
        *,
        receive_timeout: float | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._receive_timeout = receive_timeout
        self._reading: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        """What another thread could not write, which must be written first."""
        self._keeping = threading.Lock()

    def start(self, on_lines: OnLines, end: OnEnd) -> None:
        blocks = line_blocks(self._read, LineReader(LINE_LIMIT_BYTES))
        self._reading = asyncio.create_task(_pull(blocks, on_lines, end), name="lastword.read")

    async def _read(self) -> bytes:
        if self._reader is None:
            return b""
        async with asyncio.timeout(self._receive_timeout):
            return await self._reader.read(READ_BYTES)

    def read_ready(self) -> None:
        """Do nothing: only the event loop reads an author's own streams."""

    def write(self, frame: bytes) -> None:
        if self._unsent:
            self._write_unsent()
        self._writer.write(frame + b"\n")

    def write_for_blocked_loop(self, frame: bytes) -> None:
        """As `FrameTransport.write_for_blocked_loop`, straight to the descriptor.

        What the client does not accept, or what would land in the middle of a frame that the loop
        has begun to write, is kept until the loop runs: the frame may be a turn's only answer.
        """
        rest = memoryview(frame + b"\n")
        # The SDK's own transport for Windows has no buffer: it writes at once.
        size = getattr(self._writer.transport, "get_write_buffer_size", None)
        with self._keeping:
            if not self._unsent and not (size is not None and size()):
                with contextlib.suppress(OSError):  # the loop will also notice a departed client
                    rest = self._write_past_the_loop(rest)
            if rest:
                self._unsent += rest
                self._loop.call_soon_threadsafe(self._write_unsent)

    def _write_past_the_loop(self, rest: memoryview) -> memoryview:
        transport = self._writer.transport
        end = transport.get_extra_info("pipe") or transport.get_extra_info("socket")
        if end is None:
            self._writer.write(bytes(rest))
            return rest[:0]
        until = time.monotonic() + BLOCKED_WRITE_SECONDS
        # Not `select`, which accepts no descriptor above 1023.
        poll = pipes.Poller()
        poll.register(end.fileno(), pipes.POLLOUT)
        while rest and time.monotonic() < until:
            if poll.poll(BLOCKED_WRITE_SECONDS * 1000):
                rest = rest[pipes.write(end.fileno(), rest) :]
        return rest

    def _write_unsent(self) -> None:
        with self._keeping:
            if self._unsent:
                self._writer.write(bytes(self._unsent))
                self._unsent.clear()

    async def drain(self) -> None:
        await self._writer.drain()

    async def aclose(self) -> None:
        """As `FrameTransport.aclose`; their owner's streams stay open, as under the SDK."""
        if self._reading is not None:
            self._reading.cancel()

    async def send(self, message: dict[str, Any]) -> None:
        self.write(jsonrpc.dumps(message))
        await self.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Raise RuntimeError: an SDK transport has this method, but the guard uses `start`."""
        raise RuntimeError("this stream is read by lastword")

    async def close(self) -> None:
        await self.aclose()


class PipeTransport(ByteTransport):
    """A pair of pipes, without a task between them and the core.

    Such a task would cost each message 10 µs.
    """

    def __init__(
        self, receiver: Receiver, reading: asyncio.BaseTransport, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(None, writer)
        self._receiver = receiver
        self._reading_from = reading

    @classmethod
    async def open(cls, source: int, sink: int, *, receive_timeout: float | None = None) -> Self:
        """Read and write the caller's descriptors, which become non-blocking and stay open.

        Raises:
            ValueError: One of them is neither a pipe nor a socket, according to asyncio; the `sink`
                may also be a file.
        """
        loop = asyncio.get_running_loop()
        receiver = Receiver(receive_timeout)
        reading, _ = await loop.connect_read_pipe(lambda: receiver, _own(source, "rb"))
        flow = asyncio.streams.FlowControlMixin
        if stat.S_ISREG(os.fstat(sink).st_mode):
            writing: asyncio.WriteTransport = _FileTransport(_own(sink, "wb"))
            return cls(receiver, reading, asyncio.StreamWriter(writing, flow(loop), None, loop))
        writing, protocol = await loop.connect_write_pipe(flow, _own(sink, "wb"))
        return cls(receiver, reading, asyncio.StreamWriter(writing, protocol, None, loop))

    def start(self, on_lines: OnLines, end: OnEnd) -> None:
        self._receiver.start(on_lines, end)

    def read_ready(self) -> None:
        """As `FrameTransport.read_ready`; the end of input is left to the event loop."""
        data = b""
        with contextlib.suppress(OSError, ValueError):  # there is nothing, or it is closed
            data = os.read(self._reading_from.get_extra_info("pipe").fileno(), READ_BYTES)
        if data:
            self._receiver.data_received(data)

    async def let_go(self) -> None:
        """Write what is left, within `LAST_FRAMES_SECONDS`, and close."""
        self._receiver.stop()
        self._reading_from.close()
        self._write_unsent()
        transport = self._writer.transport
        transport.set_write_buffer_limits(high=0)
        with contextlib.suppress(OSError):  # which includes a timeout
            async with asyncio.timeout(LAST_FRAMES_SECONDS):
                await self._writer.drain()
        if not transport.is_closing():  # it is closing if the client reads no more
            transport.abort()


def _own(fd: int, mode: str) -> Any:
    """Return a file for asyncio to own and close, whatever the caller does with the descriptor."""
    return open(os.dup(fd), mode, buffering=0)


class _FileTransport(asyncio.WriteTransport):
    """Writes to a file, if answers are redirected there: asyncio takes only pipes and sockets."""

    def __init__(self, file: Any) -> None:
        super().__init__({"pipe": file})
        self._file = file

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write at once; write nothing after a failure such as a full disk."""
        rest = memoryview(data)
        try:
            while rest and not self._file.closed:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.close()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing, since nothing is buffered."""

    def is_closing(self) -> bool:
        return bool(self._file.closed)

    def close(self) -> None:
        self._file.close()

    abort = close


class Receiver(asyncio.Protocol):
    """The asyncio protocol that receives a pipe's data."""

    def __init__(self, timeout_seconds: float | None = None) -> None:
        self._timeout_seconds = timeout_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._lines = LineReader(LINE_LIMIT_BYTES)
        self._early: list[bytes] = []
        self._over: tuple[Exception | None] | None = None
        self._on_lines: OnLines | None = None
        self._end: OnEnd | None = None

    def start(self, on_lines: OnLines, end: OnEnd) -> None:
        """Pass on what has already arrived, and what will arrive."""
        self._on_lines, self._end = on_lines, end
        early, self._early = self._early, []
        for data in early:
            self.data_received(data)
        if self._over is not None:
            self._finish(self._over[0])
        self._wind()

    def stop(self) -> None:
        """Pass on nothing more."""
        self._end = None
        self._wind()

    def _wind(self) -> None:
        """Restart the wait for the next bytes, if they may take too long."""
        if self._timer is not None:
            self._timer.cancel()
        if self._timeout_seconds is not None and self._end is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._timeout_seconds, self._finish, TimeoutError())

    def data_received(self, data: bytes) -> None:
        """Receive bytes from the event loop."""
        if self._on_lines is None:
            self._early.append(data)
            return
        if self._timeout_seconds is not None:
            self._wind()
        oversized, block = self._lines.feed(data)
        if oversized is not None or block:
            self._on_lines(oversized, whole_lines(block))

    def connection_lost(self, exc: Exception | None) -> None:
        """Receive the end of input, or a failure, from the event loop."""
        if self._on_lines is None:
            self._over = (exc,)
        else:
            self._finish(exc)

    def _finish(self, error: Exception | None) -> None:
        rest = self._lines.rest().strip()
        if rest and self._on_lines is not None:
            self._on_lines(None, [rest])
        end = self._end
        self.stop()
        if end is not None:
            end(error)


class MessageTransport:
    """An SDK transport that moves decoded messages, such as its WebSocket's."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._waiting: deque[bytes] = deque()
        self._lock = asyncio.Lock()
        self._sending: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None

    def start(self, on_lines: OnLines, end: OnEnd) -> None:
        self._reading = asyncio.create_task(
            _pull(self._blocks(), on_lines, end), name="lastword.read"
        )

    async def _blocks(self) -> AsyncIterator[Block]:
        while (message := await self._transport.receive()) is not None:
            yield None, [jsonrpc.dumps(message)]

    def read_ready(self) -> None:
        """Do nothing: an SDK transport has to be waited for."""

    def write(self, frame: bytes) -> None:
        self._waiting.append(frame)
        if self._sending is None or self._sending.done():
            # For frames that no handler caused, such as the watchdog's, nobody calls `drain`.
            self._sending = asyncio.ensure_future(self._send_quietly())

    def write_for_blocked_loop(self, frame: bytes) -> None:
        """Keep a frame until the loop runs: an SDK transport cannot write without it."""
        self._waiting.append(frame)

    async def _send_quietly(self) -> None:
        try:
            await self.drain()
        except Exception:  # noqa: BLE001  (each transport signals a departed client differently)
            self._waiting.clear()

    async def drain(self) -> None:
        async with self._lock:
            while self._waiting:
                await self._transport.send(jsonrpc.loads(self._waiting.popleft()))

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        try:
            await self._send_quietly()
        finally:
            await self._transport.close()
