"""One agent process in the sidecar, from its start until nothing of it is left.

Owns the state of one process (its guardian, and when its exit was noticed), the stop sequences (the
client closed its side; a signal asked lastword to stop) and ending what a dead agent left in its
group. The sidecar has one agent at a time, and cleans up after earlier ones. Owns lastword's own
messages on stderr, too: they are in order with the agent's output there, and never block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind
from lastword.platform.framing import StderrWriter
from lastword.platform.pipes import close, unread_bytes
from lastword.platform.signals import SIGKILL, SIGTERM

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry
    from lastword.platform.process import Agent, Exit, Guardian


_MODELS = {
    "not_offered": "the agent does not offer the model {model}: --fallback-model skips it",
    "no_models": "the agent offers no choice of models, so --fallback-model has no effect",
    "not_restored": "the agent does not go back to the model {model}",
}
"""Messages about a session's models, by the outcome in the entry."""


class Console:
    """Writes messages to stderr, where the agent's own are passed on."""

    __slots__ = ("_verbose", "stderr")

    def __init__(self, *, verbose: bool) -> None:
        self.stderr: StderrWriter = StderrWriter(2)
        self._verbose = verbose

    def say(self, sentence: str) -> None:
        self.stderr.write(f"lastword: {one_line(sentence)}\n".encode(errors="replace"))

    def record(self, entry: Entry) -> None:
        """Describe an event, if the output is verbose or the user has to know."""
        if entry.kind is Kind.MODEL_SWITCH and entry.facts["outcome"] in _MODELS:
            sentence = _MODELS[entry.facts["outcome"]]
            self.say(sentence.format(model=entry.facts.get("to_model")))
        if self._verbose:
            shown = {"session": entry.session_id} | entry.facts
            facts = [f"{key}={value}" for key, value in shown.items() if value is not None]
            self.say(" ".join([entry.kind.value, *facts]))

    def report(self, error: Exception) -> None:
        what, do = "a bug in lastword", "Please report it."
        if isinstance(error, ImportError):
            what, do = "its files have been replaced or removed", "Start it again."
        self.say(
            f"{what} ({type(error).__name__}: {error}); from now on messages pass through "
            f"unchanged. {do}"
        )


# --- the stop sequence

CLOSED_GRACE_SECONDS = 2.0
"""From the client's end to SIGTERM: an agent exits by itself when it reads the end of input."""

TERM_GRACE_SECONDS = 5.0
"""From SIGTERM to SIGKILL, when the client has gone."""

SIGNALLED_GRACE_SECONDS = 1.0
"""From SIGTERM to SIGKILL, when a signal stops us: clients kill us 2 to 4 seconds later."""

SAME_STOP_SECONDS = 0.25
"""Different signals this close together are one request, since service managers send SIGTERM and
SIGHUP."""

PIPE_GRACE_SECONDS = 0.25
"""From a closed pipe to SIGTERM: an agent that is about to exit closes its pipes first."""

KILLED_GRACE_SECONDS = 2.0
"""From SIGKILL until an agent that still exists counts as gone: a system call that cannot be
interrupted may take hours."""

_CHECK_SECONDS = 0.05


