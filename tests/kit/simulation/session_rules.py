"""The promises about a session: its mode, its questions to the user, what counts as a runaway.

Owns the memory for them. When each is asked is the part of those who see the frames pass
(`departures`, `referee`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.simulation.frames import members, model_in
from tests.kit.simulation.ledger import PROMPT, Asked, BrokenPromiseError, Ledger

if TYPE_CHECKING:
    from typing import Any

    from lastword.core.link.connection import LinkOptions
    from tests.kit.simulation.frames import Read

ASKS_USER = frozenset({"session/request_permission", "elicitation/create"})
SETS_MODE = "session/set_mode"
SETS_OPTION = "session/set_config_option"
BRINGS_BACK = frozenset({"session/load", "session/resume"})
WORK_STATES = frozenset({"idle", "running", "requires_action"})
"""What says whether work goes on. A word of a later version says so within a turn alone."""

_RUNAWAY_REPEATS = 50
_QUEUED = 1000
_QUEUED_BYTES = 16 * 1024 * 1024


class SessionRules(Ledger):
    """What is known of sessions, and what must hold of it."""

    def __init__(self, options: LinkOptions) -> None:
        super().__init__(options)
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

    def forget_agent(self) -> None:
        """What it said of its sessions holds no more."""
        self.agents_mode.clear()
        self.agents_model.clear()
        self.own_models.clear()
        self.brought_back.clear()
        self.users.clear()
        self.wanted_mode = {i: mode for i, mode in self.wanted_mode.items() if i in self.asked}

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
