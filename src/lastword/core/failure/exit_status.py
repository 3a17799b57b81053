"""Exit statuses of Windows that people know by name.

Owns the table: what a status is called ([MS-ERREF], section 2.3), and the reason that it is. Other
statuses are a program's own numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class WindowsStatus(NamedTuple):
    """One status.

    Attributes:
        name: Its name in words.
        reason: The reason of the failure that it is.
    """

    name: str
    reason: str

    @property
    def retryable(self) -> bool:
        """Whether another try may succeed."""
        return self.reason not in _WOULD_HAPPEN_AGAIN


_WOULD_HAPPEN_AGAIN = {"spawn_failed", "missing_library", "interrupted", "uncaught_exception"}

WINDOWS: dict[int, WindowsStatus] = {
    0x40010004: WindowsStatus("ended by the system", "terminated"),
    0x80000003: WindowsStatus("breakpoint", "aborted"),
    0xC0000005: WindowsStatus("access violation", "native_crash"),
    0xC0000006: WindowsStatus("in-page error", "native_crash"),
    0xC0000017: WindowsStatus("no memory", "oom"),
    0xC000001D: WindowsStatus("illegal instruction", "native_crash"),
    0xC0000022: WindowsStatus("access denied", "spawn_failed"),
    0xC000007B: WindowsStatus("invalid image format", "spawn_failed"),
    0xC0000094: WindowsStatus("integer division by zero", "native_crash"),
    0xC000009A: WindowsStatus("insufficient resources", "oom"),
    0xC00000FD: WindowsStatus("stack overflow", "native_crash"),
    0xC000012D: WindowsStatus("commitment limit: no memory left", "oom"),
    0xC0000135: WindowsStatus("DLL not found", "missing_library"),
    0xC0000139: WindowsStatus("entry point not found in a DLL", "missing_library"),
    0xC000013A: WindowsStatus("Ctrl-C", "interrupted"),
    0xC0000142: WindowsStatus("DLL initialization failed", "spawn_failed"),
    0xC0000374: WindowsStatus("heap corruption", "native_crash"),
    0xC0000409: WindowsStatus("stack buffer overrun, or abort", "aborted"),
    0xC0000420: WindowsStatus("assertion failure", "aborted"),
    0xC0000602: WindowsStatus("fail-fast exception", "aborted"),
    0xE0434352: WindowsStatus(".NET exception", "uncaught_exception"),
    0xE06D7363: WindowsStatus("C++ exception", "uncaught_exception"),
}

CTRL_C = 0xC000013A
_MASK = 0xFFFFFFFF
_LARGE = 0x10000


def in_words(code: int) -> str:
    """Return an exit status as a person says it: `exit status 0xC0000005 (access violation)`."""
    if code < 0 and code & _MASK in WINDOWS:
        code &= _MASK
    if code in WINDOWS:
        return f"exit status 0x{code:08X} ({WINDOWS[code].name})"
    return f"exit status 0x{code:08X}" if code >= _LARGE else f"exit status {code}"
