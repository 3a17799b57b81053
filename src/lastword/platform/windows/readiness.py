"""Waiting in a task on Windows, where no event loop waits for such a pipe: its thread reports."""

from __future__ import annotations

import sys

import anyio

assert sys.platform == "win32"

from lastword.platform.windows.pipes import POLLIN, POLLOUT, when_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


async def wait_readable(fd: int, call_soon: Callable[[Callable[[], object]], object]) -> None:
    """Wait until a descriptor can be read, or has ended.

    Args:
        fd: The descriptor.
        call_soon: Schedules a call in the event loop, from any thread.
    """
    await _wait(fd, POLLIN, call_soon)


async def wait_writable(fd: int, call_soon: Callable[[Callable[[], object]], object]) -> None:
    """Wait until a descriptor can be written, or nobody reads it; as `wait_readable`."""
    await _wait(fd, POLLOUT, call_soon)


async def _wait(fd: int, events: int, call_soon: Callable[[Callable[[], object]], object]) -> None:
    event = anyio.Event()
    when_ready(fd, events, lambda: call_soon(event.set))
    await event.wait()
