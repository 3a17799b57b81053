"""Framing on file descriptors: whole lines in, bounded pending bytes out.

Owns buffers and their bounds. It does not interpret lines, and never waits: it works on
descriptors that are ready. A slow reader slows down its writer; every buffer is bounded.
"""

from __future__ import annotations

import errno
import sys
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from lastword.platform.pipes import close, is_same_file, write

if TYPE_CHECKING:
    from collections.abc import MutableSequence

READ_BYTES = 64 * 1024
HEAD_BYTES = 4096
TAIL_BYTES = 4096
HIGH_WATER_BYTES = 256 * 1024
"""A source is not read while more than this is pending for its sink."""

LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""The default of `lastword run --line-limit`; no real message is that long."""

SMALL_BYTES = 4096
"""Shorter pieces are joined: a piece of three bytes takes fifty as an object."""

STDERR_PENDING_BYTES = 256 * 1024
PIPE_BUF_BYTES = 512 if sys.platform == "darwin" else 4096
"""How many bytes a ready pipe accepts without blocking (POSIX's PIPE_BUF on macOS and Linux)."""


def whole_lines(block: bytes) -> list[bytes]:
    """Return the lines of a block, without blank ones."""
    return [line for line in block.split(b"\n") if line and not line.isspace()]


_Piece: TypeAlias = bytes | bytearray | memoryview


def _keep(pieces: MutableSequence[_Piece], data: _Piece) -> None:
    """Append bytes to the unfinished line."""
    last = pieces[-1] if pieces else None
    if isinstance(last, bytearray) and len(last) < READ_BYTES:
        last += data
    else:
        pieces.append(bytearray(data) if len(data) < SMALL_BYTES else data)


class LineReader:
    """Bytes in, blocks of whole lines out. One line never takes more memory than the limit.

    A limit of 0 means no limit.
    """

    __slots__ = ("_head", "_limit", "_pieces", "_size", "_skipping", "_tail")

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes or sys.maxsize
        self._pieces: list[_Piece] = []
        self._size = 0
        self._head = self._tail = b""
        self._skipping = False

    def feed(self, data: bytes) -> tuple[bytes | None, bytes]:
        """Receive bytes.

        Returns:
            The beginning and end of a line over the limit that has just been skipped, if any, and
            the lines that are now complete, with their line ends.
        """
        oversized = None
        if self._skipping:
            end = data.find(b"\n")
            self._tail = (self._tail + data[: end if end >= 0 else None])[-TAIL_BYTES:]
            if end < 0:
                return None, b""
            oversized = self._head + b"\n" + self._tail
            self._head, self._tail, self._skipping = b"", b"", False
            data = data[end + 1 :]
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._keep(data)
            return oversized, b""
        block = data if end == len(data) else data[:end]
        if self._pieces:
            # Joined once per line, so that the cost of a long line is linear.
            block = b"".join([*self._pieces, block])
            self._pieces.clear()
            self._size = 0
        if end < len(data):
            self._keep(data[end:])
        return oversized, block

    @property
    def holds_part(self) -> bool:
        """Return whether there is an unfinished line."""
        return bool(self._pieces) or self._skipping

    @property
    def part_bytes(self) -> int:
        """Return the size of an unfinished line."""
        return self._size

    def rest(self) -> bytes:
        """Return what followed the last line end, and empty the buffer."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return rest

    def _keep(self, data: bytes) -> None:
        if not data:
            return
        _keep(self._pieces, data)
        self._size += len(data)
        if self._size > self._limit:
            line = b"".join(self._pieces)
            self._head, self._tail = line[:HEAD_BYTES], line[-TAIL_BYTES:]
            self._pieces.clear()
            self._size = 0
            self._skipping = True


class FrameWriter:
    """Whole frames out, on a non-blocking descriptor."""

    __slots__ = ("_pending", "broken", "closed", "failure", "fd", "pending_bytes")

    def __init__(self, fd: int) -> None:
        self.fd: int = fd
        self.failure: OSError | None = None
        """Why a write failed, unless the reader has gone."""
        self._pending: deque[_Piece] = deque()
        self.pending_bytes: int = 0
        """How many bytes wait for the reader."""
        self.broken: bool = False
        """Whether the reader has gone; what is written is dropped."""
        self.closed: bool = False

    @property
    def full(self) -> bool:
        """Return whether too much is pending to read from its source."""
        return self.pending_bytes > HIGH_WATER_BYTES

    def write(self, data: bytes) -> None:
        """Write what the reader accepts now, and keep the rest."""
        if self.broken or self.closed or not data:
            return
        rest: _Piece = data
        if not self._pending:
            rest = self._write_now(data)
            if not rest:
                return
        _keep(self._pending, rest)
        self.pending_bytes += len(rest)

    def flush(self) -> None:
        """Write what is pending, as far as the reader accepts it."""
        while self._pending and not self.broken:
            data = self._pending.popleft()
            self.pending_bytes -= len(data)
            rest = self._write_now(data)
            if rest:
                self._pending.appendleft(rest)
                self.pending_bytes += len(rest)
                return

    def pending(self) -> bytes:
        """Return what the reader has not accepted yet."""
        return b"".join(self._pending)

    def close(self) -> None:
        """Close the descriptor; pending bytes are lost."""
        if not self.closed:
            self.closed = True
            self._drop()
            close(self.fd)

    def give_up(self) -> None:
        """Drop everything: the reader has gone."""
        self.broken = True
        self._drop()

    def _drop(self) -> None:
        self._pending.clear()
        self.pending_bytes = 0

    def _write_now(self, data: _Piece) -> _Piece:
        """Write; return the bytes that were not accepted."""
        try:
            written = write(self.fd, data)
            while written < len(data):
                # A view: a frame of many megabytes is not copied again for every piece.
                data = memoryview(data)[written:]
                written = write(self.fd, data)
        except BlockingIOError:
            return data
        except OSError as error:
            if error.errno != errno.EPIPE:
                self.failure = error
            self.give_up()
        return b""


class StderrWriter:
    """Passes the agent's stderr on without ever blocking, and reports what it left out.

    The inherited stderr may be a terminal shared with others, whose flags must not change. It stays
    a blocking descriptor, and gets no more at a time than a ready pipe must accept.
    """

    __slots__ = ("_beside", "_cut_bytes", "_pending", "broken", "fd")

    def __init__(self, fd: int) -> None:
        self.fd: int = fd
        self._pending = bytearray()
        self._cut_bytes = 0
        self._beside: FrameWriter | None = None
        """The writer of frames, if both have one destination (`2>&1`)."""
        self.broken: bool = False

    @property
    def pending(self) -> bool:
        """Whether there is something to write; beside frames, only a whole line."""
        if self._beside is not None:
            has_line = self._cut_bytes > 0 or b"\n" in self._pending
            return has_line and not self._beside.full and not self.broken
        return bool(self._pending or self._cut_bytes) and not self.broken

    def share(self, frames: FrameWriter) -> None:
        """Write whole lines through the writer of frames, if both lead to one pipe or file.

        Otherwise parts of lines would be mixed.
        """
        try:
            if is_same_file(self.fd, frames.fd):
                self._beside = frames
        except OSError:
            return

    def end_line(self) -> None:
        """End an unfinished line, whose writer has gone."""
        if self._beside is not None and self._pending and not self._pending.endswith(b"\n"):
            self._pending += b"\n"

    def write(self, data: bytes) -> None:
        """Keep bytes for the reader, if there is room."""
        room = STDERR_PENDING_BYTES - len(self._pending)
        if self._cut_bytes or len(data) > room:
            self._cut_bytes += len(data)
        else:
            self._pending += data

    def flush(self) -> None:
        """Write one piece; call it when the descriptor is ready."""
        if not self._pending and self._cut_bytes:
            note = f"\nlastword: {self._cut_bytes} bytes of the agent's stderr left out here\n"
            self._pending += note.encode()
            self._cut_bytes = 0
        if self._beside is not None:
            end = self._pending.rfind(b"\n") + 1 or len(self._pending)
            self._beside.write(bytes(self._pending[:end]))
            del self._pending[:end]
            return
        piece = bytes(self._pending[:PIPE_BUF_BYTES])
        try:
            written = write(self.fd, piece)
        except BlockingIOError:
            return
        except OSError:
            self.broken = True
            return
        del self._pending[:written]
