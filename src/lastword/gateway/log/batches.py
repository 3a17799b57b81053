"""Batches: log entries that were committed together, kept for reading.

Owns the newest batches in memory, and where a bounded read ends. `sqlite` stores them.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from lastword.gateway.log.entries import OVERHEAD_BYTES, LogEntry, Numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TAIL_BYTES = 128 * 1024
"""How much of its end is kept in memory: whoever is there reads what was just committed."""

STRIDE = 128
"""Reads end at about a multiple of this many entries, wherever they began."""


class Batch(NamedTuple):
    """Entries that were committed together, and their size in bytes."""

    entries: list[Numbered]
    size: int

    @classmethod
    def of(cls, first: int, entries: Sequence[LogEntry]) -> Batch:
        """Return a batch of entries numbered from `first`."""
        numbered = list(map(Numbered, range(first, first + len(entries)), entries))
        return cls(numbered, _size(numbered))

    def after(self, seq: int) -> Batch:
        """Return its entries after a number."""
        first = self.entries[0].seq
        if first > seq:
            return self
        rest = self.entries[seq + 1 - first :]
        return Batch(rest, _size(rest))


class Tail:
    """The newest batches of a log in memory, for readers that keep up."""

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._bytes = 0

    def add(self, batch: Batch) -> None:
        """Add a batch, and drop the oldest ones."""
        self._batches.append(batch)
        self._bytes += batch.size
        while self._bytes > TAIL_BYTES and len(self._batches) > 1:
            self._bytes -= self._batches.popleft().size

    def forget_before(self, first: int) -> None:
        """Drop the batches that end before a number."""
        while self._batches and self._batches[0].entries[-1].seq < first:
            self._bytes -= self._batches.popleft().size

    def after(self, after: int) -> Iterator[Batch] | None:
        """Return the batches from the one with the next entry on; `None` if it is not here."""
        if not self._batches or after + 1 < self._batches[0].entries[0].seq:
            return None
        newest_first = takewhile(lambda each: each.entries[-1].seq > after, reversed(self._batches))
        return reversed(list(newest_first))


def _size(entries: list[Numbered]) -> int:
    return sum([len(entry.frame) for _, entry in entries]) + OVERHEAD_BYTES * len(entries)


def read_whole(
    batches: Iterable[Batch], after: int, max_entries: int, max_bytes: int
) -> list[Numbered]:
    """Return the next entries of these batches within bounds, in whole batches if possible.

    It ends with the batch in which the next stride ends, so that viewers which lag by different
    amounts come to read the same.
    """
    entries_read: list[Numbered] = []
    size = 0
    for batch in batches:
        entries, more = batch.after(after)
        size += more
        if size <= max_bytes and len(entries_read) + len(entries) <= max_entries:
            entries_read += entries
            if entries_read[-1].seq // STRIDE > (entries_read[0].seq - 1) // STRIDE:
                break
        elif entries_read:
            break
        else:
            return _part(entries, max_entries, max_bytes)
    return entries_read


def _part(entries: list[Numbered], max_entries: int, max_bytes: int) -> list[Numbered]:
    """Return as much of a batch as fits, but at least one entry."""
    size = 0
    for count, (_, entry) in enumerate(entries[:max_entries]):
        size += entry.size
        if count and size > max_bytes:
            return entries[:count]
    return entries[:max_entries]
