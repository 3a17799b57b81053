"""The agent's process on Windows: spawned into a job, watched, stopped, and never left behind.

Owns the process and its job object. The job is the guardian: it ends all of its processes once its
last handle is closed, even if this process is killed. Owns looking up the program on the PATH,
never in the working directory (a project may have its own `node.exe`), and the arguments of batch
files, which `cmd.exe` expands: those that cannot be quoted are refused (CVE-2024-24576 and similar
ones).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
from ctypes import wintypes

assert sys.platform == "win32"

import _winapi
import msvcrt

from lastword.platform.signals import SIGKILL, Exit, report_end
from lastword.platform.windows_pipes import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

KILLED_CODE = 1
"""The exit code of killed processes, as with `taskkill`."""

_CREATE_SUSPENDED = 0x4
_EXTENDED_LIMITS = 9
_ACCOUNTING = 1
_KILL_ON_CLOSE = 0x2000
_BREAKAWAY_OK = 0x800

_BATCH = (".bat", ".cmd")
_PROGRAMS = (".com", ".exe", *_BATCH)
"""The endings of programs; the registry says which program opens any other file."""

_EXPANDED = frozenset('"%!')
"""Characters that `cmd.exe` expands, or that end a quotation, inside quotation marks."""

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    _fields_ = (
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", wintypes.DWORD),
        ("TotalProcesses", wintypes.DWORD),
        ("ActiveProcesses", wintypes.DWORD),
        ("TotalTerminatedProcesses", wintypes.DWORD),
    )


_kernel32.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
_kernel32.CreateJobObjectW.restype = wintypes.HANDLE
_kernel32.SetInformationJobObject.argtypes = (
    *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD),
)
_kernel32.QueryInformationJobObject.argtypes = (
    *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p),
)
_kernel32.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel32.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel32.ResumeThread.argtypes = (wintypes.HANDLE,)
_kernel32.ResumeThread.restype = wintypes.DWORD
_kernel32.GetConsoleProcessList.argtypes = (ctypes.POINTER(wintypes.DWORD), wintypes.DWORD)
_kernel32.GetConsoleProcessList.restype = wintypes.DWORD


class Job:
    """A job object: a process and its descendants, except for those that leave it."""

    __slots__ = ("_handle",)

    def __init__(self) -> None:
        """Create it.

        Raises:
            OSError: It cannot be created.
        """
        self._handle: int | None = _kernel32.CreateJobObjectW(None, None)
        if not self._handle:
            raise ctypes.WinError(ctypes.get_last_error())
        self._limit(_KILL_ON_CLOSE | _BREAKAWAY_OK)

    def _limit(self, flags: int) -> None:
        limits = _ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = flags
        _kernel32.SetInformationJobObject(
            self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )

    def add(self, process: int) -> None:
        """Put a process into it.

        Raises:
            OSError: It is in a job that allows no other.
        """
        if not _kernel32.AssignProcessToJobObject(self._handle, process):
            raise ctypes.WinError(ctypes.get_last_error())

    def kill(self) -> None:
        if self._handle:
            _kernel32.TerminateJobObject(self._handle, KILLED_CODE)

    @property
    def processes(self) -> int:
        """How many processes are in it."""
        if not self._handle:
            return 0
        facts = _Accounting()
        size = ctypes.sizeof(facts)
        _kernel32.QueryInformationJobObject(
            self._handle, _ACCOUNTING, ctypes.byref(facts), size, None
        )
        return int(facts.ActiveProcesses)

    def release(self) -> None:
        """Let the remaining processes continue without it."""
        if self._handle:
            self._limit(_BREAKAWAY_OK)
            _winapi.CloseHandle(self._handle)
            self._handle = None


class Agent:
    """A running agent, and the sidecar's ends of its pipes."""

    __slots__ = ("_process", "exit", "job", "pid", "stderr", "stdin", "stdout", "temporary")

    def __init__(self, pid: int, process: int, job: Job, pipes: tuple[int, int, int]) -> None:
        self.pid: int = pid
        self._process = process
        self.job: Job = job
        self.stdin, self.stdout, self.stderr = pipes
        self.exit: Exit | None = None
        self.temporary: str = ""
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        _winapi.WaitForSingleObject(self._process, _winapi.INFINITE)
        report_end()

    def poll(self) -> Exit | None:
        """Return how it exited, or `None` while it runs. Its id is not reused meanwhile."""
        ended = _winapi.WaitForSingleObject(self._process, 0) == _winapi.WAIT_OBJECT_0
        if self.exit is None and ended:
            self.exit = Exit(_winapi.GetExitCodeProcess(self._process), None)
        return self.exit

    def signal_group(self, number: int) -> bool:
        """Kill it and its descendants, or ask them to exit; return whether that was possible.

        Only Ctrl-Break asks, and only if they share our console. Otherwise their closed input was
        the only request.
        """
        if number == SIGKILL:
            self.job.kill()
            return True
        try:
            os.kill(self.pid, signal.CTRL_BREAK_EVENT)
        except OSError:
            return False
        return True

    def reap(self) -> None:
        """Do nothing: an ended process leaves nothing to reap."""

    def group_alive(self) -> bool:
        """Return whether any process of its job is left."""
        return self.job.processes > 0

    def end_group(self, number: int) -> None:
        if number == SIGKILL:
            self.job.kill()


