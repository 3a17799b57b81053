"""A notification as a value, which every sender gets alike.

Owns its members and the words of the events. `notify.writer` makes notifications, `notify.notifier`
decides when they are sent, and `notify.notifier` lists what sends them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


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
    """That limit has ended, and the turn goes on."""


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
