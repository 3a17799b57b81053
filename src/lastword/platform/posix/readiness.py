"""Waiting in a task on Linux and macOS, where the event loop does it."""

from __future__ import annotations

import sys

import anyio

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


async def wait_readable(fd: int, call_soon: Callable[[Callable[[], object]], object]) -> None:  # noqa: ARG001
    """Wait until a descriptor can be read, or has ended.

    Args:
        fd: The descriptor.
        call_soon: Schedules a call in the event loop, from any thread.
    """
    await anyio.wait_readable(fd)


async def wait_writable(fd: int, call_soon: Callable[[Callable[[], object]], object]) -> None:  # noqa: ARG001
    """Wait until a descriptor can be written, or nobody reads it; as `wait_readable`."""
    await anyio.wait_writable(fd)
