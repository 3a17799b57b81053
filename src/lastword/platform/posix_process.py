"""The agent's process: spawned into its own session, watched, stopped, and never left behind.

Owns process ids, groups, signals and the guardian. It knows nothing about frames. It is loaded
first and before the agent starts, so it imports as little as possible.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time

assert sys.platform != "win32"

from lastword.platform.pipes import close, widen
from lastword.platform.signals import Exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

SHELL = "/bin/sh"

_COERCED = frozenset({"C.UTF-8", "C.utf8", "UTF-8"})
"""The values that Python gives LC_CTYPE in the C locale."""

GUARDIAN_GRACE_SECONDS = 1.0
"""How long an orphaned group may take to end by itself before the guardian kills it."""

_POLL_SECONDS = 0.02
_PAUSE_SECONDS = 0.05
"""The same for the shell."""

_HEAD_BYTES = 256


class Agent:
    """A running agent, and the sidecar's ends of its pipes."""

    __slots__ = ("_reaped", "exit", "pid", "stderr", "stdin", "stdout", "temporary")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid: int = pid
        self.stdin: int = stdin
        self.stdout: int = stdout
        self.stderr: int = stderr
        self.exit: Exit | None = None
        self.temporary: str = ""
        """A file that the guardian also removes."""
        self._reaped = False

    def poll(self) -> Exit | None:
        """Return how it exited, or `None` while it runs.

        It stays a zombie until it is reaped, so that its group's id is not used again. On macOS it
        is reaped here: Python has `waitid` there only from 3.13, and before macOS 11 that reports
        status 0 for a killed process.
        """
        if self.exit is None:
            try:
                if sys.platform == "darwin":
                    self.exit = _reaped(self.pid)
                else:
                    info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                    if info is not None:
                        exited, status = info.si_code == os.CLD_EXITED, info.si_status
                        self.exit = Exit(status, None) if exited else Exit(None, status)
            except ChildProcessError:
                # SIGCHLD was ignored when we started: the kernel discarded the status.
                self.exit, self._reaped = Exit(None, None), True
        return self.exit

    def signal_group(self, number: int) -> bool:
        """Send a signal to the agent's whole group.

        Returns:
            `True`: any process can be asked to exit here.
        """
        if not self._reaped:
            _signal_group(self.pid, number)
        return True

    def reap(self) -> None:
        """Reap the ended process."""
        if not self._reaped:
            self._reaped = True
            try:
                os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                return

    def group_alive(self) -> bool:
        """Return whether any process of its group is left. Call it only after reaping."""
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            # On macOS this is also the answer for a group of zombies.
            return sys.platform != "darwin"
        return True

    def end_group(self, number: int) -> None:
        """Signal the processes that the reaped agent left in its group."""
        _signal_group(self.pid, number)


