"""Notifications from the rows of a run, and the ends of the questions that they are about.

Owns which rows lead to a notification, and its sentences. What a link leads to, and with which
buttons a question can be answered, is known at a gateway alone, which says it by `Surroundings`.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import plain_duration, plain_moment
from lastword.core.failure.sentences import WHAT, sentence_of, type_of
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind, ended_by_cancel
from lastword.core.timeline.session_events import PHRASES
from lastword.notify.notification import Notification, NotificationAction, NotifiedEvent, Urgency

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lastword.record.run import Row, Run

MAX_TITLE_CHARS = 120
MAX_SENTENCE_CHARS = 500
MAX_ACTIONS = 3

_WORDS = {
    NotifiedEvent.ASK: "needs an answer",
    NotifiedEvent.FAILED: "failed",
    NotifiedEvent.ENDED: "has finished",
    NotifiedEvent.LIMIT: "waits for a limit",
    NotifiedEvent.CONTINUED: "goes on",
}
_QUESTIONS = {
    "permission": "The agent asks for a permission.",
    "form": "The agent asks a question.",
}
_OPEN_ENDS = frozenset(
    {Kind.ERROR, Kind.ANSWER, Kind.AGENT_EXITED, Kind.CLIENT_GONE, Kind.SHUTDOWN}
)
"""What ends the questions of a turn, answered or not."""


class Surroundings(msgspec.Struct, frozen=True):
    """What is known where a session is served, and is not in its rows.

    Attributes:
        name_of: returns a session's name there for the agent's id of it.
        link_to: returns a link to the session with this name; empty for none.
        actions_of: returns what can be done about the question of a row.
        local_time: returns the local time, with its zone.
    """

    name_of: Callable[[str], str] = lambda agents_id: agents_id
    link_to: Callable[[str], str] = lambda _: ""
    actions_of: Callable[[Row], tuple[NotificationAction, ...]] = lambda _: ()
    local_time: Callable[[], datetime | None] = lambda: None


class Withdrawal(msgspec.Struct, frozen=True):
    """A notification that is no longer true, such as a question that was answered."""

    notification_id: str


class NotificationWriter:
    """Makes the notifications of one run."""

    def __init__(
        self, run: Run, *, content: bool = False, surroundings: Surroundings | None = None
    ) -> None:
        """Begin.

        Args:
            run: The run whose rows it receives.
            content: Say what the session is about: a question's title, and the text of an error.
            surroundings: What is known of the place where the sessions are served.
        """
        self._run = run
        self._content = content
        self._around = surroundings or Surroundings()
        self._agent = one_line(run.program)
        self._questions: dict[tuple[str | None, str | None], str] = {}
        self._limited: set[str | None] = set()
        """The sessions that wait for the end of a limit."""

    def receive(self, row: Row) -> list[Notification | Withdrawal]:
        kind = row.kind
        if kind == Kind.AGENT_READY:
            self._agent = one_line(str(row.facts.get("name") or ""))[:64] or self._agent
        elif kind in {Kind.USER_ANSWERED, Kind.QUESTION_EXPIRED, Kind.QUESTION_DECIDED}:
            return self._closed({(row.session_id, row.request_id)})
        elif kind == Kind.ASKED:
            return [self._question(row)]
        elif kind == Kind.LIMIT_WAIT:
            self._limited.add(row.session_id)
            return [self._of_limit(row)]
        elif kind == Kind.CONTINUED:
            # With another model, a turn goes on without having waited.
            has_waited = row.session_id in self._limited
            self._limited.discard(row.session_id)
            return [self._of_limit(row)] if has_waited else []
        elif kind in _OPEN_ENDS:
            is_all = row.session_id is None and row.turn is None
            self._limited -= self._limited if is_all else {row.session_id}
            ended = {key for key in self._questions if is_all or key[0] == row.session_id}
            return [*self._closed(ended), *self._ended(row)]
        return []

    @property
    def open_questions(self) -> list[str]:
        return [*self._questions.values()]

    def _closed(self, keys: set[tuple[str | None, str | None]]) -> list[Notification | Withdrawal]:
        gone = [self._questions.pop(key, "") for key in sorted(keys, key=str)]
        return [Withdrawal(each) for each in gone if each]

    def _question(self, row: Row) -> Notification:
        sentence = _QUESTIONS.get(str(row.facts.get("what")), _QUESTIONS["form"])
        title = self._text(row, "title")
        made = self._made(
            row,
            NotifiedEvent.ASK,
            f"{sentence} {title}" if title else sentence,
            actions=self._around.actions_of(row)[:MAX_ACTIONS],
            urgency=Urgency.HIGH,
        )
        self._questions[row.session_id, row.request_id] = made.notification_id
        return made

    def _of_limit(self, row: Row) -> Notification:
        if row.kind == Kind.CONTINUED:
            what = "The limit has ended, and the turn goes on."
            return self._made(row, NotifiedEvent.CONTINUED, what, urgency=Urgency.LOW)
        seconds = row.facts.get("wait_seconds")
        wait = math.ceil(seconds) if isinstance(seconds, int | float) else 0
        now = self._around.local_time()
        until = plain_moment(row.at_epoch_ms + wait * 1000, now) if now else ""
        when = until or f"in {plain_duration(wait)}"
        what = f"{WHAT[type_of(row.facts)]} The turn goes on {when}."
        return self._made(row, NotifiedEvent.LIMIT, what)

    def _ended(self, row: Row) -> list[Notification]:
        if row.kind == Kind.ERROR and row.turn is not None:
            return [self._failed(row)]
        if row.kind == Kind.ANSWER and not ended_by_cancel(row.facts):
            reason = str(row.facts.get("stop_reason"))
            how = PHRASES["stop reasons"].get(reason, "ok")
            sentence = "The turn has ended." if how == "ok" else f"The turn has ended: {how}."
            return [self._made(row, NotifiedEvent.ENDED, sentence, urgency=Urgency.LOW)]
        return []

    def _failed(self, row: Row) -> Notification:
        sentence = self._text(row, "message") or sentence_of(row.facts)
        detail = self._text(row, "detail")
        sentence = f"{sentence} {detail}" if detail and detail not in sentence else sentence
        incident = str(row.facts.get("incident_id") or "")
        return self._made(
            row, NotifiedEvent.FAILED, sentence, incident=incident, urgency=Urgency.HIGH
        )

    def _text(self, row: Row, name: str) -> str:
        """Return a text of the session's, if such texts are sent."""
        text = row.content.get(name) if self._content else None
        return one_line(text)[:MAX_SENTENCE_CHARS] if isinstance(text, str) else ""

    def _made(self, row: Row, event: NotifiedEvent, sentence: str, **more: Any) -> Notification:
        session = one_line(self._around.name_of(row.session_id or ""))
        # The same row is the same notification, also where it is handed over a second time.
        identity = msgspec.json.encode(
            (self._run.run_id, row.kind, row.at_seconds, row.session_id, row.request_id, row.turn)
        )
        return Notification(
            notification_id=hashlib.sha256(identity).hexdigest()[:32],
            at_epoch_ms=row.at_epoch_ms,
            event=event,
            session=session,
            agent=self._agent,
            title=f"{self._agent} {_WORDS[event]}"[:MAX_TITLE_CHARS],
            sentence=sentence[:MAX_SENTENCE_CHARS],
            **more,
        )
