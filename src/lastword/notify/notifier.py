"""The notifier: receives a run's rows, and sends notifications to every sender.

Owns the one thread in which senders are called, so that its caller never waits; it starts with the
first relevant row. To add a sender, write a class with the three methods of `NotificationSender`
and a function that returns one for the settings of a run, or `None` if it is not configured, and
add the function to `SENDERS`. Every sender gets every notification that the options' events and the
pace allow. It may block the thread on a disk but not on a network: for that, it uses
`NotificationOutbox`, which has a thread of its own.

The pace is a value without a clock. A question waits a moment, since it is often answered at once.
A notification that becomes untrue before it is sent is dropped. A session, and the whole process,
send a limited number a minute, and count the others in the next one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from lastword.core.timeline.entry import Kind
from lastword.notify import http, web_push
from lastword.notify.notification import PER_MINUTE, NotificationWriter, NotifiedEvent, Withdrawal
from lastword.record.recorder import NOTIFIED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from lastword.notify.notification import Notification, NotifySettings, Surroundings
    from lastword.record.run import Row, Run


# --- the pace

WITHIN_SECONDS = 60.0
SESSIONS_AT_ONCE = 5
"""A process sends as many notifications in a minute as five sessions may."""

MAX_SESSIONS = 1024
MAX_WAITING = 256
"""How many questions wait at most; one more sends the oldest at once. As many notifications over a
pace are kept, and older ones are only counted."""


class NotificationPace:
    """Decides which notifications of a process are sent, and when."""

    def __init__(
        self, events: Collection[NotifiedEvent], *, question_seconds: float, per_minute: int
    ) -> None:
        """Begin.

        Args:
            events: The events that are sent.
            question_seconds: How long a question waits for its answer.
            per_minute: How many notifications a session sends in a minute.
        """
        self._events = frozenset(events)
        self._question_seconds = question_seconds
        self._per_minute = per_minute
        self._waiting: dict[str, tuple[float, Notification]] = {}
        self._sent: dict[str, deque[float]] = {}
        self._sent_by_all: deque[float] = deque(maxlen=per_minute * SESSIONS_AT_ONCE)
        self._left_out: dict[str, deque[Notification]] = {}
        """Each session's notifications over the limit, of which the last will be sent. An empty
        name stands for the whole process."""

    def add(self, notification: Notification, now: float) -> list[Notification]:
        """Receive a notification; return those to send now."""
        if notification.event not in self._events:
            return []
        if notification.event is NotifiedEvent.ASK and self._question_seconds > 0:
            self._waiting[notification.notification_id] = (
                now + self._question_seconds,
                notification,
            )
            if len(self._waiting) <= MAX_WAITING:
                return []
            _, notification = self._waiting.pop(next(iter(self._waiting)))
        return self._paced(notification, now)

    def withdraw(self, notification_id: str) -> bool:
        """Drop a notification; return whether it was still waiting here."""
        if self._waiting.pop(notification_id, None) is not None:
            return True
        for key, left in self._left_out.items():
            for each in left:
                if each.notification_id == notification_id:
                    left.remove(each)
                    if not left:
                        del self._left_out[key]
                    return True
        return False

    def due(self, now: float) -> list[Notification]:
        """Return the notifications to send by now."""
        ready = [key for key, (at, _) in self._waiting.items() if at <= now]
        due = [each for key in ready for each in self._paced(self._waiting.pop(key)[1], now)]
        for key in list(self._left_out):
            if self._opens_at(key, now) <= now:
                due.append(_last(self._left_out.pop(key)))
                self._note(due[-1].session, now)
        return due

    def rest(self, *, goes_on: bool = False) -> list[Notification]:
        """Return what has not been sent at the end: questions only if they can be answered then."""
        rest = [[each] for _, each in self._waiting.values()]
        rest += map(list, self._left_out.values())
        if not goes_on:
            rest = [[each for each in left if each.event is not NotifiedEvent.ASK] for left in rest]
        self._waiting.clear()
        self._left_out.clear()
        return [_last(left) for left in rest if left]

    def next_due(self, now: float) -> float | None:
        """Return when to call `due` again; `None` if nothing waits."""
        times = [at for at, _ in self._waiting.values()]
        times += [self._opens_at(session, now) for session in self._left_out]
        return min(times, default=None)

    def _paced(self, notification: Notification, now: float) -> list[Notification]:
        session = notification.session
        key = "" if self._opens_at("", now) > now else session
        left = self._left_out.setdefault(key, deque())
        left.append(notification)
        if len(left) > MAX_WAITING:
            oldest = left.popleft()
            others = left[0].others + oldest.others + 1
            left[0] = msgspec.structs.replace(left[0], others=others)
        if self._opens_at(session, now) > now:
            return []
        self._note(session, now)
        return [_last(self._left_out.pop(key))]

    def _note(self, session: str, now: float) -> None:
        if session not in self._sent and len(self._sent) >= MAX_SESSIONS:
            self._sent.pop(next(iter(self._sent)))
        self._sent.setdefault(session, deque(maxlen=self._per_minute)).append(now)
        self._sent_by_all.append(now)

    def _opens_at(self, session: str, now: float) -> float:
        own = self._sent.get(session, deque(maxlen=self._per_minute))
        full = [sent[0] for sent in (own, self._sent_by_all) if len(sent) == sent.maxlen]
        return max((first + WITHIN_SECONDS for first in full), default=now)


def _last(left: Sequence[Notification]) -> Notification:
    """Return the last of some notifications, with the number of the others."""
    others = sum(1 + each.others for each in left) - 1
    return msgspec.structs.replace(left[-1], others=others)


# --- the senders


class NotificationSender(Protocol):
    """Sends notifications somewhere."""

    def send(self, notification: Notification) -> None:
        """Send a notification, once even if it is passed twice."""
        ...

    def withdraw(self, notification_id: str) -> None:
        """Drop a notification that is still unsent, since it is no longer true."""
        ...

    def close(self) -> None:
        """Send for a short time, and stop."""
        ...


StartSender: TypeAlias = "Callable[[NotifySettings, str], NotificationSender | None]"
"""Receives the settings, and the folder for a sender's waiting notifications."""