class Guardian:
    """The job, which ends the agent with this process."""

    __slots__ = ("_job",)

    def __init__(self, job: Job) -> None:
        self._job = job

    def disarm(self) -> None:
        """Let the processes that the agent left behind continue."""
        self._job.release()


def guardian_of(agent: Agent) -> Guardian | None:
    return Guardian(agent.job)


def spawn(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | Callable[[int, int], Mapping[str, str]] | None = None,
    apart: bool = False,
) -> Agent:
    """Start the agent in its own job and process group, and in this working directory.

    Args:
        command: The agent's command; looked up on its PATH.
        environment: The agent's whole environment, if it is not this process'. A function is for
            other systems, and is not called.
        apart: Whether it has no console, rather than this process'.

    Raises:
        OSError: It could not be started; `errno` says why (not found, not executable).
    """
    ensure_standard_streams()
    surroundings = os.environ if environment is None or callable(environment) else environment
    path, line = _command_line(command, surroundings)
    flags = _CREATE_SUSPENDED | subprocess.CREATE_NEW_PROCESS_GROUP
    if apart or not _has_console():
        # Otherwise Windows opens a window for it.
        flags |= subprocess.CREATE_NO_WINDOW
    job = Job()
    ends = _pipes()
    ours, theirs = ends[:3], ends[3:]
    try:
        process, thread, pid, _ = _create(path, line, surroundings, theirs, flags)
    except OSError:
        for fd in ours:
            close(fd)
        raise
    finally:
        for fd in theirs:
            close(fd)
    try:
        job.add(process)
    finally:
        # In another kind of job it runs without ours, rather than not at all.
        _kernel32.ResumeThread(thread)
        _winapi.CloseHandle(thread)
    return Agent(pid, process, job, (ours[0], ours[1], ours[2]))


def _create(
    path: str, line: str, environment: Mapping[str, str], pipes: Sequence[int], flags: int
) -> tuple[int, int, int, int]:
    handles = [msvcrt.get_osfhandle(fd) for fd in pipes]
    for handle in handles:
        os.set_handle_inheritable(handle, True)
    start = subprocess.STARTUPINFO(
        dwFlags=subprocess.STARTF_USESTDHANDLES,
        hStdInput=handles[0],
        hStdOutput=handles[1],
        hStdError=handles[2],
        lpAttributeList={"handle_list": handles},
    )
    try:
        return _winapi.CreateProcess(
            path, line, None, None, True, flags, dict(environment), None, start
        )
    except ValueError as error:  # a zero byte
        raise OSError(errno.EINVAL, str(error)) from None


