"""How many processes the tests themselves have started: what a run costs, machine by machine.

What these processes start in turn is not counted. Owns the count of one pytest process; its workers
hand theirs over in `conftest`.
"""

from __future__ import annotations

import functools
import os
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

STARTS = (
    (subprocess.Popen, "__init__"),
    *((os, name) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system")),
)
"""What starts a process: its owner and its name there."""

count = 0


def begin() -> None:
    tell_before(STARTS, _count)


def tell_before(functions: tuple[tuple[Any, str], ...], told: Callable[[str], None]) -> None:
    """Let `told` have the name of each of these functions before it is called.

    An audit hook would see them all, and is not used: with one that is written in Python, CPython
    3.11 can no longer set a trace function in two threads that start at once, as `coverage` does.
    """
    for owner, name in functions:
        if hasattr(owner, name):  # not every system has all of them
            setattr(owner, name, _telling(getattr(owner, name), name, told))


def _telling(function: Any, name: str, told: Callable[[str], None]) -> Any:
    @functools.wraps(function)
    def telling(*arguments: Any, **named: Any) -> Any:
        told(name)
        return function(*arguments, **named)

    return telling


def _count(_name: str) -> None:
    global count  # noqa: PLW0603 - one a process
    count += 1
