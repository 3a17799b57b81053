"""Our own programs, started by a fork of an interpreter that has them loaded.

A start of `python -m lastword …` costs 0.1 to 0.5 s of processor time, nearly all of it for
imports, and a fork some 10 ms. So in a run of the tests `python -m MODULE …`, started by
`subprocess` or by `posix_spawn`, is forked: by the test's own process from a helper process (the
child is the test's own nevertheless), and by what runs in such a child from itself. What begins is
as after a start: its arguments, environment, descriptors, folder, session, signals, standard
streams, and what `/proc` shows of it. `pytest --matrix`, a test marked `real_start`, and all that
is not of this form start as ever; so does everything on systems other than Linux.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import locale
import os
import pickle
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import thread as futures
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

LOADED = (
    *("lastword.cli.run.command", "lastword.cli.run.start", "lastword.sidecar.late_modules"),
    *("lastword.cli.agent", "lastword.kit.agent.scripted", "lastword.cli.commands"),
    *("lastword.core.classify", "lastword.core.failure.wording", "lastword.core.restart.layer"),
    *("lastword.cli.gateway.command", "lastword.gateway.front.process"),
    *("lastword.cli.gateway.holder", "lastword.gateway.holder.recorder_process"),
    *("lastword.cli.connect", "lastword.cli.log", "lastword.cli.doctor", "lastword.inprocess.sdk"),
    *("uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.off", "websockets.asyncio.client"),
    *("acp", "anyio._backends._asyncio", "sqlite3", "tests.kit.agents.faults"),
    # What a thread loads: a fork in that moment would wait for it for ever.
    *("lastword.record.sink", "lastword.core.redact.environment_secrets"),
)
"""What a fork finds loaded; what is missing here is loaded by each that needs it."""

INTERPRETER = sys.executable
OFF = "LASTWORD_TESTS_REAL_STARTS"
SAME = ("PYTHON", "LC_", "LANG", "LD_")
"""What an interpreter reads as it starts, so that a fork cannot follow another value of it."""

ROOM_FOR_ARGUMENTS, ROOM_FOR_ENVIRONMENT = 8_000, 60_000
LONGEST_REQUEST = 100_000
MOST_DESCRIPTORS = 200
HIGH = 500
"""Descriptors are put here, out of each other's way, before they get their numbers."""

_CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine, 0)
_CLONE_PARENT = 0x8000
_ARGUMENTS_BEGIN, _ENVIRONMENT_BEGIN = 48, 50
"""The fields of `/proc/self/stat` with the addresses, each before its end (proc_pid_stat(5))."""

CAN_FORK = sys.platform == "linux" and _CLONE != 0


@dataclass
class Start:
    """What is to begin.

    Attributes:
        descriptors: Ours, by the numbers that they get.
    """

    command: list[str]
    environment: dict[str, str]
    descriptors: dict[int, int]
    session: bool
    folder: str


