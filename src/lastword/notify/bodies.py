"""Bodies: a notification as a webhook's JSON, or as a message of ntfy.

Owns both shapes. A webhook's own template is in `notify.template`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import counted
from lastword.notify.notification import NotifiedEvent, Urgency

if TYPE_CHECKING:
    from lastword.notify.notification import Notification, NotificationAction

TYPE = "lastword.notification"
VERSION = 1

_PRIORITIES = {Urgency.LOW: 2, Urgency.NORMAL: 3, Urgency.HIGH: 4}
_TAGS = {
    NotifiedEvent.ASK: "question",
    NotifiedEvent.FAILED: "warning",
    NotifiedEvent.ENDED: "white_check_mark",
    NotifiedEvent.LIMIT: "hourglass_flowing_sand",
    NotifiedEvent.CONTINUED: "arrow_forward",
}
"""ntfy shows these as emojis."""


def webhook_body(notification: Notification) -> bytes:
    """Return the JSON that a webhook without a template gets."""
    return msgspec.json.encode({"type": TYPE, "version": VERSION} | notification.fields())


def ntfy_body(notification: Notification, topic: str) -> bytes:
    """Return the JSON by which ntfy publishes it to a topic."""
    others = notification.others
    left_out = f" ({counted(others, 'notification')} left out before)" if others else ""
    message: dict[str, Any] = {
        "topic": topic,
        "title": notification.title,
        "message": notification.sentence + left_out,
        "priority": _PRIORITIES[notification.urgency],
        "tags": [_TAGS[notification.event]],
    }
    if notification.link:
        message["click"] = notification.link
    if notification.actions:
        message["actions"] = [_ntfy_action(each) for each in notification.actions]
    return msgspec.json.encode(message)


def _ntfy_action(action: NotificationAction) -> dict[str, Any]:
    """Return a button that answers: the code is in the body, since servers log addresses."""
    url, _, code = action.url.partition("#")
    button = {"action": "http", "label": action.label, "url": url, "method": "POST", "clear": True}
    return button | {"headers": {"Content-Type": "text/plain"}, "body": code}
