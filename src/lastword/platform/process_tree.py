"""An agent's processes, their sockets and files, and the listeners and connections of the machine.

An agent's processes: the tree below the one that was started, their sockets, and their files. Owns
reading a process's state, its time on a processor, its age, its program's name, its sockets, and
who may write to a file. On Linux /proc has all of this, and macOS nothing. On Windows a snapshot
has the tree, but not the state of a process, or another's command line, sockets or files.

Listeners on loopback: a free port for an agent, and whether the agent listens on it. Owns reading
this from /proc on Linux, from a table of the system on Windows, and from `lsof` on macOS. It is
loaded for an agent that serves on its own port.

The TCP connections of this network namespace, with their counters, as Linux reports them. Owns
reading NETLINK_SOCK_DIAG, which needs no privilege and shows no content. Other systems have no such
source; if a sandbox refuses it, `OSError` is raised. It is loaded at the first silence.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


MAX_PROCESSES = 128


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process of an agent's tree.

    Attributes:
        pid: its id.
        parent: its parent's id.
        state: its state's letter: R runs, S sleeps, D waits for a disk, T is stopped, Z has ended;
            S if the system does not report it.
        cpu_seconds: how long it has run on a processor.
        queued_seconds: how long its main thread has waited for a busy processor.
        age_seconds: how long ago it was started.
        name: its short name.
        words: its command line, or only its program; only its first words may be shown.
    """

    pid: int
    parent: int = 0
    state: str = "S"
    cpu_seconds: float = 0.0
    queued_seconds: float = 0.0
    age_seconds: float = 0.0
    name: str = ""
    words: tuple[str, ...] = ()


class Writers(NamedTuple):
    """Which processes have a file open for writing.

    Attributes:
        own: Whether a process of the agent has.
        others: Whether another process has.
    """

    own: bool
    others: bool


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    MAX_SNAPSHOT = 65_536
    _SNAPSHOT_OF_PROCESSES = 0x2
    _QUERY = 0x1000
    _EPOCH_SECONDS = 11_644_473_600
    """From 1601, where Windows' times begin, to 1970."""

    _TICKS = 10_000_000
    """Units of 100 ns in a second."""

    _CONSOLE = "conhost"
    """The system's own, beside each program with its own console."""

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
                continue  # its parent's id was reused
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
            waiting += [
                (child, pid, title) for child, title in children.get(pid, ()) if child != pid
            ]
        return processes

    def sockets_of(pid: int) -> Iterator[int]:  # noqa: ARG001
        """Return nothing: Windows does not number a process's sockets."""
        return iter(())

    def belongs_to(pid: int, group: int) -> bool:
        """Return whether a running process is the agent's first, or descends from it."""
        return group > 0 and any(process.pid == pid for process in read_tree(group))

    def find_writers(path: str, group: int) -> Generator[None, None, Writers]:  # noqa: ARG001
        """Return that no writer is known."""
        yield
        return Writers(own=False, others=False)

    def _snapshot() -> list[tuple[int, int, str]]:
        """Return every process's id, its parent's, and its program's name."""
        handle = _kernel32.CreateToolhelp32Snapshot(_SNAPSHOT_OF_PROCESSES, 0)
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
        """Return when a running process was started, and its seconds on processors."""
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