def is_ours(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether it is one of our programs, and a fork can stand for it."""
    option, module = [*_words(command), "", ""][:2]
    return (
        command[0] == INTERPRETER
        and option == "-m"
        and module.partition(".")[0] in {"lastword", "tests"}
        and OFF not in environment
        and OFF not in os.environ
        and _seen_at_start(environment) == _seen_at_start(os.environ)
    )


def _words(command: Sequence[str]) -> Sequence[str]:
    """Return what follows the interpreter and its one option."""
    return command[2:] if command[1:2] == ["-P"] else command[1:]


def _seen_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(SAME)}


# --- how a start is asked for ---------------------------------------------------------------------


def begin() -> None:
    """From now on, forks stand for starts in this process."""
    if CAN_FORK:
        _replace(_Helper())


def _replace(fork: Callable[[Start], int | None]) -> None:
    """Let `subprocess` and `posix_spawn` ask for forks, and start what is not forked as before."""
    real_fork_exec = subprocess._fork_exec  # type: ignore[attr-defined]
    real_spawn, real_spawnp = os.posix_spawn, os.posix_spawnp

    def fork_exec(words: Any, *rest: Any) -> int:
        start = _of_subprocess(words, *rest)
        pid = None if start is None else fork(start)
        return int(real_fork_exec(words, *rest)) if pid is None else pid

    def spawned(real: Callable[..., int]) -> Callable[..., int]:
        def spawn(path: Any, words: Any, environment: Any, **place: Any) -> int:
            start, opened = _of_posix_spawn(path, words, environment, **place)
            try:
                pid = None if start is None else fork(start)
            finally:
                for descriptor in opened:
                    os.close(descriptor)
            return real(path, words, environment, **place) if pid is None else pid

        return spawn

    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]
    os.posix_spawn, os.posix_spawnp = spawned(real_spawn), spawned(real_spawnp)


def _of_subprocess(words: Any, *rest: Any) -> Start | None:
    """Return the start that the arguments of `_posixsubprocess.fork_exec` describe."""
    _, close_others, passed, folder, environment, *ends = rest[:11]
    child_ends = (ends[0], ends[3], ends[5])
    session, group, *who = rest[14:20]
    command = [os.fsdecode(word) for word in words]
    variables = dict(os.environ)
    if environment is not None:
        pairs = (os.fsdecode(pair).partition("=") for pair in environment)
        variables = {name: value for name, _, value in pairs}
    plain = close_others and group == -1 and who == [None, None, None, -1] and rest[20] is None
    if not plain or not is_ours(command, variables):
        return None
    ends_of = {number: end if end >= 0 else number for number, end in enumerate(child_ends)}
    return _start(
        command,
        variables,
        {**ends_of, **{number: number for number in passed if number != rest[12]}},
        bool(session),
        folder=None if folder is None else os.path.abspath(os.fsdecode(folder)),
    )


def _of_posix_spawn(  # noqa: PLR0913 - as `os.posix_spawn` has them
    path: Any,
    words: Any,
    environment: Any,
    *,
    file_actions: Sequence[tuple[Any, ...]] = (),
    setsid: bool = False,
    setsigdef: Sequence[int] = (),
    **more: Any,
) -> tuple[Start | None, list[int]]:
    """Return the start that a call of `posix_spawn` describes, and descriptors that it opened."""
    command = [os.fsdecode(word) for word in words]
    if more or not command or os.fsdecode(path) != command[0] or not is_ours(command, environment):
        return None, []
    opened: list[int] = []
    given = {number: number for number in _descriptors() if _is_inherited(number)}
    for action, number, *rest in file_actions:
        if action == os.POSIX_SPAWN_CLOSE:
            given.pop(number, None)
        elif action == os.POSIX_SPAWN_DUP2:
            given[rest[0]] = given.get(number, number)
        else:
            opened.append(os.open(*rest))
            given[number] = opened[-1]
    return _start(command, dict(environment), given, setsid), opened


def _start(*what: Any, folder: str | None = None) -> Start | None:
    try:
        return Start(*what, folder=folder or os.getcwd())
    except FileNotFoundError:  # the folder is gone
        return None


def _descriptors() -> list[int]:
    numbers = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the list itself
            os.fstat(int(name))
            numbers.append(int(name))
    return numbers


def _is_inherited(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:  # another thread has closed it
        return False


class _Helper:
    """The process that forks for a test's own process, started when it is first needed."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def __call__(self, start: Start) -> int | None:
        """Return the process id of a fork; `None` if this start is not to be had by one."""
        data = pickle.dumps(start)
        ours = list(start.descriptors.values())
        if len(data) > LONGEST_REQUEST or len(ours) > MOST_DESCRIPTORS:
            return None
        with self._lock:
            if self._socket is None:
                self._socket = self._started()
            try:
                socket.send_fds(self._socket, [data], ours)
            except OSError:  # one of the descriptors is closed
                return None
            return int(self._socket.recv(100))

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"import {__name__} as forking; forking.serve({theirs.fileno()})"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, "." * ROOM_FOR_ARGUMENTS],
            env={**os.environ, "LASTWORD_TESTS_ROOM": "." * ROOM_FOR_ENVIRONMENT},
            pass_fds=[theirs.fileno()],
        )
        process.returncode = 0  # it ends with us: no warning about that
        theirs.close()
        return ours


# --- the process that forks -----------------------------------------------------------------------


def serve(number: int) -> NoReturn:
    """Fork whatever is asked for at a socket, until it is closed."""
    asked = socket.socket(fileno=number)
    for name in LOADED:
        importlib.import_module(name)
    _replace(_fork_here)
    gc.collect()
    gc.freeze()
    while True:
        data, descriptors, _, _ = socket.recv_fds(asked, LONGEST_REQUEST, MOST_DESCRIPTORS)
        if not data:
            os._exit(0)
        pid = _fork_for_parent()
        if pid == 0:
            start: Start = pickle.loads(data)
            start.descriptors = dict(zip(start.descriptors, descriptors, strict=True))
            become(start)
        for descriptor in descriptors:
            os.close(descriptor)
        asked.send(str(pid).encode())


