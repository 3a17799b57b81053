"""A session's log: its functions, its one exception, and the log in memory.

Owns the contract of every log: sequence numbers are dense and begin with 1, an entry is committed
once `head` has reached its number, and entries are only ever missing from the beginning. Each
commit is reported to the observers. `sqlite` keeps logs on disk.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from lastword.errors import StoreError
from lastword.gateway.log.entries import Numbered, Pins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.log.entries import LogEntry

BATCH_ENTRIES = 256
BATCH_BYTES = 64 * 1024
"""What one read gives at most, so that nobody else waits longer than some 2 ms for it. A single
larger entry is given alone."""


class LogUnavailableError(StoreError):
    """A log cannot be used, or can be written no more."""


class Committed(msgspec.Struct, frozen=True, gc=False):
    """The report of one commit.

    Attributes:
        entries: what was committed.
        size_bytes: its size, for limits.
        seconds: how long it took.
    """

    entries: Sequence[LogEntry]
    size_bytes: int
    seconds: float

    @property
    def events(self) -> list[LogEntry]:
        """Return the entries that are not pieces of text, as most are."""
        return [entry for entry in self.entries if not entry.is_text]


Observer: TypeAlias = Callable[[Committed], None]


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

    @property
    def pins(self) -> Pins:
        """The pinned entries, which stand for those that were trimmed."""
        ...


class Log(ReadableLog, Protocol):
    """A session's log, for its only writer.

    Any function that writes or reads what is not in memory may raise `LogUnavailableError`.
    """

    observers: list[Observer]
    """The functions that are called after each commit, in order."""
    reason: str
    """Why it was opened under a new epoch: `new`, `damaged`, …; empty if it was not."""

    @property
    def size_bytes(self) -> int:
        """The size of the kept entries, for limits."""
        ...

    @property
    def written_bytes(self) -> int:
        """The same of everything it has had since it was opened, trimmed or not."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether so much awaits the disk that reading from the agent should pause."""
        ...

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Write entries; return the number of the last one.

        They are committed once `head` has reached it. A log on disk commits before it returns; one
        that commits later calls its observers then.
        """
        ...

    def trim(self, *, limit_bytes: int) -> int:
        """Drop the oldest entries beyond a size; return how many."""
        ...

    def remember(self, name: str, value: str) -> None:
        """Store a fact about the session beside its entries."""
        ...

    def remembered(self, name: str) -> str:
        """Return a stored fact; empty if there is none."""
        ...

    def finish(self) -> None:
        """Commit what is pending, and write nothing more: another process may write it then."""
        ...

    def close(self) -> None:
        """Finish, and read no more."""
        ...


def new_epoch() -> str:
    """Return an epoch that no other log has."""
    return secrets.token_hex(6)


class MemoryLog:
    """A log that ends with its process."""

    def __init__(
        self,
        *,
        epoch: str = "",
        first: int = 1,
        pins: Pins | None = None,
        observers: list[Observer] | None = None,
    ) -> None:
        """Begin an empty log whose first entry will have the number `first`, with these pins."""
        self.epoch: str = epoch or new_epoch()
        self._entries: deque[LogEntry] = deque()
        self.first: int = first
        self.size_bytes: int = 0
        self.pins: Pins = pins if pins is not None else Pins()
        self.observers: list[Observer] = observers if observers is not None else []
        self.reason: str = "new"
        self.written_bytes: int = 0
        self.is_behind: bool = False
        self._facts: dict[str, str] = {}

    @property
    def head(self) -> int:
        return self.first + len(self._entries) - 1

    def append(self, entries: Sequence[LogEntry]) -> int:
        began, size = time.perf_counter(), 0
        for entry in entries:
            self._entries.append(entry)
            size += entry.size
            self.pins.note(self.head, entry)
        self.size_bytes += size
        self.written_bytes += size
        if entries and self.observers:
            committed = Committed(entries, size, time.perf_counter() - began)
            for observer in self.observers:
                observer(committed)
        return self.head

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        entries: list[Numbered] = []
        size = 0
        start = max(after + 1, self.first)
        for seq in range(start, min(start + max_entries, self.head + 1)):
            entry = self._entries[seq - self.first]
            size += entry.size
            if entries and size > max_bytes:
                break
            entries.append(Numbered(seq, entry))
        return entries

    def trim(self, *, limit_bytes: int) -> int:
        """Drop the oldest entries; the newest stays."""
        gone = 0
        while len(self._entries) > 1 and self.size_bytes > limit_bytes:
            self.size_bytes -= self._entries.popleft().size
            self.first += 1
            gone += 1
        return gone

    def remember(self, name: str, value: str) -> None:
        self._facts[name] = value

    def remembered(self, name: str) -> str:
        return self._facts.get(name, "")

    def finish(self) -> None:
        """Do nothing: nobody else can write it."""

    def close(self) -> None:
        """Do nothing: it has no file."""