class StopSequence:
    """How one agent and its group are stopped: which signal is due when."""

    __slots__ = (
        "_agent",
        "_given_up_at",
        "_kill_due",
        "_killed",
        "_signalled_at",
        "_signalled_by",
        "_term_due",
        "acted",
        "begun",
        "group_left",
        "signalled",
    )

    def __init__(self, agent: Agent | None) -> None:
        self._agent = agent
        self._term_due: float | None = None
        self._kill_due: float | None = None
        self._killed = False
        self._given_up_at: float | None = None
        self.group_left: bool = False
        """Whether something in a dead agent's group is still to be ended."""
        self.begun: bool = False
        """Whether we have begun to stop the agent."""
        self.acted: bool = False
        """Whether we sent the agent a signal that ends it."""
        self.signalled: bool = False
        """Whether a signal asked us to stop."""
        self._signalled_at, self._signalled_by = 0.0, 0

    def due(self, now: float) -> float | None:
        """Return when to call `run`."""
        due = self._term_due if self._term_due is not None else self._kill_due
        if due is None:
            due = self._given_up_at
        if self.group_left:
            return now + _CHECK_SECONDS if due is None else min(due, now + _CHECK_SECONDS)
        return due

    def after(self, grace_seconds: float, now: float) -> None:
        """Let the agent exit by itself within the grace period, then send SIGTERM."""
        if not self.begun:
            self.begun = True
            self._term_due = now + grace_seconds

    def replaced(self, now: float) -> None:
        """Send SIGTERM, then SIGKILL, to an agent that another process replaces."""
        if not self.begun:
            self.begun = True
            self._kill_due = now + SIGNALLED_GRACE_SECONDS
            self._signal(SIGTERM)

    def pass_signal(self, number: int, now: float) -> None:
        """Pass on a signal that ends lastword; at the second one, kill the agent at once."""
        if not self.signalled:
            self._signalled_at, self._signalled_by = now, number
            self._kill_due = now + SIGNALLED_GRACE_SECONDS
            self._signal(number)
        elif number == self._signalled_by or now - self._signalled_at > SAME_STOP_SECONDS:
            self._kill_due = now
        self._term_due = None
        self.begun = self.signalled = True

    def run(self, now: float) -> None:
        agent = self._agent
        if self.group_left and agent is not None and not agent.group_alive():
            self.group_left = False
        if agent is not None and agent.exit is not None and not self.group_left:
            self._term_due = self._kill_due = None
        if self._term_due is not None and self._term_due <= now:
            self._term_due = None
            reachable = self._signal(SIGTERM)
            self._kill_due = now + TERM_GRACE_SECONDS if reachable else now
        if self._kill_due is not None and self._kill_due <= now:
            self._kill_due = None
            self._signal(SIGKILL)
            self._killed = True
            self.group_left = False
            if agent is not None and agent.exit is None:
                self._given_up_at = now + KILLED_GRACE_SECONDS

    def given_up(self, now: float) -> bool:
        """Return whether the agent was killed and has not been seen to exit in time."""
        return self._given_up_at is not None and self._given_up_at <= now

    def agent_ended(self, now: float, *, leave_group: bool) -> None:
        """Reap the dead agent, and end what it left in its group unless that may stay."""
        agent = self._agent
        if agent is None:
            return
        agent.reap()
        # After SIGKILL to the group, only zombies that wait for init are left.
        self.group_left = not leave_group and not self._killed and agent.group_alive()
        if self.group_left:
            agent.end_group(SIGTERM)
            self._term_due = None
            self._kill_due = now + SIGNALLED_GRACE_SECONDS

    def finish(self) -> None:
        """Kill what is left in the group, so that it does not survive lastword."""
        if self.group_left:
            self._signal(SIGKILL)
            self.group_left = False

    def _signal(self, number: int) -> bool:
        """Send a signal; return `False` if the system cannot ask this agent to exit."""
        agent = self._agent
        self.acted = True
        if agent is None:
            return True
        if agent.exit is None:
            return agent.signal_group(number)
        if self.group_left:
            agent.end_group(number)
        return True


# --- the process


class Child:
    """An agent's process, and its end."""

    __slots__ = ("agent", "exit_noticed_at", "guardian", "last_bytes", "over_at", "stop")

    def __init__(self, agent: Agent | None, guardian: Guardian | None) -> None:
        self.agent: Agent | None = agent
        self.guardian: Guardian | None = guardian
        """What ends the agent if this process vanishes."""
        self.stop: StopSequence = StopSequence(agent)
        self.exit_noticed_at: float | None = None
        self.last_bytes: int = 0
        """The number of bytes unread in its pipe when its exit was noticed."""
        self.over_at: float | None = None
        """When all of its output had been read."""

    @property
    def descriptors(self) -> tuple[int, int, int] | None:
        """Return the sidecar's ends of its stdin, stdout and stderr."""
        agent = self.agent
        return (agent.stdin, agent.stdout, agent.stderr) if agent else None

    def look_for_exit(self, now: float) -> Exit | None:
        """Return how it exited, or `None` while it runs."""
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
            # The id of a group that is gone may be used again.
            self.dismiss_guardian()
        return over

    def dismiss_guardian(self) -> None:
        """End the guardian, which has nothing left to guard."""
        guardian, self.guardian = self.guardian, None
        if guardian is not None:
            guardian.disarm()

    def close(self) -> None:
        """Close the sidecar's ends of its output; its stdin is closed by its writer."""
        if self.agent is not None:
            close(self.agent.stdout)
            close(self.agent.stderr)