def _reaped(pid: int) -> Exit | None:
    """Return how a child exited, and reap it."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(status)
    return Exit(None, -code) if code < 0 else Exit(code, None)


def spawn(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | Callable[[int, int], Mapping[str, str]] | None = None,
    apart: bool = False,
) -> Agent:
    """Start the agent in its own session and this working directory.

    It can neither leave its group nor read from our terminal, which would stop the whole group.

    Args:
        command: The agent's command; looked up on this process' PATH.
        environment: The agent's whole environment, if it is not this process'; or a function that
            returns it, given the descriptors that become the agent's stdin and stdout.
        apart: It inherits no open descriptors, and its pipes have the default size.

    Raises:
        OSError: It could not be started; `errno` says why (not found, not executable).
    """
    ensure_standard_streams()
    (stdin_read, stdin_write), (stdout_read, stdout_write), (stderr_read, stderr_write) = _pipes(3)
    ours, theirs = (stdin_write, stdout_read, stderr_read), (stdin_read, stdout_write, stderr_write)
    words = list(command)
    try:
        for fd in ours:
            if not apart:
                widen(fd)
            os.set_blocking(fd, False)
        if environment is None:
            environment = os.environ
        elif callable(environment):
            environment = environment(stdin_read, stdout_write)
        place: dict[str, Any] = {
            "file_actions": [
                (os.POSIX_SPAWN_DUP2, stdin_read, 0),
                (os.POSIX_SPAWN_DUP2, stdout_write, 1),
                (os.POSIX_SPAWN_DUP2, stderr_write, 2),
                *((os.POSIX_SPAWN_CLOSE, fd) for fd in (_inherited() if apart else ())),
            ],
            "setsid": True,
            # Python ignores these two; the agent must get the usual defaults.
            "setsigdef": [signal.SIGPIPE, signal.SIGXFSZ],
        }
        try:
            pid = os.posix_spawnp(words[0], words, environment, **place)
        except OSError as error:
            script = _shell_script(words, error)
            if script is None:
                raise
            pid = os.posix_spawn(SHELL, script, environment, **place)
    except OSError:
        for fd in ours:
            close(fd)
        raise
    finally:
        for fd in theirs:
            close(fd)
    return Agent(pid, *ours)


def become(command: list[str]) -> NoReturn:
    """Replace this process by a program; on Windows, run it and exit with its status.

    Raises:
        OSError: It could not be started.
    """
    # Python ignores these two; the agent must get the usual defaults.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606  (no shell is the point)
    except OSError as error:
        script = _shell_script(command, error)
        if script is None:
            raise
        os.execv(script[0], script)  # noqa: S606


def _shell_script(command: Sequence[str], error: OSError) -> list[str] | None:
    """Return the command that runs a script without an interpreter line, if it is one.

    Shells, `env`, the C library's `execvp` and editors run such a script with sh.

    Raises:
        FileNotFoundError: The interpreter that a script names is missing.
    """
    if error.errno not in {errno.ENOEXEC, errno.ENOENT}:
        return None
    program = command[0]
    folders = [""] if "/" in program else os.get_exec_path()
    paths = (os.path.join(folder, program) for folder in folders)
    path = next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            line = file.read(_HEAD_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    if error.errno == errno.ENOENT:
        # The system's error names the script, which is here.
        if line.startswith(b"#!"):
            name = f"{os.fsdecode(line[2:].lstrip())!r}, the interpreter of {path}"
            raise FileNotFoundError(error.errno, error.strerror, name)
        return None
    # Not text: perhaps a program for another kind of processor.
    return None if b"\0" in line else [SHELL, path, *command[1:]]


def without_our_locale() -> None:
    """Restore the LC_CTYPE that Python overwrote at its start in the C locale.

    The agent and its children need the user's own value, which PEP 538 does not keep.
    """
    if os.environ.get("LC_CTYPE") not in _COERCED or os.environ.get("LC_ALL"):
        return
    own: bytes | None = None
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read().split(b"\0")
        own = next((item[9:] for item in given if item.startswith(b"LC_CTYPE=")), None)
    except OSError:
        # Only Linux has it. In the C locale Python also turns its UTF-8 mode on, as 3.15 does
        # everywhere.
        chosen = os.environ.get("PYTHONUTF8") == "1" or sys.version_info >= (3, 15)
        if chosen or not sys.flags.utf8_mode:
            return
    if own is None:
        del os.environ["LC_CTYPE"]
    else:
        os.environ["LC_CTYPE"] = os.fsdecode(own)


def _inherited() -> list[int]:
    """Return the descriptors that a child would inherit, apart from the standard streams."""
    descriptors = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):  # noqa: PLR2004  (stderr's number)
                descriptors.append(int(name))
        except OSError:
            continue  # the descriptor of the listing itself
    return descriptors


def _pipes(count: int) -> list[tuple[int, int]]:
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            pipes.append(os.pipe())  # noqa: PERF401  (on failure, the earlier ones are closed)
    except OSError:
        for pipe in pipes:
            for fd in pipe:
                close(fd)
        raise
    return pipes


def ensure_standard_streams() -> None:
    """Open missing standard streams, so that no pipe gets one of their numbers."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _signal_group(pgid: int, number: int) -> bool:
    """Signal a group; return whether it exists."""
    try:
        os.killpg(pgid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


SCRIPT = """
trap "" TERM INT HUP QUIT
group=$1 tries=$2 pause=$3 temporary=$4

read -r word
[ -z "$word" ] || exit 0
[ -z "$temporary" ] || rm -f -- "$temporary"

kill -TERM -$group
while [ $tries -gt 0 ] && kill -0 -$group; do
    sleep $pause
    tries=$((tries - 1))
done
kill -KILL -$group
"""
"""Waits for the end of its input, which comes with our end. A word there means: end nothing."""


class Guardian:
    """A process that waits for this one to vanish, and then ends the agent's group.

    A parent-death signal would reach only the agent's first process, and exists only on Linux. The
    guardian is a shell, if there is one, which takes 0.3 MB: a fork would keep 4 to 8 MB of memory,
    and must not be made while a thread runs.
    """

    __slots__ = ("_fd", "_pid")

    def __init__(self, pid: int, fd: int) -> None:
        """Use a guardian that this program, or the one that it replaced, has started.

        Args:
            pid: Its process id.
            fd: The end of its pipe that is open as long as this process runs.
        """
        self._pid = pid
        self._fd = fd

    @classmethod
    def start(cls, pgid: int, temporary: str = "") -> Guardian:
        """Start one for a process group; it also removes the file `temporary`.

        Raises:
            OSError: No process can be created.
        """
        read_end, write_end = os.pipe()
        try:
            tries = round(GUARDIAN_GRACE_SECONDS / _PAUSE_SECONDS)
            words = ("lastword-guardian", str(pgid), str(tries), str(_PAUSE_SECONDS), temporary)
            try:
                pid = os.posix_spawn(
                    SHELL,
                    [SHELL, "-c", SCRIPT, *words],
                    {"PATH": os.defpath},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, read_end, 0),
                        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
                    ],
                    setsid=True,  # signals to our group must not reach it
                )
            except (OSError, NotImplementedError):
                pid = _fork_guardian(read_end, pgid, temporary)  # there is no shell here
        except OSError:
            close(write_end)
            raise
        finally:
            close(read_end)
        return cls(pid, write_end)

    @property
    def process(self) -> tuple[int, int]:
        """Return its process id and descriptor."""
        return self._pid, self._fd

    def disarm(self) -> None:
        """End it when there is nothing left to guard."""
        self._send(b"0\n")  # a whole line for a shell, in case the pipe's end does not reach it
        close(self._fd)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            return

    def _send(self, word: bytes) -> None:
        try:
            os.write(self._fd, word)
        except OSError:
            return  # it was killed


def guardian_of(agent: Agent) -> Guardian | None:
    try:
        return Guardian.start(agent.pid, agent.temporary)
    except OSError:
        return None  # no process can be created: the agent runs without a guardian


def _fork_guardian(read_end: int, pgid: int, temporary: str) -> int:
    pid = os.fork()
    if pid == 0:
        _guard(read_end, pgid, temporary)
    return pid


def _guard(read_end: int, pgid: int, temporary: str) -> None:
    """Run the guardian; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        # Leave our group and session: signals sent to us must not reach it.
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        os.dup2(read_end, 0)
        os.closerange(1, 4096)
        if os.read(0, 1) == b"":
            _signal_group(pgid, signal.SIGTERM)
            deadline = time.monotonic() + GUARDIAN_GRACE_SECONDS
            while time.monotonic() < deadline and _signal_group(pgid, 0):
                time.sleep(_POLL_SECONDS)
            _signal_group(pgid, signal.SIGKILL)
            if os.path.exists(temporary):
                os.unlink(temporary)
    finally:
        os._exit(0)
