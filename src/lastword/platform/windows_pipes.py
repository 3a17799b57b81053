"""Pipes on Windows, which cannot be polled: every end has a thread that reads or writes it.

Owns those threads, the bytes that they have read or will write, and a `Poller` over them with the
methods of `select.poll`. Reading ahead, and accepting bytes to write, is bounded. Bytes are moved
by handle, since the C library locks a descriptor while it is read.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import sys
import threading
import time
from collections import deque
from ctypes import wintypes

assert sys.platform == "win32"

import _winapi
import msvcrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

POLLIN = 1
POLLOUT = 4
GONE = 8 | 16 | 32
"""The events that `Poller.poll` reports if the other end has gone."""

_ERROR = 8
_READ_BYTES = 64 * 1024
_ROOM_BYTES = 1024 * 1024
"""How much a writer accepts that is not yet read, like a widened pipe on Linux."""

_SETTLE_SECONDS = 0.02
_SETTLE_LIMIT_SECONDS = 0.25
"""How long reading a dead process's pipe may take: after that it counts as empty."""

_SOCKETS_FROM = 1 << 40
"""Numbers of sockets begin here: a handle may equal a descriptor."""

_SELECT_SECONDS = 0.02

_changed = threading.Condition()
"""Shared by all pipes of the process: there are few, and one thread waits for them."""

_waits: list[tuple[int, int, Callable[[], object]]] = []
"""Calls to make once, when a descriptor has one of these events."""

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.OpenThread.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
_kernel32.OpenThread.restype = wintypes.HANDLE
_kernel32.CancelSynchronousIo.argtypes = (wintypes.HANDLE,)
_kernel32.CancelSynchronousIo.restype = wintypes.BOOL
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
_kernel32.CloseHandle.restype = wintypes.BOOL
_THREAD_TERMINATE = 1
_OPERATION_ABORTED = 995


class _Reading:
    """A thread that reads a descriptor; only the thread closes it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.data = b""
        self.ended = False
        self.failure: OSError | None = None
        self.closing = False
        self.waiting_since: float | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        handle = msvcrt.get_osfhandle(self.fd)
        while not self.ended:
            with _changed:
                _changed.wait_for(lambda: self.closing or not self.data)
                if self.closing:
                    break
                self.waiting_since = time.monotonic()
            try:
                data, failure = _winapi.ReadFile(handle, _READ_BYTES)[0], None
            except OSError as error:
                data, failure = b"", None if _is_gone(error) else error
            with _changed:
                self.data, self.failure, self.ended = data, failure, not data
                self.waiting_since = None
                _announce()
        with _changed:
            _changed.wait_for(lambda: self.closing)
        _close(self.fd)

    def cancel(self) -> None:
        handle = _kernel32.OpenThread(_THREAD_TERMINATE, False, self.thread.native_id or 0)
        if handle:
            _kernel32.CancelSynchronousIo(handle)
            _kernel32.CloseHandle(handle)


class _Writing:
    """A thread that writes to a descriptor; only the thread closes it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.pieces: deque[bytes] = deque()
        self.size = 0
        self.failure: OSError | None = None
        self.closing = False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            with _changed:
                _changed.wait_for(lambda: self.closing or self.pieces)
                if not self.pieces:
                    break
                piece = self.pieces.popleft()
            failure = _write_all(self.fd, piece)
            with _changed:
                self.size -= len(piece)
                if failure is not None:
                    self.failure, self.size = failure, 0
                    self.pieces.clear()
                _announce()
        _close(self.fd)

    @property
    def room(self) -> int:
        """How many bytes it accepts now."""
        return _ROOM_BYTES - self.size


_readings: dict[int, _Reading] = {}
_writings: dict[int, _Writing] = {}


def _write_all(fd: int, data: bytes) -> OSError | None:
    view = memoryview(data)
    try:
        handle = msvcrt.get_osfhandle(fd)
        while view:
            view = view[_winapi.WriteFile(handle, view[:_READ_BYTES])[0] :]
    except OSError as error:
        return BrokenPipeError(errno.EPIPE, "broken pipe") if _is_gone(error) else error
    return None


