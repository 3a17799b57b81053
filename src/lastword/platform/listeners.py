"""Listeners on loopback: a free port for an agent, and which process listens on it.

Owns reading this from /proc on Linux; other systems have no such file, so there is no port. It is
loaded for an agent that is to serve on a port of its own.
"""

from __future__ import annotations

import os
import socket
import sys

LOOPBACK = "127.0.0.1"
TRIES = 3
LOWEST_PORT = 16_384
MAX_TABLE_BYTES = 8 * 1024 * 1024
MAX_DESCRIPTORS = 4096
MAX_PROCESSES = 65_536
_LISTENS = "0A"
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
_TABLE = "/proc/net/tcp"


def free_port() -> int | None:
    """Return a free port on loopback outside the range of outgoing connections."""
    try:
        with open(_RANGE, encoding="ascii") as file:
            given_from = int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    room = given_from - LOWEST_PORT
    for _ in range(TRIES if room > 0 else 0):
        port = LOWEST_PORT + int.from_bytes(os.urandom(4), "big") % room
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            try:
                trial.bind((LOOPBACK, port))
            except OSError:
                continue
        return port
    return None


def listens(port: int, group: int) -> bool:
    """Return whether a process of this group listens on a port on loopback."""
    inode = _inode_of(port)
    if inode is None:
        return False
    return any(_holds(pid, f"socket:[{inode}]") for pid in _members(group))


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
