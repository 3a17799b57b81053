"""Locks of Linux and macOS: `flock`, which goes with its descriptor."""

from __future__ import annotations

import os
import sys

assert sys.platform != "win32"

import fcntl


def lock(fd: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock a file until its descriptor is closed.

    Args:
        fd: Its descriptor.
        shared: Whether others may have it so as well.
        wait: Whether to wait for others.

    Raises:
        BlockingIOError: Another process has it, and `wait` is false.
        OSError: The disk has no such locks.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)


def unlock(fd: int) -> None:
    """Unlock a file, also for a process that was forked meanwhile."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def open_folder_lock(folder: str) -> int:
    """Return a descriptor that stands for a folder in `lock`.

    Raises:
        OSError: It cannot be opened.
    """
    return os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
