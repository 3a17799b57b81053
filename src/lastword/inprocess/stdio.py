"""Stdin and stdout, reserved for the client.

Owns where descriptors 0 and 1 lead while an agent serves, where printed output goes meanwhile, and
restoring everything afterwards. The author's own streams are not touched. A process that a handler
has forked ends when it returns into the agent's own code: it has its parent's client and event
loop, and would answer its parent's turns.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from lastword.errors import MisuseError
from lastword.inprocess import settings
from lastword.inprocess.request import process_ending
from lastword.inprocess.settings import logger
from lastword.platform.framing import READ_BYTES
from lastword.platform.pipes import close, is_blocking, is_waitable, set_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def end(error: BaseException | None = None, *, status: int = 0) -> NoReturn:
    """End this process, with the exception that its copy of the handler raised, if any."""
    ending = None if error is None else process_ending(error)
    code = ending.code if isinstance(ending, SystemExit) else status or int(error is not None)
    if error is not None and ending is None:
        logger.error("A process that a handler forked has failed.", exc_info=error)
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


def end_speaker() -> NoReturn:
    """End this process before it writes to its parent's client."""
    logger.error(
        "A process that a handler forked has ended: it used the connection to the client, which is "
        "its parent's. Leave such a process with os._exit()."
    )
    end(status=1)


STDIN, STDOUT, STDERR = 0, 1, 2
AT_A_TERMINAL = (
    "lastword: reading ACP messages from stdin. A client normally starts this program. "
    "Press Ctrl-D to stop it.\n"
)

_serving: set[int] = set()
"""This process, while it serves a client on stdin and stdout; its forks have other ids."""


@contextlib.contextmanager
def claimed() -> Iterator[None]:
    """Claim stdin and stdout for one client: a second agent there would have no input.

    Raises:
        MisuseError: Another agent in this process serves a client there.
    """
    process = os.getpid()
    if process in _serving:
        raise MisuseError(
            "stdin and stdout serve the client of another agent in this process: wait until that "
            "one has ended, or run this one in its own process or over its own streams"
        )
    _serving.add(process)
    try:
        yield
    finally:
        _serving.discard(process)


@contextlib.contextmanager
def reserved() -> Iterator[tuple[int, int]]:
    """Reserve stdin and stdout for the client.

    Meanwhile descriptor 0 is empty, and descriptor 1 and `sys.stdout` lead to stderr: what a
    handler prints, and what a process that it starts reads or prints, is not part of the protocol.
    Output that was printed before and is still buffered goes to stderr too.

    Yields:
        The descriptors for reading from the client and for writing to it.

    Raises:
        MisuseError: Another agent in this process has reserved them.
    """
    with claimed():
        source, sink = os.dup(STDIN), os.dup(STDOUT)
        flags = [(fd, is_blocking(fd)) for fd in (source, sink)]
        if os.isatty(source) and sys.stderr is not None:
            sys.stderr.write(AT_A_TERMINAL)
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, STDIN)
            try:
                os.dup2(STDERR, STDOUT)
            except OSError:  # no stderr
                os.dup2(nothing, STDOUT)
            os.close(nothing)
            # Output that was printed before and is still buffered is not meant for the client.
            _flush()
            with printing_to_stderr():
                yield source, sink
        finally:
            _flush()
            for fd, blocking in flags:
                set_blocking(fd, blocking)
            os.dup2(source, STDIN)
            os.dup2(sink, STDOUT)
            for fd in (source, sink):
                close(fd)


@contextlib.contextmanager
def unblocked(source: int, sink: int) -> Iterator[int]:
    """Make both descriptors non-blocking, except for writing to a terminal or a file.

    Yields:
        A descriptor to read from in place of `source`, which a loop can wait for.
    """
    reading = source if is_waitable(source) else _pumped(source)
    try:
        for fd in (reading, sink):
            if is_waitable(fd):
                set_blocking(fd, False)
        yield reading
    finally:
        if reading != source:
            os.close(reading)


@contextlib.contextmanager
def polled(source: int) -> Iterator[int]:
    """Yield a descriptor that a loop can wait for, also in place of `/dev/null`."""
    is_device = stat.S_ISCHR(os.fstat(source).st_mode)
    reading = _pumped(source) if is_device else source
    try:
        yield reading
    finally:
        if is_device:
            os.close(reading)


@contextlib.contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Redirect `sys.stdout` to stderr, and warn the author at the first output."""
    elsewhere = None if sys.stderr is None else _Printed(sys.stderr, _Once(settings.printed))
    with contextlib.redirect_stdout(elsewhere):
        yield


def is_stdout(writer: object) -> bool:
    """Return whether this asyncio stream writes to the process's own stdout."""
    transport = getattr(writer, "transport", None)
    pipe = transport.get_extra_info("pipe") if transport is not None else None
    try:
        return pipe is not None and pipe.fileno() == STDOUT
    except ValueError:  # it is closed
        return False


class _Once:
    """A call that is made only once."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        # The author's own log may print.
        call, self._call = self._call, None
        if call is not None:
            call()


class _Printed:
    """A stream that replaces the author's stdout, and its byte stream."""

    def __init__(self, stream: Any, report: Callable[[], None]) -> None:
        self._stream = stream
        self._report = report

    def write(self, what: Any) -> int:
        self._report()
        written: int = self._stream.write(what)
        return written

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        # Closing stdout must not close stderr.
        self.flush()

    @property
    def buffer(self) -> _Printed:
        return _Printed(self._stream.buffer, self._report)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _pumped(fd: int) -> int:
    """Return a pipe fed by a thread that reads a descriptor without readiness signals.

    The thread is a daemon: waiting for input at a terminal must not keep the process alive.
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
