"""Files of this user: how they are opened, their owner, and locks on them between processes.

A lock ends with its process: `flock`, and on Windows `LockFileEx` on a byte far beyond the end of
any file. On Windows only the user can read their profile.
"""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat_result

_FOLDER_LOCK = ".lastword.lock"

if sys.platform == "win32":
    import ctypes
    import errno
    import msvcrt
    from ctypes import wintypes

    CREATE = os.O_CREAT | os.O_NOINHERIT | os.O_BINARY
    READ = os.O_RDONLY | os.O_NOINHERIT | os.O_BINARY
    NO_LINK = 0  # a user makes none there without the rights of an administrator

    _QUERY = 0x1000
    _STILL_ACTIVE = 259
    _FAIL_IMMEDIATELY = 1
    _EXCLUSIVE = 2
    _LOCK_VIOLATION = 33

    class _Overlapped(ctypes.Structure):
        _fields_ = (
            ("Internal", ctypes.c_size_t),
            ("InternalHigh", ctypes.c_size_t),
            ("Offset", wintypes.DWORD),
            ("OffsetHigh", wintypes.DWORD),
            ("hEvent", wintypes.HANDLE),
        )

    _REGION = (wintypes.HANDLE, *(wintypes.DWORD,) * 3, ctypes.c_void_p)
    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    _kernel32.OpenProcess.restype = wintypes.HANDLE
    _kernel32.GetExitCodeProcess.argtypes = (wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD))
    _kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
    _kernel32.LockFileEx.argtypes = (wintypes.HANDLE, wintypes.DWORD, *_REGION[1:])
    _kernel32.UnlockFileEx.argtypes = _REGION

    def _has_process(pid: int) -> bool:
        handle = _kernel32.OpenProcess(_QUERY, False, pid)
        if not handle:
            return False
        code = wintypes.DWORD()
        succeeded = _kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        _kernel32.CloseHandle(handle)
        return not succeeded or code.value == _STILL_ACTIVE

    def _place() -> _Overlapped:
        # Windows keeps others from reading a locked place, so it is one without data.
        return _Overlapped(Offset=0, OffsetHigh=0x7FFFFFFF)

else:
    import fcntl

    CREATE = os.O_CREAT | os.O_CLOEXEC
    """Flags that create a file no child inherits, apart from those for reading or writing."""

    READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    """Flags for reading another program's file: without following a link or waiting for a pipe."""

    NO_LINK = os.O_NOFOLLOW
    """A flag that refuses a link."""


def file_with(content: bytes) -> int:
    """Return an open file without a name, in memory if possible: a disk may be full.

    Raises:
        OSError: It cannot be made.
    """
    if sys.platform == "linux":
        made = os.fdopen(os.memfd_create("lastword"), "wb")
    else:
        # Not needed on Linux, where each recorder would load it.
        import tempfile  # noqa: PLC0415

        made = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    with made:
        made.write(content)
        made.flush()
        return os.dup(made.fileno())


def is_own(status: stat_result) -> bool:
    """Return whether a file is this user's; on Windows its access list decides who opens it."""
    return sys.platform == "win32" or status.st_uid == os.geteuid()


def read_at(fd: int, size: int, position: int) -> bytes:
    """Return bytes of a file from a position.

    Raises:
        OSError: It cannot be read.
    """
    if sys.platform != "win32":
        return os.pread(fd, size, position)
    os.lseek(fd, position, os.SEEK_SET)
    return os.read(fd, size)


def name_for_child(fd: int, path: str) -> str:
    """Return the name by which a process that we start can open our file.

    Args:
        fd: The file's descriptor, which stays open meanwhile.
        path: Its path, from which it may be removed.
    """
    if sys.platform == "win32":
        return path
    os.unlink(path)  # nothing is left of it, however we end
    os.set_inheritable(fd, True)
    return f"/dev/fd/{fd}"


def restrict(fd: int) -> None:
    """Remove other users' access to a file; on Windows it has its folder's access list.

    Raises:
        OSError: The disk has no modes.
    """
    if sys.platform != "win32":
        os.fchmod(fd, 0o600)


def write_whole(path: str, data: bytes, *, mode: int = 0o600, create: bool = False) -> None:
    """Write a file in one step: others see what was there or all of the new content.

    Args:
        path: Its path.
        data: Its new content.
        mode: Its mode, less what the umask removes.
        create: Whether a file that is already there stays as it is.

    Raises:
        OSError: It cannot be written; what was there is unchanged.
    """
    draft, exists = f"{path}.{os.urandom(8).hex()}", False
    fd = os.open(draft, os.O_WRONLY | os.O_EXCL | CREATE, mode)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        if create:
            with contextlib.suppress(OSError):  # it is there, or its disk has no links
                os.link(draft, path)  # unlike a rename, it never replaces another's file
            exists = os.path.lexists(path)
        if not exists:
            os.replace(draft, path)
    finally:
        with contextlib.suppress(FileNotFoundError):  # renamed
            os.unlink(draft)


def decoded(data: bytes, errors: str = "replace") -> str:
    """Return a text that a user wrote, also by `>` of PowerShell 5, which makes UTF-16 of it."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", errors)
    return data.decode("utf-8-sig", errors)


def is_running(pid: int) -> bool:
    """Return whether this user has a process with this id."""
    if sys.platform == "win32":
        return _has_process(pid)  # `os.kill` would end it
    try:
        os.kill(pid, 0)
    except OSError:
        return False  # it does not exist, or is another user's
    return True


def lock(fd: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock a file until its descriptor is closed.

    Args:
        fd: Its descriptor.
        shared: Whether others may also have a shared lock.
        wait: Whether to wait for others.

    Raises:
        BlockingIOError: Another process has a lock, and `wait` is false.
        OSError: The disk has no such locks.
    """
    if sys.platform != "win32":
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)
    else:
        flags = (0 if shared else _EXCLUSIVE) | (0 if wait else _FAIL_IMMEDIATELY)
        handle = msvcrt.get_osfhandle(fd)
        if not _kernel32.LockFileEx(handle, flags, 0, 1, 0, ctypes.byref(_place())):
            code = ctypes.get_last_error()
            if code == _LOCK_VIOLATION:
                raise BlockingIOError(errno.EAGAIN, "another process has the lock")
            raise ctypes.WinError(code)


def unlock(fd: int) -> None:
    """Unlock a file, also for processes forked meanwhile."""
    if sys.platform == "win32":
        _kernel32.UnlockFileEx(msvcrt.get_osfhandle(fd), 0, 1, 0, ctypes.byref(_place()))
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)


def open_folder_lock(folder: str) -> int:
    """Return a descriptor by which to lock a folder; on Windows, that of a file in it.

    Raises:
        OSError: It cannot be opened.
    """
    if sys.platform != "win32":
        return os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return os.open(os.path.join(folder, _FOLDER_LOCK), os.O_RDWR | CREATE, 0o600)
