"""The transcript of an act: the lines that passed, the turns, and how the agent went.

Owns these values and finding one's way in them. Does not own talking to an agent (`stage`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastword.kit.peer import Frame, PeerEvent
    from lastword.kit.provider.server import ProviderScenario

_STOP_SECONDS = 5.0
"""How long an agent may take to leave once its stdin has ended."""


class UnreachedError(Exception):
    """The situation that a check is about could not be produced; says why."""


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """How long is waited.

    Attributes:
        answer_seconds: For an answer that needs no model, and for a healthy turn.
        turn_seconds: For the end of a failing turn.
        exit_seconds: For the agent to leave once its stdin has ended.
    """

    answer_seconds: float = 30.0
    turn_seconds: float = 100.0
    exit_seconds: float = _STOP_SECONDS


@dataclass(slots=True)
class ObservedTurn:
    """One prompt and what came of it.

    Attributes:
        scenario: What its model call should meet.
        session: The session it is in.
        request_id: Its id.
        begin: The index of its request among the events.
        answer: The first answer to it.
        seconds: From the request to the answer, or for how long it was waited for.
        called: Did the agent call the provider meanwhile?
        cancelled: Did the user cancel it?
    """

    scenario: ProviderScenario
    session: str
    request_id: object
    begin: int
    answer: PeerEvent | None = None
    seconds: float = 0.0
    called: bool = True
    cancelled: bool = False


@dataclass(slots=True)
class Transcript:
    """All that is left of an act.

    Attributes:
        name: The act's.
        events: What passed.
        turns: The prompts, in order.
        notes: What the act itself found out, by name.
    """

    name: str
    events: list[PeerEvent] = field(default_factory=list)
    turns: list[ObservedTurn] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    stderr_bytes: int = 0
    stderr_tail: bytes = b""
    exit_code: int | None = None
    exit_seconds: float | None = None
    leftovers: list[str] = field(default_factory=list)

    @property
    def welcome(self) -> Frame:
        """The result of `initialize`, empty where there was none."""
        result = self.notes.get("initialize")
        return result if isinstance(result, dict) else {}

    @property
    def speaks(self) -> bool:
        """Did the agent say that it speaks the extension?"""
        return "agent_error" in advertised(self.welcome)

    def answers(self, request_id: object) -> list[PeerEvent]:
        """Return every answer that carries this very id."""
        return [event for event in self.events if event.answers(request_id)]

    def of(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return what the agent sent in a turn's session from its prompt to its answer."""
        events = self.events[turn.begin : self._end(turn)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def after(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return what the agent sent in that session from the turn's answer to the next prompt."""
        later = [other.begin for other in self.turns if other.begin > turn.begin]
        events = self.events[self._end(turn) + 1 : min(later, default=None)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def _end(self, turn: ObservedTurn) -> int:
        return len(self.events) if turn.answer is None else self.events.index(turn.answer)


def advertised(welcome: Frame) -> Frame:
    """Return the agent's capabilities' `_meta`, empty where there is none."""
    capabilities = welcome.get("agentCapabilities")
    meta = capabilities.get("_meta") if isinstance(capabilities, dict) else None
    return meta if isinstance(meta, dict) else {}
