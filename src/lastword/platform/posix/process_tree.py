"""An agent's processes: the tree below the one that was started, as /proc shows it on Linux.

Owns what is read of a process: its state, its time on a processor, its age, its program's name and
its sockets. macOS has no /proc, and there is no tree. It is loaded at the first silence.
"""

from __future__ import annotations

import os
import sys
import time

assert sys.platform != "win32"

from lastword.platform.process_info import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PROCESSES = 128
MAX_THREADS = 64
MAX_DESCRIPTORS = 1024
MAX_BYTES = 4096
_TICKS = os.sysconf("SC_CLK_TCK")


def read_tree(root: int) -> list[Process]:
    """Return a process and its descendants, the root first; empty if it cannot be read."""
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0
    waiting, processes = [root], list[Process]()
    while waiting and len(processes) < MAX_PROCESSES:
        pid = waiting.pop(0)
        process = _process(pid, uptime)
        if process is not None:
            processes.append(process)
            waiting += _children(pid)
    return processes


def sockets_of(pid: int) -> Iterator[int]:
    """Return the inodes of a process's sockets."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)[:MAX_DESCRIPTORS]
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            yield int(target[8:-1])


def _process(pid: int, uptime: float) -> Process | None:
    text = _read(f"/proc/{pid}/stat")
    name, _, rest = text.partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    try:
        cpu_ticks, started = int(fields[11]) + int(fields[12]), int(fields[19])
        parent = int(fields[1])
    except (IndexError, ValueError):
        return None
    command = _read(f"/proc/{pid}/cmdline")
    return Process(
        pid=pid,
        parent=parent,
        state=fields[0].decode(errors="replace"),
        cpu_seconds=cpu_ticks / _TICKS,
        queued_seconds=_queued_seconds(pid),
        age_seconds=max(uptime - started / _TICKS, 0.0),
        name=name.decode(errors="replace"),
        words=tuple(word.decode(errors="replace") for word in command.split(b"\0") if word),
    )


def _queued_seconds(pid: int) -> float:
    """Return a main thread's time on the run queue; 0 where the kernel does not count it."""
    fields = _read(f"/proc/{pid}/schedstat").split()
    try:
        return int(fields[1]) / 1e9
    except (IndexError, ValueError):
        return 0.0


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")[:MAX_THREADS]
    except OSError:
        return []
    return [
        int(child)
        for thread in threads
        for child in _read(f"/proc/{pid}/task/{thread}/children").split()
    ]


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, MAX_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)
