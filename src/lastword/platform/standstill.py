"""How long this process stood still while the clock went on.

Owns the difference between a process that was stopped (by a signal, with its container, or while
the computer slept) and one that got too little of a busy processor: the time of the first does not
count for anybody, that of the second does.
"""

from __future__ import annotations

import math
import os
import sys

BEAT_SECONDS = 1.0
"""The longest wait while a timer runs: as much of a pause may go unnoticed."""

LAST_BEAT_SECONDS = 0.1
"""A wait is no longer divided once the timer is due in this time."""

SHORT_SECONDS = 0.25
"""A wait that ends less than this late is in time."""

LONG_SECONDS = 5.0
"""The longest wait for a processor, for systems that do not report such waits: Windows lets any
thread run after four seconds, and macOS sooner."""

FRESH_SECONDS = 0.05
"""How old a thread's times may be when its wait begins: reading them costs 6 µs."""


class Standstill:
    """Measures how long the process stood still, in the waits of one thread."""

    __slots__ = ("_at", "_busy")

    def __init__(self) -> None:
        self._at = -math.inf
        self._busy: float | None = None

    def begin(self, now: float) -> None:
        if now - self._at > FRESH_SECONDS:
            self._at, self._busy = now, busy_seconds()

    def seconds(self, late: float) -> float:
        """Return how many of the seconds by which a wait ended `late` the process stood still."""
        if late <= SHORT_SECONDS:
            return 0.0
        before, after = self._busy, busy_seconds()
        self._at = -math.inf
        if before is None or after is None:
            return late if late > LONG_SECONDS else 0.0
        stood = late - (after - before)
        return stood if stood > SHORT_SECONDS else 0.0


def beat_seconds(left: float) -> float:
    """Return how long to wait before checking whether the process stood still.

    It is half of what is `left` until a timer is due, so that as much is left after any pause.
    """
    return min(left / 2, BEAT_SECONDS) if left > LAST_BEAT_SECONDS else left


def busy_seconds() -> float | None:
    """Return how long this thread has run and waited for a processor, if the system reports it."""
    if sys.platform == "win32":
        return None
    try:
        fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(fd, 64).split()
    except OSError:
        return None
    finally:
        os.close(fd)
    # A kernel that does not count reports zeros.
    return sum(map(int, fields[:2])) / 1e9 or None
