"""Notifications: the options, the value that every sender gets, and what they are made from.

A notification as a value, which every sender gets alike. Owns its members and the words of the
events. `notify.writer` makes notifications, `notify.notifier` decides when they are sent, and
`notify.notifier` lists what sends them.

What the options ask for, as one value that also travels to a gateway's sessions. Owns the reading
of the options; a bad one is refused with a sentence before an agent is started.

Notifications from the rows of a run, and the ends of the questions that they are about. Owns which
rows lead to a notification, and its sentences. What a link leads to, and with which buttons a
question can be answered, is known at a gateway alone, which says it by `Surroundings`.
"""

from __future__ import annotations

import hashlib
import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import plain_duration, plain_moment
from lastword.core.failure.sentences import WHAT, sentence_of, type_of
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind, ended_by_cancel
from lastword.core.timeline.session_events import PHRASES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from lastword.record.run import Row, Run


class NotifiedEvent(StrEnum):
    """What a notification is about."""

    ASK = "ask"
    """The agent waits for the user's answer."""
    FAILED = "failed"
    """A turn has failed."""
    ENDED = "ended"
    """A turn has ended without a failure, and not because the user cancelled it."""
    LIMIT = "limit"
    """A turn waits for the end of a limit."""
    CONTINUED = "continued"
    """That limit has ended, and the turn continues."""


USUAL = (NotifiedEvent.ASK, NotifiedEvent.FAILED, NotifiedEvent.LIMIT, NotifiedEvent.CONTINUED)
"""The events that are sent by default. A turn that ends well is none of them: where somebody works
with the agent, that is every minute."""


class Urgency(StrEnum):
    """How soon somebody should look, as the `Urgency` of Web Push (RFC 8030, 5.3)."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class NotificationAction(msgspec.Struct, frozen=True):
    """Something that can be done from the notification itself.

    Attributes:
        label: what a button says.
        url: the address to open. The part behind `#` is a code that answers once; a program can
            send it as the body of a `POST` to the address before it.
    """

    label: str
    url: str


class Notification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One notification.

    Attributes:
        notification_id: the same however often it is sent.
        at_epoch_ms: when it happened, in milliseconds since 1970 UTC.
        event: what it is about.
        session: the session's id.
        agent: the agent's own name, or its program's.
        title: a short line.
        sentence: what happened, and what to do; lastword's own words unless content is sent.
        incident: the id of a failure; empty for none.
        link: leads to the session; empty for none.
        actions: what can be done from the notification, at most three.
        urgency: how soon somebody should look.
        others: how many notifications of the session were left out since the last one.
    """

    notification_id: str
    at_epoch_ms: int
    event: NotifiedEvent
    session: str = ""
    agent: str = ""
    title: str = ""
    sentence: str = ""
    incident: str = ""
    link: str = ""
    actions: tuple[NotificationAction, ...] = ()
    urgency: Urgency = Urgency.NORMAL
    others: int = 0

    @property
    def report_id(self) -> str:
        return self.notification_id

    def fields(self) -> dict[str, Any]:
        """Return its members, those with a default included."""
        members: dict[str, Any] = msgspec.to_builtins(
            {name: getattr(self, name) for name in self.__struct_fields__}
        )
        return members


PER_MINUTE = 6
"""How many notifications a session sends in a minute; the others are counted in the next one."""


class NotifyError(Exception):
    """Notifications cannot be sent as the options say; the text names the option, and no secret."""


class NotifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is notified, and where.

    Attributes:
        url: where notifications go; empty for nowhere.
        form: `webhook` or `ntfy`.
        secret_file: a file with ntfy's token or the webhook's secret; empty for none.
        template_file: a file with the body of a webhook's request; empty for lastword's own.
        events: the events that are notified.
        content: say what a session is about, too.
        question_seconds: how long a question waits for its answer before it is notified.
        push_folder: the state folder of a gateway, whose page's users subscribe to notifications;
            empty without one.
    """

    url: str = ""
    form: str = "webhook"
    secret_file: str = ""
    template_file: str = ""
    events: tuple[NotifiedEvent, ...] = USUAL
    content: bool = False
    question_seconds: float = 0.0
    push_folder: str = ""


def settings_of(values: Mapping[str, object]) -> NotifySettings:
    """Return what the options' values say.

    Raises:
        NotifyError: One of the events is none.
    """
    url, form = str(values.get("notify") or ""), str(values.get("notify_format") or "")
    if url.startswith("ntfy://"):
        url, form = f"https://{url.removeprefix('ntfy://')}", "ntfy"
    return NotifySettings(
        url=url,
        form=form or "webhook",
        secret_file=str(values.get("notify_secret_file") or ""),
        template_file=str(values.get("notify_template") or ""),
        events=events_of(str(values.get("notify_events") or "")),
        content=bool(values.get("notify_content")),
        question_seconds=float(str(values.get("notify_question_after") or 0)),
    )


def events_of(text: str) -> tuple[NotifiedEvent, ...]:
    """Return the events in a list with commas; the usual ones for an empty text.

    Raises:
        NotifyError: One of the words is none.
    """
    by_value = {each.value: each for each in NotifiedEvent}
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in by_value:
            raise NotifyError(f"--notify-events has no {word!r}: it takes {', '.join(by_value)}")
    return tuple(by_value[word] for word in words) or USUAL


MAX_TITLE_CHARS = 120
MAX_SENTENCE_CHARS = 500
MAX_ACTIONS = 3

_WORDS = {
    NotifiedEvent.ASK: "needs an answer",
    NotifiedEvent.FAILED: "failed",
    NotifiedEvent.ENDED: "has finished",
    NotifiedEvent.LIMIT: "waits for a limit",
    NotifiedEvent.CONTINUED: "continues",
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
            # With another model, a turn continues without having waited.
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
            what = "The limit has ended, and the turn continues."
            return self._made(row, NotifiedEvent.CONTINUED, what, urgency=Urgency.LOW)
        seconds = row.facts.get("wait_seconds")
        wait = math.ceil(seconds) if isinstance(seconds, int | float) else 0
        now = self._around.local_time()
        until = plain_moment(row.at_epoch_ms + wait * 1000, now) if now else ""
        when = until or f"in {plain_duration(wait)}"
        what = f"{WHAT[type_of(row.facts)]} The turn continues {when}."
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
