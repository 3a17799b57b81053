"""The recorder, which takes a shell's entries: bounded, stamped with the time, never waited for.

Owns when anything is kept at all: not before a prompt or a failure, so that a program that is
merely asked for its version leaves no trace. A sink decides where the rows go.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.core.timeline.entry import Entry, Kind
from lastword.record.bounds import Bounds
from lastword.record.run import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.record.bounds import HourlyBounds
    from lastword.record.sink import Sink

WORTH_KEEPING = frozenset(
    {
        *(Kind.PROMPT, Kind.ERROR, Kind.CONTEXT_LOST),
        *(Kind.HOLDER_DIED, Kind.SESSION_NOT_RESTORED, Kind.SUPERVISOR_EXITED),
    }
)
MAX_EARLY = 256
"""Entries kept in mind before anything worth keeping has happened."""


class Recorder:
    """Takes a link's entries."""

    __slots__ = ("_bounds", "_offset", "_pending", "_sink", "_start")

    def __init__(
        self, start: Callable[[], Sink | None], bounds: Bounds | HourlyBounds | None = None
    ) -> None:
        """Create it; `start` opens the sink, and is called once there is something to keep."""
        self._start: Callable[[], Sink | None] | None = start
        self._sink: Sink | None = None
        self._bounds = Bounds() if bounds is None else bounds
        self._pending: list[Row] = []
        self._offset = time.time() - time.monotonic()

    def record(self, entry: Entry) -> None:
        for admitted in self._bounds.admit(entry):
            self._pending.append(self._row(admitted))
        if self._start is not None:
            if entry.kind in WORTH_KEEPING:
                self.keep()
            elif len(self._pending) > MAX_EARLY:
                del self._pending[0]

    def keep(self) -> None:
        """Note that something besides this recorder's entries is worth keeping."""
        if self._start is not None:
            start, self._start = self._start, None
            self._sink = start()

    def flush(self) -> None:
        if self._pending and self._start is None:
            rows, self._pending = self._pending, []
            if self._sink is not None:
                self._sink.send(rows)

    def tend(self) -> None:
        """Look after the sink, now that a process has ended: it may have been the sink's own."""
        if self._sink is not None:
            self._sink.send([])

    def close(self) -> None:
        """Close it: there will be no more entries."""
        self._pending += [self._row(entry) for entry in self._bounds.rest()]
        self.flush()
        if self._sink is not None:
            self._sink.close()
            self._sink = None
        self._start = None

    def _row(self, entry: Entry) -> Row:
        # The time of day may be set while we run; entries are ordered by monotonic time.
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
            content=entry.content,
        )
