"""Descriptors 0 and 1, kept for the client alone.

Owns where they are while an agent serves, and that everything is as it was afterwards.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING

from lastword.posix.framing import READ_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN, STDOUT, STDERR = 0, 1, 2


@contextlib.contextmanager
def taken() -> Iterator[tuple[int, int]]:
    """Take stdin and stdout out of everybody else's reach.

    While it lasts, descriptor 0 is empty, and descriptor 1 and `sys.stdout` lead to stderr: what a
    handler prints, and what a process that it starts reads or prints, is no part of the protocol.

    Yields:
        The descriptor to read the client from, which says when it is ready, and the one to write
        to. Neither blocks, but for a terminal or a file as stdout.
    """
    source, sink = os.dup(STDIN), os.dup(STDOUT)
    flags = [(fd, os.get_blocking(fd)) for fd in (source, sink)]
    reading = source if _says_when_ready(source) else _pumped(source)
    try:
        _point_elsewhere()
        with contextlib.redirect_stdout(sys.stderr):
            for fd in {reading, sink}:
                if _says_when_ready(fd):
                    os.set_blocking(fd, False)
            yield reading, sink
    finally:
        _flush()
        for fd, blocking in flags:
            os.set_blocking(fd, blocking)
        os.dup2(source, STDIN)
        os.dup2(sink, STDOUT)
        for fd in {reading, source, sink}:
            os.close(fd)


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
