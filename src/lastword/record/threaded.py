"""The recorder of a sidecar: a thread in its process.

Owns the thread and the rows that wait for it. It never delays the sidecar. If the sidecar is
killed, the rows of the last moment are lost; the end of a turn is written at once.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from lastword.core.timeline.entry import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.record.run import Row
    from lastword.record.sink import StoreSink

MAX_WAITING = 20_000
"""Rows that wait for a disk; later ones are lost."""

CLOSE_SECONDS = 1.0
"""How long the end of the sidecar waits until its last rows are on disk."""

BATCH_SECONDS = 0.2
"""How long rows are collected that are not the end of a turn."""

RETRY_SECONDS = 5.0
"""How long to wait before trying again to write to the store."""


class ThreadedRecorder:
    """A thread that writes rows."""

    __slots__ = ("_ending", "_some", "_start", "_thread", "_urgent", "_waiting")

    def __init__(self, start: Callable[[], StoreSink]) -> None:
        """Start it; `start` opens the sinks in the thread."""
        self._some = threading.Event()
        self._urgent = threading.Event()
        self._waiting: deque[Row] = deque(maxlen=MAX_WAITING)
        self._ending = False
        self._start = start
        self._thread = threading.Thread(target=self._run, name="lastword.record", daemon=True)
        self._thread.start()

    def send(self, rows: list[Row]) -> None:
        """Receive rows; never wait."""
        self._waiting.extend(rows)
        # Checked first: waking a thread takes longer than all the rest, and it may be awake.
        if rows and not self._some.is_set():
            self._some.set()
        if any(row.kind in TERMINAL for row in rows):
            self._urgent.set()

    def close(self) -> None:
        """Have it finish, without waiting for a disk that hangs."""
        self._ending = True
        self._some.set()
        self._urgent.set()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        sinks = self._start()
        while not self._ending:
            if self._some.wait(RETRY_SECONDS if sinks.is_behind else None):
                self._urgent.wait(BATCH_SECONDS)
            self._some.clear()
            self._urgent.clear()
            self._write(sinks)
        self._write(sinks)
        sinks.close_record(ended=True)
        sinks.close_others()

    def _write(self, sinks: StoreSink) -> None:
        sinks.send([self._waiting.popleft() for _ in range(len(self._waiting))])
