"""An agent's processes on Windows: the tree below the one that was started, from a snapshot.

Owns what is read of a process: its time on processors, its age, and its program's name. Windows
tells no one the state of a process, nor another's command line or sockets.
"""

from __future__ import annotations

import ctypes
import sys
import time
from ctypes import wintypes

assert sys.platform == "win32"

from lastword.platform.process_info import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PROCESSES = 128
MAX_SNAPSHOT = 65_536
_PROCESSES = 0x2
_QUERY = 0x1000
_EPOCH_SECONDS = 11_644_473_600
"""From 1601, where Windows' times begin, to 1970."""

_TICKS = 10_000_000
"""Units of 100 ns in a second."""

_CONSOLE = "conhost"
"""The system's own, beside each program with a console of its own."""

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)


class _Entry(ctypes.Structure):
    _fields_ = (
        ("dwSize", wintypes.DWORD),
        ("cntUsage", wintypes.DWORD),
        ("th32ProcessID", wintypes.DWORD),
        ("th32DefaultHeapID", ctypes.c_size_t),
        ("th32ModuleID", wintypes.DWORD),
        ("cntThreads", wintypes.DWORD),
        ("th32ParentProcessID", wintypes.DWORD),
        ("pcPriClassBase", wintypes.LONG),
        ("dwFlags", wintypes.DWORD),
        ("szExeFile", ctypes.c_wchar * wintypes.MAX_PATH),
    )


_kernel32.CreateToolhelp32Snapshot.argtypes = (wintypes.DWORD, wintypes.DWORD)
_kernel32.CreateToolhelp32Snapshot.restype = wintypes.HANDLE
_kernel32.Process32FirstW.argtypes = (wintypes.HANDLE, ctypes.POINTER(_Entry))
_kernel32.Process32NextW.argtypes = (wintypes.HANDLE, ctypes.POINTER(_Entry))
_kernel32.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
_kernel32.OpenProcess.restype = wintypes.HANDLE
_kernel32.GetProcessTimes.argtypes = (wintypes.HANDLE, *([ctypes.POINTER(ctypes.c_uint64)] * 4))
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)


def read_tree(root: int) -> list[Process]:
    """Return a process and its descendants, the root first; empty if it cannot be read."""
    now = time.time()
    children: dict[int, list[tuple[int, str]]] = {}
    names = dict[int, str]()
    for pid, parent, name in _snapshot():
        children.setdefault(parent, []).append((pid, name))
        names[pid] = name
    waiting = [(root, 0, names[root])] if root in names else []
    processes: list[Process] = []
    ages: dict[int, float] = {}
    while waiting and len(processes) < MAX_PROCESSES:
        pid, parent, name = waiting.pop(0)
        times = _times(pid)
        if times is None or name == _CONSOLE:
            continue
        born, cpu_seconds = times
        age = max(now - born, 0.0)
        if age > ages.get(parent, age):
            continue  # its parent's id was that of another once
        ages[pid] = age
        processes.append(
            Process(
                pid=pid,
                parent=parent,
                cpu_seconds=cpu_seconds,
                age_seconds=age,
                name=name,
                words=(name,) if name else (),
            )
        )
        waiting += [(child, pid, title) for child, title in children.get(pid, ()) if child != pid]
    return processes


def sockets_of(pid: int) -> Sequence[int]:  # noqa: ARG001
    """Return nothing: Windows does not number a process's sockets."""
    return ()


def _snapshot() -> list[tuple[int, int, str]]:
    """Return every process's id, its parent's, and its program's name."""
    handle = _kernel32.CreateToolhelp32Snapshot(_PROCESSES, 0)
    if handle in {None, wintypes.HANDLE(-1).value}:
        return []
    entry, rows = _Entry(), list[tuple[int, int, str]]()
    entry.dwSize = ctypes.sizeof(entry)
    try:
        more = _kernel32.Process32FirstW(handle, ctypes.byref(entry))
        while more and len(rows) < MAX_SNAPSHOT:
            name = entry.szExeFile.lower().removesuffix(".exe")
            rows.append((entry.th32ProcessID, entry.th32ParentProcessID, name))
            more = _kernel32.Process32NextW(handle, ctypes.byref(entry))
    finally:
        _kernel32.CloseHandle(handle)
    return rows


def _times(pid: int) -> tuple[float, float] | None:
    """Return when a process was started, and its seconds on processors; `None` if it has ended."""
    handle = _kernel32.OpenProcess(_QUERY, False, pid)
    if not handle:
        return None
    began, ended, kernel, user = (ctypes.c_uint64() for _ in range(4))
    try:
        pointers = (ctypes.byref(each) for each in (began, ended, kernel, user))
        if not _kernel32.GetProcessTimes(handle, *pointers) or ended.value:
            return None
    finally:
        _kernel32.CloseHandle(handle)
    return began.value / _TICKS - _EPOCH_SECONDS, (kernel.value + user.value) / _TICKS
