"""What is known of a link from its two wires alone, and what must hold of its sessions.

Owns the data that the referee judges by, none of which comes from the core: who asked what, and
what is still owed; and the promises about a session's mode, its questions to the user, and what
counts as a runaway. When each is asked is the part of those who see the frames pass
(`departures`, `referee`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.kit.simulation.frames import members, model_in

if TYPE_CHECKING:
    from lastword.core.link.connection import LinkOptions
    from tests.kit.simulation.frames import Read

OWN = b'"lastword:'
PROMPT = "session/prompt"
WORK = b"work"
"""Among what is unresolved: version 2's foreground work, which no request stands for."""


ASKS_USER = frozenset({"session/request_permission", "elicitation/create"})
SETS_MODE = "session/set_mode"
SETS_OPTION = "session/set_config_option"
BRINGS_BACK = frozenset({"session/load", "session/resume"})
WORK_STATES = frozenset({"idle", "running", "requires_action"})
"""What says whether work goes on. A word of a later version says so within a turn alone."""

_RUNAWAY_REPEATS = 50
_QUEUED = 1000
_QUEUED_BYTES = 16 * 1024 * 1024


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

    def __init__(self, options: LinkOptions) -> None:  # noqa: PLR0915 - each fact by its name
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
        self.agents_mode: dict[str | None, str] = {}
        """The mode that the agent of now said it works in, or was set to."""
        self.shown_mode: dict[str | None, str] = {}
        """The mode that the client shows."""
        self.wanted_mode: dict[bytes, str] = {}
        """The modes that open requests are to set."""
        self.agents_model: dict[str | None, str] = {}
        """The same of models."""
        self.shown_model: dict[str | None, str] = {}
        self.wanted_model: dict[bytes, str] = {}
        self.own_models: dict[bytes, str | None] = {}
        """Requests of lastword's for another model, with their sessions."""
        self.brought_back: set[str | None] = set()
        """Sessions that lastword has asked the agent of now for."""
        self.users: dict[bytes, str | None] = {}
        """The agent's questions that the user sees, by its own ids, with their sessions."""
        self.closed: set[str] = set()
        """Those that it has closed."""
        self.known: set[str] = set()
        """The sessions that the client has, or had, by its names."""
        self.names: dict[str, str] = {}
        """The agent's names of sessions -> the client's, where they differ."""
        self.nobodys: set[str | None] = set()
        """The client's names of sessions that it has loaded under their own since."""
        self.named_now = False
        """What was sent last names a new session in our way."""
        self.said: dict[str | None, list[Any]] = {}
        """Each session's last sentence, how often in a row, tools in a row, the most of both."""

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
        # What it said of its sessions holds no more.
        self.agents_mode.clear()
        self.agents_model.clear()
        self.own_models.clear()
        self.brought_back.clear()
        self.users.clear()
        self.wanted_mode = {i: mode for i, mode in self.wanted_mode.items() if i in self.asked}
        self.questions.clear()
        self.withdrawable.update(self.shown)
        self.shown.clear()
        self.own_to_agent.clear()
        self.coming_back.clear()
        self.fresh.clear()
        self.unresolved.clear()
        self.agents_work.clear()

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

    def as_client_knows(self, line: bytes, known: str | None = None) -> bytes:
        """A frame on the agent's side, with each session by the name that the client has for it.

        What the client loads itself is meant by its own name, unless it is `known` to be another.
        """
        for theirs, ours in self.names.items():
            member = b'"sessionId":"%b"'
            if member % theirs.encode() in line and (ours == known or not self._opens(theirs)):
                line = line.replace(member % theirs.encode(), member % ours.encode())
        return line

    def _opens(self, session: str) -> bool:
        """Does the client itself open the session that it knows by this name?"""
        asked = (one for one in self.asked.values() if one.open and one.session == session)
        return any(one.method in BRINGS_BACK for one in asked)

    def says_work(self, frame: Read) -> bool:
        """Version 2: does this state say whether work goes on?"""
        return frame.state in WORK_STATES or bool(self.open_prompts(frame.session))

    # --- modes

    def agent_says(self, frame: Read, line: bytes) -> None:
        """The agent sent an update: about its mode, or something to see."""
        if frame.kind == "current_mode_update" and frame.mode is not None:
            self.agents_mode[frame.session] = frame.mode
        elif frame.kind == "config_option_update" and frame.model is not None:
            self.agents_model[frame.session] = frame.model
        elif frame.kind in {"agent_message_chunk", "tool_call"}:
            self._repeats(frame, line)

    def agent_has_set(self, request_id: bytes, session: str | None) -> None:
        """A request to set the mode succeeded."""
        mode = self.wanted_mode.get(request_id)
        if mode is not None:
            self.agents_mode[session] = mode

    def agent_opened(self, session: str | None, result: bytes | None) -> None:
        """The answer that opens a session may say which mode it is in."""
        self.agents_mode.pop(session, None)
        self.agents_model.pop(session, None)
        _note(self.agents_model, session, model_in(result))
        mode = mode_told(result)
        if mode is not None:
            self.agents_mode[session] = mode

    def client_opened(self, session: str | None, result: bytes | None) -> None:
        """The client reads the same."""
        if session is not None:
            self.known.add(session)
            other = self.names.pop(session, None)
            if other is not None:
                # The agent's session is the client's own again, and nothing has the other name.
                self.fresh.discard(other)
                self.nobodys.add(other)
        _note(self.shown_model, session, model_in(result))
        mode = mode_told(result)
        if mode is not None:
            self.shown_mode[session] = mode

    def closes(self, session: str) -> None:
        """The client has no such session any more; the agent, or its next one, may."""
        self.known.discard(session)
        self.closed.add(session)

    def client_set(self, request_id: bytes, session: str | None) -> None:
        """The client reads that its mode was set."""
        mode = self.wanted_mode.pop(request_id, None)
        if mode is not None:
            self.shown_mode[session] = mode

    def model_is_set(
        self, models: dict[str | None, str], request_id: bytes, session: str | None, answer: bytes
    ) -> None:
        """A request for a model succeeded, as this side knows by now."""
        _note(models, session, model_in(answer) or self.wanted_model.get(request_id))

    def prompt_reaches(self, session: str | None) -> None:
        """A prompt reaches the agent: the model is the one shown, and after a return the mode."""
        model, shown_model = self.agents_model.get(session), self.shown_model.get(session)
        chooses = (a for a in self.asked.values() if a.open and a.method == SETS_OPTION)
        known = model is not None and shown_model is not None
        if known and model != shown_model and all(a.session != session for a in chooses):
            raise BrokenPromiseError("mode", f"to {model!r}, while {shown_model!r} is shown")
        agents, shown = self.agents_mode.get(session), self.shown_mode.get(session)
        if session not in self.brought_back or None in {agents, shown} or agents == shown:
            return
        changes = (a for a in self.asked.values() if a.open and a.method == SETS_MODE)
        if all(asked.session != session for asked in changes):
            raise BrokenPromiseError("mode", f"a prompt in {agents!r}, while {shown!r} is shown")

    # --- questions to the user

    def waits_for_user(self, asked: Asked) -> bool:
        """Can this turn not have ended by itself, since its agent waits for an answer?"""
        alone = len(self.open_prompts(asked.session)) == 1 and not asked.agent_ended
        at_work = asked.delivered == self.generation and not asked.stopped
        return alone and at_work and asked.session in self.users.values()

    def forget_questions(self, session: str | None) -> None:
        """The agent has ended what it asked for: what comes next does not wait for the user."""
        self.users = {own: of for own, of in self.users.items() if of != session}

    # --- runaways, and what has no room

    def _repeats(self, frame: Read, line: bytes) -> None:
        last = self.said.setdefault(frame.session, [b"", 0, 0, 0])
        if frame.kind == "tool_call":
            last[2] += 1
            last[0] = b""
        else:
            last[1] = last[1] + 1 if line == last[0] else 1
            last[0], last[2] = line, 0
        last[3] = max(last[1], last[2], last[3])

    def is_told(self, asked: Asked, payload: Any) -> None:
        """A prompt fails of this: a reason that the wires must bear out."""
        reason = payload.get("reason") if isinstance(payload, dict) else None
        if reason == "runaway" and self.said.get(asked.session, [0])[-1] < _RUNAWAY_REPEATS:
            raise BrokenPromiseError("G4", "stopped as a runaway that was none")
        if reason == "queue_full":
            waiting = [a for a in self.asked.values() if a.open and not a.delivered] + [asked]
            if len(waiting) < _QUEUED and sum(a.size for a in waiting) <= _QUEUED_BYTES:
                raise BrokenPromiseError("queue", f"no room beside {len(waiting) - 1} others")
            if waiting == [asked]:
                raise BrokenPromiseError("queue", "no room in an empty queue")

    def turn_begins(self, asked: Asked) -> None:
        """What was said before a session's first open turn is no part of it."""
        alone = len(self.open_prompts(asked.session)) == 1
        if asked.method == PROMPT and alone and not self.running.get(asked.session or ""):
            self.said.pop(asked.session, None)


def mode_told(result: bytes | None) -> str | None:
    if result is None or b'"modes"' not in result:
        return None
    mode = members(result)["modes"]["currentModeId"]
    assert isinstance(mode, str)
    return mode


def _note(models: dict[str | None, str], session: str | None, model: str | None) -> None:
    if model is not None:
        models[session] = model
