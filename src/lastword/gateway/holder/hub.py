"""The hub: turns what a session's agent and viewers send into entries of its log.

Owns three rules: a prompt reaches the agent once and ends once, a question of the agent gets one
answer, and one turn runs at a time. Sans-IO: frames and a time in, effects out; commits to the log
are effects too, which the hub's session carries out in order. The hub sends viewers nothing but
refusals; everything else they pull from the log (`viewing.reader`), so whatever is sent has been
committed.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.core.link import waits
from lastword.core.link.facts import Activity
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.gateway import wire
from lastword.gateway.holder.agent_process import monotonic_at
from lastword.gateway.holder.effects import Commit, PresenceBounds, Retell, ToAgent, ToViewer, begun
from lastword.gateway.log.entries import MAX_ENDS, NOTHING, About, LogEntry, LogKind, Numbered
from lastword.gateway.viewing import access
from lastword.gateway.viewing.frames import number_of, read_question_id, session_key
from lastword.gateway.viewing.reader import Attachment, Reader, start
from lastword.gateway.viewing.render import TIMED_OUT, WaitLines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.log.entries import Cursor
    from lastword.gateway.log.store import ReadableLog
    from lastword.gateway.viewing.reader import Viewer


MAX_OPEN = 256
"""How many requests of a viewer may wait for their answers; one more is refused."""

CLIENT_METHODS_SECONDS = 30.0
"""How long an agent's request to a viewer's machine (its files, its terminals) waits for it."""


class OpenIn(msgspec.Struct, frozen=True):
    """A viewer's request that the agent has not answered."""

    viewer: str
    request: bytes
    method: str
    turn: int = 0


class OpenQuestion(msgspec.Struct, frozen=True):
    """An open question of the agent: its own id, and since when it has been waiting."""

    agent_id: bytes
    method: str
    since: float
    line: bytes


