"""Listeners on loopback: a free port for an agent, and whether the agent listens on it.

Owns reading this from /proc on Linux and from a table of the system's on Windows, and asking `lsof`
on macOS. It is loaded for an agent that is to serve on a port of its own.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from lastword.platform import process_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPBACK = "127.0.0.1"
TRIES = 3
LOWEST_PORT = 16_384
MAX_TABLE_BYTES = 8 * 1024 * 1024
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


def _dynamic_from() -> int:
    try:
        with open(_RANGE, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 49_152


DYNAMIC_FROM = _dynamic_from()
"""The least port of outgoing connections; by default that of RFC 6335, section 6, as on macOS."""


def free_port() -> int | None:
    """Return a free port on loopback outside the range of outgoing connections."""
    room = DYNAMIC_FROM - LOWEST_PORT
    for _ in range(TRIES if room > 0 else 0):
        port = LOWEST_PORT + int.from_bytes(os.urandom(4), "big") % room
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            try:
                trial.bind((LOOPBACK, port))
            except OSError:
                continue
        return port
    return None


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _LISTENERS_BY_PROCESS = 3
    _ROW_BYTES = 24
    _LOCAL_ADDRESS, _LOCAL_PORT, _OWNER = 1, 2, 5
    """Places of numbers of 32 bits in a row."""

    _LOOPBACK = int.from_bytes(socket.inet_aton("127.0.0.1"), sys.byteorder)

    def listens(port: int, group: int) -> bool:
        """Return whether this process or a descendant of it listens on a port on loopback."""
        owner = owner_of(port)
        return owner is not None and process_tree.belongs_to(owner, group)

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

else:
    _LISTENS = "0A"
    _TABLE = "/proc/net/tcp"
    _LSOF = ("/usr/sbin/lsof", "/usr/bin/lsof")
    """Part of macOS; not looked up on `PATH`, which may have another."""

    _queries: dict[tuple[int, int], subprocess.Popen[bytes]] = {}
    """What `lsof` was asked and has not answered, by port and group."""

    def listens(port: int, group: int) -> bool | None:
        """Return whether a process of this group listens on a port on loopback.

        `None` says that it is not known yet, and that the next call may say it.
        """
        if sys.platform != "linux":
            return _query_lsof(port, group)
        inode = _inode_of(port)
        return inode is not None and any(
            inode in process_tree.sockets_of(pid, process_tree.MAX_DESCRIPTORS)
            for pid in _members(group)
        )

    def _query_lsof(port: int, group: int) -> bool | None:
        query = _queries.get((port, group))
        if query is None:
            program = next((path for path in _LSOF if os.access(path, os.X_OK)), None)
            if program is None:
                return False
            conditions = ("-a", "-g", str(group), f"-iTCP@{LOOPBACK}:{port}", "-sTCP:LISTEN")
            try:
                _queries[port, group] = subprocess.Popen(
                    [program, "-nP", "-t", *conditions],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                return False
            return None
        if query.poll() is None:
            return None
        # Its status may say that it could not look everywhere, though it has found one.
        listening, _ = _queries.pop((port, group)).communicate()
        return bool(listening.strip())

    def _inode_of(port: int) -> int | None:
        try:
            with open(_TABLE, encoding="ascii") as file:
                rows = file.read(MAX_TABLE_BYTES).splitlines()[1:]
        except (OSError, ValueError):
            return None
        # The address in the kernel's byte order: 127.0.0.1 is 0100007F on little-endian machines.
        local = f"{int.from_bytes(socket.inet_aton(LOOPBACK), sys.byteorder):08X}:{port:04X}"
        for row in rows:
            words = row.split()
            if len(words) > 9 and words[1] == local and words[3] == _LISTENS:  # noqa: PLR2004
                return int(words[9])
        return None

    def _members(group: int) -> Iterator[int]:
        """Return the processes of a group, its leader first."""
        yield group
        for pid in process_tree.pids():
            try:
                if pid != group and os.getpgid(pid) == group:
                    yield pid
            except OSError:
                continue
