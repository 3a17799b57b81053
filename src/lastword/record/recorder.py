"""What a shell hands its entries to: bounded, with the time of day, and never waited for.

Owns when anything is kept at all: not before a prompt, or a failure, so that a program that is
merely asked for its version leaves no trace. Where the rows go is a carrier's part.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from lastword.core.timeline import Entry, Kind
from lastword.record.bounds import Bounds
from lastword.record.run import Row

if TYPE_CHECKING:
    from collections.abc import Callable

WORTH_KEEPING = frozenset({Kind.PROMPT, Kind.ERROR, Kind.CONTEXT_LOST})
MAX_EARLY = 256
"""Entries kept in mind before anything worth keeping has happened."""


class Carrier(Protocol):
    """The way to the store."""

    def send(self, rows: list[Row]) -> None:
        """Take rows; never waits."""
        ...

    def close(self) -> None:
        """Take no more, and finish what there is; waits for a moment at most."""
        ...


class Recorder:
    """Takes a link's entries."""

    __slots__ = ("_bounds", "_carrier", "_offset", "_pending", "_start")

    def __init__(self, start: Callable[[], Carrier | None]) -> None:
        """`start` begins the way to the store; it is called once there is something to keep."""
        self._start: Callable[[], Carrier | None] | None = start
        self._carrier: Carrier | None = None
        self._bounds = Bounds()
        self._pending: list[Row] = []
        self._offset = time.time() - time.monotonic()

    def record(self, entry: Entry) -> None:
        """Take an entry."""
        for admitted in self._bounds.admit(entry):
            self._pending.append(self._row(admitted))
        if self._start is not None:
            if entry.kind in WORTH_KEEPING:
                start, self._start = self._start, None
                self._carrier = start()
            elif len(self._pending) > MAX_EARLY:
                del self._pending[0]

    def flush(self) -> None:
        """Let what has come go on its way."""
        if self._pending and self._start is None:
            rows, self._pending = self._pending, []
            if self._carrier is not None:
                self._carrier.send(rows)

    def close(self) -> None:
        """There will be no more."""
        self._pending += [self._row(entry) for entry in self._bounds.rest()]
        self.flush()
        if self._carrier is not None:
            self._carrier.close()
            self._carrier = None
        self._start = None

    def _row(self, entry: Entry) -> Row:
        # The time of day may be set while we run; an entry's order is its monotonic time's.
        offset = time.time() - time.monotonic()
        if abs(offset - self._offset) > 1:
            self._offset = offset
        return Row(
            kind=entry.kind.value,
            level=entry.level.value,
            at_epoch_ms=int((entry.at_seconds + self._offset) * 1000),
            at_seconds=entry.at_seconds,
            session_id=entry.session_id,
            turn=entry.turn,
            request_id=entry.request_id,
            facts=entry.facts,
        )
