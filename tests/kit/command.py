"""Commands of lastword's in the test's own process, as a shell would run them; or in a real one.

Owns what a command meets: descriptors 0 to 2 with Python's streams over them, the environment, the
working directory, `sys.argv`; and that all of it, signal handlers, warnings and a user's own rows
are afterwards as they were. An exception that would end a process in a traceback fails the test.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import lastword
from lastword.cli import main
from lastword.core.classify import own_rows
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Done = subprocess.CompletedProcess[str]

PROCESS = (sys.executable, "-P", "-m", "lastword")
MODULE = str(Path(lastword.__file__).with_name("__main__.py"))
STREAMS = ("stdin", "stdout", "stderr")
ENDS = ("_exit", "execv", "execve", "execvp", "execvpe")
"""What none of its statements would survive, and the tests neither."""


def command(
    *arguments: str,
    stdin: str | bytes = "",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command in this process, with a file as stdin; an environment is all that it has."""
    temporary = tempfile.TemporaryFile
    with temporary() as given, temporary() as out, temporary() as err:
        given.write(stdin.encode() if isinstance(stdin, str) else stdin)
        given.seek(0)
        with contextlib.ExitStack() as around:
            around.enter_context(_variables(environment))
            around.enter_context(contextlib.chdir(cwd or "."))
            around.enter_context(_process_state(arguments))
            around.enter_context(_streams(given, out, err))
            try:
                status = main(list(arguments))
            except SystemExit as error:
                raise AssertionError(f"it would have ended by {error!r}") from error
        return subprocess.CompletedProcess(arguments, status, _text(out), _text(err))


def in_a_process(
    *arguments: str,
    stdin: str = "",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command in a process of its own, where that is what a test is about."""
    return run_program([*PROCESS, *arguments], stdin=stdin, check=False, cwd=cwd, env=environment)


@contextlib.contextmanager
def _variables(environment: Mapping[str, str] | None) -> Iterator[None]:
    before = dict(os.environ)
    try:
        if environment is not None:
            _become(environment)
        yield
    finally:
        _become(before)


def _become(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()


@contextlib.contextmanager
def _process_state(arguments: tuple[str, ...]) -> Iterator[None]:
    """What a command may leave changed in its process, which usually ends with it."""
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    argv, rows, ends = sys.argv, tuple(own_rows._in_use), {name: getattr(os, name) for name in ENDS}
    sys.argv = [MODULE, *arguments]
    for name, end in ends.items():
        setattr(os, name, functools.partial(_end, os.getpid(), end))
    try:
        with warnings.catch_warnings():
            yield
    finally:
        for name, end in ends.items():
            setattr(os, name, end)
        sys.argv = argv
        own_rows.use(rows)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def _end(own: int, end: Callable[..., NoReturn], *arguments: Any) -> NoReturn:
    if os.getpid() == own:
        raise AssertionError(f"the process would have ended or become another: {arguments}")
    end(*arguments)  # a guardian, which is a fork


@contextlib.contextmanager
def _streams(*files: BinaryIO) -> Iterator[None]:
    """These files in place of the standard streams and of their descriptors."""
    streams = [getattr(sys, name) for name in STREAMS]
    for stream in streams[1:]:
        stream.flush()
    copies = [os.dup(fd) for fd in range(3)]
    try:
        for fd, file in enumerate(files):
            os.dup2(file.fileno(), fd)
        encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
        with (
            open(0, encoding=encoding, closefd=False) as sys.stdin,
            open(1, "w", -1, encoding, errors or "strict", closefd=False) as out,
            open(2, "w", 1, encoding, "backslashreplace", closefd=False) as err,
        ):
            sys.stdout, sys.stderr = out, err
            yield
    finally:
        for name, stream in zip(STREAMS, streams, strict=True):
            setattr(sys, name, stream)
        for fd, copy in enumerate(copies):
            os.dup2(copy, fd)
            os.close(copy)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()


def at_a_terminal(command: Sequence[str], typed: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a program in the repository's folder, with a terminal as stdin at which this is typed."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        command, cwd=ROOT, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            os.write(ours, typed)
            out, err = process.communicate(timeout=FUSE_SECONDS)
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
