"""Stdin and stdout, kept for the client alone.

Owns where descriptors 0 and 1 are while an agent serves, what becomes of what is printed meanwhile,
and that everything is as it was afterwards. Streams that are the author's own are left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any

from lastword.inprocess import warnings
from lastword.posix.framing import READ_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

STDIN, STDOUT, STDERR = 0, 1, 2


@contextlib.contextmanager
def taken() -> Iterator[tuple[int, int]]:
    """Take stdin and stdout out of everybody else's reach.

    While it lasts, descriptor 0 is empty, and descriptor 1 and `sys.stdout` lead to stderr: what a
    handler prints, and what a process that it starts reads or prints, is no part of the protocol.
    What was printed before and still waits in a buffer goes to stderr too.

    Yields:
        The descriptor to read the client from, and the one to write to.
    """
    source, sink = os.dup(STDIN), os.dup(STDOUT)
    flags = [(fd, os.get_blocking(fd)) for fd in (source, sink)]
    try:
        _point_elsewhere()
        with printing_to_stderr():
            yield source, sink
    finally:
        _flush()
        for fd, blocking in flags:
            os.set_blocking(fd, blocking)
        os.dup2(source, STDIN)
        os.dup2(sink, STDOUT)
        for fd in (source, sink):
            os.close(fd)


@contextlib.contextmanager
def unblocked(source: int, sink: int) -> Iterator[int]:
    """Let neither descriptor block, but for a terminal or a file to write to.

    Yields:
        The descriptor to read from in the place of `source`: it says when it is ready.
    """
    reading = source if _says_when_ready(source) else _pumped(source)
    try:
        for fd in (reading, sink):
            if _says_when_ready(fd):
                os.set_blocking(fd, False)
        yield reading
    finally:
        if reading != source:
            os.close(reading)


@contextlib.contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Lead `sys.stdout` to stderr, and tell the author of it at the first word."""
    elsewhere = None if sys.stderr is None else _Printed(sys.stderr, _Once(warnings.printed))
    with contextlib.redirect_stdout(elsewhere):
        yield


def is_stdout(writer: object) -> bool:
    """Does this stream of asyncio's write to the process's own stdout?"""
    transport = getattr(writer, "transport", None)
    pipe = transport.get_extra_info("pipe") if transport is not None else None
    try:
        return pipe is not None and pipe.fileno() == STDOUT
    except ValueError:  # it is closed
        return False


class _Once:
    """A call that is made the first time only."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        # The author's own log may print.
        call, self._call = self._call, None
        if call is not None:
            call()


class _Printed:
    """A stream in the place of the author's stdout, and the bytes' stream below it."""

    def __init__(self, stream: Any, tell: Callable[[], None]) -> None:
        self._stream = stream
        self._tell = tell

    def write(self, what: Any) -> int:
        self._tell()
        written: int = self._stream.write(what)
        return written

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        # Stderr is not theirs who close stdout.
        self.flush()

    @property
    def buffer(self) -> _Printed:
        return _Printed(self._stream.buffer, self._tell)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _says_when_ready(fd: int) -> bool:
    """Is it a pipe or a socket? Files are always ready, and a terminal's flags are not ours."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _point_elsewhere() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # no stderr
        os.dup2(nothing, STDOUT)
    os.close(nothing)
    # What was printed before and waits in a buffer was not meant for the client either.
    _flush()


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _pumped(fd: int) -> int:
    """A pipe with what a thread reads from a descriptor that does not say when it is ready.

    A daemon: a thread that waits for a person at a terminal must not keep the process.
    """
    own = os.dup(fd)
    near, far = os.pipe()

    def pump() -> None:
        try:
            while data := os.read(own, READ_BYTES):
                view = memoryview(data)
                while view:
                    view = view[os.write(far, view) :]
        except OSError:
            pass  # the agent serves no more
        finally:
            os.close(own)
            os.close(far)

    threading.Thread(target=pump, name="lastword.stdin", daemon=True).start()
    return near
