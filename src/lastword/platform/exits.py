"""The exit of a process, on every system."""

from __future__ import annotations

_SIGN_BIT = 1 << 31


class Exit:
    """How a process ended: one of the two is set, or neither if that is unknown.

    Attributes:
        code: The exit code. Windows' are unsigned, such as 0xC0000005.
        signal: The number of the signal that ended it; never on Windows.
    """

    __slots__ = ("code", "signal")

    def __init__(self, code: int | None, signal_number: int | None) -> None:
        self.code: int | None = code
        self.signal: int | None = signal_number

    @property
    def status(self) -> int:
        """Return the exit status as a shell reports it: 128 + N for signal N.

        A code of Windows' from 0x80000000 up is negative, since only so `sys.exit` passes it on.
        """
        if self.signal is not None:
            return 128 + self.signal
        if self.code is None:
            return 1
        return self.code - 2 * _SIGN_BIT if self.code >= _SIGN_BIT else self.code

    @property
    def clean(self) -> bool:
        """Return whether it exited by itself, with success."""
        return self.code == 0
