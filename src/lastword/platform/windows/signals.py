"""Signals on Windows, of which there are few, as something that a loop can wait for.

Owns the handlers, and the descriptor that wakes the loop: Ctrl-C, Ctrl-Break, and an agent's end.
"""

from __future__ import annotations

import os
import signal
import sys

assert sys.platform == "win32"

from lastword.platform.windows.pipes import read

SIGTERM = signal.SIGTERM
SIGKILL = 9
"""Ends a process at once; Windows has no such signal."""

ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGBREAK})
"""Signals that end us, and the agent with us."""

PASSED: frozenset[int] = frozenset()
"""Signals that are the agent's alone."""

CHILD_ENDED = 0


class SignalInbox:
    """Collects signals; `fd` is readable when there are some."""

    __slots__ = ("_numbers", "_write_end", "fd")

    def __init__(self) -> None:
        self.fd, self._write_end = os.pipe()
        self._numbers: list[int] = []
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note)
        _inboxes.append(self)

    def _note(self, number: int, _frame: object) -> None:
        self._numbers.append(number)

    def child_ended(self) -> None:
        """Report the end of a process, from any thread."""
        self._numbers.append(CHILD_ENDED)
        try:
            os.write(self._write_end, b"\0")
        except OSError:
            return

    def drain(self) -> list[int]:
        """Return the signals since the last call, in order."""
        try:
            read(self.fd, 512)
        except OSError:
            if not self._numbers:
                return []
        numbers, self._numbers = self._numbers, []
        return numbers


_inboxes: list[SignalInbox] = []


def report_end() -> None:
    """Wake the loops of this process: an agent has ended."""
    for inbox in _inboxes:
        inbox.child_ended()
