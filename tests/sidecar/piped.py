"""A sidecar on three pipes: bytes in, bytes out, every wait under a fuse, nothing left at the end.

Owns the process and its descriptors. One thread and one poll loop, so that a client which does not
read is simply one that is not asked for anything. Knows nothing of frames.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import left_behind

import lastword

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FUSE_SECONDS = 10.0
LEAVE_SECONDS = 0.5
"""How long the sidecar may take to end by itself in teardown, before it is told to."""

TOLD_SECONDS = 4.0
"""And after it was told: its agent has one second."""

_LOOK_SECONDS = 0.01

AGENT = Path(__file__).resolve().parent.parent / "agents" / "agent.py"
HURRIED = Path(__file__).resolve().parent / "hurried.py"
SIDECAR = (sys.executable, "-m", "lastword", "run")
OUR_SOURCE = str(Path(lastword.__file__).parent)


def agent_command(mode: str, *arguments: object, memory: Path | None = None) -> list[str]:
    """The command line of a misbehaving agent; with a memory it brings its session back."""
    remember = ["--memory", str(memory)] if memory else []
    return [sys.executable, "-S", "-E", str(AGENT), *remember, mode, *map(str, arguments)]


def hurried(limits: Mapping[str, float]) -> list[str]:
    """What to start a sidecar under, so that limits which no option sets have other values."""
    values = [f"{name}={value}" for name, value in limits.items()]
    return [sys.executable, str(HURRIED), *values]


@dataclass(slots=True)
class Stream:
    """One of the sidecar's output descriptors and what came out of it."""

    fd: int
    open: bool = True
    reading: bool = True
    data: bytearray = field(default_factory=bytearray)


class Piped:
    """One run of `lastword run -- COMMAND`."""

    sidecar: ClassVar[Sequence[str]] = SIDECAR
    """What stands before the options."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        options: Sequence[str] = (),
        under: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        self.mark = left_behind.new_mark()
        self.process = subprocess.Popen(
            [*under, *self.sidecar, *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {}), left_behind.VARIABLE: self.mark},
            cwd=directory,
            bufsize=0,
        )
        self._stdin: Any = self.process.stdin
        os.set_blocking(self._stdin.fileno(), False)
        self.stdout = Stream(_fd(self.process.stdout))
        self.stderr = Stream(_fd(self.process.stderr))

    @property
    def said(self) -> str:
        """What came on stderr so far."""
        return self.stderr.data.decode(errors="replace")

    def send_bytes(self, data: bytes, *, fuse: float = FUSE_SECONDS) -> int:
        """Write bytes, reading meanwhile; gives how many were taken before the fuse blew."""
        view, deadline = memoryview(data), time.monotonic() + fuse
        while view and time.monotonic() < deadline:
            self._pump(deadline, writing=True)
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self._stdin.fileno(), view) :]
        return len(data) - len(view)

    def read_until(self, seen: Callable[[], bool], what: str, *, fuse: float) -> None:
        """Read until something has been seen, or fail with what was seen instead."""
        deadline = time.monotonic() + fuse
        while not seen():
            open_ = self.stdout.open or self.stderr.open
            assert open_, self._story(f"the sidecar's streams ended: {what}")
            assert time.monotonic() < deadline, self._story(f"not within {fuse} s: {what}")
            self._pump(deadline)

    def read_until_true(
        self, holds: Callable[[], bool], what: str, *, fuse: float = FUSE_SECONDS
    ) -> None:
        """Read until something holds that the streams do not tell: it is looked at often."""
        deadline = time.monotonic() + fuse
        while not holds():
            assert time.monotonic() < deadline, self._story(f"not within {fuse} s: {what}")
            self._pump(min(deadline, time.monotonic() + _LOOK_SECONDS))

    def listen(self, seconds: float) -> None:
        """Read whatever comes for so long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (self.stdout.open or self.stderr.open):
            self._pump(deadline)

    def read_to_end(self, *, fuse: float = FUSE_SECONDS) -> bytes:
        """Everything on stdout, once the sidecar has closed its streams."""
        deadline = time.monotonic() + fuse
        while self.stdout.open or self.stderr.open:
            assert time.monotonic() < deadline, self._story("the sidecar keeps its streams open")
            self._pump(deadline)
        return bytes(self.stdout.data)

    def close_stdin(self) -> None:
        """The client has nothing more to say."""
        self._stdin.close()

    def close(self, stream: Stream) -> None:
        """The client reads no more of this one, ever."""
        pipe: Any = self.process.stdout if stream is self.stdout else self.process.stderr
        pipe.close()
        stream.open = False

    def wait(self, *, fuse: float = FUSE_SECONDS) -> int:
        """The sidecar's exit status, read to its end."""
        deadline = time.monotonic() + fuse
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self._story("the sidecar does not end")
            self._pump(min(deadline, time.monotonic() + 0.01))
        return self.process.returncode

    def end(self) -> int:
        """Close our side, and give the sidecar's exit status."""
        self.close_stdin()
        return self.wait()

    def finish(self) -> None:
        """Teardown: everything has ended, and nothing of ours was a traceback."""
        try:
            self._leave()
            left = left_behind.wait_for_none(self.mark)
        finally:
            left_behind.kill_all(self.mark)
            for pipe in (self._stdin, self.process.stdout, self.process.stderr):
                pipe.close()
        assert not left, f"left behind: {left}"
        assert OUR_SOURCE not in self.said, f"a traceback of ours:\n{self.said}"

    def _leave(self) -> None:
        self.stdout.reading = self.stderr.reading = True
        self.close_stdin()
        try:
            self.wait(fuse=LEAVE_SECONDS)
        except AssertionError:
            self.process.terminate()
            self.wait(fuse=TOLD_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
        self.listen(0.2)

    def _pump(self, deadline: float, *, writing: bool = False) -> None:
        """Wait for something to read (or for room to write), and read it."""
        poll = select.poll()
        streams = {s.fd: s for s in (self.stdout, self.stderr) if s.open and s.reading}
        for fd in streams:
            poll.register(fd, select.POLLIN)
        if writing:
            poll.register(self._stdin.fileno(), select.POLLOUT)
        timeout = max(0.0, deadline - time.monotonic())
        for fd, _events in poll.poll(timeout * 1000 + 1):
            if fd in streams:
                self._read(streams[fd])

    def _read(self, stream: Stream) -> None:
        data = os.read(stream.fd, 1 << 20)
        stream.open = bool(data)
        stream.data += data

    def _story(self, problem: str) -> str:
        """What went wrong, and what had been seen until then."""
        status = self.process.poll()
        last = self.stdout.data[-2000:].decode(errors="replace")
        return f"{problem}\nexit status: {status}\nstdout:\n{last}\nstderr:\n{self.said[-2000:]}"


def _fd(pipe: Any) -> int:
    descriptor: int = pipe.fileno()
    return descriptor
