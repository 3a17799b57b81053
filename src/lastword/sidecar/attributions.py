"""Attribution of a line in a log that several processes may write, to the agent of this run.

Owns what proves it: the process that the line names, or that the agent's processes alone have the
file open for writing. Sessions are compared by those who read the lines. Nothing is known on
systems without /proc, nor of a writer that opens the file for each line.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import Attribution
from lastword.platform.process_tree import belongs_to, find_writers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from lastword.platform.process_tree import Writers

VALID_SECONDS = 2.0
"""How long it is valid who has a file open: a search reads the table of each process."""

MAX_FILES = 64


class Attributions:
    """Who writes the files of one agent."""

    __slots__ = ("_group", "_writers")

    def __init__(self, group: Callable[[], int]) -> None:
        """Create it; `group` returns the process group of the agent that runs."""
        self._group = group
        self._writers: dict[str, tuple[float, Writers]] = {}

    def of_line(
        self, path: str, pid: int | None, best: Attribution
    ) -> Generator[None, None, Attribution]:
        """Return the attribution of a new line of a file, at most `best`.

        Args:
            path: The file.
            pid: The process that the line names, if any.
            best: What is known of a line that this agent has written.
        """
        if pid is not None:
            return best if belongs_to(pid, self._group()) else Attribution.FOREIGN
        writers = yield from self._writers_of(path)
        if writers.others:
            return Attribution.FOREIGN
        return best if writers.own else Attribution.WEAK

    def _writers_of(self, path: str) -> Generator[None, None, Writers]:
        now = time.monotonic()
        valid = self._writers.get(path)
        if valid is not None and now - valid[0] < VALID_SECONDS:
            return valid[1]
        writers = yield from find_writers(path, self._group())
        if len(self._writers) >= MAX_FILES:
            self._writers.clear()
        self._writers[path] = now, writers
        return writers
