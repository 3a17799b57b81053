"""A sidecar before an agent, and its client: nothing may be left of either at the end.

Owns the command lines, and what holds in every run: each line of stdout is a JSON object, no
request is answered twice, no traceback of ours is seen. What a frame should say is the tests'.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import lastword
from tests.kit import left_behind
from tests.kit.agents import MISBEHAVING_AGENT
from tests.kit.client import Client, Turn
from tests.kit.patience import FUSE_SECONDS, patient
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LEAVE_SECONDS = 0.5
"""How long the sidecar may take to end by itself in teardown, before it is told to."""

FAIL = "fail"
SIDECAR = (sys.executable, "-m", "lastword", "run")
OUR_SOURCE = str(Path(lastword.__file__).parent)


def agent_command(mode: str, *arguments: object, memory: Path | None = None) -> list[str]:
    """The command line of a misbehaving agent; with a memory it brings its session back."""
    remember = ["--memory", str(memory)] if memory else []
    return [*MISBEHAVING_AGENT, *remember, mode, *map(str, arguments)]


def hurried(limits: Mapping[str, float]) -> list[str]:
    """What to start a sidecar under, so that limits which no option sets have other values."""
    values = [f"{name}={value}" for name, value in limits.items()]
    return [sys.executable, "-m", "tests.kit.hurried", *values]


ENDS = {
    "sidecar.session.CLOSED_GRACE_SECONDS": 2.0,
    "sidecar.session.PIPE_GRACE_SECONDS": 0.25,
    "sidecar.session.FIRST_MESSAGE_SECONDS": 2.0,
    "record.threaded.CLOSE_SECONDS": 1.0,
}
"""What an agent has to leave in, and a recorder for its last entries, as they are."""


def patiently() -> list[str]:
    """What to start a sidecar under, so that it and its agent have time to end on a busy machine.

    None of it where the tests' own modules are not found: away from the repository's folder.
    """
    if Path.cwd() != ROOT:
        return []
    return hurried({name: min(patient(each), FUSE_SECONDS / 3) for name, each in ENDS.items()})


class SidecarClient(Client):
    """A client of one run of `lastword run -- COMMAND`."""

    sidecar: ClassVar[Sequence[str]] = SIDECAR
    """What stands before the options."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        options: Sequence[str] = (),
        under: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a sidecar.

        Args:
            command: What stands after `--`.
            options: What stands before it.
            under: What the whole is started by.
            environment: Variables beside our own.
        """
        before = under or (patiently() if self.sidecar is SIDECAR else ())
        words = [*before, *self.sidecar, *options, "--", *command]
        super().__init__(words, environment={**os.environ, **(environment or {})})
        self.cut_allowed = False
        """May the last line be cut? Only where a client does not take what it is sent."""
        self._piece: bytearray | None = None

    def send_bytes(self, data: bytes, *, fuse: float = FUSE_SECONDS) -> int:
        """Write bytes, or put them to those that are written in one piece."""
        if self._piece is None:
            return super().send_bytes(data, fuse=fuse)
        self._piece += data
        return len(data)

    @contextlib.contextmanager
    def in_one_piece(self, *, fuse: float = FUSE_SECONDS) -> Iterator[None]:
        """What is sent meanwhile is written at once, at the end."""
        self._piece = bytearray()
        yield
        piece, self._piece = bytes(self._piece), None
        sent = self.send_bytes(piece, fuse=fuse)
        assert sent == len(piece), self.story("our frames are not taken")

    def prompt(self, text: str = FAIL, session: str | None = None) -> int:
        return super().prompt(text, session)

    def turn(self, text: str = FAIL, *, fuse: float = FUSE_SECONDS) -> Turn:
        return super().turn(text, fuse=fuse)

    def finish(self) -> None:
        """Teardown: everything has ended, and nothing of ours was a traceback."""
        try:
            self._leave()
            left = left_behind.wait_for_none(self.mark)
        finally:
            left_behind.kill_all(self.mark)
            self.kill()
        assert not left, f"left behind: {left}"
        assert OUR_SOURCE not in self.said, f"a traceback of ours:\n{self.said}"
        assert self.is_whole or self.cut_allowed, self.story("the last line is cut")
        answers = Counter(f["id"] for f in self.frames if "method" not in f and "id" in f)
        twice = {i for i, times in answers.items() if times > 1 and i is not None}
        assert not twice, self.story(f"answered more than once: {twice}")

    def _leave(self) -> None:
        self.stdout.reading = self.stderr.reading = True
        self.close_stdin()
        try:
            self.wait(fuse=LEAVE_SECONDS)
        except AssertionError:
            self.signal(signal.SIGTERM)
            self.wait()
        finally:
            if self.exit_status is None:  # on macOS a process that has ended is already reaped
                self.signal(signal.SIGKILL)
            self.wait()
        self.listen(0.2)
