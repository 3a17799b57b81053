"""The agent's start: its command and environment, with additions that expose its failures.

Owns what is added for an agent that is recognised by its program's name: a file for gemini's debug
log, and a port for `opencode acp`, which otherwise serves its events at 4096 or, if that is in use,
at any port (1.18.33). It imports as little as `posix.process`, since it is loaded before the agent
starts.
"""

from __future__ import annotations

import os

from lastword.posix.process import Agent, close, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DEBUG_LOG = "GEMINI_DEBUG_LOG_FILE"
"""Documented by gemini; 0.61.0 appends to the file, and reports on stderr if it cannot."""

MAX_FILE_BYTES = 1024 * 1024
MAX_NEWS_BYTES = 256 * 1024


class GivenFile:
    """A file in memory for one agent's log, which disappears with this process however it ends.

    This user's other processes reach it through our entry in /proc, which only Linux has.
    """

    __slots__ = ("_at", "_fd", "path")

    def __init__(self) -> None:
        """Create it. Raises OSError if the system has no such files."""
        if not hasattr(os, "memfd_create"):
            raise OSError("no memory file is to be had")
        self._fd = os.memfd_create("agent-log")
        self.path: str = f"/proc/{os.getpid()}/fd/{self._fd}"
        self._at = 0
        if not os.path.exists(self.path):
            close(self._fd)
            raise FileNotFoundError(self.path)

    def news(self) -> bytes:
        """Return the whole lines appended since the last call, at most the last 256 KiB."""
        size = os.fstat(self._fd).st_size
        begin = max(self._at, size - MAX_NEWS_BYTES)
        data = os.pread(self._fd, size - begin, begin)
        end = data.rfind(b"\n") + 1
        first = data.find(b"\n") + 1 if begin > self._at else 0
        self._at = begin + end
        self.trim()
        return data[first:end]

    def trim(self) -> None:
        """Empty the file if it is large: its writer appends, and so starts at the beginning."""
        if os.fstat(self._fd).st_size > MAX_FILE_BYTES:
            os.ftruncate(self._fd, 0)
            self._at = 0


class AgentStart:
    """An agent's command, and how to start it, more than once if needed."""

    __slots__ = ("command", "given_file", "group", "port", "watched")

    def __init__(self, command: Sequence[str], *, watched: bool) -> None:
        """Create it; `watched` allows additions that expose the agent's failures."""
        self.command: tuple[str, ...] = tuple(command)
        self.watched: bool = watched
        self.given_file: GivenFile | None = None
        self.port: int | None = None
        """The port at which the agent that was started last serves its events."""
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
        """Return whether it is opencode, without a port that the user chose."""
        program, *words = self.command
        given = any(word == "--port" or word.startswith("--port=") for word in words)
        return self.watched and not given and "acp" in words and _is(program, "opencode")

    @property
    def may_have_file(self) -> bool:
        """Return whether it is gemini, without a log file that the user chose."""
        return self.watched and _is(self.command[0], "gemini") and not os.environ.get(DEBUG_LOG)

    def _with_port(self) -> tuple[str, ...]:
        """Return the command, with a port if it may have one."""
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