def _is_gone(error: OSError) -> bool:
    return error.errno == errno.EPIPE or error.winerror == _OPERATION_ABORTED


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        return


def read(fd: int, size: int) -> bytes:
    """Return bytes that have arrived, `b""` at the end.

    Raises:
        BlockingIOError: There are none now.
        OSError: The descriptor cannot be read.
    """
    with _changed:
        reading = _reading_of(fd)
        if reading.data:
            data, reading.data = reading.data[:size], reading.data[size:]
            _changed.notify_all()
            return data
        if reading.failure is not None:
            raise reading.failure
        if reading.ended:
            return b""
    raise BlockingIOError(errno.EAGAIN, "nothing to read now")


def write(fd: int, data: bytes | bytearray | memoryview) -> int:
    """Accept bytes for a descriptor; return how many.

    Raises:
        BlockingIOError: It accepts none now.
        OSError: It cannot be written to; `BrokenPipeError` if its reader has gone.
    """
    with _changed:
        writing = _writing_of(fd)
        if writing.failure is not None:
            raise writing.failure
        piece = bytes(data[: writing.room]) if writing.room > 0 else b""
        if data and not piece:
            raise BlockingIOError(errno.EAGAIN, "no room now")
        writing.pieces.append(piece)
        writing.size += len(piece)
        _changed.notify_all()
        return len(piece)


def close(fd: int) -> None:
    """Close a descriptor once its accepted bytes are written; a read that waits ends."""
    with _changed:
        # Otherwise an abandoned wait would begin to read the descriptor's next user.
        _waits[:] = [wait for wait in _waits if wait[0] != fd]
        reading, writing = _readings.pop(fd, None), _writings.pop(fd, None)
        for end in (reading, writing):
            if end is not None:
                end.closing = True
        _changed.notify_all()
        waits = reading is not None and reading.waiting_since is not None
    if reading is None and writing is None:
        _close(fd)
    if reading is not None and waits:
        reading.cancel()


def _reading_of(fd: int) -> _Reading:
    reading = _readings.get(fd)
    if reading is None:
        reading = _readings[fd] = _Reading(fd)
    return reading


def _writing_of(fd: int) -> _Writing:
    writing = _writings.get(fd)
    if writing is None:
        writing = _writings[fd] = _Writing(fd)
    return writing


def unread_bytes(fd: int) -> int:
    """Return the number of unread bytes in the pipe of a process that has ended."""
    deadline = time.monotonic() + _SETTLE_LIMIT_SECONDS
    with _changed:
        reading = _reading_of(fd)
        while not reading.ended and not reading.data and time.monotonic() < deadline:
            since = reading.waiting_since
            if since is not None and time.monotonic() - since >= _SETTLE_SECONDS:
                break
            _changed.wait(_SETTLE_SECONDS)
        # After a full read, the rest is unknown: it may be as much as a pipe holds.
        return len(reading.data) if len(reading.data) < _READ_BYTES else _ROOM_BYTES


def number_of(socket: socket) -> int:
    """Return the number of a socket for a `Poller`."""
    return _SOCKETS_FROM + socket.fileno()


def is_waitable(fd: int) -> bool:  # noqa: ARG001
    """Return `True`: a thread can wait for anything."""
    return True


def is_polled(fd: int) -> bool:  # noqa: ARG001
    """Return `False`: an event loop can wait only for its own kind of pipe."""
    return False


def is_blocking(fd: int) -> bool:  # noqa: ARG001
    """Return `True`: a pipe's mode cannot be read here."""
    return True


def set_blocking(fd: int, blocking: bool) -> None:  # noqa: FBT001
    """Do nothing: a descriptor blocks only the thread that reads or writes it."""


def prepare_output(fd: int) -> bool:
    """Prepare a shared descriptor for `write`; return a value for `release_output`."""
    msvcrt.setmode(fd, os.O_BINARY)
    return True


