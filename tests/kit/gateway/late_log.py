"""A log that commits later than it is written, as one on another machine does.

Owns the delay alone: what is committed is kept by another log. Nobody reads an entry before it has
been committed, and the observers hear of it then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from lastword.gateway.log.session_log import session_log
from lastword.gateway.log.store import BATCH_BYTES, BATCH_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.log.entries import LogEntry, Numbered
    from lastword.gateway.log.pins import Pins
    from lastword.gateway.log.store import Log, Observer

LATE_SECONDS = 0.003


class LateLog:
    """A log whose commits come later."""

    def __init__(self, log: Log, later: Callable[[Callable[[], None]], object]) -> None:
        """Delay what is written to a log; `later` calls each commit in its order."""
        self._log = log
        self._later = later
        self._written: deque[Sequence[LogEntry]] = deque()
        self._last = log.head
        self.observers: list[Observer] = log.observers
        self.reason: str = log.reason

    @property
    def epoch(self) -> str:
        return self._log.epoch

    @property
    def head(self) -> int:
        """The last committed entry's number."""
        return self._log.head

    @property
    def first(self) -> int:
        """The oldest kept entry's number."""
        return self._log.first

    @property
    def size_bytes(self) -> int:
        return self._log.size_bytes

    @property
    def written_bytes(self) -> int:
        """The size of what has been committed since it was opened."""
        return self._log.written_bytes

    @property
    def is_behind(self) -> bool:
        """Whether reading from the agent should pause."""
        return self._log.is_behind

    @property
    def pins(self) -> Pins:
        return self._log.pins

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Write entries, which are committed later."""
        if entries:
            self._written.append(entries)
            self._last += len(entries)
            self._later(self._commit)
        return self._last

    def _commit(self) -> None:
        if self._written:
            self._log.append(self._written.popleft())

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """Return the oldest committed entries after a number."""
        return self._log.read(after, max_entries=max_entries, max_bytes=max_bytes)

    def trim(self, *, limit_bytes: int, before_ms: int = 0) -> int:
        return self._log.trim(limit_bytes=limit_bytes, before_ms=before_ms)

    def pinned(self, after: int, last: int) -> list[Numbered]:
        """Return the pinned entries of a range."""
        return self._log.pinned(after, last)

    def pins_of(self, prefix: str) -> list[Numbered]:
        """Return the pinned entries of one kind."""
        return self._log.pins_of(prefix)

    def remember(self, name: str, value: str) -> None:
        self._log.remember(name, value)

    def remembered(self, name: str) -> str:
        return self._log.remembered(name)

    def finish(self) -> None:
        """Commit what is pending, and write nothing more."""
        while self._written:
            self._commit()
        self._log.finish()

    def close(self) -> None:
        """Finish, and read no more."""
        self.finish()
        self._log.close()


def late_log(path: str) -> LateLog:
    """Open the log of a session, whose commits come some milliseconds late."""
    loop = asyncio.get_running_loop()
    return LateLog(session_log(path), lambda commit: loop.call_later(LATE_SECONDS, commit))
