"""A log that commits later than it is written, as one on another machine does.

Owns the delay alone: what is committed is kept by another log. Nobody reads an entry before it has
been committed, and the observers hear of it then.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.log.store import Log


class LateLog:
    """A log whose commits come later; all else is the log's own."""

    def __init__(self, log: Log, later: Callable[[Callable[[], None]], object]) -> None:
        self._log = log
        self._later = later
        self._written: deque[Sequence[LogEntry]] = deque()
        self._last = log.head

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, entries: Sequence[LogEntry]) -> int:
        if entries:
            self._written.append(entries)
            self._last += len(entries)
            self._later(self._commit)
        return self._last

    def _commit(self) -> None:
        if self._written:
            self._log.append(self._written.popleft())

    def finish(self) -> None:
        """Commit what is pending, and write nothing more."""
        while self._written:
            self._commit()
        self._log.finish()

    def close(self) -> None:
        self.finish()
        self._log.close()


def late(log: Log, later: Callable[[Callable[[], None]], object]) -> Log:
    """Return the log with its commits delayed; `later` calls each of them in its order."""
    return cast("Log", LateLog(log, later))