def _pipes() -> list[int]:
    """Return our ends of three pipes, and the agent's."""
    pairs: list[tuple[int, int]] = []
    try:
        for _ in range(3):
            pairs.append(os.pipe())  # noqa: PERF401  (on failure, the earlier ones are closed)
    except OSError:
        for pair in pairs:
            for fd in pair:
                close(fd)
        raise
    (stdin, ours_in), (ours_out, stdout), (ours_err, stderr) = pairs
    return [ours_in, ours_out, ours_err, stdin, stdout, stderr]


def _has_console() -> bool:
    return bool(_kernel32.GetConsoleProcessList((wintypes.DWORD * 1)(), 1))


def become(command: list[str]) -> int:
    """Replace this process by a program; on Windows, run it and exit with its status.

    Raises:
        OSError: It could not be started.
    """
    path, line = _command_line(command, os.environ)
    # Ctrl-C is only for the program.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Exit(subprocess.call(line, executable=path), None).status


def without_our_locale() -> None:
    """Do nothing: on Windows Python does not change the locale in the environment."""


def ensure_standard_streams() -> None:
    """Open missing standard streams, and make all of them binary."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        msvcrt.setmode(fd, os.O_BINARY)


class UnsafeArgumentError(OSError):
    """An argument that cannot be passed to a batch file unchanged."""


def _command_line(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the program's path, and the whole command line.

    Raises:
        FileNotFoundError: There is no such program.
        UnsafeArgumentError: It is a batch file, and an argument is not safe for it.
        OSError: The file cannot be started.
    """
    path = _find(command[0], environment)
    # Windows ignores dots and spaces at the end of a name.
    ending = os.path.splitext(path.rstrip(" ."))[1].lower()
    if ending in _BATCH:
        return _batch(path, command[1:], environment)
    return path, subprocess.list2cmdline([path, *command[1:]])


def _find(program: str, environment: Mapping[str, str]) -> str:
    """Return the path of a program, looked up as by a shell, but not in the working directory.

    Raises:
        FileNotFoundError: There is none.
    """
    if os.path.dirname(program) or os.path.splitdrive(program)[0]:
        places = [os.path.abspath(program)]
    else:
        folders = _value(environment, "PATH").split(os.pathsep)
        places = [os.path.join(each.strip('"'), program) for each in folders if os.path.isabs(each)]
    given = _value(environment, "PATHEXT").lower().split(os.pathsep)
    endings = [ending for ending in given if ending in _PROGRAMS] or list(_PROGRAMS)
    for place in places:
        bare = os.path.splitext(place)[1].lower() not in _PROGRAMS
        # A file without an ending next to `npx.cmd` is the script for Unix shells.
        for path in [*(place + ending for ending in endings if bare), place]:
            if os.path.isfile(path):
                return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)


def _batch(path: str, arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    words = [path, *arguments]
    if any(_EXPANDED & set(word) or not word.isprintable() for word in words):
        raise UnsafeArgumentError(
            errno.EINVAL,
            'an argument for a batch file has ", %, ! or a control character, which cmd.exe would '
            "expand; start the program behind the batch file instead",
            path,
        )
    shell = os.path.join(_value(environment, "SystemRoot") or r"C:\Windows", "System32", "cmd.exe")
    quoted = " ".join(_quoted(word) for word in words)
    # /d: no command from the registry runs first. /s: only the outer quotation marks are removed.
    return shell, f'"{shell}" /d /e:on /v:off /s /c "{quoted}"'


def _quoted(word: str) -> str:
    # The started program reads a backslash before a quotation mark as an escape.
    slashes = len(word) - len(word.rstrip("\\"))
    return f'"{word}{chr(92) * slashes}"'


def _value(environment: Mapping[str, str], name: str) -> str:
    return next((v for key, v in environment.items() if key.upper() == name.upper()), "")
