"""The agent's start: its command and its environment, with what lets it be asked of its failures.

Owns what is added for an agent that is known by its program's name, and only there: a file to
gemini's debug log, and a port to `opencode acp`, which without one serves its events at 4096 or, as
that is often taken, at any (1.18.33). Imports as little as `posix.process`, since it comes before
the agent's start.
"""

from __future__ import annotations

import os

from lastword.posix.process import Agent, close, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DEBUG_LOG = "GEMINI_DEBUG_LOG_FILE"
"""Documented by gemini; 0.61.0 appends to the file, and says so on stderr where it cannot."""

MAX_RESENDABLE_BYTES = 1024 * 1024
MAX_NEWS_BYTES = 256 * 1024


class GivenFile:
    """A file without a place on disk, for one agent's log: it is gone when we are, however we end.

    Other processes of this user's reach it by our entry in /proc, which only Linux has.
    """

    __slots__ = ("_at", "_fd", "path")

    def __init__(self) -> None:
        """Raises OSError where there can be none."""
        if not hasattr(os, "memfd_create"):
            raise OSError("no memory file is to be had")
        self._fd = os.memfd_create("agent-log")
        self.path: str = f"/proc/{os.getpid()}/fd/{self._fd}"
        self._at = 0
        if not os.path.exists(self.path):
            close(self._fd)
            raise FileNotFoundError(self.path)

    def news(self) -> bytes:
        """Whole lines that were appended since the last time, at most the last 256 KiB of them."""
        size = os.fstat(self._fd).st_size
        begin = max(self._at, size - MAX_NEWS_BYTES)
        data = os.pread(self._fd, size - begin, begin)
        end = data.rfind(b"\n") + 1
        first = data.find(b"\n") + 1 if begin > self._at else 0
        self._at = begin + end
        self.trim()
        return data[first:end]

    def trim(self) -> None:
        """Let what it holds go where that is much: who writes there appends, and begins anew."""
        if os.fstat(self._fd).st_size > MAX_RESENDABLE_BYTES:
            os.ftruncate(self._fd, 0)
            self._at = 0


class AgentStart:
    """How an agent is started, again where it has to be."""

    __slots__ = ("command", "given_file", "group", "port", "watched")

    def __init__(self, command: Sequence[str], *, watched: bool) -> None:
        """Args: `watched` lets something be added, so that it can be asked of its failures."""
        self.command: tuple[str, ...] = tuple(command)
        self.watched: bool = watched
        self.given_file: GivenFile | None = None
        self.port: int | None = None
        """Where the agent that was started last serves its events."""
        self.group: int = 0
        """Its process group."""

    def spawn(self) -> Agent:
        """Start it.

        Raises:
            OSError: as `posix.process.spawn`.
        """
        agent = spawn(self._with_port(), environment=self._environment())
        self.group = agent.pid
        return agent

    @property
    def may_have_port(self) -> bool:
        """Is it the agent that serves its events, and at no port of the user's choice?"""
        program, *words = self.command
        given = any(word == "--port" or word.startswith("--port=") for word in words)
        return self.watched and not given and "acp" in words and _is(program, "opencode")

    @property
    def may_have_file(self) -> bool:
        """Is it the agent that logs to a file it is given, and was it given none?"""
        return self.watched and _is(self.command[0], "gemini") and not os.environ.get(DEBUG_LOG)

    def _with_port(self) -> tuple[str, ...]:
        """The command, and a port where there may be one."""
        self.port = None
        if self.may_have_port:
            # Loaded for this one agent, whose own start takes a hundred times as long.
            from lastword.posix.listeners import free_port  # noqa: PLC0415

            self.port = free_port()
        return self.command if self.port is None else (*self.command, "--port", str(self.port))

    def _environment(self) -> dict[str, str] | None:
        """Its environment, where that is not ours."""
        if not self.may_have_file:
            return None
        if self.given_file is None:
            try:
                self.given_file = GivenFile()
            except OSError:
                return None
        return {**os.environ, DEBUG_LOG: self.given_file.path}


def _is(program: str, name: str) -> bool:
    return os.path.basename(program) == name