def _fork_for_parent() -> int:
    """Fork a child of our own parent's, as clone(2) can; return its process id, or 0 in it."""
    python = ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    pid = int(python.syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, None, None, None, None))
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def _fork_here(start: Start) -> int | None:
    # Until the child has reset its handlers, a signal would run ours in it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            become(start, mask)
        # As `posix_spawn` does: who is told the id finds it in its session already.
        with contextlib.suppress(OSError):
            while start.session and os.getsid(pid) != pid:
                time.sleep(0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return pid


# --- what a fork becomes --------------------------------------------------------------------------


def become(start: Start, mask: Iterable[int] = ()) -> NoReturn:
    """Be the program, in a process that was forked for it, with these signals blocked."""
    status = 70
    try:
        gc.freeze()  # the objects of the process that forked must not be finalised here
        if start.session:
            os.setsid()
        _forget()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _take(start.descriptors)
        os.chdir(start.folder)
        os.environ.clear()
        os.environ.update(start.environment)
        time.tzset()
        _show(start)
        _open_streams()
        if "COVERAGE_PROCESS_START" in start.environment:  # as an interpreter's start does
            importlib.import_module("coverage").process_startup(force=True)
        status = _run(start.command)
    finally:
        os._exit(status)


def _forget() -> None:
    """Reset the signal handlers, event loop and exit hooks that the fork inherited."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as Python does
        signal.signal(number, signal.SIG_IGN)
    asyncio._set_running_loop(None)
    asyncio.set_event_loop_policy(None)
    atexit._clear()
    futures._threads_queues.clear()  # type: ignore[attr-defined]  # their threads are not here


def _take(descriptors: Mapping[int, int]) -> None:
    """Give the descriptors their numbers, and close all others."""
    moved = {number: fcntl.fcntl(ours, fcntl.F_DUPFD, HIGH) for number, ours in descriptors.items()}
    os.closerange(0, HIGH)
    for number, ours in moved.items():
        os.dup2(ours, number)
    for number in _descriptors():
        if number not in moved:
            with contextlib.suppress(OSError):
                os.close(number)


def _show(start: Start) -> None:
    """Let `/proc` show the program's arguments and environment as its own."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    pairs = (f"{name}={value}" for name, value in start.environment.items())
    for place, texts in ((_ARGUMENTS_BEGIN, start.command), (_ENVIRONMENT_BEGIN, pairs)):
        begins, ends = (int(fields[place - 3 + n]) for n in (0, 1))
        text = b"".join(os.fsencode(text) + b"\0" for text in texts)[: ends - begins - 1]
        ctypes.memmove(begins, text.ljust(ends - begins, b"\0"), ends - begins)


def _open_streams() -> None:
    """Open the standard streams as an interpreter does."""
    encoding = locale.getencoding()
    for number, name, mode in ((0, "stdin", "rb"), (1, "stdout", "wb"), (2, "stderr", "wb")):
        stream = None
        with contextlib.suppress(OSError):
            stream = io.TextIOWrapper(
                open(number, mode, closefd=False),  # noqa: SIM115
                encoding=encoding,
                errors="backslashreplace" if number == 2 else "strict",
                line_buffering=number == 2 or os.isatty(number),
            )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(command: Sequence[str]) -> int:
    """Run the program to its end; return its exit status."""
    words = _words(command)
    if words[0] == command[1]:  # no `-P`
        sys.path.insert(0, os.getcwd())
    sys.orig_argv[:] = command
    sys.argv[:] = words[1:]
    try:
        try:
            # As `python -m` does: what it sets stays so for threads that outlive the module.
            sys.modules["__main__"] = ModuleType("__main__")
            runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]
            status = 0
        finally:
            threading._shutdown()
    except SystemExit as ended:
        status = _status_of(ended.code)
    except KeyboardInterrupt as stopped:
        _print(stopped)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        status = 130
    except BaseException as error:  # noqa: BLE001 - as an interpreter ends
        _print(error)
        status = 1
    atexit._run_exitfuncs()
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except (OSError, ValueError):
        status = 120
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    return status


def _status_of(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


def _print(error: BaseException) -> None:
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in {__file__, "<frozen runpy>"}:
        trace = trace.tb_next
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.excepthook(type(error), error, trace)
