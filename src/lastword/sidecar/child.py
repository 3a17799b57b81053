"""One agent process in the sidecar, from its start until nothing of it is left.

Owns the state of one process: the process, its guardian, its stop sequence, and when its end
was noticed. The sidecar has one at a time, and cleans up after earlier ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.platform.pipes import close, unread_bytes
from lastword.sidecar.stop import StopSequence

if TYPE_CHECKING:
    from lastword.platform.process import Agent, Exit, Guardian


class Child:
    """An agent's process, and its end."""

    __slots__ = ("_guardian", "agent", "exit_noticed_at", "last_bytes", "over_at", "stop")

    def __init__(self, agent: Agent | None, guardian: Guardian | None) -> None:
        self.agent: Agent | None = agent
        self._guardian = guardian
        self.stop: StopSequence = StopSequence(agent)
        self.exit_noticed_at: float | None = None
        self.last_bytes: int = 0
        """The number of bytes unread in its pipe when its end was noticed."""
        self.over_at: float | None = None
        """When all of its output had been read."""

    @property
    def guardian(self) -> Guardian | None:
        """Return what ends it if this process vanishes."""
        return self._guardian

    @property
    def descriptors(self) -> tuple[int, int, int] | None:
        """Return the sidecar's ends of its stdin, stdout and stderr."""
        agent = self.agent
        return (agent.stdin, agent.stdout, agent.stderr) if agent else None

    def look_for_exit(self, now: float) -> Exit | None:
        """Return its exit, if it has ended."""
        exit_ = self.agent.poll() if self.agent else None
        if exit_ is not None and self.agent is not None and self.exit_noticed_at is None:
            self.exit_noticed_at = now
            self.last_bytes = unread_bytes(self.agent.stdout)
        return exit_

    def tidy(self, now: float) -> bool:
        """Continue its stop sequence; return `True` once nothing of it is left."""
        self.stop.run(now)
        over = self.over_at is not None and not self.stop.group_left
        if over:
            # The id of a group that is gone may become a stranger's.
            self.dismiss_guardian()
        return over

    def dismiss_guardian(self) -> None:
        """End the guardian: there is nothing left to guard."""
        guardian, self._guardian = self._guardian, None
        if guardian is not None:
            guardian.disarm()

    def close(self) -> None:
        """Close the sidecar's ends of its output; its stdin is closed by its writer."""
        if self.agent is not None:
            close(self.agent.stdout)
            close(self.agent.stderr)
