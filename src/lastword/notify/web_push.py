"""Notifications in browsers (Web Push): subscriptions, and the sender.

Owns the message that the page's worker shows; its encryption (RFC 8291) and signature (RFC 8292),
with `http-ece` and `py-vapid`; and the subscriptions, in a file that sessions share, with its
bounds, and the key by which push services know the gateway (VAPID, RFC 8292). Each subscription is
a target of the outbox, so sending, waiting and the bounds are those of other notifications. The
gateway's API writes the file and the key; sessions read the file before they send.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.util
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from lastword.errors import StoreError
from lastword.notify.http import FINISH_SECONDS, NotificationOutbox
from lastword.outbox.post import CollectorAnswer, post
from lastword.outbox.report import ReportTarget
from lastword.outbox.sender import POST_SECONDS, ItemSender
from lastword.platform.files import CREATE, lock, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from py_vapid import Vapid02

    from lastword.notify.notification import Notification, NotifySettings


FORM = "push"
MAX_PLAIN_BYTES = 3000
"""The size before encryption. Push services accept 4,096 bytes (RFC 8030, 7.2), of which the
encryption needs 103."""

CLAIM_SECONDS = 3600
"""How long a signature is valid; push services accept up to 24 hours."""

MAX_TOPIC_CHARS = 32
"""RFC 8030, 5.4."""

GONE = frozenset({404, 410})
"""The statuses of a subscription that has ended (RFC 8030, 7.3)."""

_CONTACT = "mailto:nobody@invalid"
"""The sender's contact, if the page's own address means nothing outside this machine."""


class PushOutbox(NotificationOutbox):
    """The outbox of notifications to browsers."""

    NAME: ClassVar[str] = "pushes.db"


class WebPushSender:
    """Sends notifications to every browser that has subscribed."""

    def __init__(self, subscriptions: Subscriptions, folder: str) -> None:
        """Start to send the waiting notifications of earlier runs.

        Args:
            subscriptions: The browsers' subscriptions.
            folder: The folder of the outbox.
        """
        self._subscriptions = subscriptions
        self._outbox = PushOutbox(folder)
        self._senders: dict[str, ItemSender[Notification]] = {}
        for each in subscriptions.all():
            self._sender_of(each)

    def send(self, notification: Notification) -> None:
        """Send a notification to the subscriptions that cover its session."""
        now = time.time()
        for each in self._subscriptions.all():
            if each.covers(notification.session, now):
                # The outbox has each id once. The link is a login, and a browser that subscribed
                # has one, which may end earlier.
                name = _id_for(notification.notification_id, each.subscription_id)
                own = msgspec.structs.replace(notification, notification_id=name, link="")
                self._sender_of(each).put(own)

    def withdraw(self, notification_id: str) -> None:
        """Drop a waiting notification."""
        for subscription_id, sender in self._senders.items():
            sender.withdraw(_id_for(notification_id, subscription_id))

    def close(self) -> None:
        """Send for a short time, and stop."""
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
        """Send a notification to one browser, unless its subscription has ended.

        Raises:
            PostError: There was no answer.
        """
        now = int(time.time())
        # It may have been renewed or ended since the notification was put into the outbox.
        named = (s for s in self._subscriptions.all() if s.subscription_id == subscription_id)
        subscription = next(named, None)
        if subscription is None or not subscription.covers(notification.session, now):
            return CollectorAnswer(min(GONE))
        origin = subscription.origin
        claims = {
            "aud": "{0.scheme}://{0.netloc}".format(urlsplit(subscription.endpoint)),
            "exp": now + CLAIM_SECONDS,
            "sub": origin if origin.startswith("https://") else _CONTACT,
        }
        key = self._subscriptions.key()
        key.conf["no-strict"] = True
        # A later notification of the same kind about a session replaces one that still waits there.
        subject = f"{notification.event.value} {notification.session}"
        topic = base64.urlsafe_b64encode(hashlib.sha256(subject.encode()).digest()).decode()
        headers = {
            **key.sign(claims),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(int(PushOutbox.MAX_AGE_SECONDS)),
            "urgency": notification.urgency.value,
            "topic": topic[:MAX_TOPIC_CHARS],
            "connection": "close",
        }
        import http_ece  # noqa: PLC0415 - of the extra `gateway`
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - of the extra

        # Only this browser can read it (RFC 8291).
        body = http_ece.encrypt(
            message_of(notification),
            private_key=ec.generate_private_key(ec.SECP256R1()),
            dh=decoded(subscription.p256dh),
            auth_secret=decoded(subscription.auth),
            version="aes128gcm",
        )
        answer = post(target.url, body, headers, POST_SECONDS, only_outside=subscription.by_guest)
        if answer.status in GONE:
            with contextlib.suppress(StoreError):
                self._subscriptions.remove(subscription.subscription_id)
        return answer


def _id_for(notification_id: str, subscription_id: str) -> str:
    return f"{notification_id}-{subscription_id}"


def message_of(notification: Notification) -> bytes:
    """Return the JSON that the page's worker shows, cut to the size that push services accept."""
    members: dict[str, Any] = {
        "title": notification.title,
        "body": notification.text,
        "event": notification.event.value,
        "session": notification.session,
        "link": notification.link,
        "actions": [[each.label, each.url] for each in notification.actions],
        "at_epoch_ms": notification.at_epoch_ms,
    }
    message = msgspec.json.encode(members)
    over = len(message) - MAX_PLAIN_BYTES
    if over > 0:
        room = max(len(notification.text.encode()) - over - len("…".encode()), 0)
        cut = notification.text.encode()[:room].decode(errors="ignore")
        message = msgspec.json.encode(members | {"body": f"{cut}…"})
    if len(message) > MAX_PLAIN_BYTES:
        message = msgspec.json.encode(members | {"body": "", "actions": [], "link": ""})
    return message


