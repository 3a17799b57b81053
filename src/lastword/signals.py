"""Signals as something that a poll loop can read.

Owns the handlers and the descriptor that wakes the loop. What a signal means is its reader's part.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class SignalInbox:
    """Collects signals; `fd` is readable when there are some."""

    __slots__ = ("_numbers", "fd")

    def __init__(self, numbers: Iterable[int]) -> None:
        read_end, write_end = os.pipe()
        for fd in (read_end, write_end):
            os.set_blocking(fd, False)
        self.fd = read_end
        self._numbers: list[int] = []
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in numbers:
            # What we were started to ignore (`nohup`) stays ignored, by us and by the agent.
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self._numbers.append(number)

    def take(self) -> list[int]:
        """The signals since the last call, in order."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.fd, 512)
        numbers, self._numbers = self._numbers, []
        return numbers
