"""How long this process stood still while the clock went on.

Owns the difference between a process that was stopped (by a signal, with its container, or with the
computer that slept) and one that got too little of a busy processor: nobody had the time of the
former, but the time of the latter passed.
"""

from __future__ import annotations

import math
import os
import sys

BEAT_SECONDS = 1.0
"""How long a wait is at most while a clock runs: of a pause, as much may be overlooked."""

LAST_BEAT_SECONDS = 0.1
"""Once no more is left until the clock is due, the wait is not divided any more."""

SHORT_SECONDS = 0.25
"""A wait that ends less late than this ended in time."""

LONG_SECONDS = 5.0
"""Where the system does not say whether a late process waited for the processor: no wait for it is
longer. Windows lets any thread run after four seconds, and macOS sooner."""

FRESH_SECONDS = 0.05
"""How old what is known of a thread may be when its wait begins: it costs 6 µs."""


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
        """Return for how much of the time by which a wait ended `late` the process stood still."""
        if late <= SHORT_SECONDS:
            return 0.0
        before, after = self._busy, busy_seconds()
        self._at = -math.inf
        if before is None or after is None:
            return late if late > LONG_SECONDS else 0.0
        stood = late - (after - before)
        return stood if stood > SHORT_SECONDS else 0.0


def beat_seconds(left: float) -> float:
    """Return how long to wait before looking whether the process stood still.

    It is half of what is `left` until a clock is due: as much is left after any pause.
    """
    return min(left / 2, BEAT_SECONDS) if left > LAST_BEAT_SECONDS else left


def busy_seconds() -> float | None:
    """Return how long this thread has run and waited for a processor, if the system says it."""
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
    # A kernel that does not count has zeros there.
    return sum(map(int, fields[:2])) / 1e9 or None
