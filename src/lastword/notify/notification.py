"""Notifications: the options, the value that every sender gets, and the rows that cause them.

Owns a notification's members and sentences; the settings, which also travel to a gateway's
sessions, and the refusal of bad options before an agent is started; and which rows of a run cause a
notification, or withdraw a question's. Only a gateway knows a link's target and the buttons that
answer a question, which it passes as `Surroundings`. `notify.notifier` decides when notifications
are sent, and lists the senders.
"""

from __future__ import annotations

import hashlib
import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import counted, plain_duration, plain_moment
from lastword.core.failure.sentences import WHAT, sentence_of, type_of
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind, ended_by_cancel
from lastword.core.timeline.session_events import PHRASES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from lastword.record.run import Row, Run


class NotifiedEvent(StrEnum):
    """The subject of a notification."""

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
"""The events that are sent by default: a turn's good end, which may come every minute, is not."""


class Urgency(StrEnum):
    """The urgency, as in Web Push (RFC 8030, 5.3)."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class NotificationAction(msgspec.Struct, frozen=True):
    """A button of a notification.

    Attributes:
        label: the button's text.
        url: the address to open. The part after `#` is a code that answers once; a program can
            send it as the body of a `POST` to the address before it.
    """

    label: str
    url: str


class Notification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One notification.

    Attributes:
        notification_id: the same for every copy.
        at_epoch_ms: when it happened, in milliseconds since 1970 UTC.
        event: the event.
        session: the session's id.
        agent: the agent's own name, or its program's.
        title: a short line.
        sentence: what happened, and what to do; in lastword's words unless content is sent.
        incident: the id of a failure; empty for none.
        link: a link to the session; empty for none.
        actions: its buttons, at most three.
        urgency: its urgency.
        others: how many notifications of the session were omitted since the last one.
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

    @property
    def text(self) -> str:
        """Return the sentence, with how many notifications were left out before it."""
        if not self.others:
            return self.sentence
        return f"{self.sentence} ({counted(self.others, 'notification')} left out before)"

    def fields(self) -> dict[str, Any]:
        """Return all members, including defaults."""
        members: dict[str, Any] = msgspec.to_builtins(
            {name: getattr(self, name) for name in self.__struct_fields__}
        )
        return members


PER_MINUTE = 6
"""How many notifications a session sends in a minute; the others are counted in the next one."""


class NotifyError(Exception):
    """The options cannot be used; the text names the option, and no secret."""


class NotifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are notified, and where.

    Attributes:
        url: the destination; empty for none.
        form: `webhook` or `ntfy`.
        secret_file: a file with ntfy's token or the webhook's secret; empty for none.
        template_file: a file with the body of a webhook's request; empty for lastword's own.
        events: the events that are notified.
        content: whether to include text of the session.
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
    """Return the settings for the options' values.

    Raises:
        NotifyError: An event is unknown.
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
    """Return the events in a comma-separated list; the usual ones if it is empty.

    Raises:
        NotifyError: A word is not an event.
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
    "permission": "The agent asks for permission.",
    "form": "The agent asks a question.",
}
_ALL_ENDS = frozenset({Kind.AGENT_EXITED, Kind.CLIENT_GONE, Kind.SHUTDOWN})
"""The rows that end every turn; `Kind.ERROR` and `Kind.ANSWER` end one, and its questions."""


class Surroundings(msgspec.Struct, frozen=True):
    """Facts that only the gateway that serves a session has.

    Attributes:
        name_of: returns a session's name for the agent's id.
        link_to: returns a link to the session with this name; empty for none.
        actions_of: returns the buttons for the question of a row.
        local_time: returns the local time, with its zone.
    """

    name_of: Callable[[str], str] = lambda agents_id: agents_id
    link_to: Callable[[str], str] = lambda _: ""
    actions_of: Callable[[Row], tuple[NotificationAction, ...]] = lambda _: ()
    local_time: Callable[[], datetime | None] = lambda: None


class Withdrawal(msgspec.Struct, frozen=True):
    """The end of a notification's truth, such as a question's answer."""

    notification_id: str


class NotificationWriter:
    """Writes the notifications of one run."""

    def __init__(
        self, run: Run, *, content: bool = False, surroundings: Surroundings | None = None
    ) -> None:
        """Create one.

        Args:
            run: The run whose rows it receives.
            content: Whether to include a question's title, and the text of an error.
            surroundings: Facts about the gateway that serves the sessions.
        """
        self._run = run
        self._content = content
        self._around = surroundings or Surroundings()
        self._agent = one_line(run.program)
        self._questions: dict[tuple[str | None, str | None], str] = {}
        self._limited: set[str | None] = set()
        """The sessions that wait for the end of a limit."""

    def receive(self, row: Row) -> list[Notification | Withdrawal]:
        """Receive a row; return the notifications that it causes, and those that it withdraws."""
        kind = row.kind
        if kind == Kind.AGENT_READY:
            self._agent = one_line(str(row.facts.get("name") or ""))[:64] or self._agent
        elif kind in {Kind.USER_ANSWERED, Kind.QUESTION_EXPIRED, Kind.QUESTION_DECIDED}:
            return self._closed({(row.session_id, row.request_id)})
        elif kind == Kind.ASKED:
            sentence = _QUESTIONS.get(str(row.facts.get("what")), _QUESTIONS["form"])
            title = self._text(row, "title")
            question = self._made(
                row,
                NotifiedEvent.ASK,
                f"{sentence} {title}" if title else sentence,
                actions=self._around.actions_of(row)[:MAX_ACTIONS],
                urgency=Urgency.HIGH,
            )
            self._questions[row.session_id, row.request_id] = question.notification_id
            return [question]
        elif kind == Kind.LIMIT_WAIT and row.session_id not in self._limited:
            self._limited.add(row.session_id)
            # A wait that ended while no gateway ran has been notified by the one before.
            return [self._of_limit(row)] if row.facts.get("wait_seconds") else []
        elif kind == Kind.CONTINUED:
            # With another model, a turn continues without having waited.
            has_waited = row.session_id in self._limited
            self._limited.discard(row.session_id)
            return [self._of_limit(row)] if has_waited else []
        elif kind in _ALL_ENDS:
            self._limited.clear()
            return self._closed(set(self._questions))
        elif kind in {Kind.ERROR, Kind.ANSWER} and row.turn is not None:
            self._limited.discard(row.session_id)
            made = self._closed({key for key in self._questions if key[0] == row.session_id})
            if kind == Kind.ERROR:
                sentence = self._text(row, "message") or sentence_of(row.facts)
                detail = self._text(row, "detail")
                if detail and detail not in sentence:
                    sentence = f"{sentence} {detail}"
                incident = str(row.facts.get("incident_id") or "")
                event, urgency = NotifiedEvent.FAILED, Urgency.HIGH
                made.append(self._made(row, event, sentence, incident=incident, urgency=urgency))
            elif not ended_by_cancel(row.facts):
                reason = str(row.facts.get("stop_reason"))
                how = PHRASES["stop reasons"].get(reason, "ok")
                sentence = "The turn has ended." if how == "ok" else f"The turn has ended: {how}."
                made.append(self._made(row, NotifiedEvent.ENDED, sentence, urgency=Urgency.LOW))
            return made
        return []

    @property
    def open_questions(self) -> list[str]:
        return [*self._questions.values()]

    def _closed(self, keys: set[tuple[str | None, str | None]]) -> list[Notification | Withdrawal]:
        gone = [self._questions.pop(key, "") for key in sorted(keys, key=str)]
        return [Withdrawal(each) for each in gone if each]

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

    def _text(self, row: Row, name: str) -> str:
        """Return a text from the session's content, empty unless content is sent."""
        text = row.content.get(name) if self._content else None
        return one_line(text)[:MAX_SENTENCE_CHARS] if isinstance(text, str) else ""

    def _made(self, row: Row, event: NotifiedEvent, sentence: str, **more: Any) -> Notification:
        session = one_line(self._around.name_of(row.session_id or ""))
        # A row that is received twice is the same notification.
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
