"""Pipes that never block: reading, writing, and waiting for either.

`read` and `write` raise `BlockingIOError` where nothing can be read or written now, and `Poller`
has the methods of `select.poll`.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.pipes import (
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
    from lastword.platform.posix.pipes import (
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
