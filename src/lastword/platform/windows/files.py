"""Files on Windows, where a user's profile is readable for this user alone."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import wintypes

assert sys.platform == "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat_result

CREATE = os.O_CREAT | os.O_NOINHERIT | os.O_BINARY
"""Flags, besides those for reading or writing, that create a file no child inherits."""

NO_LINK = 0
"""A flag that refuses a link; a user makes none there without the rights of an administrator."""

READ = os.O_RDONLY | os.O_NOINHERIT | os.O_BINARY
"""Flags that read a file of another program."""

_QUERY = 0x1000
_STILL_ACTIVE = 259

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
_kernel32.OpenProcess.restype = wintypes.HANDLE
_kernel32.GetExitCodeProcess.argtypes = (wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD))
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)


def is_own(status: stat_result) -> bool:  # noqa: ARG001
    """Return whether a file is this user's: access lists decide, which opening it goes by."""
    return True


def read_at(fd: int, size: int, position: int) -> bytes:
    """Return bytes of a file from a position on.

    Raises:
        OSError: It cannot be read.
    """
    os.lseek(fd, position, os.SEEK_SET)
    return os.read(fd, size)


def name_for_child(fd: int, path: str) -> str:  # noqa: ARG001
    """Return the name by which a process that we start can open a file of ours.

    Args:
        fd: The file, which stays open meanwhile.
        path: Where it is; it may be gone from there afterwards.
    """
    return path


def restrict(fd: int) -> None:
    """Do nothing: a file has its folder's access list."""


def is_running(pid: int) -> bool:
    """Return whether this user has a process with this id; `os.kill` would end it."""
    handle = _kernel32.OpenProcess(_QUERY, False, pid)
    if not handle:
        return False  # there is none, or it is another user's
    code = wintypes.DWORD()
    succeeded = _kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
    _kernel32.CloseHandle(handle)
    return not succeeded or code.value == _STILL_ACTIVE
