"""The transcript of an act: the lines that passed, the turns, and the agent's exit.

Owns these values, and searching them. It does not own talking to an agent (`stage`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp

if TYPE_CHECKING:
    from lastword.kit.check.sdk import Sdk
    from lastword.kit.peer import Frame, PeerEvent
    from lastword.kit.provider.server import ProviderScenario

MOMENT_SECONDS = 0.2
"""How long after its answer a failure may still be written about."""

_STOP_SECONDS = 5.0
"""How long an agent may take to leave once its stdin has ended."""


class UnreachedError(Exception):
    """The situation that a check is about could not be produced; says why."""


class NotApplicableError(Exception):
    """The agent has not claimed what the act is about; says what."""


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Time limits of waits.

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
        answer: The end: the first answer to it, or in version 2 the session's idle state.
        seconds: From the request to the answer, or for how long it was waited for.
        called: Whether the agent called the provider meanwhile.
        cancelled: Whether the user cancelled it.
    """

    scenario: ProviderScenario
    session: str
    request_id: object
    begin: int
    answer: PeerEvent | None = None
    seconds: float = 0.0
    called: bool = True
    cancelled: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ended with an error, in either version."""
        if self.answer is None:
            return False
        ended_badly = self.answer.update.get("stopReason") == acp.STOP_ERROR
        return ended_badly or "error" in (self.answer.frame or {})


@dataclass(slots=True)
class Transcript:
    """The record of an act.

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
    stderr_times: list[tuple[float, int]] = field(default_factory=list)
    sdk: Sdk | None = None
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
        """Whether the agent advertises the extension."""
        return "agent_error" in advertised(self.welcome)

    def cancelled_turn(self) -> ObservedTurn:
        """Return the turn that the user cancelled, in an act that has one."""
        return next(turn for turn in self.turns if turn.cancelled)

    def answers(self, request_id: object) -> list[PeerEvent]:
        """Return every answer that carries this very id."""
        return [event for event in self.events if event.answers(request_id)]

    def is_answered_before(self, request: PeerEvent, event: PeerEvent) -> bool:
        """Return whether we had answered a request of the agent's before something passed."""
        earlier = self.events[self.events.index(request) : self.events.index(event)]
        return any(
            e.sent and "method" not in (e.frame or {}) and _id(e) == _id(request) for e in earlier
        )

    def of(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return what the agent sent in a turn's session from its prompt to its answer."""
        events = self.events[turn.begin : self._end(turn)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def after(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return what the agent sent in that session from the turn's answer to the next prompt.

        A session that is brought back ends that, and so does a new process of the agent.
        """
        end = self._end(turn) + 1
        later = [other.begin for other in self.turns if other.begin > turn.begin]
        later += [n for n, e in enumerate(self.events) if n >= end and _starts_over(e)]
        events = self.events[end : min(later, default=None)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def stderr_beside(self, first: PeerEvent, last: PeerEvent) -> bytes:
        """Return what the agent wrote to stderr about some lines, as far as the time tells.

        That is from the last line of ours up to the first to our next after the last, and a moment
        longer.
        """
        sent = [other.at for other in self.events if other.sent]
        since = max((at for at in sent if at <= first.at), default=0.0)
        until = min((at for at in sent if at > last.at), default=math.inf) + MOMENT_SECONDS
        start = self.stderr_bytes - len(self.stderr_tail)
        before = max((count for at, count in self.stderr_times if at < since), default=0)
        upto = max((count for at, count in self.stderr_times if at <= until), default=0)
        return self.stderr_tail[max(0, before - start) : max(0, upto - start)]

    def unanswered(self) -> PeerEvent | None:
        """Return the first request of ours that was never answered."""
        answered = {repr((e.frame or {}).get("id")) for e in self.events if e.is_answer}
        return next((e for e in self.events if _is_request(e) and _id(e) not in answered), None)

    def _end(self, turn: ObservedTurn) -> int:
        return len(self.events) if turn.answer is None else self.events.index(turn.answer)


def _starts_over(event: PeerEvent) -> bool:
    method = (event.frame or {}).get("method") if event.sent else None
    return method == acp.INITIALIZE or method in acp.BRINGS_BACK


def _is_request(event: PeerEvent) -> bool:
    return event.sent and event.frame is not None and {"id", "method"} <= event.frame.keys()


def _id(event: PeerEvent) -> str:
    return repr((event.frame or {}).get("id"))


def capabilities(welcome: Frame) -> Frame:
    """Return what the agent said that it can, empty where it said nothing."""
    dialect = acp.dialect(welcome.get("protocolVersion"))
    members = welcome.get(dialect.agent_capabilities)
    return members if isinstance(members, dict) else {}


def advertised(welcome: Frame) -> Frame:
    """Return the agent's capabilities' `_meta`, empty where there is none."""
    meta = capabilities(welcome).get("_meta")
    return meta if isinstance(meta, dict) else {}
