"""Exit statuses of Windows that people know by name.

Owns the table: what a status is called ([MS-ERREF], section 2.3), and the reason that it is. Other
statuses are a program's own numbers.
"""

from __future__ import annotations

WOULD_HAPPEN_AGAIN = frozenset(
    {"spawn_failed", "missing_library", "interrupted", "uncaught_exception"}
)
"""Reasons that another try would meet again."""

WINDOWS: dict[int, tuple[str, str]] = {
    0x40010004: ("ended by the system", "terminated"),
    0x80000003: ("breakpoint", "aborted"),
    0xC0000005: ("access violation", "native_crash"),
    0xC0000006: ("in-page error", "native_crash"),
    0xC0000017: ("no memory", "oom"),
    0xC000001D: ("illegal instruction", "native_crash"),
    0xC0000022: ("access denied", "spawn_failed"),
    0xC000007B: ("invalid image format", "spawn_failed"),
    0xC0000094: ("integer division by zero", "native_crash"),
    0xC000009A: ("insufficient resources", "oom"),
    0xC00000FD: ("stack overflow", "native_crash"),
    0xC000012D: ("commitment limit: no memory left", "oom"),
    0xC0000135: ("DLL not found", "missing_library"),
    0xC0000139: ("entry point not found in a DLL", "missing_library"),
    0xC000013A: ("Ctrl-C", "interrupted"),
    0xC0000142: ("DLL initialization failed", "spawn_failed"),
    0xC0000374: ("heap corruption", "native_crash"),
    0xC0000409: ("stack buffer overrun, or abort", "aborted"),
    0xC0000420: ("assertion failure", "aborted"),
    0xC0000602: ("fail-fast exception", "aborted"),
    0xE0434352: (".NET exception", "uncaught_exception"),
    0xE06D7363: ("C++ exception", "uncaught_exception"),
}
"""The name of each status, and the reason of the failure that it is."""

CTRL_C = 0xC000013A
_MASK = 0xFFFFFFFF
_LARGE = 0x10000


def in_words(code: int) -> str:
    """Return an exit status as a person says it: `exit status 0xC0000005 (access violation)`."""
    if code < 0 and code & _MASK in WINDOWS:
        code &= _MASK
    if code in WINDOWS:
        return f"exit status 0x{code:08X} ({WINDOWS[code][0]})"
    return f"exit status 0x{code:08X}" if code >= _LARGE else f"exit status {code}"
