"""Limits on a machine that others keep busy, too.

A fuse only ends a test that hangs, and is long wherever it burns. What a test measures is another
matter: such a limit holds as it stands where nothing else runs, and grows with what else does.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

FUSE_SECONDS = 60.0
"""For whatever should come: it takes milliseconds, and under load seconds."""

_CPUS = os.cpu_count() or 1


def patient(seconds: float) -> float:
    """A measured limit, grown by how many wait for each processor; twice that, for their turns."""
    return seconds * max(1.0, 2 * max(os.getloadavg()[0], _waiting()) / _CPUS)


def _waiting() -> int:
    """How many wait at this moment, which the load of the last minute may not show yet."""
    try:
        return int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0])
    except OSError:  # not on Linux
        return 0


def fused(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Play a test in an event loop, under a fuse for all that it waits for."""

    @functools.wraps(test)
    def play(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), 5 * FUSE_SECONDS))

    return play


def fused_with(make: Callable[[], Any]) -> Callable[..., Callable[..., None]]:
    """The same for a test whose first argument is made for it, in its loop."""

    def wrap(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @functools.wraps(test)
        async def begun(**fixtures: Any) -> None:
            await test(make(), **fixtures)

        play = fused(begun)
        whole = inspect.signature(test)
        left = [*whole.parameters.values()][1:]
        play.__signature__ = whole.replace(parameters=left)  # type: ignore[attr-defined]
        return play

    return wrap
