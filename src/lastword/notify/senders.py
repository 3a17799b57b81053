"""The senders of notifications: what each of them does, and the list of those that there are.

To add a sender, write a class with the three methods of `NotificationSender`, and a function that
returns one for the settings of a run, or `None` where it is not wanted; and put that function into
`SENDERS`. Every sender gets every notification that the options' events and the pace let through,
in the notifier's thread, which it may keep waiting for a disk but not for a network: what has to be
sent over one is put into `NotificationOutbox`, whose own thread sends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from lastword.notify import http, web_push

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.notify.notification import Notification
    from lastword.notify.settings import NotifySettings


class NotificationSender(Protocol):
    """Sends notifications somewhere."""

    def send(self, notification: Notification) -> None:
        """Send a notification; the same one may be given twice, and is sent once."""
        ...

    def withdraw(self, notification_id: str) -> None:
        """Do not send a notification that has not been sent yet: it is no longer true."""
        ...

    def close(self) -> None:
        """Send what can be sent in a moment."""
        ...


StartSender: TypeAlias = "Callable[[NotifySettings, str], NotificationSender | None]"
"""Takes the settings, and the folder in which a sender may keep what waits."""

SENDERS: tuple[StartSender, ...] = (http.start, web_push.start)
"""Every sender that there is."""


def started(settings: NotifySettings, folder: str) -> list[NotificationSender]:
    """Return the senders that are wanted, started."""
    senders = [start(settings, folder) for start in SENDERS]
    return [each for each in senders if each is not None]
