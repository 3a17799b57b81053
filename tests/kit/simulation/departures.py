"""The promises about what is sent: each frame to either side is somebody's, due, and in time."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

import msgspec

from tests.kit.simulation import ours
from tests.kit.simulation.frames import Read, bare_id, body, members, read
from tests.kit.simulation.ledger import (
    ASKS_USER,
    BRINGS_BACK,
    OWN,
    PROMPT,
    SETS_MODE,
    SETS_OPTION,
    WORK,
    Asked,
    BrokenPromiseError,
    Ledger,
)

Out: TypeAlias = tuple[int, bool, bytes]
"""How it was sent, whether to the client, and the frame."""

FORWARD, SEND, ANSWER = range(3)

STATE_KINDS = frozenset(
    {
        *("available_commands_update", "current_mode_update", "config_option_update"),
        *("session_info_update", "usage_update"),
    }
)
CHOICE_KINDS = frozenset({"current_mode_update", "config_option_update"})
TYPED_KINDS = frozenset({"agent_error", "_agent_error"})
RETRY_KINDS = frozenset({"agent_retry", "_agent_retry"})
_TYPED_RUNGS = frozenset({"auto", "typed"})
_OPENS_ANEW = frozenset(
    {
        *("initialize", "session/new", "session/load", "session/resume", "session/close"),
        "session/delete",
    }
)
_SHOWN = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
)
_ACTS = frozenset({*ASKS_USER, "fs/write_text_file", "terminal/create"})
_LONGEST_ID = 8000
_LATE_SECONDS = 61.0
"""How late a turn may go on of which nobody looked at the clock in time."""
_OF_MODELS = (b"--fallback-model", b"does not go back to the model")
_OWN_MODEL = re.compile(rb'"lastword:(?:\w+-)?model:')
"""How lastword's requests for another model begin."""
_OF_TERMINALS = frozenset({"terminal/kill", "terminal/release"})


WISHED = frozenset({"session/new", "session/load", "session/resume"})
WISH = (
    b',"_meta":{"claudeCode":{"emitRawSDKMessages":'
    b'[{"type":"system","subtype":"api_retry"},{"type":"rate_limit_event"}]}}'
)
"""What claude is asked for where the client opens a session."""


def without_wish(line: bytes) -> bytes:
    return line.replace(WISH, b"") if WISH in line else line


def is_text(line: bytes) -> bool:
    try:
        return line.isascii() or line.decode() is not None
    except UnicodeDecodeError:
        return False


def same_but_id(sent: bytes, line: bytes) -> bool:
    if abs(len(sent) - len(line)) > _LONGEST_ID:
        return False
    try:
        return body(sent) == body(line)
    except (msgspec.MsgspecError, ValueError):
        return _same_values(sent, line)


def _same_values(sent: bytes, line: bytes) -> bool:
    """The same of what only a lenient reader can read: half a surrogate pair."""
    try:
        return {**members(sent), "id": 0} == {**members(line), "id": 0}
    except ValueError:
        return False


def _same_asker(line: bytes, frame: Read) -> bool:
    """Does the line answer this frame's request, in whatever spelling, or none by name?"""
    kept = read(line)
    named = (kept.id if kept else None) or b"null"
    return named == b"null" or bare_id(named) == bare_id(frame.id or b"null")


