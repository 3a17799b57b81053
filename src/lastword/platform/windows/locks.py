"""Locks of Windows: `LockFileEx`, on a byte far behind what any file holds."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from ctypes import wintypes

assert sys.platform == "win32"

import msvcrt

_FAIL_IMMEDIATELY = 1
_EXCLUSIVE = 2
_LOCK_VIOLATION = 33
_FOLDER_LOCK = ".lastword.lock"

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)


class _Overlapped(ctypes.Structure):
    _fields_ = (
        ("Internal", ctypes.c_size_t),
        ("InternalHigh", ctypes.c_size_t),
        ("Offset", wintypes.DWORD),
        ("OffsetHigh", wintypes.DWORD),
        ("hEvent", wintypes.HANDLE),
    )


_REGION = (wintypes.HANDLE, *(wintypes.DWORD,) * 3, ctypes.c_void_p)
_kernel32.LockFileEx.argtypes = (wintypes.HANDLE, wintypes.DWORD, *_REGION[1:])
_kernel32.UnlockFileEx.argtypes = _REGION


def _place() -> _Overlapped:
    # Windows keeps others from reading what is locked: nothing is there.
    return _Overlapped(Offset=0, OffsetHigh=0x7FFFFFFF)


def lock(fd: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock a file until its descriptor is closed.

    Args:
        fd: Its descriptor.
        shared: Whether others may have it so as well.
        wait: Whether to wait for others.

    Raises:
        BlockingIOError: Another process has it, and `wait` is false.
        OSError: The disk has no such locks.
    """
    flags = (0 if shared else _EXCLUSIVE) | (0 if wait else _FAIL_IMMEDIATELY)
    handle = msvcrt.get_osfhandle(fd)
    if not _kernel32.LockFileEx(handle, flags, 0, 1, 0, ctypes.byref(_place())):
        code = ctypes.get_last_error()
        if code == _LOCK_VIOLATION:
            raise BlockingIOError(errno.EAGAIN, "another process has the lock")
        raise ctypes.WinError(code)


def unlock(fd: int) -> None:
    """Unlock a file."""
    _kernel32.UnlockFileEx(msvcrt.get_osfhandle(fd), 0, 1, 0, ctypes.byref(_place()))


def open_folder_lock(folder: str) -> int:
    """Return a descriptor that stands for a folder in `lock`: of a file in it.

    Raises:
        OSError: It cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_BINARY | os.O_NOINHERIT
    return os.open(os.path.join(folder, _FOLDER_LOCK), flags, 0o600)
