"""The agent's start: its command and environment, with additions that expose its failures.

Owns what is added for an agent that is recognised by its command: a port for `opencode acp`, which
otherwise serves its events at 4096 or, if that is in use, at any port (1.18.33); and the observer,
for an agent with whose runtime it was tested. It imports as little as `platform.process`, since it
is loaded before the agent starts.
"""

from __future__ import annotations

from lastword.observer.pipe import ObserverPipe, may_observe
from lastword.platform.process import Agent, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ADDED_TO = ("opencode", "cline", "gemini", "kimi", "qwen", "vibe")
"""Words in the commands of the agents to which something may be added."""


class AgentStart:
    """An agent's command, and how to start it, more than once if needed."""

    __slots__ = ("_added", "command", "evidence", "group", "observer", "port", "started_well")

    def __init__(self, command: Sequence[str], evidence: str) -> None:
        """Create it; the value of the option `evidence` permits the additions."""
        self.command: tuple[str, ...] = tuple(command)
        self.evidence: str = evidence
        self.port: int | None = None
        """The port at which the latest agent serves its events."""
        self.group: int = 0
        """Its process group."""
        self.observer: ObserverPipe | None = None
        """The pipe on which its runtime reports."""
        self.started_well: bool = True
        """Whether the last agent with an observer became ready."""
        self._added: tuple[str, int, bool] | None = None

    def spawn(self) -> Agent:
        """Start it.

        Raises:
            OSError: as `platform.process.spawn`.
        """
        if self.observer is not None:
            self.observer.close()
        self.observer = observer = None
        # Not if the agent before could not start with it.
        if self.started_well and self.may_have_observer:
            try:
                self.observer = observer = ObserverPipe()
                self.started_well = False
            except OSError:
                pass  # where no pipe can be made, the agent has no observer
        environment = observer.environment if observer is not None else None
        self.port, command = None, self.command
        try:
            if self.may_have_port:
                # Loaded for this one agent, whose own start takes a hundred times as long.
                from lastword.platform.process_tree import free_port  # noqa: PLC0415

                self.port = free_port()
                if self.port is not None:
                    command = (*command, "--port", str(self.port))
            agent = spawn(command, environment=environment)
        except OSError:
            self.started_well = True
            if observer is not None:
                observer.close()
            raise
        self.group = agent.pid
        agent.temporary = observer.path if observer is not None else ""
        return agent

    def adopt(self, agent: Agent, observer: int, port: int | None) -> None:
        """Continue with an agent that this process started before it replaced itself.

        Args:
            agent: The agent, which has answered.
            observer: The descriptor of the pipe on which its runtime reports; -1 for none.
            port: The port at which it serves its events.
        """
        self.group = agent.pid
        self.port = port
        self.observer = ObserverPipe(observer) if observer >= 0 else None

    def note_ready(self) -> None:
        """Note that the agent has answered, so that its processes have loaded the observer."""
        self.started_well = True
        if self.observer is not None:
            self.observer.hide()

    @property
    def may_have_port(self) -> bool:
        """Return whether it is opencode, without a port that the user chose."""
        given = any(word == "--port" or word.startswith("--port=") for word in self.command)
        if given or self.evidence == "wire":
            return False
        agent, number, _ = self._recognised
        return agent == "opencode" and "acp" in self.command[number + 1 :]

    @property
    def may_have_observer(self) -> bool:
        """Return whether its runtime should report its requests."""
        if self.evidence not in {"auto", "inside"} or not may_observe(self.command):
            return False
        return self.evidence == "inside" or self._recognised[2]

    @property
    def _recognised(self) -> tuple[str, int, bool]:
        """Return the agent's key, the index of the word that has it, and whether to observe it."""
        if self._added is None:
            self._added = ("", 0, False)
            if any(name in word for word in self.command for name in ADDED_TO):
                # Loaded for a command that may be such an agent's: 4 ms.
                from lastword.quirks.agents import is_observed, place_in  # noqa: PLC0415

                agent, number = place_in(self.command) or ("", 0)
                self._added = (agent, number, is_observed(agent))
        return self._added