else:
    MAX_PIDS = 65_536
    MAX_THREADS = 64
    MAX_DESCRIPTORS = 4096
    MAX_LOOKED_AT = 1024
    MAX_ANCESTORS = 32
    MAX_BYTES = 4096
    _TICKS = os.sysconf("SC_CLK_TCK")
    _FLAGS = re.compile(rb"flags:\s*([0-7]+)")
    _PARENT, _CPU_TICKS, _STARTED = 1, slice(11, 13), 19
    """Positions in /proc/PID/stat, after the program's name."""

    def read_tree(root: int) -> list[Process]:
        """Return a process and its descendants, the root first; empty if it cannot be read."""
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0
        waiting, processes = [root], list[Process]()
        while waiting and len(processes) < MAX_PROCESSES:
            pid = waiting.pop(0)
            process = _process(pid, uptime)
            if process is not None:
                processes.append(process)
                waiting += _children(pid)
        return processes

    def sockets_of(pid: int, most: int = MAX_LOOKED_AT) -> Iterator[int]:
        """Yield the inodes of a process's sockets, among this many descriptors."""
        for _, target in _descriptors(pid, most):
            if target.startswith("socket:["):
                yield int(target[8:-1])

    def belongs_to(pid: int, group: int) -> bool:
        """Return whether a running process is of this group, or descends from its leader."""
        for _ in range(MAX_ANCESTORS):
            if pid <= 1 or group <= 0:
                return False
            try:
                if pid == group or os.getpgid(pid) == group:
                    return True
                pid = int(_stat(pid)[1][_PARENT])
            except (OSError, ValueError, IndexError):
                return False
        return False

    def find_writers(path: str, group: int) -> Generator[None, None, Writers]:
        """Return who has a file open for writing, yielding after every process."""
        target = os.path.realpath(path)
        own = others = False
        for pid in pids():
            for fd, file in _descriptors(pid, MAX_DESCRIPTORS):
                if file != target:
                    continue
                flags = _FLAGS.search(_read(f"/proc/{pid}/fdinfo/{fd}"))
                if flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    own, others = (True, others) if belongs_to(pid, group) else (own, True)
                    break
            yield
        return Writers(own, others)

    def pids() -> list[int]:
        """Return the ids of all visible processes."""
        return [int(name) for name in _names("/proc") if name.isdigit()][:MAX_PIDS]

    def _process(pid: int, uptime: float) -> Process | None:
        name, fields = _stat(pid)
        try:
            cpu_ticks, started = sum(map(int, fields[_CPU_TICKS])), int(fields[_STARTED])
            parent = int(fields[_PARENT])
        except (IndexError, ValueError):
            return None
        waits = _read(f"/proc/{pid}/schedstat").split()
        command = _read(f"/proc/{pid}/cmdline")
        return Process(
            pid=pid,
            parent=parent,
            state=fields[0].decode(errors="replace"),
            cpu_seconds=cpu_ticks / _TICKS,
            # Not every kernel counts this.
            queued_seconds=int(waits[1]) / 1e9 if len(waits) > 1 else 0.0,
            age_seconds=max(uptime - started / _TICKS, 0.0),
            name=name.decode(errors="replace"),
            words=tuple(word.decode(errors="replace") for word in command.split(b"\0") if word),
        )

    def _stat(pid: int) -> tuple[bytes, list[bytes]]:
        """Return a process's name, which may contain anything, and the fields after it."""
        name, _, rest = _read(f"/proc/{pid}/stat").partition(b"(")[2].rpartition(b")")
        return name, rest.split()

    def _children(pid: int) -> list[int]:
        return [
            int(child)
            for thread in _names(f"/proc/{pid}/task")[:MAX_THREADS]
            for child in _read(f"/proc/{pid}/task/{thread}/children").split()
        ]

    def _descriptors(pid: int, most: int) -> Iterator[tuple[str, str]]:
        """Yield a process's descriptors and their targets; none for another user's process."""
        folder = f"/proc/{pid}/fd"
        for name in _names(folder)[:most]:
            try:
                yield name, os.readlink(f"{folder}/{name}")
            except OSError:
                continue

    def _names(folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except OSError:
            return []

    def _read(path: str) -> bytes:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(fd, MAX_BYTES)
        except OSError:
            return b""
        finally:
            os.close(fd)


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
"""The lowest port of outgoing connections; by default RFC 6335's, section 6, as on macOS."""


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
    """Positions of 32-bit numbers in a row."""

    _LOOPBACK = int.from_bytes(socket.inet_aton("127.0.0.1"), sys.byteorder)

    def listens(port: int, group: int) -> bool:
        """Return whether this process or a descendant listens on a port on loopback."""
        owner = owner_of(port)
        return owner is not None and belongs_to(owner, group)

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
        """Return the table of IPv4 listeners: their number, and their rows."""
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
    """Part of macOS; not looked up on `PATH`, which may lead to another."""

    _queries: dict[tuple[int, int], subprocess.Popen[bytes]] = {}
    """The unanswered queries to `lsof`, by port and group."""

    def listens(port: int, group: int) -> bool | None:
        """Return whether a process of this group listens on a port on loopback.

        `None` means that it is not known yet; the next call may know.
        """
        if sys.platform != "linux":
            return _query_lsof(port, group)
        try:
            with open(_TABLE, encoding="ascii") as file:
                rows = file.read(MAX_TABLE_BYTES).splitlines()[1:]
        except (OSError, ValueError):
            return False
        # The address in the kernel's byte order: 127.0.0.1 is 0100007F on little-endian machines.
        local = f"{int.from_bytes(socket.inet_aton(LOOPBACK), sys.byteorder):08X}:{port:04X}"
        for row in rows:
            words = row.split()
            if len(words) > 9 and words[1] == local and words[3] == _LISTENS:  # noqa: PLR2004
                inode = int(words[9])
                return any(inode in sockets_of(pid, MAX_DESCRIPTORS) for pid in _members(group))
        return False

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
        # Its status may report that it could not look everywhere although it has found one.
        listening, _ = _queries.pop((port, group)).communicate()
        return bool(listening.strip())

    def _members(group: int) -> Iterator[int]:
        """Yield the processes of a group, its leader first."""
        yield group
        for pid in pids():
            try:
                if pid != group and os.getpgid(pid) == group:
                    yield pid
            except OSError:
                continue


ESTABLISHED = 1
SYN_SENT = 2
_STATES = 1 << ESTABLISHED | 1 << SYN_SENT
MAX_REPLY_BYTES = 4 * 1024 * 1024
"""The most that one look reads: 10,000 connections."""

_TIMEOUT_SECONDS = 0.05
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO = 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_MESSAGE = struct.Struct("=BBBB2s2s16s16sIIIIIIII")
_ATTRIBUTE = struct.Struct("=HH")
_BUFFER_BYTES = 256 * 1024
_LOOPBACK_6 = bytes(15) + b"\x01"
_MAPPED = bytes(10) + b"\xff\xff"
_INFO = struct.Struct("=xxB41xI4xI12xI48xQQ")
"""The members of the kernel's `tcp_info` that are needed: retransmits, last_data_sent,
last_data_recv, rtt, bytes_acked and bytes_received."""


class TcpSocket(msgspec.Struct, frozen=True, kw_only=True):
    """One connection.

    Attributes:
        inode: its number, which a process's descriptor shows.
        state: `ESTABLISHED`, or `SYN_SENT` while it is being made.
        local_port: the port at this end.
        remote_port: the port at the other end.
        loopback: whether the other end is on this machine.
        sent_bytes: the bytes sent and acknowledged.
        received_bytes: the bytes received.
        sent_ago: how many seconds ago something was last sent.
        received_ago: how many seconds ago something was last received.
        rtt_seconds: the round-trip time.
        retransmits: how often the last segment was sent again without an answer.
    """

    inode: int
    state: int = ESTABLISHED
    local_port: int = 0
    remote_port: int = 0
    loopback: bool = False
    sent_bytes: int = 0
    received_bytes: int = 0
    sent_ago: float = 0.0
    received_ago: float = 0.0
    rtt_seconds: float = 0.0
    retransmits: int = 0


def read_tcp_sockets() -> list[TcpSocket]:
    """Return the open connections.

    Raises:
        OSError: the system has no such source, or refuses it.
    """
    if sys.platform != "linux":
        raise OSError("only Linux lists its connections so")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
        diag.settimeout(_TIMEOUT_SECONDS)
        sockets: list[TcpSocket] = []
        for family in (socket.AF_INET, socket.AF_INET6):
            sockets += _dump(diag, family)
    return sockets


def _dump(diag: socket.socket, family: int) -> Iterator[TcpSocket]:
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), _STATES)
    length = _HEADER.size + len(request)
    diag.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, family, 0) + request)
    left = MAX_REPLY_BYTES
    while left > 0:
        data = diag.recv(_BUFFER_BYTES)
        left -= len(data)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, _, sequence, _ = _HEADER.unpack_from(data, at)
            if kind == _NLMSG_ERROR:
                (number,) = struct.unpack_from("=i", data, at + _HEADER.size)
                raise OSError(-number, os.strerror(-number))
            if kind == _NLMSG_DONE or length < _HEADER.size:
                return
            if sequence == family:
                described = _socket_in(data[at + _HEADER.size : at + length])
                if described is not None:
                    yield described
            at += (length + 3) & ~3
    raise OSError("there are too many connections")


