"""A viewer's position in a log, and the one way in which entries reach it.

Owns attach, replay and live sending, which are the same: whatever is committed and not yet pulled
is pulled. There is no second path, so nothing has to be handed over, held back or deduplicated.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway.log.entries import MAX_SEQ, Cursor, Gap
from lastword.gateway.log.store import BATCH_BYTES

if TYPE_CHECKING:
    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.log.store import PulledLog, ReadableLog


class CursorError(ValueError):
    """A cursor is not valid; the text says why."""


class Reset(StrEnum):
    """Why a cursor could not be used, so that everything that is kept is sent."""

    EPOCH = "epoch"


class Pulled(msgspec.Struct, frozen=True):
    """What to send next, in this order.

    Attributes:
        gap: entries that are no longer kept.
        pinned: the pinned entries in place of the gap, or a part of them.
        passed: the last entry of a gap that ends here; 0 if none does.
        entries: the entries that follow.
        is_own: the entries were put together for one viewer; no other gets the same.
    """

    gap: Gap | None = None
    pinned: tuple[Numbered, ...] = ()
    passed: int = 0
    entries: tuple[Numbered, ...] = ()
    is_own: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to send until the log grows."""
        return self.gap is None and not self.pinned and not self.entries


NOTHING_NEW = Pulled()


class Reader:
    """A position in a log, which moves as the log is read."""

    def __init__(self, log: PulledLog, after: int) -> None:
        """Begin after an entry: 0 for all that is kept, `log.head` for nothing of the past."""
        self._log = log
        self.pos: int = after
        self._gap_ends = 0
        self._standing: deque[Numbered] = deque()
        """What stands for the gap that is being sent, as far as it has not been pulled."""

    @property
    def lag(self) -> int:
        """Return how many entries it is behind."""
        return self._log.head - self.pos

    def go_to(self, after: int) -> None:
        """Continue after another entry, which may be one that was already read."""
        self.pos, self._gap_ends = after, 0
        self._standing.clear()

    def pull(self) -> Pulled:
        """Return what comes next; empty if everything has been read."""
        if self._gap_ends:
            return self._of_gap(None)
        log, pos = self._log, self.pos
        if pos >= log.head:
            return NOTHING_NEW
        entries = tuple(log.read(pos))
        first = entries[0].seq if entries else log.head + 1
        if first > pos + 1:
            self._gap_ends = first - 1
            self._standing.extend(log.pinned(pos, first - 1))
            return self._of_gap(Gap(pos + 1, first - 1))
        self.pos = entries[-1].seq
        return Pulled(entries=entries)

    def _of_gap(self, gap: Gap | None) -> Pulled:
        """Return the gap, or the next part of what replaces it."""
        part: list[Numbered] = []
        size = 0
        while self._standing and (not part or size + self._standing[0].entry.size <= BATCH_BYTES):
            part.append(self._standing.popleft())
            size += part[-1].entry.size
        if self._standing:
            return Pulled(gap, tuple(part))
        self.pos, self._gap_ends = self._gap_ends, 0
        return Pulled(gap, tuple(part), passed=self.pos)


def cursor_of(value: object) -> Cursor:
    """Read a cursor as a viewer sends it: `{"epoch": …, "seq": …}`.

    Raises:
        CursorError: It is not one.
    """
    members = value if isinstance(value, dict) else {}
    epoch, seq = members.get("epoch"), members.get("seq")
    if not isinstance(epoch, str) or not epoch:
        raise CursorError("a cursor names its epoch, as the gateway gave it")
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= MAX_SEQ:
        raise CursorError("a cursor's seq is a whole number, 0 or more")
    return Cursor(epoch, seq)


def start(log: ReadableLog, cursor: Cursor | None) -> tuple[int, Reset | None]:
    """Return where a viewer with this cursor begins, and why not at the cursor.

    Raises:
        CursorError: Its number is greater than any this log ever had.
    """
    if cursor is None:
        return 0, None
    if cursor.epoch != log.epoch:
        return 0, Reset.EPOCH
    if cursor.seq > log.head:
        raise CursorError(f"the log's last entry is {log.head}, and the cursor's is {cursor.seq}")
    return cursor.seq, None
