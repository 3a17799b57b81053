# ruff: noqa: INP001  (a folder of PYTHONPATH, and no package)
"""Makes a Python process on Linux one on macOS, as far as it can see.

Owns what is done before any module is imported. What the tests themselves look up in /proc they
find; the package and the agents do not.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import fcntl
import importlib
import io
import os
import posix
import struct
import sys
from typing import TYPE_CHECKING, Any

import darwin_facts as facts

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
OBSERVERS = tuple(
    os.path.join(TESTS, folder) + os.sep for folder in ("process", "kit", "darwin", "long")
)
PROGRAMS = os.path.join(TESTS, "kit", "agents") + os.sep
"""What a test starts: an agent has no /proc either."""
STDLIB = os.path.dirname(os.__file__) + os.sep
F_SETPIPE_SZ = 1031
SO_PEERCRED = 17
_open, _pipe, _killpg, _getpgid = io.open, posix.pipe, posix.killpg, posix.getpgid


def _test_looks() -> bool:
    """Return whether the nearest frame outside the standard library is one of the tests'."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith((STDLIB, "<frozen")):
            return file.startswith(OBSERVERS) and not file.startswith(PROGRAMS)
        frame = frame.f_back
    return False


def _without_proc(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a path that finds nothing below /proc."""

    def seen(*words: Any, **named: Any) -> Any:
        path = words[0] if words else named.get("path", named.get("file"))
        text = path if isinstance(path, str) else getattr(path, "_raw_path", None) or path
        if not isinstance(text, (int, type(None))):
            text = os.fsdecode(text)
            if (text == "/proc" or text.startswith("/proc/")) and not _test_looks():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
        return call(*words, **named)

    seen.__name__, seen.__doc__ = call.__name__, call.__doc__
    return seen


def _state(pid: int) -> tuple[str, int]:
    """Return a process' letter and its group."""
    try:
        with _open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()
    except OSError:
        return "", 0
    return fields[0].decode(), int(fields[2])


def _killpg_without_zombies(group: int, number: int) -> None:
    """Send a signal; a group of which only zombies are left is not permitted (kern_sig.c)."""
    if group > 1:
        states = [_state(int(name)) for name in posix.listdir("/proc") if name.isdigit()]
        letters = {letter for letter, its_group in states if its_group == group}
        if letters and letters <= {"Z", "X"}:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    _killpg(group, number)


def _getpgid_of_the_living(pid: int) -> int:
    """Return a group; a zombie is not found (kern_prot.c)."""
    if pid and _state(pid)[0] == "Z":
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return _getpgid(pid)


def _spawning(call: Callable[..., int]) -> Callable[..., int]:
    """Return a `posix_spawn` whose shells find no /proc either."""

    def spawn(path: Any, argv: Any, env: Any, **named: Any) -> int:
        if str(path).endswith("/sh"):
            argv = [word.replace("/proc/", "/no/") for word in argv]
        return call(path, argv, env, **named)

    return spawn


def _narrow_pipe() -> tuple[int, int]:
    """Return a pipe of the size that macOS gives it."""
    ends = _pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(ends[1], F_SETPIPE_SZ, facts.PIPE_BYTES)
    return ends


def _uname() -> os.uname_result:
    """Return what the kernel says."""
    host = posix.uname()
    return os.uname_result(("Darwin", host.nodename, "24.6.0", "Darwin Kernel", host.machine))


def _no_kqueue() -> None:
    """Refuse: selectors go on to poll."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def _poll_buffer(module: ModuleType) -> None:
    """Tell how much a ready pipe accepts."""
    module.kqueue = _no_kqueue  # type: ignore[attr-defined]  # trio asks for the name
    module.PIPE_BUF = facts.PIPE_BUF_BYTES  # type: ignore[attr-defined]


def _socket_answers(module: ModuleType) -> None:
    """Answer as sockets do there: short paths, and another error from a socket that is going."""
    plain = module.socket

    class Socket(plain):  # type: ignore[misc, valid-type]
        """A socket of macOS."""

        __slots__ = ()

        def bind(self, address: Any) -> None:
            _check_path(self, address)
            super().bind(address)

        def connect(self, address: Any) -> None:
            _check_path(self, address)
            super().connect(address)

        def connect_ex(self, address: Any) -> int:
            _check_path(self, address)
            return int(super().connect_ex(address))

        def getsockopt(self, level: int, option: int, *room: int) -> Any:
            if (self.family, level, option) == (1, 0, 1):  # AF_UNIX, SOL_LOCAL, LOCAL_PEERCRED
                _pid, uid, gid = struct.unpack("3i", super().getsockopt(1, SO_PEERCRED, 12))
                return struct.pack("=IIhxx16I", 0, uid, 1, gid, *(0,) * 15)[: room[0]]
            return super().getsockopt(level, option, *room)

        def send(self, *words: Any) -> int:
            return int(_going(super().send, *words))

        def sendall(self, *words: Any) -> None:
            _going(super().sendall, *words)

        def shutdown(self, how: int) -> None:
            # shutdown(2): ENOTCONN where the peer has closed its side.
            waits = super().gettimeout()
            try:
                super().settimeout(0)  # with a time of its own, Python waits whatever the flags say
                gone = super().recv(1, 0x42) == b""  # MSG_PEEK, MSG_DONTWAIT
            except OSError:
                gone = False
            finally:
                super().settimeout(waits)
            super().shutdown(how)
            if gone:
                raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    module.socket = module.SocketType = Socket  # type: ignore[attr-defined]


def _check_path(sock: Any, address: Any) -> None:
    if sock.family == 1:  # AF_UNIX
        path = os.fsencode(address)
        if len(path) > facts.SOCKET_PATH_BYTES or path.startswith(b"\0"):
            raise OSError("AF_UNIX path too long")


def _going(send: Callable[..., Any], *words: Any) -> Any:
    """Send; a socket that is being torn down is of the wrong type (uipc_usrreq.c, tcp_usrreq.c)."""
    try:
        return send(*words)
    except BrokenPipeError:
        raise OSError(errno.EPROTOTYPE, os.strerror(errno.EPROTOTYPE)) from None


ANSWERS = {"select": _poll_buffer, "_socket": _socket_answers}


def _take_away(module: ModuleType, names: str) -> None:
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)


def begin() -> None:
    """Take away, and answer otherwise."""
    # sysconfig looks for the build's data under the platform's name.
    multiarch = getattr(sys.implementation, "_multiarch", "")
    tag = f"_sysconfigdata_{sys.abiflags}_linux_{multiarch}"
    os.environ.setdefault("_PYTHON_SYSCONFIGDATA_NAME", tag)
    if "tempfile" in sys.modules:  # a .pth file may have imported it
        sys.modules["tempfile"]._O_TMPFILE_WORKS = False  # type: ignore[attr-defined]
    _take_away(os, facts.ABSENT["posix"])
    for name in ("open", "listdir", "scandir", "stat", "lstat", "readlink", "access"):
        call = getattr(posix, name)
        setattr(os, name, _without_proc(call))
        for support in (os.supports_follow_symlinks, os.supports_dir_fd, os.supports_fd):
            if call in support:
                support.add(getattr(os, name))
    builtins.open = io.open = _without_proc(_open)  # type: ignore[assignment]
    os.killpg, os.getpgid = _killpg_without_zombies, _getpgid_of_the_living
    os.posix_spawn, os.posix_spawnp = _spawning(posix.posix_spawn), _spawning(posix.posix_spawnp)
    os.pipe, os.uname = _narrow_pipe, _uname
    for name, absent in facts.ABSENT.items():
        module = importlib.import_module(name)
        _take_away(module, absent)
        if name in ANSWERS:
            ANSWERS[name](module)
    sys.platform = "darwin"


begin()
