"""Listeners on loopback on Windows: where dynamic ports begin, and which process listens on one."""

from __future__ import annotations

import ctypes
import socket
import sys
from ctypes import wintypes

assert sys.platform == "win32"

from lastword.platform.windows.process_tree import read_tree

DYNAMIC_FROM = 49_152
"""The least port of outgoing connections (RFC 6335, section 6)."""

MAX_TABLE_BYTES = 8 * 1024 * 1024
_LISTENERS_BY_PROCESS = 3
_ROW_BYTES = 24
_LOCAL_ADDRESS, _LOCAL_PORT, _OWNER = 1, 2, 5
"""Places of numbers of 32 bits in a row."""

_LOOPBACK = int.from_bytes(socket.inet_aton("127.0.0.1"), sys.byteorder)


def listens(port: int, group: int) -> bool:
    """Return whether this process or a descendant of it listens on a port on loopback."""
    owner = owner_of(port)
    return owner is not None and any(process.pid == owner for process in read_tree(group))


def owner_of(port: int) -> int | None:
    """Return the process that listens on a port on loopback, if there is one."""
    table = _table()
    (count,) = memoryview(table[:4]).cast("I") if len(table) >= 4 else (0,)  # noqa: PLR2004
    for number in range(count):
        row = memoryview(table[4 + number * _ROW_BYTES :][:_ROW_BYTES]).cast("I")
        # The low half of the member is the port, in the network's byte order.
        if row[_LOCAL_ADDRESS] == _LOOPBACK and socket.ntohs(row[_LOCAL_PORT] & 0xFFFF) == port:
            return row[_OWNER]
    return None


def _table() -> bytes:
    """Return the listeners of IPv4: their number, and a row of each."""
    read = ctypes.WinDLL("iphlpapi").GetExtendedTcpTable
    read.argtypes = (
        *(ctypes.c_void_p, ctypes.POINTER(wintypes.DWORD), wintypes.BOOL),
        *(wintypes.ULONG, ctypes.c_int, wintypes.ULONG),
    )
    size = wintypes.DWORD(0)
    read(None, ctypes.byref(size), False, socket.AF_INET, _LISTENERS_BY_PROCESS, 0)
    room = min(2 * size.value, MAX_TABLE_BYTES)  # more may come meanwhile
    table, size = ctypes.create_string_buffer(room), wintypes.DWORD(room)
    failed = read(table, ctypes.byref(size), False, socket.AF_INET, _LISTENERS_BY_PROCESS, 0)
    return b"" if failed else table.raw
