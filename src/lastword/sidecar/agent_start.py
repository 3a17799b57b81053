"""The agent's start: its command, with an addition that exposes its failures.

Owns what is added for an agent that is recognised by its command: a port for `opencode acp`, which
otherwise serves its events at 4096 or, if that is in use, at any port (1.18.33). It imports as
little as `platform.process`, since it is loaded before the agent starts.
"""

from __future__ import annotations

from lastword.platform.process import Agent, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class AgentStart:
    """An agent's command, and how to start it, more than once if needed."""

    __slots__ = ("command", "group", "port", "watched")

    def __init__(self, command: Sequence[str], *, watched: bool) -> None:
        """Create it; `watched` allows additions that expose the agent's failures."""
        self.command: tuple[str, ...] = tuple(command)
        self.watched: bool = watched
        self.port: int | None = None
        """The port at which the agent that was started last serves its events."""
        self.group: int = 0
        """Its process group."""

    def spawn(self) -> Agent:
        """Start it.

        Raises:
            OSError: as `platform.process.spawn`.
        """
        agent = spawn(self._with_port())
        self.group = agent.pid
        return agent

    @property
    def may_have_port(self) -> bool:
        """Return whether it is opencode, without a port that the user chose."""
        given = any(word == "--port" or word.startswith("--port=") for word in self.command)
        if given or not self.watched or not any("opencode" in word for word in self.command):
            return False
        # Loaded for a command that may be that agent's: 4 ms.
        from lastword.quirks.agents import place_in  # noqa: PLC0415

        agent, number = place_in(self.command) or ("", 0)
        return agent == "opencode" and "acp" in self.command[number + 1 :]

    def _with_port(self) -> tuple[str, ...]:
        """Return the command, with a port if it may have one."""
        self.port = None
        if self.may_have_port:
            # Loaded for this one agent, whose own start takes a hundred times as long.
            from lastword.platform.listeners import free_port  # noqa: PLC0415

            self.port = free_port()
        return self.command if self.port is None else (*self.command, "--port", str(self.port))