SENDERS: tuple[StartSender, ...] = (http.start, web_push.start)
"""All senders."""


# --- the notifier

NOTED = frozenset(
    {
        *NOTIFIED,
        *(Kind.AGENT_READY, Kind.QUESTION_DECIDED, Kind.ERROR, Kind.ANSWER),
        *(Kind.AGENT_EXITED, Kind.CLIENT_GONE, Kind.SHUTDOWN),
        *(Kind.HOLDER_DIED, Kind.SUPERVISOR_EXITED),
    }
)
"""The relevant kinds of rows."""

CLOSE_SECONDS = 4.0


class Notifier:
    """Sends the notifications of one run; a sink of its rows."""

    def __init__(
        self,
        settings: NotifySettings,
        folder: str,
        run: Run,
        *,
        surroundings: Surroundings | None = None,
        scrub: Callable[[Row], Row] | None = None,
    ) -> None:
        """Create one; its thread starts later.

        Args:
            settings: Which events are notified, and where.
            folder: Where senders store what waits.
            run: The run.
            surroundings: Facts about the gateway that serves its sessions.
            scrub: Removes secrets from a row; needed unless the rows have none.
        """
        self._settings = settings
        self._folder = folder
        self._writer = NotificationWriter(run, content=settings.content, surroundings=surroundings)
        self._scrub = scrub
        self._link_to = surroundings.link_to if surroundings is not None else None
        self._pace = NotificationPace(
            settings.events, question_seconds=settings.question_seconds, per_minute=PER_MINUTE
        )
        self._rows: deque[Row] = deque()
        self._news = threading.Event()
        self.goes_on: bool = False
        """Whether open questions outlive it, in the program that replaces this one."""
        self._ending = False
        self._thread: threading.Thread | None = None

    def send(self, rows: Iterable[Row]) -> None:
        """Receive rows, without waiting."""
        noted = [row for row in rows if row.kind in NOTED]
        if not noted:
            return
        self._rows.extend(noted)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lastword.notify", daemon=True)
            self._thread.start()
        self._news.set()

    @property
    def is_stored(self) -> bool:
        """Whether no row waits in memory."""
        return not self._rows

    def wake(self) -> None:
        """Do nothing: `send` wakes the thread."""

    def close(self) -> None:
        """Send for a short time, and stop."""
        self._ending = True
        self._news.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        starting = [start(self._settings, self._folder) for start in SENDERS]
        senders = [sender for sender in starting if sender is not None]
        while True:
            # Cleared first, so that rows that come meanwhile wake it again.
            self._news.clear()
            ending = self._ending
            while self._rows:
                # A row that cannot be read must not stop the rows after it.
                with contextlib.suppress(Exception):
                    self._note(self._rows[0], senders)
                self._rows.popleft()
            now = time.monotonic()
            rest = self._pace.rest(goes_on=self.goes_on) if ending else self._pace.due(now)
            for notification in rest:
                self._send(senders, notification)
            if ending:
                break
            due = self._pace.next_due(now)
            self._news.wait(None if due is None else max(due - time.monotonic(), 0.0))
        if not self.goes_on:
            self._withdraw_questions(senders)
        for sender in senders:
            sender.close()
        if self.goes_on:  # the next program knows none of those that are still unsent
            self._withdraw_questions(senders)

    def _withdraw_questions(self, senders: list[NotificationSender]) -> None:
        for question in self._writer.open_questions:
            for sender in senders:
                sender.withdraw(question)

    def _note(self, row: Row, senders: list[NotificationSender]) -> None:
        for made in self._writer.receive(self._scrub(row) if self._scrub else row):
            if isinstance(made, Withdrawal):
                if not self._pace.withdraw(made.notification_id):
                    for sender in senders:
                        sender.withdraw(made.notification_id)
                continue
            for notification in self._pace.add(made, time.monotonic()):
                self._send(senders, notification)

    def _send(self, senders: list[NotificationSender], notification: Notification) -> None:
        # A link is a file, and most notifications are not sent.
        if self._link_to is not None and notification.session:
            with contextlib.suppress(Exception):  # send it without a link
                link = self._link_to(notification.session)
                notification = msgspec.structs.replace(notification, link=link)
        for sender in senders:
            # A bug in one sender must not affect the others.
            with contextlib.suppress(Exception):
                sender.send(notification)