class Hub:
    """One session."""

    def __init__(  # noqa: PLR0913 - two of them are limits
        self,
        log: ReadableLog,
        *,
        session_id: str,
        numbers: Callable[[], int],
        turns: Callable[[], int] | None = None,
        unattended_seconds: float | None = 24 * 3600.0,
        question_timeout: str = "",
        clock: float | None = None,
    ) -> None:
        """Begin on a log, which may have a past.

        Args:
            log: What was committed before, and what viewers read.
            session_id: The session's id.
            numbers: Returns the next id towards the agent, shared by all sessions of one agent.
            turns: Returns the number of the next turn, likewise; without, it is counted here.
            unattended_seconds: How long a question waits without a controller; `None`: not at all.
            question_timeout: How long it waits in any case, and what is answered then, as
                `--ask-timeout` has it; empty for no limit.
            clock: How far the wall clock was ahead of the monotonic one, if the agent that asked
                the open questions is still running.
        """
        self._log = log
        self.head: int = log.head
        """The number of the last entry, which may not have been committed yet."""
        self._key = session_key(session_id)
        self._numbers = numbers
        self._turns = turns or count(1).__next__
        self._unattended_seconds = unattended_seconds
        self._question_timeout = waits.read_timeout(question_timeout) if question_timeout else None
        self._attached: list[Attachment] = []
        self._open: dict[int, OpenIn] = {}
        self._by_key: dict[tuple[str, bytes], int] = {}
        self._ended: OrderedDict[tuple[str, bytes], Numbered] = OrderedDict()
        self._questions: dict[int, OpenQuestion] = {}
        self._last_question = 0
        self._unattended_since: float | None = 0.0
        self.is_closed: bool = False
        """Whether the agent has ended the session at a viewer's request."""
        self._waits = WaitLines()
        self._presence = PresenceBounds()
        self._activity = Activity()
        self._recall(clock)

    def _recall(self, clock: float | None) -> None:
        """Restore what the log says was open, in a process that takes the session over."""
        for pinned in self._log.pins.of("open:"):
            about = pinned.entry.about
            self._open[about.number] = OpenIn(about.viewer, about.request, about.method, about.turn)
            self._by_key[about.viewer, about.request] = about.number
        # No question had a greater number than its entry. A repeated answer to a question of the
        # previous agent must not answer one of this agent.
        self._last_question = self.head
        self._lost_questions: list[int] = []
        for _, asked in self._log.pins.of("ask:"):
            number = asked.about.number
            if clock is not None:
                since = monotonic_at(asked.at_ms, clock)
                self._questions[number] = OpenQuestion(
                    asked.about.request, asked.about.method, since, asked.frame
                )
            else:
                self._lost_questions.append(number)
        if self.open_turns:
            self._activity.begin_turn()
        for pinned in self._log.pins.of("end:"):
            self._ended[pinned.entry.about.viewer, pinned.entry.about.request] = pinned

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The attached viewers."""
        return tuple(self._attached)

    @property
    def turn_of(self) -> str | None:
        """Return the viewer whose prompt is open."""
        return next(
            (each.viewer for each in self._open.values() if each.method == acp.PROMPT), None
        )

    @property
    def last_number(self) -> int:
        """Return the greatest number towards the agent in the log."""
        ended = (end.entry.about.number for end in self._ended.values())
        return max((*self._open, *ended), default=0)

    @property
    def open_turns(self) -> int:
        """Return how many prompts the agent has not answered."""
        return sum(each.method == acp.PROMPT for each in self._open.values())

    @property
    def open_questions(self) -> int:
        """Return how many of the agent's questions are open."""
        return len(self._questions)

    def has_open(self, number: int) -> bool:
        """Return whether a request with this number is waiting for the agent's answer."""
        return number in self._open

    def has_ended(self, attachment: Attachment, request_id: bytes) -> bool:
        """Return whether a request is one that has ended, sent again.

        JSON-RPC lets a client use an id for another request. That is not assumed of a viewer that
        may return, since its requests are known by their ids; a viewer that has only this link has
        received the earlier answer over it.
        """
        viewer = attachment.viewer
        ended = self._ended.get((viewer.id, request_id))
        if ended is None:
            return False
        return not (viewer.is_new and ended.entry.about.number in attachment.answered)

    # Viewers come and go.

    def attach(
        self,
        viewer: Viewer,
        cursor: Cursor | None,
        now_ms: int,
        *,
        replay: bool = True,
        compact: bool = False,
    ) -> tuple[Attachment, bool, list[HubEffect]]:
        """Attach a viewer: from its cursor, from the oldest entry, or from now on.

        Returns:
            Its attachment, whether its cursor is of another epoch, and the effects.

        Raises:
            CursorError: Its cursor is not valid in this log.
        """
        log = self._log
        after, is_reset = start(log, cursor)
        if cursor is None and not replay:
            after = log.head
        came = {"after": after, "role": viewer.role.value, "client": viewer.profile.name}
        head = log.head
        from_cursor = cursor is not None and not is_reset
        back = {"back": True} if from_cursor else {}
        effects = self.note_of(viewer, now_ms, Kind.VIEWER_CAME, **came, **back)
        attachment = Attachment(
            viewer,
            Reader(log, after),
            head=head,
            from_cursor=from_cursor,
            open_at_start=frozenset(self._questions),
            compact=compact,
        )
        self._attached.append(attachment)
        if viewer.controls:
            self._unattended_since = None
        return attachment, is_reset, effects

    def go_back(self, attachment: Attachment, cursor: Cursor, parts: int = 0) -> bool:
        """Go back: an attached viewer has applied no more than this, and gets the rest again.

        Returns:
            Whether its cursor is of another epoch.

        Raises:
            CursorError: Its cursor is not valid in this log.
        """
        after, is_reset = start(self._log, cursor)
        attachment.go_back(after, 0 if is_reset else parts)
        return is_reset

    def detach(
        self, attachment: Attachment, now: float, now_ms: int, *, code: int, cause: str
    ) -> list[HubEffect]:
        """Detach a viewer whose socket has gone. Its requests stay open."""
        if attachment not in self._attached:
            return []
        self._attached.remove(attachment)
        facts = {"code": code, "cause": cause, "pos": attachment.reader.pos}
        effects = self.note_of(attachment.viewer, now_ms, Kind.VIEWER_LEFT, **facts)
        if attachment.viewer.controls and not any(each.viewer.controls for each in self._attached):
            self._unattended_since = now
            unattended = [
                unattended_entry(number, question, now_ms)
                for number, question in self._questions.items()
            ]
            effects += self._commit(unattended)
        return effects

    def _commit(self, entries: Sequence[LogEntry]) -> list[HubEffect]:
        self.head += len(entries)
        return [Commit(entries)] if entries else []

    def note(
        self, now_ms: int, kind: Kind, /, *, viewer: str = "", **facts: Any
    ) -> list[HubEffect]:
        """Log an event of the session, or of a viewer, that no frame reports."""
        about = About(viewer=viewer, word=WORDS[kind], facts=facts)
        return self._commit([LogEntry(LogKind.LIFE, now_ms, b"", about)])

    def note_of(self, viewer: Viewer, now_ms: int, kind: Kind, /, **facts: Any) -> list[HubEffect]:
        """Log an event of a viewer, unless too many of viewers with its role have been logged."""
        return self.note_bounded(viewer.role.value, now_ms, kind, viewer=viewer.id, **facts)

    def note_bounded(
        self, source: str, now_ms: int, kind: Kind, /, *, viewer: str = "", **facts: Any
    ) -> list[HubEffect]:
        """Log an event, unless its source causes too many: there are no effects then.

        A client that keeps coming and going must not push the conversation out of the log.
        """
        left_out = self._presence.allow(source, now_ms)
        if left_out is None:
            return []
        more = {"left_out": left_out} if left_out else {}
        return self.note(now_ms, kind, viewer=viewer, **facts, **more)

    # The wait for the end of a limit.

    def note_wait(self, stored: StoredWait | None, now_ms: int) -> list[HubEffect]:
        """Log a wait for the end of a limit or, with `None`, that the turn continues.

        The log has it before the next prompt reaches the agent, so that the agent gets that prompt
        once.
        """
        if stored is None:
            return self.note(now_ms, Kind.CONTINUED)
        return self._commit([begun(stored, now_ms)])

    # From viewers.

    def receive(
        self, attachment: Attachment, frame: Frame, now_ms: int, *, cancelled: bool = False
    ) -> list[HubEffect]:
        """Receive a viewer's frame that names this session or answers its question.

        A cancelled one is logged, but does not reach the agent.
        """
        viewer, method, request_id = (
            attachment.viewer,
            frame.message.method,
            frame.message.request_id,
        )
        if method is None:
            # The first answer to a question wins; the other viewers see it in the log.
            asked, number = read_question_id(request_id)
            if number not in self._questions or asked != self._key or not viewer.controls:
                return []
            return self._decide(number, frame, now_ms, word="viewer", viewer=viewer.id)
        if request_id is None:
            return self._notified(attachment, frame, now_ms)
        key = (viewer.id, request_id)
        if key in self._by_key:
            return []  # sent again: it is under way, and its end will come in its place
        if self.has_ended(attachment, request_id):
            end = self._ended[key]
            number = end.entry.about.number
            if number in attachment.answered:
                return []
            if attachment.reader.pos < end.seq:
                attachment.repeated.add(number)  # it is about to pull it
                return []
            return [Retell(attachment, end)]
        refusal: dict[str, Any] | None = None
        if not viewer.controls:
            refusal = access.observes()
        elif method == acp.PROMPT and self.turn_of not in {None, viewer.id}:
            refusal = access.turn_open()
        elif sum(each.viewer == viewer.id for each in self._open.values()) >= MAX_OPEN:
            refusal = access.too_many_open(MAX_OPEN)
        if refusal is not None:
            return [ToViewer(attachment, jsonrpc.error(request_id, refusal))]
        number = self._numbers()
        turn = self._turns() if method == acp.PROMPT and not cancelled else 0
        if turn:
            self._activity.begin_turn()
        about = About(viewer=viewer.id, request=request_id, number=number, turn=turn, method=method)
        effects = self._commit([LogEntry(LogKind.IN, now_ms, frame.line, about)])
        self._open[number] = OpenIn(viewer.id, request_id, method, turn)
        self._by_key[key] = number
        return effects if cancelled else [*effects, ToAgent(jsonrpc.with_id(frame, b"%d" % number))]

    def _notified(self, attachment: Attachment, frame: Frame, now_ms: int) -> list[HubEffect]:
        viewer, method = attachment.viewer, frame.message.method or ""
        if not viewer.controls:
            return []
        line, number = frame.line, 0
        if method == acp.CANCEL_REQUEST:
            number = self._by_key.get((viewer.id, wire.cancel_of(frame) or b""), 0)
            if not number:
                return []
            line = jsonrpc.notification(method, {"requestId": number})
        about = About(viewer=viewer.id, method=method)
        return [*self._commit([LogEntry(LogKind.IN, now_ms, frame.line, about)]), ToAgent(line)]

    def answer(self, number: int, place: int, now_ms: int) -> tuple[str, list[HubEffect]]:
        """Answer a question with the option at a place, by a code; return the outcome's word."""
        question = self._questions.get(number)
        if question is None:
            return (wire.DECIDED if 0 < number <= self._last_question else wire.GONE), []
        line = access.answer_to(question.method, question.line, place)
        frame = jsonrpc.decode(line) if line is not None else None
        if not isinstance(frame, jsonrpc.Frame):
            return wire.GONE, []
        viewer = access.VIEWER
        return wire.ANSWERED, self._decide(number, frame, now_ms, word="viewer", viewer=viewer)

    def _decide(  # noqa: PLR0913 - what stands on the entry
        self, number: int, frame: Frame, now_ms: int, *, word: str, viewer: str = "", why: str = ""
    ) -> list[HubEffect]:
        question = self._questions.pop(number)
        facts = {"why": why} if why else {}
        about = About(viewer=viewer, number=number, method=question.method, word=word, facts=facts)
        effects = self._commit([LogEntry(LogKind.TOLD, now_ms, frame.line, about)])
        return [*effects, ToAgent(jsonrpc.with_id(frame, question.agent_id))]

    # From the agent.

    def from_agent(self, frames: list[Frame], now: float, now_ms: int) -> list[HubEffect]:
        """Receive what the agent wrote in one read, which is one commit."""
        entries: list[LogEntry] = []
        ended: list[int] = []
        has_spoken = False
        for frame in frames:
            message = frame.message
            if _is_text(message):
                entries.append(LogEntry(LogKind.OUT, now_ms, frame.line, NOTHING, True))  # noqa: FBT003
                if not has_spoken:
                    has_spoken = True
                    self._waits.note(frame, now)
                    entries += self._shows(frame, now, now_ms)
                continue
            has_spoken = False
            if message.method is None:
                number = number_of(message.request_id)
                opened = self._open.pop(number, None)
                if opened is None:
                    continue
                entries.append(end_entry(frame, number, opened, now_ms))
                ended.append(len(entries))
            elif message.request_id is not None:
                self._last_question = number = self._last_question + 1
                question = OpenQuestion(message.request_id, message.method, now, frame.line)
                self._questions[number] = question
                about = About(number=number, method=message.method, request=message.request_id)
                entries.append(LogEntry(LogKind.ASK, now_ms, frame.line, about))
                if self._unattended_since is not None:
                    entries.append(unattended_entry(number, question, now_ms))
            elif message.method == acp.CANCEL_REQUEST:
                withdrawn = self._withdrawn(frame, now_ms)
                if withdrawn is not None:
                    entries.append(withdrawn)
            elif (
                message.update is None
                or message.update.session_update != acp.V1.error_kind
                or self.turn_of is None
            ):  # else it is a typed update, whose payload the prompt's answer repeats
                entries.append(LogEntry(LogKind.OUT, now_ms, frame.line))
                self._waits.note(frame, now)
                entries += self._shows(frame, now, now_ms)
        before, effects = self.head, self._commit(entries)
        for place in ended:
            self._has_ended(Numbered(before + place, entries[place - 1]))
        return effects

    @property
    def activity(self) -> str:
        """Return what the agent does without a turn: `active`, `quiet`, or empty for nothing."""
        return self._activity.word

    def _shows(self, frame: Frame, now: float, now_ms: int) -> list[LogEntry]:
        """Receive an update; return the entry of a change in what the agent does."""
        update = frame.message.update
        kind = update.session_update if update is not None else ""
        return (
            [activity_entry(self._activity.word, now_ms)] if self._activity.note(kind, now) else []
        )

    def _has_ended(self, end: Numbered) -> None:
        key = (end.entry.about.viewer, end.entry.about.request)
        self._by_key.pop(key, None)
        if end.entry.about.method in acp.ENDS_SESSION:
            frame = jsonrpc.decode(end.entry.frame)
            has_failed = isinstance(frame, jsonrpc.Frame) and frame.message.error is not UNSET
            self.is_closed = self.is_closed or not has_failed
        if end.entry.about.method == acp.PROMPT and self.turn_of is None:
            self._waits.end()
            self._activity.end_turn()
        self._ended[key] = end
        if len(self._ended) > MAX_ENDS:
            self._ended.popitem(last=False)

    def _withdrawn(self, frame: Frame, now_ms: int) -> LogEntry | None:
        agent_id = wire.cancel_of(frame)
        for number, question in self._questions.items():
            if question.agent_id == agent_id:
                del self._questions[number]
                about = About(number=number, method=question.method, word="withdrawn")
                return LogEntry(LogKind.TOLD, now_ms, frame.line, about)
        return None

    def lost_agent(self, error: dict[str, Any], now_ms: int, *, but: int = 0) -> list[HubEffect]:
        """End everything that is open with this error object: no answers will come.

        The request with the number `but` stays open.
        """
        return self._end_open(lambda number, _: jsonrpc.error(number, error), now_ms, but=but)

    def close(self, now_ms: int) -> list[HubEffect]:
        """End everything that is open as cancelled."""
        answers = [
            ToAgent(access.cancelled_answer(question.method, question.agent_id))
            for question in self._questions.values()
        ]
        ends = self._end_open(
            lambda number, opened: access.closed_answer(number, opened.method), now_ms
        )
        return [*ends, *answers]

    def _end_open(
        self, answer: Callable[[bytes, OpenIn], bytes], now_ms: int, *, but: int = 0
    ) -> list[HubEffect]:
        """End all open requests with these answers, and withdraw the agent's questions."""
        frames = []
        for number, opened in self._open.items():
            if number == but:
                continue
            frame = jsonrpc.decode(answer(b"%d" % number, opened))
            if isinstance(frame, jsonrpc.Frame):
                frames.append(frame)
        entries = [
            LogEntry(
                LogKind.TOLD, now_ms, b"", About(number=number, method=question.method, word="lost")
            )
            for number, question in self._questions.items()
        ]
        entries += [
            LogEntry(LogKind.TOLD, now_ms, b"", About(number=number, word="lost"))
            for number in self._lost_questions
        ]
        self._questions.clear()
        self._lost_questions.clear()
        return [*self._commit(entries), *self.from_agent(frames, 0.0, now_ms)]

    # Timeouts.

    def next_timeout(self) -> float | None:
        """Return when `handle_timeout` is due, on the clock of `now`."""
        questions = self._questions.values()
        due = [self._waits.due, *(self._due(question) for question in questions)]
        due += [self._expires(question) for question in questions]
        due.append(self._activity.due)
        return min((at for at in due if at is not None), default=None)

    def _due(self, question: OpenQuestion) -> float | None:
        if self._unattended_since is None:
            return None
        since = max(question.since, self._unattended_since)
        if question.method not in acp.USER_REQUESTS:
            return since + CLIENT_METHODS_SECONDS
        return since + (self._unattended_seconds or 0.0)

    def _expires(self, question: OpenQuestion) -> float | None:
        """Return when a question is answered even with a viewer there."""
        if self._question_timeout is None or question.method not in acp.USER_REQUESTS:
            return None
        return question.since + self._question_timeout.seconds

    def handle_timeout(self, now: float, now_ms: int) -> list[HubEffect]:
        """Report a long wait, and answer the questions that waited long enough for a viewer."""
        effects: list[HubEffect] = []
        if self._activity.time_out(now):
            effects += self._commit([activity_entry(self._activity.word, now_ms)])
        line = self._waits.due_line(now)
        if line:
            effects += self.note(now_ms, Kind.WAITS, text=line)
        for number, question in list(self._questions.items()):
            expires, due, method = self._expires(question), self._due(question), question.method
            if expires is not None and expires <= now:
                word = self._question_timeout.word if self._question_timeout is not None else ""
                params = object_of(object_of(jsonrpc.loads(question.line)).get("params"))
                result, _ = waits.answer_of_nobody(method, params, word)
                answer, why = jsonrpc.result(b"0", result), TIMED_OUT
            elif due is not None and due <= now:
                answer = access.answer_of_nobody(method, question.line)
                at_once = method in acp.USER_REQUESTS and not self._unattended_seconds
                why = "rejected" if at_once else "expired"
            else:
                continue
            frame = jsonrpc.decode(answer)
            if isinstance(frame, jsonrpc.Frame):
                effects += self._decide(number, frame, now_ms, word="policy", why=why)
        return effects


