"""Connections between a viewer's link and a holder: within this process, or between machines.

Owns the little of asyncio's streams that both use, and the two ends of a connection within this
process, each of which reads what the other writes. What an end does not read waits here, up to its
limit; its peer's `drain` waits for that.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeAlias


class WriteEnd(Protocol):
    """What is used of asyncio's `WriteTransport`."""

    def set_write_buffer_limits(self, high: int | None = None) -> None:
        """Have `drain` wait while more than this is unread."""
        ...

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait."""
        ...

    def is_closing(self) -> bool:
        """Return whether it is closed, or about to be."""
        ...

    def abort(self) -> None:
        """Close it at once."""
        ...


class ByteReader(Protocol):
    """What is used of asyncio's `StreamReader`."""

    async def read(self, n: int = -1, /) -> bytes:
        """Return what there is, at most `n` bytes; empty at the end."""
        ...

    async def readline(self) -> bytes:
        """Return the next line with its end, or what is left at the end."""
        ...


class ByteWriter(Protocol):
    """What is used of asyncio's `StreamWriter`."""

    @property
    def transport(self) -> WriteEnd:
        """Return what it writes to."""
        ...

    def write(self, data: bytes, /) -> None:
        """Write, without waiting."""
        ...

    async def drain(self) -> None:
        """Wait until the other end has read enough."""
        ...

    def is_closing(self) -> bool:
        """Return whether it is closed, or about to be."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


Duplex: TypeAlias = tuple[ByteReader, ByteWriter]


class LocalReader:
    """What one end reads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.has_ended: bool = False
        """Whether nothing more comes."""
        self._news = asyncio.Event()
        self.room: asyncio.Event = asyncio.Event()
        """Whether its peer may write more."""
        self.room.set()

    @property
    def unread_bytes(self) -> int:
        """Return how many bytes wait."""
        return len(self._data)

    def feed(self, data: bytes) -> None:
        """Take in what the peer writes."""
        self._data += data
        if len(self._data) > 2 * self._limit:
            self.room.clear()
        self._news.set()

    def end(self) -> None:
        """Note that nothing more comes."""
        self.has_ended = True
        self._news.set()
        self.room.set()

    async def read(self, n: int = -1, /) -> bytes:
        """Return what there is, at most `n` bytes; empty at the end."""
        while not self._data and not self.has_ended:
            self._news.clear()
            await self._news.wait()
        return self._taken(len(self._data) if n < 0 else min(n, len(self._data)))

    async def readline(self) -> bytes:
        """Return the next line with its end, or what is left at the end.

        Raises:
            ValueError: It is longer than the limit.
        """
        looked = 0
        while True:
            end = self._data.find(b"\n", looked) + 1
            if end:
                return self._taken(end)
            looked = len(self._data)
            if looked > self._limit:
                self._data.clear()
                self.room.set()
                raise ValueError("the line is too long")
            if self.has_ended:
                return self._taken(looked)
            self._news.clear()
            await self._news.wait()

    def _taken(self, count: int) -> bytes:
        taken = bytes(self._data[:count])
        del self._data[:count]
        if len(self._data) <= self._limit:
            self.room.set()
        return taken


class LocalWriter:
    """What one end writes; it is its own transport."""

    def __init__(self, reads: LocalReader, peer: LocalReader) -> None:
        self._reads = reads
        self._peer = peer
        self._is_closed = False

    @property
    def transport(self) -> LocalWriter:
        """Return what has its buffer's size."""
        return self

    def set_write_buffer_limits(self, high: int | None = None) -> None:
        """Do nothing: what the other end reads ahead is its own limit."""

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the other end has not read."""
        return self._peer.unread_bytes

    def is_closing(self) -> bool:
        """Return whether either end has been closed."""
        return self._is_closed or self._reads.has_ended

    def write(self, data: bytes, /) -> None:
        """Write; what comes after an end is lost."""
        if not self.is_closing():
            self._peer.feed(data)

    async def drain(self) -> None:
        """Wait until the other end has read enough.

        Raises:
            ConnectionResetError: It has been closed.
        """
        while not self.is_closing() and not self._peer.room.is_set():
            await self._peer.room.wait()
        if self.is_closing():
            raise ConnectionResetError

    def close(self) -> None:
        """End both directions."""
        self._is_closed = True
        self._peer.end()
        self._reads.end()

    def abort(self) -> None:
        """End both directions."""
        self.close()


def pair(limit: int, other_limit: int) -> tuple[Duplex, Duplex]:
    """Return two connected ends.

    Args:
        limit: How much the first one reads ahead, in bytes; it holds twice as much.
        other_limit: The same of the second.
    """
    first, second = LocalReader(limit), LocalReader(other_limit)
    return (first, LocalWriter(first, second)), (second, LocalWriter(second, first))