def decoded(text: str) -> bytes:
    """Return the bytes of a base64url text, with or without padding.

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
    except RuntimeError:  # no thread can be started
        return None


NAME, KEY_NAME = "push.json", "push.key"
MAX_SUBSCRIPTIONS = 32
"""The largest number of the owner's subscriptions, and of all guests' together."""

MAX_REMOVED = 1024
"""How many removed subscriptions a fleet remembers, the latest."""

MAX_BYTES = 1024 * 1024


class PushSubscription(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A browser's subscription to notifications.

    Attributes:
        subscription_id: a hash of the endpoint, which may be shown.
        endpoint: the push service's address for this browser, which is a secret.
        p256dh: the browser's public key (RFC 8291), in base64url.
        auth: the browser's secret for it, in base64url.
        session: the only session that it covers; empty for all.
        origin: the page's origin, the sender's contact for the push service.
        expires: when it ends, in seconds since 1970 UTC; 0 for never.
        by_guest: whether it was made with a token for one session.
        changed_epoch_ms: in a fleet, when this was written, by the writer's clock; an older state
            never replaces it. 0 elsewhere.
    """

    subscription_id: str
    endpoint: str
    p256dh: str
    auth: str
    session: str = ""
    origin: str = ""
    expires: int = 0
    by_guest: bool = False
    changed_epoch_ms: int = 0

    @classmethod
    def removed(cls, subscription_id: str) -> PushSubscription:
        """Return a marker of a removed subscription, which keeps an older state from returning."""
        # Older nodes take it for one that has ended.
        return cls(subscription_id=subscription_id, endpoint="", p256dh="", auth="", expires=1)

    @property
    def is_removed(self) -> bool:
        """Whether this is the marker of a removed subscription."""
        return not self.endpoint

    @property
    def login(self) -> tuple[bool, str, int]:
        """The properties that subscriptions of the same login share."""
        return self.by_guest, self.session, self.expires

    def covers(self, session: str, now_seconds: float) -> bool:
        """Return whether it covers a session, and has not ended."""
        return self.session in {"", session} and not (self.expires and self.expires <= now_seconds)


def is_available() -> bool:
    """Return whether the packages that push needs, of the extra `gateway`, are installed."""
    return all(importlib.util.find_spec(name) for name in ("http_ece", "py_vapid"))


def id_of(endpoint: str, session: str, *, by_guest: bool = False) -> str:
    """Return the id of a browser's subscription for a session, or for all.

    A guest's id differs from the owner's, which it could otherwise replace.
    """
    name = f"{endpoint}\n{session}" + ("\nguest" if by_guest else "")
    return hashlib.sha256(name.encode()).hexdigest()[:16]


