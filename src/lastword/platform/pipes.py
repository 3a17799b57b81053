"""Pipes that never block: reading, writing, and waiting for either.

`read` and `write` raise `BlockingIOError` if nothing can be read or written now, and `Poller` has
the methods of `select.poll`. It is loaded before the agent starts.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

if sys.platform == "win32":
    from lastword.platform.windows_pipes import (
        GONE,
        POLLIN,
        POLLOUT,
        Poller,
        close,
        is_blocking,
        is_polled,
        is_same_file,
        is_waitable,
        number_of,
        prepare_output,
        read,
        release_output,
        set_blocking,
        unread_bytes,
        write,
    )
else:
    import fcntl
    import select
    import stat
    import termios

    read: Callable[[int, int], bytes] = os.read
    write: Callable[[int, bytes | bytearray | memoryview], int] = os.write
    Poller = select.poll
    POLLIN = select.POLLIN
    POLLOUT = select.POLLOUT
    GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
    """The events that `Poller.poll` reports if the other end has gone."""

    _PIPE_BYTES = 1024 * 1024

    def close(fd: int) -> None:
        """Close a descriptor; it is closed even if the system reports a write error."""
        try:
            os.close(fd)
        except OSError:
            return

    def widen(fd: int) -> None:
        """Let a pipe hold 1 MiB: fewer wake-ups, and the last output of a crash fits."""
        if sys.platform == "linux":
            try:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            except OSError:
                return  # an unprivileged user's pipe quota: the default size also works

    def unread_bytes(fd: int) -> int:
        """Return the number of unread bytes in a pipe."""
        count = bytearray(4)
        try:
            fcntl.ioctl(fd, termios.FIONREAD, count)
        except OSError:
            return 0
        return int.from_bytes(count, sys.byteorder)

    def number_of(socket: socket) -> int:
        """Return the number of a socket for a `Poller`."""
        return socket.fileno()

    is_blocking: Callable[[int], bool] = os.get_blocking
    set_blocking: Callable[[int, bool], None] = os.set_blocking

    def is_waitable(fd: int) -> bool:
        """Return whether a descriptor is a pipe or a socket; files and terminals block."""
        mode = os.fstat(fd).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    is_polled = is_waitable
    """Return whether an event loop can wait for a descriptor."""

    def prepare_output(fd: int) -> bool:
        """Prepare a shared descriptor for `write`; return a value for `release_output`."""
        blocked = os.get_blocking(fd)
        os.set_blocking(fd, False)
        widen(fd)
        return blocked

    def release_output(fd: int, blocked: bool, seconds: float) -> None:  # noqa: ARG001, FBT001
        """Restore a descriptor, once everything written to it is on its way.

        Args:
            fd: The descriptor.
            blocked: The result of `prepare_output`.
            seconds: How long to wait for a reader if the system does not buffer the output.
        """
        os.set_blocking(fd, blocked)

    def is_same_file(first: int, second: int) -> bool:
        """Return whether two descriptors lead to one pipe or file.

        Raises:
            OSError: One of them is not open.
        """
        return os.path.sameopenfile(first, second)


__all__ = [
    "GONE",
    "POLLIN",
    "POLLOUT",
    "Poller",
    "close",
    "is_blocking",
    "is_polled",
    "is_same_file",
    "is_waitable",
    "number_of",
    "prepare_output",
    "read",
    "release_output",
    "set_blocking",
    "unread_bytes",
    "write",
]
