"""The pace of notifications: which are sent now, which wait a moment, and which are left out.

Owns three rules as a value without a clock: a question waits a moment, since it is often answered
at once; what is no longer true before it is sent is not sent; and a session, like all of a process
together, sends a limited number a minute, and counts the others in the next one. A turn's first
wait for a limit is notified, and a second one only after it has gone on.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from lastword.notify.notification import NotifiedEvent

if TYPE_CHECKING:
    from collections.abc import Collection

    from lastword.notify.notification import Notification

WITHIN_SECONDS = 60.0
SESSIONS_AT_ONCE = 5
"""A process sends as many notifications in a minute as five sessions may."""

MAX_SESSIONS = 1024
MAX_WAITING = 256
"""Questions that wait their moment; one more sends the oldest at once."""


class NotificationPace:
    """What is sent of the notifications of a process."""

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
        self._left_out: dict[str, Notification] = {}
        """Of each session, the last notification that was too many, with the number of those
        before it; under an empty name, that of them all."""
        self._limited: set[str] = set()

    def add(self, notification: Notification, now: float) -> list[Notification]:
        """Take a notification; return what is to be sent now."""
        event, session = notification.event, notification.session
        if event is NotifiedEvent.LIMIT:
            if session in self._limited:
                return []
            self._limited.add(session)
        elif event is not NotifiedEvent.ASK:
            self._limited.discard(session)
        if event not in self._events:
            return []
        if event is NotifiedEvent.ASK and self._question_seconds > 0:
            self._waiting[notification.notification_id] = (
                now + self._question_seconds,
                notification,
            )
            if len(self._waiting) <= MAX_WAITING:
                return []
            _, notification = self._waiting.pop(next(iter(self._waiting)))
        return self._paced(notification, now)

    def withdraw(self, notification_id: str) -> bool:
        """Forget a notification; return whether it had not been sent on."""
        if self._waiting.pop(notification_id, None) is not None:
            return True
        for session, left in self._left_out.items():
            if left.notification_id == notification_id:
                del self._left_out[session]
                return True
        return False

    def due(self, now: float) -> list[Notification]:
        """Return what is to be sent by now."""
        ready = [key for key, (at, _) in self._waiting.items() if at <= now]
        due = [each for key in ready for each in self._paced(self._waiting.pop(key)[1], now)]
        for key in list(self._left_out):
            if self._opens_at(key, now) <= now:
                due.append(self._left_out.pop(key))
                self._note(due[-1].session, now)
        return due

    def rest(self) -> list[Notification]:
        """Return what was left out and is still true where nobody can answer any more."""
        left = [each for each in self._left_out.values() if each.event is not NotifiedEvent.ASK]
        self._waiting.clear()
        self._left_out.clear()
        return left

    def next_due(self, now: float) -> float | None:
        """Return when `due` is to be asked again; `None` if nothing waits."""
        times = [at for at, _ in self._waiting.values()]
        times += [self._opens_at(session, now) for session in self._left_out]
        return min(times, default=None)

    def _paced(self, notification: Notification, now: float) -> list[Notification]:
        session = notification.session
        key = "" if self._opens_at("", now) > now else session
        before = self._left_out.pop(key, None)
        others = 0 if before is None else before.others + 1
        notification = msgspec.structs.replace(notification, others=others)
        if self._opens_at(session, now) > now:
            self._left_out[key] = notification
            return []
        self._note(session, now)
        return [notification]

    def _note(self, session: str, now: float) -> None:
        if session not in self._sent and len(self._sent) >= MAX_SESSIONS:
            self._sent.pop(next(iter(self._sent)))
        self._sent.setdefault(session, deque(maxlen=self._per_minute)).append(now)
        self._sent_by_all.append(now)

    def _opens_at(self, session: str, now: float) -> float:
        own = self._sent.get(session, deque(maxlen=self._per_minute))
        full = [sent[0] for sent in (own, self._sent_by_all) if len(sent) == sent.maxlen]
        return max((first + WITHIN_SECONDS for first in full), default=now)
