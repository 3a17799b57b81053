"""Signals and exits: signals to this process, and an agent's exit, wake its loop.

Owns the handlers, the descriptor that wakes the loop, and the shape of an exit on every system. The
reader decides what a signal means. It is set up before the agent is spawned, so that no signal is
lost, and therefore imports as little as possible. Windows has few signals, such as Ctrl-C and
Ctrl-Break; an agent's exit is reported like one.
"""

from __future__ import annotations

import os
import signal
import sys

from lastword.platform.pipes import read, set_blocking

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Protocol

    class Inbox(Protocol):
        """The signals received; `fd` is readable when there are some, -1 for none."""

        fd: int

        def drain(self) -> list[int]:
            """Return the signals since the last call, in order."""
            ...


_SIGN_BIT = 1 << 31


class Exit:
    """How a process ended: one of the two is set, or none if that is unknown.

    Attributes:
        code: The exit code. On Windows it is unsigned, such as 0xC0000005.
        signal: The number of the signal that ended it; never on Windows.
    """

    __slots__ = ("code", "signal")

    def __init__(self, code: int | None, signal_number: int | None) -> None:
        self.code: int | None = code
        self.signal: int | None = signal_number

    @property
    def status(self) -> int:
        """Return the exit status as a shell reports it: 128 + N for signal N.

        Windows' codes from 0x80000000 up are negative, the only form that `sys.exit` passes on.
        """
        if self.signal is not None:
            return 128 + self.signal
        if self.code is None:
            return 1
        return self.code - 2 * _SIGN_BIT if self.code >= _SIGN_BIT else self.code

    @property
    def clean(self) -> bool:
        """Return whether it exited by itself with status 0."""
        return self.code == 0


SIGTERM = signal.SIGTERM

if sys.platform == "win32":
    SIGKILL = 9  # Windows has no such signal
    ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGBREAK})
    PASSED: frozenset[int] = frozenset()
    _inboxes: list[SignalInbox] = []
else:
    SIGKILL = signal.SIGKILL
    """Kills a process at once."""

    ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
    """Signals that end us and the agent."""

    PASSED = frozenset({signal.SIGUSR1, signal.SIGUSR2})
    """Signals that are only passed to the agent."""


class SignalInbox:
    """Collects signals; `fd` is readable when there are some."""

    __slots__ = ("_numbers", "_write_end", "fd")

    def __init__(self) -> None:
        self.fd: int
        self.fd, self._write_end = os.pipe()
        self._numbers: list[int] = []
        for fd in (self.fd, self._write_end):
            set_blocking(fd, False)
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        if sys.platform == "win32":
            _inboxes.append(self)
        else:
            # It reports a child's exit, even if a grandchild holds the pipes open.
            signal.signal(signal.SIGCHLD, self._note)
        for number in (*ENDING, *PASSED):
            # Signals that are ignored at the start (`nohup`) stay ignored, also by the agent.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self._numbers.append(number)

    def drain(self) -> list[int]:
        """Return the signals since the last call, in order."""
        if sys.platform == "win32":
            # Always, since the number of an agent's exit is added before its byte.
            self._read()
        # The handler runs before anything else here: without a number there is nothing to read. A
        # read that finds nothing would cost 3 µs in every round of the loop.
        numbers: list[int] = []
        while self._numbers:  # again, in case the byte of a further one has just been read
            batch, self._numbers = self._numbers, []
            numbers += batch
            if sys.platform != "win32":
                self._read()
        return numbers

    def _read(self) -> None:
        try:
            read(self.fd, 512)
        except OSError:
            return

    if sys.platform == "win32":

        def child_ended(self) -> None:
            """Report a process's exit, from any thread."""
            self._numbers.append(0)
            try:
                os.write(self._write_end, b"\0")
            except OSError:
                return


if sys.platform == "win32":

    def report_end() -> None:
        """Wake all loops of this process, since an agent has exited."""
        for inbox in _inboxes:
            inbox.child_ended()