class Subscriptions:
    """The subscriptions of one gateway's state folder."""

    def __init__(self, folder: str) -> None:
        """Use this folder, which exists and is accessible to its user only."""
        self._folder = folder
        self.path: str = os.path.join(folder, NAME)
        self._key_path = os.path.join(folder, KEY_NAME)

    def all(self) -> list[PushSubscription]:
        """Return the subscriptions, the oldest first; none if the file cannot be read."""
        try:
            with open(self.path, "rb") as file:
                return msgspec.json.decode(file.read(MAX_BYTES), type=list[PushSubscription])
        except (OSError, msgspec.MsgspecError):
            return []

    def put(self, subscription: PushSubscription, now_seconds: float) -> None:
        """Add a subscription, or replace the one with its id unless that is newer.

        Raises:
            StoreError: The file cannot be written.
        """

        def changed(current: list[PushSubscription]) -> list[PushSubscription]:
            rest: list[PushSubscription] = []
            for each in current:
                if each.subscription_id == subscription.subscription_id:
                    if each.changed_epoch_ms > subscription.changed_epoch_ms:
                        return current
                elif each.is_removed or each.covers(each.session, now_seconds):
                    rest.append(each)
            return _bounded([*rest, subscription])

        self._rewrite(changed)

    def remove(self, subscription_id: str) -> None:
        """Remove a subscription, if it exists; a removed one's marker stays.

        Raises:
            StoreError: The file cannot be written.
        """
        self._rewrite(
            lambda current: [
                each
                for each in current
                if each.is_removed or each.subscription_id != subscription_id
            ]
        )

    def clear(self) -> None:
        """Remove every subscription.

        Raises:
            StoreError: The file cannot be written.
        """
        if os.path.exists(self.path):
            self._rewrite(lambda _: [])

    def key(self) -> Vapid02:
        """Return the gateway's key, which is generated when it is first needed.

        Raises:
            StoreError: It cannot be read or made.
        """
        from py_vapid import Vapid02  # noqa: PLC0415 - of the extra `gateway`

        try:
            if not os.path.exists(self._key_path):
                with self._locked():
                    if not os.path.exists(self._key_path):
                        fresh = Vapid02()
                        fresh.generate_keys()
                        write_whole(self._key_path, fresh.private_pem())
            with open(self._key_path, "rb") as file:
                return Vapid02.from_pem(file.read())
        except OSError as error:
            raise _unusable(self._key_path, error) from error
        except ValueError as error:
            message = f"{self._key_path} does not contain a key; delete it to get a new one"
            raise StoreError(message) from error

    def use_key(self, private_pem: bytes) -> None:
        """Use the key of other gateways.

        Raises:
            StoreError: It cannot be written.
        """
        try:
            with self._locked():
                write_whole(self._key_path, private_pem)
        except OSError as error:
            raise _unusable(self._key_path, error) from error

    def public_key(self) -> str:
        """Return the public key for browsers, in base64url.

        Raises:
            StoreError: It cannot be read or made.
        """
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - of the extra
            Encoding,
            PublicFormat,
        )

        public: Any = self.key().public_key
        point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return base64.urlsafe_b64encode(point).rstrip(b"=").decode()

    def _rewrite(self, change: Callable[[list[PushSubscription]], list[PushSubscription]]) -> None:
        try:
            with self._locked():
                current = self.all()
                rest = change(current)
                if rest != current:
                    write_whole(self.path, msgspec.json.encode(rest))
        except OSError as error:
            raise _unusable(self.path, error) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        number = os.open(f"{self.path}.lock", os.O_RDWR | CREATE, 0o600)
        try:
            lock(number)
            yield
        finally:
            os.close(number)


def _bounded(subscriptions: list[PushSubscription]) -> list[PushSubscription]:
    """Return the subscriptions within the limit: the last may displace an earlier one.

    It displaces the oldest of the same login, or else the oldest. A guest's displaces only a
    guest's, and the owner's only the owner's.
    """
    *earlier, new = subscriptions
    kind = new.by_guest, new.is_removed
    most = MAX_REMOVED if new.is_removed else MAX_SUBSCRIPTIONS
    alike = [each for each in earlier if (each.by_guest, each.is_removed) == kind]
    if len(alike) < most:
        return subscriptions
    gone = next((each for each in alike if each.login == new.login), alike[0])
    return [each for each in subscriptions if each is not gone]


def _unusable(path: str, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be used ({(error.strerror or 'failed').lower()})")
