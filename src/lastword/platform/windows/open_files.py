"""Open files on Windows: which processes belong to an agent; who writes to a file nobody knows."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from lastword.platform.process_info import Writers
from lastword.platform.windows.process_tree import read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator


def belongs_to(pid: int, group: int) -> bool:
    """Return whether a running process is the agent's first, or descends from it."""
    return group > 0 and any(process.pid == pid for process in read_tree(group))


def find_writers(path: str, group: int) -> Generator[None, None, Writers]:  # noqa: ARG001
    """Return that neither the agent nor others are seen to have the file open for writing."""
    yield
    return Writers(own=False, others=False)
