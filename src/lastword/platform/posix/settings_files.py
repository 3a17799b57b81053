"""Files with settings on Linux and macOS."""

from __future__ import annotations

import os
import stat
import sys

assert sys.platform != "win32"

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def open_settings(path: str, *, follows_link: bool) -> int:
    """Open a file to read its bytes; neither a pipe nor a terminal makes this wait.

    Raises:
        OSError: It cannot be opened, or is a link that is not to be followed.
    """
    return os.open(path, _FLAGS | (0 if follows_link else os.O_NOFOLLOW))


def belongs_to_user(fd: int) -> bool:
    """Return whether an open file is this user's own."""
    return os.fstat(fd).st_uid == os.geteuid()


def replace(new: str, path: str) -> None:
    """Put a new file in the place of another, in one step.

    Raises:
        OSError: It cannot be replaced; nothing has changed.
    """
    os.replace(new, path)


def copy_rights(fd: int, like: os.stat_result) -> None:
    """Give an open file the owner and the mode of another.

    Raises:
        OSError: This user may not.
    """
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        os.fchown(fd, like.st_uid, like.st_gid)
    os.fchmod(fd, stat.S_IMODE(like.st_mode))
