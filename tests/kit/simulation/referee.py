"""Judges a link by what went over its two wires alone, with a model that is not the core's.

Owns the promises about what arrives: what has to pass, what must not, and what it means. It is
told each line that came and what was sent because of it, and raises `BrokenPromiseError` at the
first promise that does not hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.simulation.departures import (
    CHOICE_KINDS,
    FORWARD,
    RETRY_KINDS,
    STATE_KINDS,
    TYPED_KINDS,
    Departures,
    Out,
    is_text,
    same_but_id,
    without_wish,
)
from tests.kit.simulation.frames import ANSWER, OTHER, REQUEST, Read, bare_id, members, read
from tests.kit.simulation.ledger import (
    BRINGS_BACK,
    OWN,
    PROMPT,
    SETS_MODE,
    SETS_OPTION,
    WORK,
    Asked,
    BrokenPromiseError,
)

if TYPE_CHECKING:
    from tests.kit.simulation.frames import Spoiled

ONLY_CLIENTS_ASK = frozenset({"initialize", "session/new", "session/load", PROMPT})

ENDS_SESSION = frozenset({"session/close", "session/delete"})


class Referee(Departures):
    """The rules over what arrives."""

    def client_line(self, line: bytes, out: list[Out], now: float) -> None:
        frame = read(line)
        passes = False
        self.client_lines += 1
        if frame is None:
            self.nameless += 1
        elif frame.method is None:
            self._answer_arrives(frame, out)
        else:
            passes = self._passes_on(frame)
            if frame.id is not None:
                self._client_asks(frame, line)
                self.turn_begins(self.asked[frame.id])
            self._note_cancel(frame, now)
            self.unsent.add(line)
        self._all(out, frame, line, from_agent=False)
        if frame is not None and frame.method == "session/cancel":
            self.unsent.discard(line)  # one like it may be ours
        self.cancels_at_once(now)
        known = None if frame is None else frame.session
        theirs = [without_wish(sent) for _, to_client, sent in out if not to_client]
        told = [self.as_client_knows(sent, known) for sent in theirs]
        # It waits until the session has its former model again.
        waits = frame is not None and frame.session in self.own_models.values()
        passes = passes and not (waits and frame is not None and frame.method == PROMPT)
        if passes and (FORWARD, False, line) not in out and line not in told:
            raise BrokenPromiseError("G4", f"kept from the agent: {line[:200]!r}")

    def agent_line(self, line: bytes, out: list[Out]) -> None:
        if not is_text(line):
            line = line.decode(errors="replace").encode()
        line = self.as_client_knows(line)
        frame = read(line)
        if b"etry" in line:
            self.failing = True
        if frame is None:
            if any(to_client and sent == line for _, to_client, sent in out):
                raise BrokenPromiseError("G4", f"a line that is no message: {line[:200]!r}")
            self._all(out, None, line, from_agent=True)
            return
        plain = frame.method and frame.id is None and frame.named is None
        if len(out) == 1 and out[0][0] == FORWARD and plain:
            if frame.kind:
                self.unnamed = None
            if not is_text(out[0][2]):
                raise BrokenPromiseError("frame", f"no UTF-8: {line[:200]!r}")
            self._passes(frame, line)  # the usual case: it passed, and that was all
            return
        if frame.method == "session/update":
            self.unnamed = None
        must = self._must_pass(frame)
        self.ends_itself = frame.session if self.v2 and frame.state == "idle" else None
        self._comes(frame, line)
        self._all(out, frame, line, from_agent=True)
        self._work_of(frame)
        self.agent_says(frame, line)
        self.ends_itself = None
        told = [sent for _, to_client, sent in out if to_client]
        passed = self.named_now or any(sent == line or same_but_id(sent, line) for sent in told)
        if must and not passed:
            raise BrokenPromiseError("G4", f"kept from the client: {line[:300]!r}")
        asks = frame.method not in {None, *ONLY_CLIENTS_ASK} and frame.id in self.questions
        if asks and frame.id not in self.shown.values():
            raise BrokenPromiseError("silent", f"neither asked nor answered: {line[:200]!r}")

    def _passes(self, frame: Read, line: bytes) -> None:
        """The client has this notification of the agent's, as it came."""
        self.late(frame, line)
        self.shows(frame, line)
        self._work_of(frame)
        self.agent_says(frame, line)
        self.seen(frame)

    def _comes(self, frame: Read, line: bytes) -> None:
        """The agent has sent this: what does it know by now, and what may come of it later?"""
        if frame.method is None:
            if self._may_come_later(frame):
                self.kept.append(line)
            if frame.id == b"null" and frame.error is not None:
                # What waits for the agent, or to be sent to it again, is none of its.
                at_agent = ((i, a) for i, a in self.asked.items() if a.open and a.delivered)
                waiting = [known for known, asked in at_agent if self.v2 or not asked.agent_ended]
                only = waiting[0] if len(waiting) == 1 else b""
                fresh = only and self.asked[only].said_last == self.client_lines
                self.unnamed = only if fresh else None
            self._agent_answers(frame)
        elif frame.id is not None:
            self._question(frame)
        elif frame.method == "$/cancel_request":
            self.users.pop(frame.named or b"", None)
        elif (frame.state, frame.stop) == ("idle", "end_turn"):
            self.kept += [] if self.unresolved.get(frame.session or "") else [line]

    def agent_run(self, lines: list[bytes]) -> None:
        """The agent sent these, and they passed as they came."""
        for line in lines:
            frame = read(line)
            if frame is None or frame.id is not None or not is_text(line):
                raise BrokenPromiseError("G4", f"passed without a look: {line[:200]!r}")
            self.unnamed = None
            self._passes(frame, line)

    def hinted(self, out: list[Out]) -> None:
        self.failing = True
        self._all(out, None, b"", from_agent=True)
        if self.closed_now:
            raise BrokenPromiseError("hint", f"a hint that ended {self.closed_now}")

    def nobodys_line(self, out: list[Out]) -> None:
        """Time passed, or something other than a frame happened."""
        self._all(out, None, b"", from_agent=True)

    def _passes_on(self, frame: Read) -> bool:
        """Has this frame of the client's to reach the agent at once, as it came?"""
        if not self.up or self.killed:
            return False
        if frame.method == "$/cancel_request":
            return True
        if frame.session is None or self.generation == 1:
            return frame.method != PROMPT or not self.unresolved.get(frame.session or "")
        if frame.session not in self.fresh or frame.session in self.coming_back:
            return False
        return not self.unresolved.get(frame.session)

    def _client_asks(self, frame: Read, line: bytes) -> None:
        assert frame.id is not None
        self.asked[frame.id] = asked = Asked(frame.method or "", frame.session)
        asked.said_last, asked.size = self.client_lines, len(line)
        asked.line = line
        if frame.method == SETS_MODE and frame.mode is not None:
            self.wanted_mode[frame.id] = frame.mode
        if frame.model is not None:
            self.wanted_model[frame.id] = frame.model
        if frame.method == "initialize":
            params = members(line)["params"]
            self.v2 = params["protocolVersion"] >= 2
            capabilities = params.get("capabilities" if self.v2 else "clientCapabilities", {})
            info = params.get("info" if self.v2 else "clientInfo", {})
            extension = capabilities.get("_meta", {}).get("agent_error", {})
            self.typed, self.retry = bool(extension), "retry" in extension
            self.bare = info.get("name") == "Zed" and not self.typed

    def _note_cancel(self, frame: Read, now: float) -> None:
        if frame.method == "$/cancel_request":
            asked = self.asked.get(frame.named or b"")
            hit = [asked] if asked else []
            if asked and asked.open and asked.delivered and self.v2:
                # What they began together, ends together.
                hit = [one for one in self.open_prompts(asked.session) if one.delivered]
        elif frame.method in {"session/cancel", "session/close"}:
            hit = [a for a in self.asked.values() if a.session == frame.session]
        else:
            return
        for asked in hit:
            if asked.open and asked.method == PROMPT:
                asked.waited = asked.waited or (not self.v2 and self.waits_for_user(asked))
                asked.cancelled_at = now if asked.cancelled_at is None else asked.cancelled_at

    def _answer_arrives(self, frame: Read, out: list[Out]) -> None:
        """The client answers: only an open question of the agent that lives may hear it."""
        plain = bare_id(frame.id or b"")
        owner = self.shown.get(frame.id or b"")
        if owner is None and frame.id not in self.answered_ids:
            named = [own for known, own in self.shown.items() if bare_id(known) == plain]
            owner = named[0] if len(named) == 1 else None
        expected = owner is not None and owner in self.questions
        told = [sent for _, to_client, sent in out if not to_client]
        if told and not expected:
            raise BrokenPromiseError(
                "ids", f"an answer that reached the wrong agent: {told[0][:200]!r}"
            )
        if expected and not told:
            raise BrokenPromiseError("G4", f"an answer kept from the agent: {frame.id!r}")

    def _must_pass(self, frame: Read) -> bool:
        """Has this frame of the agent's to reach the client at once?"""
        if frame.method is None:
            asked = self.asked.get(frame.id or b"")
            return (
                asked is not None
                and asked.open
                and asked.delivered == self.generation
                and asked.method not in {PROMPT, "initialize"}
                and frame.error is None
            )
        if frame.id is not None:
            if frame.method in ONLY_CLIENTS_ASK:
                return False
            return not (
                self.unresolved.get(frame.session or "") or frame.session in self.coming_back
            )
        if frame.method != "session/update":
            return frame.method != "$/cancel_request" or self.generation == 1
        if frame.kind in TYPED_KINDS or frame.kind in RETRY_KINDS or frame.state == "idle":
            return False
        if frame.session in self.coming_back:
            return frame.kind in STATE_KINDS and frame.kind not in CHOICE_KINDS
        if self.unresolved.get(frame.session or ""):
            return frame.kind in STATE_KINDS
        return True

    def _may_come_later(self, frame: Read) -> bool:
        """An answer may be held back, or be given another spelling of its id."""
        if frame.id == b"null":
            return frame.error is not None
        asked = self.asked.get(self._meant(frame.id or b"null"))
        return asked is not None and asked.open

    def _meant(self, request_id: bytes) -> bytes:
        """The request that an answer is for, also where its id has another JSON type."""
        if request_id in self.asked:
            return request_id
        plain = bare_id(request_id)
        found = [i for i, asked in self.asked.items() if asked.open and bare_id(i) == plain]
        return found[0] if len(found) == 1 else request_id

    def _agent_answers(self, frame: Read) -> None:
        if frame.id in self.own_models:
            session = self.own_models.pop(frame.id)
            if frame.error is None:
                self.model_is_set(self.agents_model, frame.id, session, frame.result or b"")
            return
        own = self.own_to_agent.pop(frame.id or b"", None)
        if own is not None:
            self._answers_own(frame, *own)
            return
        meant = self._meant(frame.id or b"null")
        asked = self.asked.get(meant)
        if asked is None or asked.delivered != self.generation:
            return
        if self.v2 and frame.error is None:
            for session, waiting in self.unresolved.items():
                if meant in waiting:
                    waiting.add(WORK)  # only now it begins
                    self.agents_work[session] = True
        accepted = asked.open and self.v2 and asked.method == PROMPT and frame.error is None
        self.agent_answered(meant)
        if asked.method == "initialize" and frame.result is not None:
            self.speaks = b'"agent_error"' in frame.result
        elif asked.method in ENDS_SESSION:
            self.fresh.discard(asked.session)
            self.closes(asked.session or "")
        elif asked.method.startswith("session/") and frame.error is None and asked.open:
            # The client has this answer: none was given in its place before.
            self._its_own_succeeds(asked, meant, frame)
        if accepted:
            self.agents_work[asked.session or ""] = True

    def _answers_own(self, frame: Read, method: str, session: str | None) -> None:
        coming = session in self.coming_back
        self.coming_back.discard(session)
        if method == "initialize":
            self.up = frame.error is None
        elif frame.error is None and (coming or method in {SETS_OPTION, SETS_MODE}):
            # A choice that comes late is in force all the same.
            if coming:
                self.fresh.add(session)
            if method in BRINGS_BACK:
                self.brought_back.add(session)
            self._succeeds(frame.id or b"", method, session, frame.result)

    def _succeeds(
        self, request_id: bytes, method: str, session: str | None, result: bytes | None
    ) -> None:
        """The agent did for a session what lastword or the client asked of it."""
        if method in BRINGS_BACK:
            self.agent_opened(session, result)
        elif method == SETS_MODE:
            self.agent_has_set(request_id, session)
        elif method == SETS_OPTION:
            self.model_is_set(self.agents_model, request_id, session, result or b"")

    def _its_own_succeeds(self, asked: Asked, request_id: bytes, frame: Read) -> None:
        """The same of what the client asked."""
        if asked.session not in self.nobodys:
            self.fresh.add(asked.session)
        self._succeeds(request_id, asked.method, asked.session, frame.result)
        if asked.method == "session/new" and frame.result is not None:
            session = members(frame.result).get("sessionId")
            self.brought_back.discard(session)
            self.agent_opened(session, frame.result)

    # --- lines that cannot be read: what they were is known from who made them

    def line_is_lost(self, side: str, own: bytes, what: str) -> bool:
        """Such a line comes; was it certain, and about something that is open?"""
        if side == "client":
            return self._clients_is_lost(own, what)
        if what == REQUEST:
            self.questions[own] = self.generation
        if what != ANSWER or self.own_models.pop(own, None) is not None:
            return what == REQUEST
        asked_by_us = self.own_to_agent.pop(own, None)
        if asked_by_us is not None:
            method, session = asked_by_us
            self.coming_back.discard(session)
            waiting = [a for a in self.asked.values() if a.open and a.delivered != self.generation]
            hit = method == "initialize" or any(a.session == session for a in waiting)
            return bool(waiting) and hit and not self._client_opens(session)
        meant = self._meant(own)
        asked = self.asked.get(meant)
        if asked is None or asked.delivered != self.generation:
            return False
        waits = asked.agent_ended and self.options.retry
        self.agent_answered(meant)
        return asked.open and not waits

    def _clients_is_lost(self, own: bytes, what: str) -> bool:
        self.client_lines += 1
        if what == ANSWER:
            owner = self.shown.get(own)
            return owner is not None and owner in self.questions
        known = self.asked.get(own)
        if what == OTHER or (known and known.open):
            self.nameless += 1
            return False
        self.asked[own] = asked = Asked("a line that cannot be read", None)
        asked.cut = True
        return True

    def lost_line(self, event: Spoiled, out: list[Out], *, due: bool) -> None:
        """It came: who waits for it is told, at once, and nobody else."""
        how, side, line, own, what = event
        owner = self.shown.get(own, own)
        self._all(out, None, b"", from_agent=side == "agent")
        told = [sent for _, to_client, sent in out if to_client]
        if side == "client" and what == ANSWER and told:
            raise BrokenPromiseError("ids", f"an answer that is answered: {told[0][:200]!r}")
        asks = side == "agent" and what == REQUEST
        answers = side == "client" and what == ANSWER
        # What waits to be sent again, if nothing happens, fails of whatever the line may have been.
        wrong = [one for one in self.closed_now if not self.asked[one].agent_ended]
        wrong = [one for one in wrong if not due or one != self._meant_by(own)]
        silent = owner in self.questions if asks or answers else not self.closed_now
        if own.startswith(OWN):
            wrong, silent = [], not (out or self.killed)
        if wrong and (how == "broken" or (due and what == ANSWER)):
            raise BrokenPromiseError("ids", f"{wrong} was answered by {line[:200]!r}")
        if due and silent:
            raise BrokenPromiseError("silent", f"nobody is told of {line[:200]!r}")

    def _meant_by(self, own: bytes) -> bytes:
        if own in self.asked:
            return own
        return next((one for one in self.closed_now if bare_id(one) == bare_id(own)), own)

    def _question(self, frame: Read) -> None:
        assert frame.id is not None
        self.questions[frame.id] = self.generation
        asked = self.asked.get(frame.id)
        if frame.method in ONLY_CLIENTS_ASK and asked is not None:
            asked.agent_ended = True  # an echo is all the answer that there will be

    def _work_of(self, frame: Read) -> None:
        if frame.session in self.coming_back:
            return  # what it replays
        # Of a session that nobody has opened, a state says nothing of work.
        if self.v2 and frame.kind == "state_update" and frame.session in self.known:
            if self.says_work(frame):
                self.agents_work[frame.session] = frame.state != "idle"
            if frame.state == "idle":
                self.unresolved.get(frame.session, set()).discard(WORK)

    def clock(self, now: float) -> None:
        """By now every cancel has been answered for which the time is up."""
        if not self.up or self.killed or self.client_gone:
            return
        grace = self.options.cancel_grace_seconds + 0.5
        for request_id, asked in self.asked.items():
            if asked.open and asked.cancelled_at is not None and asked.cancelled_at + grace < now:
                raise BrokenPromiseError(
                    "silent", f"the cancel of {request_id!r} was never answered"
                )

    def _all(self, out: list[Out], frame: Read | None, line: bytes, *, from_agent: bool) -> None:
        self.answered_now.clear()
        self.closed_now.clear()
        self.named_now = False
        self.is_answered = not from_agent and frame is not None and frame.method is None
        for _, to_client, sent in out:
            if to_client:
                self.to_client(sent, frame if from_agent else None, line)
            else:
                self.to_agent(sent)
        if self.ended_now:
            self.quarantine()
        for asked in self.stopped_now:
            asked.stopped = True
        self.stopped_now.clear()

    def quiet(self) -> None:
        """No prompt is open, though nothing ended the agent."""
        waiting = [request_id for request_id, asked in self.asked.items() if asked.open]
        waiting = [one for one in waiting if self.asked[one].method == PROMPT]
        if waiting and not self.client_gone and not self.v2:
            raise BrokenPromiseError("silent", f"the agent is silent, and so are we: {waiting}")

    def end(self) -> None:
        """Time has passed and the agent is gone: nothing may be left."""
        if not self.client_gone:
            for request_id, asked in self.asked.items():
                if asked.open:
                    raise BrokenPromiseError(
                        "silent", f"{asked.method} {request_id!r} was never answered"
                    )
            for session, running in self.running.items():
                if running:
                    raise BrokenPromiseError("silent", f"the work of {session} never ended")
