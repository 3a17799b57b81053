"""Batches: entries of a log that were committed in one go, as they are read again.

Owns the newest ones in memory, and where a read within bounds ends. Where batches are kept for good
is the log's (`sqlite_log`).
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from lastword.gateway.entries import OVERHEAD_BYTES, LogEntry, Numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TAIL_BYTES = 1024 * 1024
"""How much of its end is kept in memory: whoever is there reads what was just committed."""

STRIDE = 512
"""Reads end about where so many entries do, wherever they began."""


class Batch(NamedTuple):
    """Entries that were committed in one go, and the bytes that they count for."""

    entries: list[Numbered]
    size: int

    @classmethod
    def of(cls, first: int, entries: Sequence[LogEntry]) -> Batch:
        """Entries with the numbers from `first` on."""
        numbered = list(map(Numbered, range(first, first + len(entries)), entries))
        return cls(numbered, _size(numbered))

    def after(self, seq: int) -> Batch:
        """What of it follows a number."""
        first = self.entries[0].seq
        if first > seq:
            return self
        rest = self.entries[seq + 1 - first :]
        return Batch(rest, _size(rest))


class Tail:
    """The newest batches of a log in memory: whoever keeps up reads what was just committed."""

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._bytes = 0

    def add(self, batch: Batch) -> None:
        """Take in a batch; the oldest go."""
        self._batches.append(batch)
        self._bytes += batch.size
        while self._bytes > TAIL_BYTES and len(self._batches) > 1:
            self._bytes -= self._batches.popleft().size

    def forget_before(self, first: int) -> None:
        """Let the batches go that end before a number."""
        while self._batches and self._batches[0].entries[-1].seq < first:
            self._bytes -= self._batches.popleft().size

    def after(self, after: int) -> Iterator[Batch] | None:
        """The batches from the one on that holds what follows a number; `None` if it is gone."""
        if not self._batches or after + 1 < self._batches[0].entries[0].seq:
            return None
        newest_first = takewhile(lambda each: each.entries[-1].seq > after, reversed(self._batches))
        return reversed(list(newest_first))


def _size(entries: list[Numbered]) -> int:
    return sum([len(entry.frame) for _, entry in entries]) + OVERHEAD_BYTES * len(entries)


def read_whole(
    batches: Iterable[Batch], after: int, max_entries: int, max_bytes: int
) -> list[Numbered]:
    """What comes next of these batches, within bounds: whole ones, where more than one is begun.

    It ends with the batch in which the next stride ends, so viewers that have fallen behind each in
    its own place come to read the same.
    """
    found: list[Numbered] = []
    size = 0
    for batch in batches:
        entries, more = batch.after(after)
        size += more
        if size <= max_bytes and len(found) + len(entries) <= max_entries:
            found += entries
            if found[-1].seq // STRIDE > (found[0].seq - 1) // STRIDE:
                break
        elif found:
            break
        else:
            return _part(entries, max_entries, max_bytes)
    return found


def _part(entries: list[Numbered], max_entries: int, max_bytes: int) -> list[Numbered]:
    """As many of a batch as fit, and one at least."""
    size = 0
    for count, (_, entry) in enumerate(entries[:max_entries]):
        size += entry.size
        if count and size > max_bytes:
            return entries[:count]
    return entries[:max_entries]
