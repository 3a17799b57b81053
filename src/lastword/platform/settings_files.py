"""Settings files: opened without waiting, given the rights of the old one, and replaced.

On Windows, a file that another program has open cannot be replaced.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    TRIES, PAUSE_SECONDS = 10, 0.1
    """An editor or a virus scanner may have a file open briefly, so it is tried for a second."""

    _FILE_OBJECT, _OWNER = 1, 1
    _TOKEN_QUERY = 0x8
    _TOKEN_USER = 1
    _ADMINISTRATORS = 26
    _SID_BYTES = 68

    _advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.GetCurrentProcess.restype = wintypes.HANDLE
    _kernel32.CloseHandle.argtypes = [wintypes.HANDLE]
    _kernel32.LocalFree.argtypes = [ctypes.c_void_p]
    _kernel32.LocalFree.restype = ctypes.c_void_p
    _advapi32.GetSecurityInfo.argtypes = [
        *(wintypes.HANDLE, ctypes.c_int, wintypes.DWORD),
        *(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_void_p),
    ]
    _advapi32.GetSecurityInfo.restype = wintypes.DWORD
    _advapi32.OpenProcessToken.argtypes = [
        *(wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(wintypes.HANDLE))
    ]
    _advapi32.GetTokenInformation.argtypes = [
        *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD),
        ctypes.POINTER(wintypes.DWORD),
    ]
    _advapi32.EqualSid.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    _advapi32.CreateWellKnownSid.argtypes = [
        *(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(wintypes.DWORD))
    ]
    _advapi32.CheckTokenMembership.argtypes = [
        *(wintypes.HANDLE, ctypes.c_void_p, ctypes.POINTER(wintypes.BOOL))
    ]

    def _is_of_user(fd: int) -> bool:
        owner, descriptor = ctypes.c_void_p(), ctypes.c_void_p()
        problem = _advapi32.GetSecurityInfo(
            msvcrt.get_osfhandle(fd), _FILE_OBJECT, _OWNER, owner, None, None, None, descriptor
        )
        if problem:
            raise ctypes.WinError(problem)
        try:
            return bool(_advapi32.EqualSid(owner, _user())) or _is_administrators(owner)
        finally:
            _kernel32.LocalFree(descriptor)

    def _user() -> ctypes.c_void_p:
        """Return the security identifier of this process' user."""
        token, size = wintypes.HANDLE(), wintypes.DWORD()
        if not _advapi32.OpenProcessToken(_kernel32.GetCurrentProcess(), _TOKEN_QUERY, token):
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            _advapi32.GetTokenInformation(token, _TOKEN_USER, None, 0, size)
            _user_bytes = ctypes.create_string_buffer(size.value)
            if not _advapi32.GetTokenInformation(token, _TOKEN_USER, _user_bytes, size, size):
                raise ctypes.WinError(ctypes.get_last_error())
        finally:
            _kernel32.CloseHandle(token)
        # A TOKEN_USER begins with a pointer to the identifier, which follows it.
        pointer = ctypes.c_void_p.from_buffer(_user_bytes)
        pointer.buffer = _user_bytes  # type: ignore[attr-defined]
        return pointer

    def _is_administrators(owner: ctypes.c_void_p) -> bool:
        group, size = ctypes.create_string_buffer(_SID_BYTES), wintypes.DWORD(_SID_BYTES)
        is_member = wintypes.BOOL()
        return (
            bool(_advapi32.CreateWellKnownSid(_ADMINISTRATORS, None, group, size))
            and bool(_advapi32.EqualSid(owner, group))
            and bool(_advapi32.CheckTokenMembership(None, group, is_member))
            and bool(is_member.value)
        )


def open_settings(path: str, *, follows_link: bool) -> int:
    """Open a file to read its bytes, without waiting for a pipe or a terminal.

    Raises:
        OSError: It cannot be opened, or is a link and `follows_link` is false.
    """
    if sys.platform != "win32":
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        return os.open(path, flags | (0 if follows_link else os.O_NOFOLLOW))
    if not follows_link and os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return os.open(path, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)


def belongs_to_user(fd: int) -> bool:
    """Return whether an open file is this user's own.

    On Windows, an administrator's files belong to the group of administrators.

    Raises:
        OSError: Its owner cannot be read.
    """
    if sys.platform == "win32":
        return _is_of_user(fd)
    return os.fstat(fd).st_uid == os.geteuid()


def copy_rights(fd: int, like: os.stat_result) -> None:
    """Give an open file the owner and the mode of another.

    On Windows both have their folder's rights.

    Raises:
        OSError: This user may not do that.
    """
    if sys.platform != "win32":
        own = os.fstat(fd)
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(fd, like.st_uid, like.st_gid)
        os.fchmod(fd, stat.S_IMODE(like.st_mode))


def replace(new: str, path: str) -> None:
    """Replace a file with a new one, in one step.

    On Windows this waits until no program has the old file open.

    Raises:
        OSError: Another program has it open, or it cannot be replaced; nothing has changed.
    """
    if sys.platform == "win32":
        for _ in range(TRIES):
            try:
                return os.replace(new, path)
            except PermissionError:
                time.sleep(PAUSE_SECONDS)
        try:
            return os.replace(new, path)
        except PermissionError:
            reason = "another program has it open; close it there and try again"
            raise PermissionError(errno.EACCES, reason, path) from None
    return os.replace(new, path)
