"""Files on Linux and macOS."""

from __future__ import annotations

import os
import sys

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat_result

CREATE = os.O_CREAT | os.O_CLOEXEC
"""Flags, besides those for reading or writing, that create a file no child inherits."""

NO_LINK = os.O_NOFOLLOW
"""A flag that refuses a link."""

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags that read a file of another program: no link is followed, and no queue waited for."""


def is_own(status: stat_result) -> bool:
    """Return whether a file is this user's."""
    return status.st_uid == os.geteuid()


def read_at(fd: int, size: int, position: int) -> bytes:
    """Return bytes of a file from a position on.

    Raises:
        OSError: It cannot be read.
    """
    return os.pread(fd, size, position)


def name_for_child(fd: int, path: str) -> str:
    """Return the name by which a process that we start can open a file of ours.

    Args:
        fd: The file, which stays open meanwhile.
        path: Where it is; it may be gone from there afterwards.
    """
    os.unlink(path)  # nothing is left of it, however we end
    os.set_inheritable(fd, True)
    return f"/dev/fd/{fd}"


def restrict(fd: int) -> None:
    """Withdraw everybody else's access to a file.

    Raises:
        OSError: The disk has no modes.
    """
    os.fchmod(fd, 0o600)


def is_running(pid: int) -> bool:
    """Return whether this user has a process with this id."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False  # there is none, or it is another user's
    return True