def _is_text(message: jsonrpc.Envelope) -> bool:
    """Return whether this is a piece of the agent's text, as most of its output is."""
    params = message.params
    if message.id is not UNSET or params is UNSET or params.update is UNSET:
        return False
    return message.method == acp.UPDATE and params.update.session_update in _TEXT


_TEXT = acp.TEXT_KINDS | acp.THOUGHT_KINDS


def activity_entry(word: str, now_ms: int) -> LogEntry:
    """Note whether the agent works on without a turn."""
    about = About(word=WORDS[Kind.ACTIVITY], facts={"what": word})
    return LogEntry(LogKind.LIFE, now_ms, b"", about)


def unattended_entry(number: int, question: OpenQuestion, now_ms: int) -> LogEntry:
    """Note a question for which nobody is there who may answer it."""
    about = About(number=number, method=question.method, word=WORDS[Kind.QUESTION_HELD])
    return LogEntry(LogKind.LIFE, now_ms, b"", about)


def end_entry(frame: Frame, number: int, opened: OpenIn, now_ms: int) -> LogEntry:
    """Note the agent's answer to a viewer's request, with the failure that the sidecar put in."""
    failure = None
    if opened.method == acp.PROMPT:
        error = object_of(jsonrpc.loads(frame.message.error))
        failure = object_of(error.get("data")).get("agent_error")
    about = About(
        viewer=opened.viewer,
        request=opened.request,
        number=number,
        turn=opened.turn,
        method=opened.method,
        failure=failure if isinstance(failure, dict) else None,
    )
    return LogEntry(LogKind.END, now_ms, frame.line, about)