def _socket_in(message: bytes) -> TcpSocket | None:
    """Return the connection that a message from the kernel describes."""
    if len(message) < _MESSAGE.size:
        return None
    members = _MESSAGE.unpack_from(message)
    family, state, _, retransmits, local, remote, _, address = members[:8]
    sent_ms = received_ms = rtt = sent = received = 0
    at = _MESSAGE.size
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            break
        if kind == _INET_DIAG_INFO and length >= _ATTRIBUTE.size + _INFO.size:
            info = _INFO.unpack_from(message, at + _ATTRIBUTE.size)
            _, sent_ms, received_ms, rtt, sent, received = info
            break
        at += (length + 3) & ~3
    if family == socket.AF_INET:
        loopback = address[0] == 127  # noqa: PLR2004 - 127.0.0.0/8
    elif address.startswith(_MAPPED):
        loopback = address[12] == 127  # noqa: PLR2004 - the same, mapped
    else:
        loopback = address == _LOOPBACK_6
    return TcpSocket(
        inode=members[-1],
        state=state,
        local_port=int.from_bytes(local, "big"),
        remote_port=int.from_bytes(remote, "big"),
        loopback=loopback,
        # The kernel counts the start of a connection as one byte.
        sent_bytes=max(sent - 1, 0),
        received_bytes=received,
        sent_ago=sent_ms / 1000,
        received_ago=received_ms / 1000,
        rtt_seconds=rtt / 1_000_000,
        retransmits=retransmits,
    )
