"""A session's log: five functions, and the log in memory.

Owns the contract of every log: sequence numbers are dense and begin with 1, an entry is committed
once `append` has returned, and entries are only ever missing from the beginning. `sqlite`
keeps logs on disk.
"""

from __future__ import annotations

import secrets
from collections import deque
from typing import TYPE_CHECKING, Protocol

from lastword.gateway.log.entries import Numbered
from lastword.gateway.log.pins import Pins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.log.entries import LogEntry

BATCH_ENTRIES = 1024
BATCH_BYTES = 256 * 1024
"""What one read gives at most; a single larger entry is given alone."""


class ReadableLog(Protocol):
    """What readers need of a log."""

    @property
    def epoch(self) -> str:
        """Identify this log's numbering; new whenever its end may be missing."""
        ...

    @property
    def head(self) -> int:
        """The last committed entry's number, 0 before the first."""
        ...

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept; `head + 1` where none is."""
        ...

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """Return the oldest kept entries after a number, in order and within the bounds."""
        ...

    def pins_of(self, prefix: str) -> list[Numbered]:
        """Return the pinned entries of one kind of key (`pins`), in order."""
        ...


class Log(ReadableLog, Protocol):
    """A session's log, for its only writer."""

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Commit entries; return the new head. Entries are not committed until it returns."""
        ...

    def trim(self, *, limit_bytes: int, before_ms: int = 0) -> int:
        """Drop the oldest entries, beyond a size or an age; return how many."""
        ...

    def pinned(self, after: int, last: int) -> list[Numbered]:
        """Return the pinned entries of a range of numbers, in order."""
        ...


def new_epoch() -> str:
    """Return an epoch that no other log has."""
    return secrets.token_hex(6)


class MemoryLog:
    """A log that ends with its process."""

    def __init__(self, *, epoch: str = "", first: int = 1, pins: Pins | None = None) -> None:
        """Begin an empty log whose first entry will have the number `first`, with these pins."""
        self.epoch: str = epoch or new_epoch()
        self._entries: deque[LogEntry] = deque()
        self._first = first
        self._bytes = 0
        self._pins = pins if pins is not None else Pins()

    @property
    def size_bytes(self) -> int:
        """Return the size of the kept entries, for limits."""
        return self._bytes

    @property
    def head(self) -> int:
        """The last entry's number."""
        return self._first + len(self._entries) - 1

    @property
    def first(self) -> int:
        """The oldest kept entry's number."""
        return self._first

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Commit entries."""
        for entry in entries:
            self._entries.append(entry)
            self._bytes += entry.size
            self._pins.note(self.head, entry)
        return self.head

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """The oldest entries after a number."""
        found: list[Numbered] = []
        size = 0
        start = max(after + 1, self._first)
        for seq in range(start, min(start + max_entries, self.head + 1)):
            entry = self._entries[seq - self._first]
            size += entry.size
            if found and size > max_bytes:
                break
            found.append(Numbered(seq, entry))
        return found

    def trim(self, *, limit_bytes: int, before_ms: int = 0) -> int:
        """Drop the oldest entries; the newest stays."""
        gone = 0
        while len(self._entries) > 1 and (
            self._bytes > limit_bytes or self._entries[0].at_ms < before_ms
        ):
            self._bytes -= self._entries.popleft().size
            self._first += 1
            gone += 1
        return gone

    def pinned(self, after: int, last: int) -> list[Numbered]:
        """The pinned entries of a range."""
        return self._pins.between(after, last)

    def pins_of(self, prefix: str) -> list[Numbered]:
        """The pinned entries of one kind."""
        return self._pins.of(prefix)
