"""Waiting in a task for a descriptor that can be read or written.

On Linux and macOS the event loop waits. On Windows no loop can wait for such a pipe, and the pipe's
thread reports.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio

if sys.platform == "win32":
    from lastword.platform.windows_pipes import POLLIN, POLLOUT, when_ready

if TYPE_CHECKING:
    from collections.abc import Callable


async def wait_readable(fd: int, call_soon: Callable[[Callable[[], object]], object]) -> None:
    """Wait until a descriptor can be read, or has ended.

    Args:
        fd: The descriptor.
        call_soon: Schedules a call in the event loop, from any thread.
    """
    if sys.platform != "win32":
        await anyio.wait_readable(fd)
    else:
        event = anyio.Event()
        when_ready(fd, POLLIN, lambda: call_soon(event.set))
        await event.wait()


async def wait_writable(fd: int, call_soon: Callable[[Callable[[], object]], object]) -> None:
    """Wait until a descriptor can be written, or its reader has gone; see `wait_readable`."""
    if sys.platform != "win32":
        await anyio.wait_writable(fd)
    else:
        event = anyio.Event()
        when_ready(fd, POLLOUT, lambda: call_soon(event.set))
        await event.wait()