def release_output(fd: int, blocked: bool, seconds: float) -> None:  # noqa: ARG001, FBT001
    """Wait until everything written to a descriptor is on its way.

    Args:
        fd: The descriptor.
        blocked: The result of `prepare_output`.
        seconds: How long to wait for its reader.
    """
    with _changed:
        writing = _writings.get(fd)
        if writing is not None:
            _changed.wait_for(lambda: not writing.size, seconds)


def is_same_file(first: int, second: int) -> bool:
    """Return whether two descriptors lead to one pipe or file.

    Raises:
        OSError: One of them is not open.
    """
    handles = msvcrt.get_osfhandle(first), msvcrt.get_osfhandle(second)
    if handles[0] == handles[1]:
        return True
    try:
        # Since Windows 10; `fstat` cannot tell pipes apart.
        compare = ctypes.WinDLL("kernelbase").CompareObjectHandles
    except (OSError, AttributeError):
        return False
    compare.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    compare.restype = wintypes.BOOL
    return bool(compare(*handles))


def when_ready(fd: int, events: int, call: Callable[[], object]) -> None:
    """Make a call once, from any thread, when a descriptor has one of these events.

    The call must not block. That the other end has gone counts as an event.
    """
    with _changed:
        _waits.append((fd, events, call))
        _announce()


def _announce() -> None:
    """Wake all waits for a change; the caller has `_changed` locked."""
    _changed.notify_all()
    due = [wait for wait in _waits if _pipe_events(wait[0], wait[1])]
    for wait in due:
        _waits.remove(wait)
        wait[2]()


class Poller:
    """A `select.poll` over pipes, and over sockets by `number_of`."""

    def __init__(self) -> None:
        self._interest: dict[int, int] = {}

    def register(self, fd: int, events: int) -> None:
        self._interest[fd] = events
        if fd >= _SOCKETS_FROM:
            return
        with _changed:
            if events & POLLIN:
                _reading_of(fd)
            if events & POLLOUT:
                _writing_of(fd)

    def unregister(self, fd: int) -> None:
        """Stop waiting for a descriptor.

        Raises:
            KeyError: It was not registered.
        """
        del self._interest[fd]

    def poll(self, timeout_ms: float | None = None) -> list[tuple[int, int]]:
        """Return the descriptors that are ready, after waiting at most this long."""
        deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        sockets = any(fd >= _SOCKETS_FROM for fd, events in self._interest.items() if events)
        with _changed:
            while not (ready := self._ready()):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    break
                # A socket's event does not wake this thread.
                _changed.wait(min(left or _SELECT_SECONDS, _SELECT_SECONDS) if sockets else left)
        return ready

    def _ready(self) -> list[tuple[int, int]]:
        ready = []
        for fd, events in self._interest.items():
            got = _socket_events(fd, events) if fd >= _SOCKETS_FROM else _pipe_events(fd, events)
            if got:
                ready.append((fd, got))
        return ready


def _pipe_events(fd: int, events: int) -> int:
    got = 0
    if events & POLLIN:
        # Not only at registration: the next agent's pipe may have the same number.
        reading = _reading_of(fd)
        if reading.data or reading.ended:
            got |= POLLIN
    if events & POLLOUT:
        writing = _writing_of(fd)
        if writing.failure is None and writing.room > 0:
            got |= POLLOUT
    failed = _writings.get(fd)
    if failed is not None and failed.failure is not None:
        got |= _ERROR
    return got


def _socket_events(fd: int, events: int) -> int:
    handle = fd - _SOCKETS_FROM
    reads = [handle] if events & POLLIN else []
    writes = [handle] if events & POLLOUT else []
    if not events:
        return 0
    try:
        readable, writable, failed = select.select(reads, writes, [handle], 0)
    except OSError:
        return _ERROR
    got = (POLLIN if readable else 0) | (POLLOUT if writable else 0)
    # On Windows a failed connection is reported as an exception, elsewhere as writable.
    return got | (_ERROR | POLLOUT & events if failed else 0)
