"""Agents that tell their own log file why a turn failed, and nobody else.

Owns what of a log is evidence. A log is looked at only when a turn of such an agent's has ended in
silence, and only what was appended since the agent was ready. Which agents those are, and where
each keeps its log, is `quirks.journals`'s.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.quirks import journals

if TYPE_CHECKING:
    from lastword.quirks.journals import KnownJournal

MAX_NEWS_BYTES = 256 * 1024


class AgentLog:
    """What an agent's log says from now on."""

    __slots__ = ("_at", "_known", "_path")

    def __init__(self, known: KnownJournal) -> None:
        self._known = known
        folder = os.environ.get(known.variable) or os.path.expanduser(known.default)
        self._path = os.path.join(folder, known.path)
        self._at = self._size()

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0

    def news(self) -> bytes:
        """The last error that was logged since the last call, without the log's own beginnings."""
        size = self._size()
        begin, self._at = self._at, size
        if size <= begin:
            return b""
        try:
            with open(self._path, "rb") as log:
                log.seek(max(begin, size - MAX_NEWS_BYTES))
                lines = log.read(MAX_NEWS_BYTES).splitlines()
        except OSError:
            return b""
        texts = [
            line.partition(self._known.separator)[2] for line in lines if self._known.marker in line
        ]
        # A traceback's frames are indented; its last line, the exception, is not.
        said = [text for text in texts if text[:1].strip()]
        return said[-1] + b"\n" if said else b""


def watch_logs() -> dict[str, AgentLog]:
    """The known logs as they are before the agent has said its name, by that name."""
    return {row.name: AgentLog(row) for row in journals.ROWS}
