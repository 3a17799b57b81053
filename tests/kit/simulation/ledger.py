"""What is known of a link from its two wires alone: who asked what, and what is still owed.

Owns the data that the referee judges by. None of it comes from the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastword.core.link.connection import LinkOptions

OWN = b'"lastword:'
PROMPT = "session/prompt"
WORK = b"work"
"""Among what is unresolved: version 2's foreground work, which no request stands for."""


class BrokenPromiseError(Exception):
    def __init__(self, promise: str, how: str) -> None:
        super().__init__(f"{promise}: {how}")
        self.promise = promise


@dataclass(slots=True, eq=False)
class Asked:
    method: str
    session: str | None
    open: bool = True
    cancelled_at: float | None = None
    said_last: int = 0
    """How many lines the client had sent with it."""
    delivered: int = 0
    """To the agent of which generation it went, counted from 1."""
    stopped: bool = False
    """We told the agent to stop it."""
    agent_ended: bool = False
    """That agent has answered it, well or badly."""
    cut: bool = False
    """Its line was too long to be read."""
    typed: int = 0
    """Typed updates that announced its failure."""
    waited: bool = False
    """The agent waited for the user as they cancelled it."""
    size: int = 0
    plainly: bool = False
    """It was asked again as the client asked it."""
    line: bytes = b""
    """A prompt as the client sent it."""
    went_on: bool = False
    """`line` is lastword's own, which asks the agent to go on."""
    resent: int = 0
    """How often it has gone to an agent once more."""
    shown: bool = False
    """Something of it has been seen, or begun."""
    ended_at: float = 0.0
    """When that agent had answered it."""
    lasted: float = 0.0
    """How long it has waited, in all, until it went to an agent once more."""


class Ledger:
    now = 0.0
    """When what is told of happens."""
    slept = False
    """Nobody has looked at the clock for a while."""

    def __init__(self, options: LinkOptions) -> None:
        self.options = options
        self.generation = 1
        self.alive = self.up = True
        """There is an agent; it has been greeted."""
        self.killed = False
        self.client_gone = False
        self.v2 = False
        self.typed = self.retry = self.bare = self.speaks = False
        self.asked: dict[bytes, Asked] = {}
        self.client_lines = 0
        self.nameless = 0
        """Answers without an id that the client may get: it sent so many lines that are none."""
        self.questions: dict[bytes, int] = {}
        """The agent's open requests, by its own ids, with their generation."""
        self.shown: dict[bytes, bytes] = {}
        """Ids under which the client has them -> the agent's own."""
        self.failing = False
        """Has anything failed in this link that may be told of as a retry?"""
        self.answered_ids: set[bytes] = set()
        """Ids under which the client had questions that are answered."""
        self.withdrawable: set[bytes] = set()
        """Ids of a dead agent's questions that the client has not been rid of."""
        self.own_to_agent: dict[bytes, tuple[str, str | None]] = {}
        self.kept: list[bytes] = []
        """Lines of the agent's that may still be delivered."""
        self.unsent: set[bytes] = set()
        """Lines of the client's that may still be delivered."""
        self.fresh: set[str | None] = set()
        """Sessions that the agent of now knows."""
        self.coming_back: set[str | None] = set()
        self.unresolved: dict[str, set[bytes]] = {}
        """Prompts that lastword ended while their agent lives and has not answered them."""
        self.running: dict[str, bool] = {}
        """Version 2: sessions with foreground work that the client knows of."""
        self.agents_work: dict[str, bool] = {}
        """Version 2: the same as the agent has it."""
        self.unnamed: bytes | None = None
        """The one open request, where the agent has just sent an error without an id."""
        self.ends_itself: str | None = None
        """Version 2: the session of which the agent says now that its work is over; where it has
        failed, so have the prompts that it had not taken in."""
        self.ended_now: list[tuple[str, bytes]] = []
        """What lastword ends in the event of now while its agent lives."""
        self.stopped_now: list[Asked] = []
        """What lastword tells the agent to stop in the event of now."""
        self.announced: set[str | None] = set()
        """Version 2: sessions of whose work a failure has been announced."""
        self.answered_now: set[str | None] = set()
        """Sessions of the prompts that the event of now has answered."""
        self.closed_now: list[bytes] = []
        """The requests that it has answered."""

    def open_prompts(self, session: str | None) -> list[Asked]:
        return [
            asked
            for asked in self.asked.values()
            if asked.open and asked.session == session and asked.method == PROMPT
        ]

    def goes_on(self, session: str | None) -> bool:
        """Is there a prompt of this session at work that nobody stopped?"""
        return any(
            asked.delivered == self.generation
            and not (asked.stopped or asked.agent_ended)
            and asked.cancelled_at is None
            for asked in self.open_prompts(session)
        )

    def agent_lost(self) -> None:
        self.alive = self.up = self.killed = False
        self.forget_agent()
        self.questions.clear()
        self.withdrawable.update(self.shown)
        self.shown.clear()
        self.own_to_agent.clear()
        self.coming_back.clear()
        self.fresh.clear()
        self.unresolved.clear()
        self.agents_work.clear()

    def forget_agent(self) -> None:
        """What it said holds no more."""

    def agent_started(self) -> None:
        self.generation += 1
        self.alive = True

    def client_left(self) -> None:
        self.client_gone = True

    def stood_still(self, seconds: float) -> None:
        """Nothing could happen for so long."""
        for asked in self.asked.values():
            if asked.cancelled_at is not None:
                asked.cancelled_at += seconds

    def agent_answered(self, request_id: bytes) -> None:
        asked = self.asked.get(request_id)
        if asked is not None:
            asked.agent_ended, asked.ended_at = True, self.now
        for waiting in self.unresolved.values():
            waiting.discard(request_id)
