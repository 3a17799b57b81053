"""The sender over HTTP: to a webhook, or to an ntfy server.

Owns the target, the body (a webhook's JSON or template, or a message of ntfy), and the outbox;
sending, waiting and the bounds are those of reports (`lastword.outbox`). Redirects are never
followed.

A template is a text with fields such as `{title}`, which a notification fills in. In a JSON
template, a field within a string is escaped, and any other becomes a JSON value. A template that
cannot be used is refused at the start, with the field and its place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from lastword.notify.notification import (
    Notification,
    NotificationAction,
    NotifiedEvent,
    NotifyError,
    Urgency,
)
from lastword.outbox.report import (
    WEBHOOK,
    ReportTarget,
    TargetError,
    address_of,
    content_of,
    secret_of,
)
from lastword.outbox.sender import ItemSender, send_body
from lastword.outbox.store import ItemOutbox

if TYPE_CHECKING:
    from lastword.notify.notification import NotifySettings
    from lastword.outbox.post import CollectorAnswer
    from lastword.outbox.store import OutboxItem


# --- templates

MAX_TEMPLATE_BYTES = 64 * 1024
FIELDS = Notification.__struct_fields__
_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_JSON = re.compile(r"""\s*(?:\{\s*"|\[\s*[\[{"])""")
"""The beginning of an object or a list, unlike that of any sentence."""

_SAMPLE = Notification(
    notification_id="0",
    at_epoch_ms=0,
    event=NotifiedEvent.ASK,
    title='a "title"',
    actions=(NotificationAction("Yes", "https://gateway.example/answer#code"),),
)


class Template:
    """A valid template."""

    def __init__(self, text: str) -> None:
        """Parse it.

        Raises:
            NotifyError: It has an unknown field, or is invalid JSON.
        """
        self._is_json = _JSON.match(text) is not None
        self._parts: list[tuple[str, str | None, bool]] = []
        """Texts and names of fields in order, and whether a field is within a JSON string."""
        at, in_string = 0, False
        for match in _FIELD.finditer(text):
            if match[1] not in FIELDS:
                raise NotifyError(
                    f"the template of --notify-template has no field {match[0]} "
                    f"({_place(text, match.start())}): the fields are {', '.join(FIELDS)}"
                )
            before = text[at : match.start()]
            # A quote after a backslash does not end a string.
            quotes = re.sub(r"\\.", "", before, flags=re.DOTALL).count('"')
            in_string ^= bool(quotes % 2)
            self._parts += [(before, None, False), ("", match[1], in_string)]
            at = match.end()
        self._parts.append((text[at:], None, False))
        if not self._is_json:
            return
        rendered = self.render(_SAMPLE).decode()
        try:
            json.loads(rendered)
        except RecursionError:
            raise NotifyError("the template of --notify-template is nested too deeply") from None
        except ValueError as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else 0
            raise NotifyError(
                "the template of --notify-template begins as JSON, but is not valid JSON once its "
                f"fields are filled in ({_place(rendered, at)})"
            ) from None

    @property
    def content_type(self) -> str:
        return "application/json" if self._is_json else "text/plain; charset=utf-8"

    def render(self, notification: Notification) -> bytes:
        """Return the body for a notification."""
        values = notification.fields()
        body = ""
        for part, name, in_string in self._parts:
            if name is None:
                body += part
            elif self._is_json and not in_string:
                body += json.dumps(values[name])
            else:
                value = values[name]
                text = value if isinstance(value, str) else json.dumps(value)
                body += json.dumps(text)[1:-1] if self._is_json else text
        return body.encode(errors="replace")


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


# --- bodies

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
    """Return the JSON that publishes a notification to a topic of ntfy."""
    message: dict[str, Any] = {
        "topic": topic,
        "title": notification.title,
        "message": notification.text,
        "priority": _PRIORITIES[notification.urgency],
        "tags": [_TAGS[notification.event]],
    }
    if notification.link:
        message["click"] = notification.link
    if notification.actions:
        message["actions"] = []
    for action in notification.actions:
        # Servers log addresses, so the code is in the body.
        url, _, code = action.url.partition("#")
        button = {"action": "http", "label": action.label, "url": url, "method": "POST"}
        more = {"clear": True, "headers": {"Content-Type": "text/plain"}, "body": code}
        message["actions"].append(button | more)
    return msgspec.json.encode(message)


# --- the sender

NTFY = "ntfy"
FINISH_SECONDS = 2.0
_TOPIC = re.compile(r"/([-_A-Za-z0-9]{1,64})/?")
OPTION = "--notify"


class NotificationOutbox(ItemOutbox[Notification]):
    """The outbox of notifications."""

    NAME: ClassVar[str] = "notifications.db"
    ITEM: ClassVar[type[OutboxItem]] = Notification
    MAX_AGE_SECONDS: ClassVar[float] = 6 * 3600.0


class HttpTarget(msgspec.Struct, frozen=True):
    """The destination of notifications, and their form.

    Attributes:
        target: the address, its credentials, and its key in the outbox.
        topic: ntfy's topic; empty for a webhook.
        template: a webhook's template; `None` for lastword's own JSON.
    """

    target: ReportTarget
    topic: str = ""
    template: Template | None = None

    def send(self, target: ReportTarget, notification: Notification) -> CollectorAnswer:
        """Send a notification once.

        Raises:
            PostError: There was no answer.
        """
        content_type = "application/json"
        if self.topic:
            body = ntfy_body(notification, self.topic)
        elif self.template is None:
            body = webhook_body(notification)
        else:
            body, content_type = self.template.render(notification), self.template.content_type
        headers = target.headers | {"content-type": content_type}
        target = msgspec.structs.replace(target, headers=headers)
        return send_body(target, body, notification.notification_id)


def target_of(settings: NotifySettings) -> HttpTarget:
    """Return the target for the settings.

    Raises:
        NotifyError: The address or a file cannot be used.
    """
    try:
        address = address_of(settings.url, OPTION)
        secret = _content(settings.secret_file, "--notify-secret-file")
        text = _content(settings.template_file, "--notify-template", MAX_TEMPLATE_BYTES)
    except TargetError as error:
        raise NotifyError(str(error)) from error
    key = hashlib.sha256(f"notify {settings.form} {address.place}{address.path}".encode())
    target = ReportTarget(
        address.url, settings.form, address.headers, b"", key.hexdigest()[:16], address.place
    )
    if settings.form != NTFY:
        template = Template(text) if settings.template_file else None
        target = msgspec.structs.replace(target, form=WEBHOOK, secret=secret_of(secret))
        return HttpTarget(target, template=template)
    if settings.template_file:
        raise NotifyError("--notify-template is for webhooks: ntfy has its own format")
    topic = _TOPIC.fullmatch(address.path)
    if topic is None:
        raise NotifyError(
            "--notify to ntfy takes a server and a topic, such as ntfy://ntfy.sh/my-topic"
        )
    if secret:
        if not (secret.isascii() and secret.isprintable() and " " not in secret):
            raise NotifyError("the file of --notify-secret-file does not have a token in it")
        bearer = {"authorization": f"Bearer {secret}"}
        target = msgspec.structs.replace(target, headers=target.headers | bearer)
    # ntfy accepts JSON only at its root, where the topic is a member.
    target = msgspec.structs.replace(target, url=f"{address.place}/")
    return HttpTarget(target, topic=topic[1])


def _content(path: str, option: str, limit_bytes: int | None = None) -> str:
    if not path:
        return ""
    what, path = f"the file of {option}", os.path.expanduser(path)
    # The process that sends reads it again, so it must not be a pipe.
    if os.path.exists(path) and not os.path.isfile(path):
        raise NotifyError(f"{what} is not a regular file")
    if limit_bytes and os.path.exists(path) and os.path.getsize(path) > limit_bytes:
        raise NotifyError(f"{what} has more than {limit_bytes // 1024} KiB")
    return content_of(path, what, limit_bytes)


class HttpSender:
    """Puts notifications into the outbox, and sends them."""

    def __init__(self, target: HttpTarget, folder: str) -> None:
        """Start its thread, which begins with the notifications of earlier runs."""
        self._outbox = NotificationOutbox(folder)
        self._sender = ItemSender(self._outbox, target.target, target.send)

    def send(self, notification: Notification) -> None:
        self._sender.put(notification)

    def withdraw(self, notification_id: str) -> None:
        """Drop a waiting notification."""
        self._sender.withdraw(notification_id)

    def close(self) -> None:
        """Send for a short time, and stop."""
        self._sender.finish(FINISH_SECONDS)


def start(settings: NotifySettings, folder: str) -> HttpSender | None:
    """Return the sender, if the settings name an address."""
    if not settings.url:
        return None
    try:
        return HttpSender(target_of(settings), folder)
    except (NotifyError, RuntimeError):  # a file was removed, or no thread can be started
        return None
