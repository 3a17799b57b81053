"""Signals as something that a poll loop can read.

Owns the handlers, and the descriptor that wakes the loop. The reader decides what a signal means.
It is set up before the agent is spawned, so that no signal is lost, and so it imports as little
as possible.
"""

from __future__ import annotations

import os
import signal
import sys

assert sys.platform != "win32"

SIGTERM = signal.SIGTERM
SIGKILL = signal.SIGKILL

ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""Signals that end us, and the agent with us."""

PASSED = frozenset({signal.SIGUSR1, signal.SIGUSR2})
"""Signals that are the agent's alone."""

_CHILD_ENDED = signal.SIGCHLD
"""A child's end is seen by it: its pipes may be held open by a grandchild."""


class SignalInbox:
    """Collects signals; `fd` is readable when there are some."""

    __slots__ = ("_numbers", "fd")

    def __init__(self) -> None:
        read_end, write_end = os.pipe()
        for fd in (read_end, write_end):
            os.set_blocking(fd, False)
        self.fd: int = read_end
        self._numbers: list[int] = []
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in (*ENDING, *PASSED, _CHILD_ENDED):
            # What we were started to ignore (`nohup`) stays ignored, by us and by the agent.
            if number == _CHILD_ENDED or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self._numbers.append(number)

    def drain(self) -> list[int]:
        """Return the signals since the last call, in order."""
        # The handler has run before anything else runs here: no number means nothing to read. A
        # read that finds nothing costs 3 µs a turn of the loop.
        if not self._numbers:
            return []
        numbers, self._numbers = self._numbers, []
        try:
            os.read(self.fd, 512)
        except BlockingIOError:
            return numbers
        return numbers
