"""A crowd at one session: viewers that read, that read slowly, and that never read.

Owns the reading of many sockets in one thread, and the count of what each was given.
"""

from __future__ import annotations

import resource
import selectors
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

FUSE_SECONDS = 150.0
READ_BYTES = 1 << 18
SLOW_BYTES = 1 << 16
SLOW_SECONDS = 0.05
SMALL_BUFFER_BYTES = 1 << 14
"""Of those who never read: what the kernel takes for them is no gateway's memory."""


@dataclass
class Reader:
    """One viewer's socket, and the frames that came on it so far."""

    socket: socket.socket
    updates: int = 0
    _left: int = 0
    """Of the frame at which it stands."""
    _rest: bytes = b""

    def read(self, size: int, update_bytes: int) -> None:
        """Take what is there, and count the frames that are as long as an update."""
        try:
            data = self.socket.recv(size)
        except BlockingIOError:
            return
        if not data:
            raise SystemExit("a viewer's connection has ended")
        if self._left >= len(data):
            self._left -= len(data)
            return
        data, self._left = self._rest + data[self._left :], 0
        at = 0
        while (end := self._header(data, at)) is not None:
            start, length = end
            self.updates += length == update_bytes
            at = start + length
            if at >= len(data):
                self._left, self._rest = at - len(data), b""
                return
        self._rest = data[at:]

    @staticmethod
    def _header(data: bytes, at: int) -> tuple[int, int] | None:
        """Where the payload of the frame at a place begins, and how long it is."""
        if len(data) < at + 2:
            return None
        size = data[at + 1]
        if size < 126:
            return at + 2, size
        octets = 2 if size == 126 else 8
        if len(data) < at + 2 + octets:
            return None
        return at + 2 + octets, int.from_bytes(data[at + 2 : at + 2 + octets], "big")


def allow_descriptors(wanted: int) -> None:
    """Have so many sockets, for us and for whom we start.

    Raises:
        SystemExit: The machine does not allow them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        raise SystemExit(f"{wanted} descriptors are needed, and {hard} allowed: ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def read_all(
    brisk: list[Reader], slow: list[Reader], updates: int, update_bytes: int
) -> tuple[float, float]:
    """Read until all have so many updates; gives after how many seconds each kind had them."""
    began = time.monotonic()
    took = [0.0, 0.0]
    chosen = selectors.DefaultSelector()
    for reader in (*brisk, *slow):
        reader.socket.settimeout(0)
    for reader in brisk:
        chosen.register(reader.socket, selectors.EVENT_READ, reader)
    swept = 0.0
    while brisk or slow:
        now = time.monotonic() - began
        if now > FUSE_SECONDS:
            raise SystemExit(f"{len(brisk) + len(slow)} viewers have not got everything")
        for key, _ in chosen.select(SLOW_SECONDS):
            key.data.read(READ_BYTES, update_bytes)
            if key.data.updates >= updates:
                chosen.unregister(key.data.socket)
                brisk.remove(key.data)
                took[0] = time.monotonic() - began
        if now - swept > SLOW_SECONDS:
            swept = now
            for reader in slow:
                reader.read(SLOW_BYTES, update_bytes)
            slow = [each for each in slow if each.updates < updates]
            took[1] = time.monotonic() - began
    return took[0], took[1]
