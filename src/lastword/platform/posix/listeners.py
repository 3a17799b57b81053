"""Listeners on loopback: where dynamic ports begin, and which process listens on one.

Owns reading this from /proc on Linux, and asking `lsof` on macOS. It is loaded for an agent that is
to serve on a port of its own.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys

assert sys.platform != "win32"

LOOPBACK = "127.0.0.1"
MAX_TABLE_BYTES = 8 * 1024 * 1024
MAX_DESCRIPTORS = 4096
MAX_PROCESSES = 65_536
_LISTENS = "0A"
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
_TABLE = "/proc/net/tcp"
_LSOF = ("/usr/sbin/lsof", "/usr/bin/lsof")
"""Part of macOS; not looked up on `PATH`, which may have another."""

_queries: dict[tuple[int, int], subprocess.Popen[bytes]] = {}
"""What `lsof` was asked and has not answered, by port and group."""


def _dynamic_from() -> int:
    try:
        with open(_RANGE, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 49_152


DYNAMIC_FROM = _dynamic_from()
"""The least port of outgoing connections; by default that of RFC 6335, section 6, as on macOS."""


def listens(port: int, group: int) -> bool | None:
    """Return whether a process of this group listens on a port on loopback.

    `None` says that it is not known yet, and that the next call may say it.
    """
    if sys.platform != "linux":
        return _query_lsof(port, group)
    inode = _inode_of(port)
    if inode is None:
        return False
    return any(_holds(pid, f"socket:[{inode}]") for pid in _members(group))


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
    pids, _ = _queries.pop((port, group)).communicate()
    return bool(pids.strip())


def _inode_of(port: int) -> str | None:
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
            return words[9]
    return None


def _members(group: int) -> list[int]:
    """Return the processes of a group, its leader first."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()][:MAX_PROCESSES]
    except OSError:
        return []
    members = [pid for pid in pids if pid != group and _group_of(pid) == group]
    return [group, *members]


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _holds(pid: int, target: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        for name in os.listdir(folder)[:MAX_DESCRIPTORS]:
            if _link(f"{folder}/{name}") == target:
                return True
    except OSError:
        return False
    return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
