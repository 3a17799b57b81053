"""The sender to browsers: Web Push (RFC 8030), encrypted (RFC 8291) and signed (RFC 8292).

Owns the message that the page's worker shows, and its encryption, for which `http-ece` and
`py-vapid` are used. Sending, waiting and the bounds are those of the other notifications: each
subscription is a target of the outbox.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from lastword.errors import StoreError
from lastword.notify.http import FINISH_SECONDS, NotificationOutbox
from lastword.notify.subscriptions import Subscriptions, is_available
from lastword.outbox.post import post
from lastword.outbox.schedule import CollectorAnswer
from lastword.outbox.sender import POST_SECONDS, ItemSender
from lastword.outbox.target import ReportTarget

if TYPE_CHECKING:
    from lastword.notify.notification import Notification
    from lastword.notify.settings import NotifySettings
    from lastword.notify.subscriptions import PushSubscription

FORM = "push"
MAX_PLAIN_BYTES = 3000
"""The message before encryption. Push services take 4,096 bytes (RFC 8030, 7.2), of which the
encryption needs 103."""

CLAIM_SECONDS = 3600
"""How long a signature is valid; push services take up to 24 hours."""

MAX_TOPIC_CHARS = 32
"""RFC 8030, 5.4."""

GONE = frozenset({404, 410})
"""By these a push service says that a subscription has ended (RFC 8030, 7.3)."""

_CONTACT = "mailto:nobody@invalid"
"""Who sends, where the page's own address says it to nobody outside this machine."""


class PushOutbox(NotificationOutbox):
    """The outbox of notifications to browsers."""

    NAME: ClassVar[str] = "pushes.db"


class WebPushSender:
    """Sends notifications to every browser that has subscribed."""

    def __init__(self, subscriptions: Subscriptions, folder: str) -> None:
        """Begin with what earlier runs left for the subscriptions that there are.

        Args:
            subscriptions: Who wants notifications.
            folder: Where to keep what waits.
        """
        self._subscriptions = subscriptions
        self._outbox = PushOutbox(folder)
        self._senders: dict[str, ItemSender[Notification]] = {}
        for each in subscriptions.all():
            self._sender_of(each)

    def send(self, notification: Notification) -> None:
        """Send a notification to those whom it concerns."""
        now = time.time()
        for each in self._subscriptions.all():
            if each.covers(notification.session, now):
                self._sender_of(each).put(_addressed(notification, each.subscription_id))

    def withdraw(self, notification_id: str) -> None:
        """Do not send a notification that waits."""
        for subscription_id, sender in self._senders.items():
            sender.withdraw(_id_for(notification_id, subscription_id))

    def close(self) -> None:
        """Send what can be sent in a moment."""
        ends_at = time.monotonic() + FINISH_SECONDS
        for sender in self._senders.values():
            sender.finish(max(ends_at - time.monotonic(), 0.0))

    def _sender_of(self, subscription: PushSubscription) -> ItemSender[Notification]:
        subscription_id = subscription.subscription_id
        sender = self._senders.get(subscription_id)
        if sender is None:
            place = "{0.scheme}://{0.netloc}".format(urlsplit(subscription.endpoint))
            target = ReportTarget(subscription.endpoint, FORM, {}, b"", subscription_id, place)
            send = partial(self._post, subscription_id)
            sender = self._senders[subscription_id] = ItemSender(self._outbox, target, send)
        return sender

    def _post(
        self, subscription_id: str, target: ReportTarget, notification: Notification
    ) -> CollectorAnswer:
        """Send a notification to one browser once, unless its subscription has ended.

        Raises:
            PostError: There was no answer.
        """
        now = int(time.time())
        # It may have been renewed or ended since the notification was put into the outbox.
        named = (s for s in self._subscriptions.all() if s.subscription_id == subscription_id)
        subscription = next(named, None)
        if subscription is None or not subscription.covers(notification.session, now):
            return CollectorAnswer(min(GONE))
        headers = headers_of(subscription, notification, self._subscriptions, now)
        body = encrypted(message_of(notification), subscription)
        answer = post(target.url, body, headers, POST_SECONDS, only_outside=subscription.by_guest)
        if answer.status in GONE:
            with contextlib.suppress(StoreError):
                self._subscriptions.remove(subscription.subscription_id)
        return answer


def _id_for(notification_id: str, subscription_id: str) -> str:
    return f"{notification_id}-{subscription_id}"


def _addressed(notification: Notification, subscription_id: str) -> Notification:
    """Return a notification with an id of its own for a browser: the outbox has each id once.

    Without the link, which is itself a login: a browser that subscribed has one, which may end
    earlier.
    """
    name = _id_for(notification.notification_id, subscription_id)
    return msgspec.structs.replace(notification, notification_id=name, link="")


def message_of(notification: Notification) -> bytes:
    """Return the JSON that the page's worker shows, cut to what push services take."""
    members: dict[str, Any] = {
        "title": notification.title,
        "body": notification.sentence,
        "event": notification.event.value,
        "session": notification.session,
        "link": notification.link,
        "actions": [[each.label, each.url] for each in notification.actions],
        "at_epoch_ms": notification.at_epoch_ms,
    }
    message = msgspec.json.encode(members)
    over = len(message) - MAX_PLAIN_BYTES
    if over > 0:
        room = max(len(notification.sentence.encode()) - over - len("…".encode()), 0)
        cut = notification.sentence.encode()[:room].decode(errors="ignore")
        message = msgspec.json.encode(members | {"body": f"{cut}…"})
    if len(message) > MAX_PLAIN_BYTES:
        message = msgspec.json.encode(members | {"body": "", "actions": [], "link": ""})
    return message


def encrypted(message: bytes, subscription: PushSubscription) -> bytes:
    """Return a message that only this browser can read (RFC 8291)."""
    import http_ece  # noqa: PLC0415 - of the extra `gateway`
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - of the extra

    return http_ece.encrypt(  # type: ignore[no-any-return]
        message,
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=decoded(subscription.p256dh),
        auth_secret=decoded(subscription.auth),
        version="aes128gcm",
    )


def headers_of(
    subscription: PushSubscription,
    notification: Notification,
    subscriptions: Subscriptions,
    now_seconds: int,
) -> dict[str, str]:
    """Return the headers of a message to a push service.

    A later notification of the same kind about a session takes the place of one that waits there.
    """
    place = "{0.scheme}://{0.netloc}".format(urlsplit(subscription.endpoint))
    contact = subscription.origin if subscription.origin.startswith("https://") else _CONTACT
    claims = {"aud": place, "exp": now_seconds + CLAIM_SECONDS, "sub": contact}
    key = subscriptions.key()
    key.conf["no-strict"] = True
    topic = hashlib.sha256(f"{notification.event.value} {notification.session}".encode()).digest()
    return {
        **key.sign(claims),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        "ttl": str(int(PushOutbox.MAX_AGE_SECONDS)),
        "urgency": notification.urgency.value,
        "topic": base64.urlsafe_b64encode(topic).decode()[:MAX_TOPIC_CHARS],
        "connection": "close",
    }


def decoded(text: str) -> bytes:
    """Return bytes from base64url, with or without its padding.

    Raises:
        ValueError: It is not base64url.
    """
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def start(settings: NotifySettings, folder: str) -> WebPushSender | None:
    """Return the sender, if the settings name the folder of a gateway's subscriptions."""
    if not settings.push_folder or not is_available():
        return None
    try:
        return WebPushSender(Subscriptions(settings.push_folder), folder)
    except RuntimeError:  # no thread is to be had
        return None