class Departures(Ledger):
    """The rules over what is sent."""

    is_answered = False
    """Does the client answer a question now?"""

    def to_client(self, sent: bytes, came: Read | None, line: bytes) -> None:
        """This goes to the client, because `line` came, if one did."""
        if not is_text(sent):
            raise BrokenPromiseError("frame", f"no UTF-8: {sent[:200]!r}")
        frame = read(sent)
        named = bool(came) and self._is_named_anew(sent, line)
        self.named_now = self.named_now or named
        passed = self._was_kept(sent, frame) or sent == line or named
        if passed or (came and same_but_id(sent, line)):
            if frame is not None:
                self._passed(frame, came, sent)
            return
        if frame is None:
            raise BrokenPromiseError("frame", f"no message: {sent[:200]!r}")
        ours.within_bounds(sent)
        if frame.method is None:
            self._our_answer(frame, sent)
        elif frame.method == "session/update":
            self._our_update(frame, sent)
        elif frame.method == "$/cancel_request":
            if came is None and self.shown.pop(frame.named or b"", None) is None:
                if frame.named not in self.withdrawable:
                    raise BrokenPromiseError("late", f"withdrawn, and not open: {sent[:200]!r}")
                self.withdrawable.discard(frame.named or b"")
        elif frame.method not in _OF_TERMINALS or not (frame.id or b"").startswith(OWN):
            raise BrokenPromiseError("frame", f"nobody's: {sent[:200]!r}")

    def _is_named_anew(self, sent: bytes, line: bytes) -> bool:
        """Is it the agent's answer with a new session in it, under an id of ours?"""
        if b"-lastword-" not in sent or b'"result"' not in sent:
            return False
        theirs = members(line).get("result")
        ours = members(sent).get("result")
        if not isinstance(theirs, dict) or not isinstance(ours, dict):
            return False
        again = {**ours, "sessionId": theirs.get("sessionId")}
        if again != theirs or theirs.get("sessionId") not in self.known | self.closed:
            return False
        # What was given here is named as the client knew another session that the agent called so.
        given = theirs["sessionId"]
        called = next((name for name, known in self.names.items() if known == given), given)
        self.names[called] = ours["sessionId"]
        return True

    def _was_kept(self, sent: bytes, frame: Read | None) -> bool:
        for line in self.kept:
            if line == sent or (frame and _same_asker(line, frame) and same_but_id(sent, line)):
                self.kept.remove(line)
                return True
        return False

    def _passed(self, frame: Read, came: Read | None, sent: bytes) -> None:
        if frame.method is None:
            self._passed_answer(frame, sent)
            return
        self.late(frame, sent)
        self.shows(frame, sent)
        of_return = frame.id is not None or frame.kind in CHOICE_KINDS
        coming = frame.session in self.coming_back and not self._client_opens(frame.session)
        if of_return and coming:
            raise BrokenPromiseError("late", f"of a session on its way back: {sent[:200]!r}")
        if frame.id is not None:
            own = came.id if came and came.id else frame.id
            if self.generation > 1 and not frame.id.startswith(OWN):
                raise BrokenPromiseError(
                    "ids", f"a request under an old agent's id: {sent[:200]!r}"
                )
            self.shown[frame.id] = own
            self.answered_ids.discard(frame.id)
            if frame.method in ASKS_USER and self.open_prompts(frame.session):
                self.users[own] = frame.session
        self.seen(frame)

    def _client_opens(self, session: str | None) -> bool:
        """Is the client at it itself to bring this session back?"""
        asked = (one for one in self.asked.values() if one.session == session)
        return any(one.method in BRINGS_BACK for one in asked)

    def late(self, frame: Read, sent: bytes) -> None:
        """Nothing of a turn that we ended reaches the client."""
        asks = frame.id is not None
        content = frame.method == "session/update" and frame.kind not in STATE_KINDS
        if (asks or content) and self.unresolved.get(frame.session or ""):
            raise BrokenPromiseError("late", f"after the turn was ended: {sent[:200]!r}")

    def shows(self, frame: Read, sent: bytes) -> None:
        """What the user sees of a prompt, or what it may have done: it is not to be repeated."""
        content = frame.kind in _SHOWN and b'"text":""' not in sent
        if content or (frame.id is not None and frame.method in _ACTS):
            for asked in self.open_prompts(frame.session):
                asked.shown = asked.shown or asked.delivered == self.generation

    def seen(self, frame: Read) -> None:
        if frame.kind in TYPED_KINDS:
            self._announced(frame.session)
        elif frame.mode is not None:
            self.shown_mode[frame.session] = frame.mode
        elif frame.kind == "config_option_update" and frame.model is not None:
            self.shown_model[frame.session] = frame.model
        elif frame.kind == "state_update" and self.v2 and frame.session is not None:
            if self.says_work(frame):
                self.running[frame.session] = frame.state != "idle"
            if frame.state == "idle":
                self._forget_idle(frame.session)

    def _forget_idle(self, session: str) -> None:
        """What was kept back of this work's end will not come any more."""
        self.announced.discard(session)
        idles = [line for line in self.kept if b'"idle"' in line]
        for line in idles:
            frame = read(line)
            if frame is not None and frame.session == session:
                self.kept.remove(line)

    def _announced(self, session: str | None) -> None:
        if not self.typed and self.options.fallback != "typed":
            raise BrokenPromiseError("G3", "a typed update to a client that did not ask for it")
        self.announced.add(session)
        for asked in self.open_prompts(session):
            asked.typed += 1
            asked.shown = asked.shown or asked.delivered > 0

    def _closing(self, request_id: bytes) -> Asked:
        asked = self.asked.get(request_id)
        if asked is None or not asked.open:
            raise BrokenPromiseError("double", f"an answer to {request_id!r} that nobody waits for")
        asked.open = False
        self.answered_now.add(asked.session)
        self.closed_now.append(request_id)
        if not self.open_prompts(asked.session):
            self.forget_questions(asked.session)
        return asked

    def _passed_answer(self, frame: Read, sent: bytes) -> None:
        asked = self._closing(frame.id or b"null")
        asked.agent_ended = True
        if asked.method != PROMPT:
            self._client_learns(asked, frame)
            return
        if self.v2:
            if frame.error is None:
                self.running[asked.session or ""] = True
                return
        elif frame.error is None and frame.ends_well:
            if asked.stopped and asked.cancelled_at is None:
                raise BrokenPromiseError("G3", "a turn that we stopped ended well")
            if asked.waited and b'"cancelled"' not in (frame.result or b""):
                raise BrokenPromiseError("cancel", f"ended while it waited: {sent[:200]!r}")
            return
        if not (self.speaks and self.typed):
            raise BrokenPromiseError("G3", f"a failure that passed untyped: {sent[:200]!r}")

    def _client_learns(self, asked: Asked, frame: Read) -> None:
        if frame.error is not None:
            self.wanted_mode.pop(frame.id or b"", None)
        elif asked.method == SETS_MODE:
            self.client_set(frame.id or b"", asked.session)
        elif asked.method == SETS_OPTION:
            answer = frame.result or b""
            self.model_is_set(self.shown_model, frame.id or b"", asked.session, answer)
        elif asked.method in BRINGS_BACK:
            self.client_opened(asked.session, frame.result)
        elif asked.method == "session/new" and frame.result is not None:
            self._client_has(members(frame.result).get("sessionId"), frame.result)

    def _client_has(self, session: str, result: bytes) -> None:
        """The client has a new session by this id, which must be no other's."""
        if session in self.known and session not in self.fresh:
            raise BrokenPromiseError("sessions", f"a new session under another one's id: {session}")
        self.known.add(session)
        self.fresh.add(session)
        self.client_opened(session, result)

    def _our_answer(self, frame: Read, sent: bytes) -> None:
        whole = members(sent)
        error, result = whole.get("error"), whole.get("result")
        if whole.get("jsonrpc") != "2.0" and frame.error is not None:
            raise BrokenPromiseError("frame", f"no JSON-RPC: {sent[:200]!r}")
        if frame.id == b"null" and isinstance(error, dict) and self.nameless:
            self.nameless -= 1
            return
        asked = self._closing(frame.id or b"null")
        if b"could not be brought back" in sent:
            self.coming_back.discard(asked.session)
        if frame.id == self.unnamed:
            asked.agent_ended = True
        if asked.method == PROMPT:
            self._prompt_ended(asked, error, result)
            self._is_unresolved(asked, frame.id or b"")
        elif frame.error is None and asked.method == "session/close" and result == {}:
            self.closes(asked.session or "")
        elif frame.error is None:
            if asked.method != "initialize" or "agent_error" not in str(result):
                raise BrokenPromiseError("frame", f"an answer made up: {sent[:200]!r}")
        elif asked.agent_ended:
            ours.mended(error)
        else:
            ours.error_object(error, bare=self.bare)

    def _prompt_ended(self, asked: Asked, error: object, result: object) -> None:
        if self.client_gone:
            return
        cancelled = asked.cancelled_at is not None
        if isinstance(error, dict):
            if error.get("code") == -32800 and self.v2:
                return
            if cancelled and not self.v2:
                raise BrokenPromiseError("cancel", f"a cancel answered with a failure: {error}")
            ours.error_object(error, sent=asked.agent_ended or self.v2, bare=self.bare)
            self.is_told(asked, (error.get("data") or {}).get("agent_error"))
        elif isinstance(result, dict):
            if result.get("stopReason") == "cancelled":
                if not cancelled and not self._gave_way(asked):
                    raise BrokenPromiseError("cancel", "cancelled, and nobody had")
                return
            if cancelled:
                raise BrokenPromiseError("cancel", f"a cancel answered with a failure: {result}")
            ours.payload(result.get("_meta", {}).get("agent_error"))
            self.is_told(asked, result.get("_meta", {}).get("agent_error"))
        else:
            raise BrokenPromiseError("frame", "neither result nor error")
        told = asked.typed or asked.cut or (self.v2 and asked.session in self.announced)
        if self.typed and self.options.fallback in _TYPED_RUNGS and not told:
            raise BrokenPromiseError("G3", "no typed update before the failure")

    def _is_unresolved(self, asked: Asked, request_id: bytes) -> None:
        """The agent lives, and does not know that this is over."""
        idle = [read(line) for line in self.kept if b'"idle"' in line]
        over = {self.ends_itself, *(frame.session for frame in idle if frame)} - {None}
        ended = asked.agent_ended or asked.session in over
        if self.alive and asked.delivered == self.generation and not ended:
            self.ended_now.append((asked.session or "", request_id))

    def quarantine(self) -> None:
        """After an event: where nothing goes on beside what we ended, all of it is over."""
        for session, request_id in self.ended_now:
            # Where prompts overlap, what is late cannot be told from what is not.
            works = self.agents_work.get(session) and (session, WORK) not in self.ended_now
            if not works and not self.goes_on(session):
                self.unresolved.setdefault(session, set()).add(request_id)
        self.ended_now.clear()

    def _our_update(self, frame: Read, sent: bytes) -> None:
        told = ours.update(sent)
        session = frame.session or ""
        kind = told["sessionUpdate"]
        if kind == "state_update":
            if not self.v2:
                raise BrokenPromiseError("frame", "a state to a client of version 1")
            if not self.running.get(session) and frame.session not in self.answered_now:
                raise BrokenPromiseError("double", f"an idle state of {session}, where nothing ran")
            self.running[session] = False
            self._forget_idle(session)
            if self.alive and self.agents_work.get(session):
                self.ended_now.append((session, WORK))
            return
        if self._of_settings(frame, sent):
            return
        if not self.open_prompts(frame.session) and not self.running.get(session):
            raise BrokenPromiseError("late", f"ours, after the answer: {sent[:300]!r}")
        if kind in TYPED_KINDS:
            self._announced(frame.session)
        elif kind in RETRY_KINDS and not self.retry:
            raise BrokenPromiseError("G3", "a retry to a client that did not ask for it")
        elif kind == "agent_thought_chunk" and not self._may_think():
            raise BrokenPromiseError("hint", f"a thought that nobody wants: {sent[:200]!r}")

    def _of_settings(self, frame: Read, sent: bytes) -> bool:
        """Does it say which mode or model is in force? It may come outside a turn."""
        if frame.kind == "current_mode_update":
            self.shown_mode[frame.session] = frame.mode or ""
        elif frame.kind == "config_option_update" and frame.model is not None:
            self.shown_model[frame.session] = frame.model
        else:
            return frame.kind == "notice" and any(each in sent for each in _OF_MODELS)
        return True

    def _may_think(self) -> bool:
        """May a retry, or a reminder, be told in the conversation?"""
        if self.v2 or self.options.show_retries == "off":
            return False
        if self.options.watches_questions:
            return True
        # Where prompts are sent again, what failed may be anything.
        return not self.retry and (self.failing or self.options.tries_again)

    def to_agent(self, sent: bytes) -> None:
        sent = without_wish(sent)
        sent = self._as_client_sent(sent)
        frame = read(sent)
        if sent in self.unsent:
            self.unsent.discard(sent)
            if frame is not None:
                self._clients(frame, sent)
        elif frame is None:
            raise BrokenPromiseError("frame", f"no message to the agent: {sent[:200]!r}")
        elif frame.method == PROMPT and frame.id in self.asked:
            self._sent_again(self.asked[frame.id], frame, sent)
        elif frame.method is None:
            self._answers_agent(frame, sent)
        elif not self.alive:
            return
        elif frame.id is not None:
            self._asks_itself(frame, sent)
        elif frame.method == "session/cancel":
            self.stopped_now += self.open_prompts(frame.session)
        else:
            raise BrokenPromiseError("frame", f"nobody's: {sent[:200]!r}")

    def _as_client_sent(self, sent: bytes) -> bytes:
        """The same with the session by the client's name; a prompt keeps the one that it had."""
        if sent in self.unsent:
            return sent
        frame = read(sent)
        asked = None if frame is None or frame.method != PROMPT else self.asked.get(frame.id or b"")
        return self.as_client_knows(sent, None if asked is None else asked.session)

    def _asks_itself(self, frame: Read, sent: bytes) -> None:
        """A request of lastword's own, or one that is asked again."""
        assert frame.id is not None
        if frame.method in WISHED and frame.id in self.asked:
            self._sent_plainly(self.asked[frame.id], sent)
            return
        if not frame.id.startswith(OWN) or frame.method == PROMPT:
            raise BrokenPromiseError("ids", f"a request of ours: {sent[:200]!r}")
        if _OWN_MODEL.match(frame.id):
            self._switches(frame, sent)
            return
        if frame.model is not None:
            self.wanted_model[frame.id] = frame.model
        self.own_to_agent[frame.id] = (frame.method, frame.session)
        if frame.method == SETS_MODE and frame.mode is not None:
            self.wanted_mode[frame.id] = frame.mode
        if frame.method != "initialize":
            self.coming_back.add(frame.session)

    def _switches(self, frame: Read, sent: bytes) -> None:
        """Another model is asked for: only where that was chosen, and no prompt is at work."""
        failed = self.asked.get(self.unnamed or b"")
        if failed is not None and failed.session == frame.session:
            # An error without an id was taken for its answer.
            self.agent_answered(self.unnamed or b"")
        at_work = self.goes_on(frame.session)
        if not self.options.fallback_model or self.v2 or at_work or frame.model is None:
            raise BrokenPromiseError("double", f"a model that nobody wants: {sent[:200]!r}")
        self.wanted_model[frame.id or b""] = frame.model
        self.own_models[frame.id or b""] = frame.session

    def _clients(self, frame: Read, sent: bytes) -> None:
        asked = self.asked.get(frame.id or b"")
        if frame.method is None or asked is None:
            return
        if not self.alive:
            raise BrokenPromiseError("silent", f"passed to a dead agent: {sent[:200]!r}")
        if not asked.open:
            raise BrokenPromiseError("late", f"answered already, and passed on: {sent[:200]!r}")
        if asked.delivered:
            raise BrokenPromiseError("double", f"passed on twice: {sent[:200]!r}")
        self._reaches(asked, frame)

    def _reaches(self, asked: Asked, frame: Read) -> None:
        self.up = True
        if frame.method == PROMPT:
            self.prompt_reaches(frame.session)
            self.known.add(frame.session or "")
        if frame.method not in _OPENS_ANEW:
            self.fresh.add(frame.session)
            self.coming_back.discard(frame.session)
        asked.delivered = self.generation

    def _sent_again(self, asked: Asked, frame: Read, sent: bytes) -> None:
        """A prompt goes to the agent once more: only what has ended and done nothing may."""
        asked.resent += 1
        unnamed = frame.id == self.unnamed  # an error without an id was taken for its answer
        at_work = asked.delivered == self.generation and not (asked.agent_ended or unnamed)
        others = [one for one in self.open_prompts(asked.session) if one is not asked]
        goes_on = self._goes_on(sent, asked)
        if goes_on:
            asked.line, asked.shown, asked.went_on = sent, False, True
        limit = self.options.continue_at_reset_seconds or self.options.fallback_model
        if asked.delivered == self.generation:
            asked.lasted += self.now - asked.ended_at
        for kept, how in (
            (sent == asked.line, "not as the client sent it"),
            (self.alive and not self.v2, "to nobody"),
            (asked.open and asked.cancelled_at is None, "though it was answered or cancelled"),
            (asked.delivered and not at_work, "while the agent was at work on it"),
            (limit or asked.resent <= self.options.retry, "more often than asked for"),
            (self._is_in_time(asked), "after more time than is allowed"),
            (not asked.shown, "after something had been shown"),
            (not asked.stopped, "after we had ended it"),
            (not any(one.delivered == self.generation for one in others), "beside another"),
        ):
            if not kept:
                raise BrokenPromiseError("double", f"sent again, {how}: {sent[:200]!r}")
        asked.agent_ended, asked.said_last = False, self.client_lines
        self.forget_questions(asked.session)
        self._reaches(asked, frame)

    def _is_in_time(self, asked: Asked) -> bool:
        """Did it wait no longer than it may? Of a day that nobody counts, nobody can tell."""
        limit, options = self.options.continue_at_reset_seconds, self.options
        others = options.retry or options.fallback_model
        if not limit or others or options.wall_clock is None:
            return True
        late = _LATE_SECONDS if self.slept else 1.0
        return asked.lasted <= limit + asked.resent * late

    def _gave_way(self, asked: Asked) -> bool:
        """May it have waited to go on, until the client sent another prompt?"""
        waits = self._may_go_on() and asked.agent_ended and not self.v2
        return waits and bool(self.open_prompts(asked.session))

    def _may_go_on(self) -> bool:
        """Can a turn go on that has failed, after a limit or with another model?"""
        return bool(self.options.continue_at_reset_seconds or self.options.fallback_model)

    def _goes_on(self, sent: bytes, asked: Asked) -> bool:
        """Is it the prompt with which a turn goes on, again or not? Only if that was chosen."""
        if not self._may_go_on() or (sent == asked.line and not asked.went_on):
            return False
        text = [{"type": "text", "text": self.options.continue_with}]
        return bool(json.loads(sent)["params"]["prompt"] == text)

    def _sent_plainly(self, asked: Asked, sent: bytes) -> None:
        """What opens a session is asked once more, since the agent refused it with our wish."""
        if asked.plainly or not asked.agent_ended or not asked.open or not self.alive:
            raise BrokenPromiseError("double", f"asked again: {sent[:200]!r}")
        asked.plainly, asked.agent_ended = True, False

    def cancels_at_once(self, now: float) -> None:
        """The client sent something: what waits to be sent again is cancelled at once."""
        for request_id, asked in self.asked.items():
            waits = asked.open and asked.agent_ended and asked.method == PROMPT
            if waits and asked.cancelled_at == now and self.options.tries_again and not self.v2:
                raise BrokenPromiseError("cancel", f"{request_id!r} waits on, though cancelled")

    def _answers_agent(self, frame: Read, sent: bytes) -> None:
        if not self.alive:
            return
        if self.questions.pop(frame.id or b"", None) != self.generation:
            raise BrokenPromiseError(
                "ids", f"an answer that the agent does not wait for: {sent[:200]!r}"
            )
        if not self.is_answered and (b'"allow' in sent or b'"always"' in sent):
            raise BrokenPromiseError("question", f"nobody allowed it: {sent[:200]!r}")
        self.users.pop(frame.id or b"", None)
        for known in [known for known, own in self.shown.items() if own == frame.id]:
            del self.shown[known]
            self.answered_ids.add(known)
            self.withdrawable.add(known)
