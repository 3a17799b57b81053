"""Open files, as /proc shows them on Linux: who may write to a file, and who is of an agent.

On macOS nobody knows. It is loaded for a line of a
log that several processes may write to.
"""

from __future__ import annotations

import os
import re
import sys

assert sys.platform != "win32"

from lastword.platform.process_info import Writers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

MAX_PROCESSES = 16_384
MAX_DESCRIPTORS = 4096
MAX_ANCESTORS = 32
_FLAGS = re.compile(rb"flags:\s*([0-7]+)")
_PARENT = 1
"""The parent's place in /proc/PID/stat, counted behind the program's name."""


def belongs_to(pid: int, group: int) -> bool:
    """Return whether a running process is of this group, or descends from its leader."""
    for _ in range(MAX_ANCESTORS):
        if pid <= 1 or group <= 0:
            return False
        try:
            if pid == group or os.getpgid(pid) == group:
                return True
            with open(f"/proc/{pid}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
            pid = int(words[_PARENT])
        except (OSError, ValueError, IndexError):
            return False
    return False


def find_writers(path: str, group: int) -> Generator[None, None, Writers]:
    """Return who has a file open for writing, yielding after each process."""
    target = os.path.realpath(path)
    own = others = False
    for pid in _processes():
        if _writes(pid, target):
            own, others = (True, others) if belongs_to(pid, group) else (own, True)
        yield
    return Writers(own, others)


def _processes() -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit()][:MAX_PROCESSES]


def _writes(pid: int, target: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)[:MAX_DESCRIPTORS]
    except OSError:
        return False  # it has ended, or is another user's
    return any(_link(f"{folder}/{name}") == target and _may_write(pid, name) for name in names)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _may_write(pid: int, name: str) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{name}", "rb") as file:
            flags = _FLAGS.search(file.read())
    except OSError:
        return False
    return flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY
