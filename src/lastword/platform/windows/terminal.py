"""The terminal on Windows: a console, which is asked to obey escape sequences."""

from __future__ import annotations

import ctypes
import errno
import msvcrt
import os
import sys
import time
import winreg
from ctypes import wintypes

assert sys.platform == "win32"

_OBEYS_ESCAPES = 0x0004
"""ENABLE_VIRTUAL_TERMINAL_PROCESSING, which Windows has since version 10."""

_FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.GetConsoleMode.argtypes = [wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD)]
_kernel32.SetConsoleMode.argtypes = [wintypes.HANDLE, wintypes.DWORD]
_kernel32.GetConsoleOutputCP.restype = wintypes.UINT


def understands_escapes(fd: int) -> bool:
    """Return whether a terminal can erase a line and show colours, after asking it to."""
    if os.environ.get("TERM") == "dumb":
        return False
    mode = wintypes.DWORD()
    try:
        handle = msvcrt.get_osfhandle(fd)
    except OSError:
        return False
    if not _kernel32.GetConsoleMode(handle, mode):
        return False
    return bool(
        mode.value & _OBEYS_ESCAPES or _kernel32.SetConsoleMode(handle, mode.value | _OBEYS_ESCAPES)
    )


def has_no_reader(error: OSError) -> bool:
    """Return whether a write failed because the reader has closed our output.

    The C library reports the end of a pipe that is being closed as an invalid argument.
    """
    return isinstance(error, BrokenPipeError) or error.errno == errno.EINVAL


def wait_for_readers_end(_fd: int, seconds: float) -> bool:
    """Wait; only the next write shows whether the reader has gone."""
    time.sleep(seconds)
    return False


def code_page() -> int | None:
    """Return the number of the console's code page; nothing without a console."""
    return _kernel32.GetConsoleOutputCP() or None


def allows_long_paths() -> bool | None:
    """Return whether programs may use paths of over 260 characters; nothing if it is unknown."""
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _FILE_SYSTEM) as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except FileNotFoundError:
        return False
    except OSError:
        return None
