"""A webhook's template: a text with fields such as `{title}`, which a notification fills in.

Owns the fields and the escaping. In a JSON template, a field within a string is escaped, and one
outside of strings becomes a JSON value. A template that cannot be used is refused before anything
is sent, with the field and its place.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from lastword.notify.notification import Notification, NotificationAction, NotifiedEvent
from lastword.notify.settings import NotifyError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEMPLATE_BYTES = 64 * 1024
FIELDS = Notification.__struct_fields__
_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_JSON = re.compile(r"""\s*(?:\{\s*"|\[\s*[\[{"])""")
"""How an object or a list begins, and no sentence does."""

_SAMPLE = Notification(
    notification_id="0",
    at_epoch_ms=0,
    event=NotifiedEvent.ASK,
    title='a "title"',
    actions=(NotificationAction("Yes", "https://gateway.example/answer#code"),),
)


class Template:
    """A template that can be used."""

    def __init__(self, text: str) -> None:
        """Read it.

        Raises:
            NotifyError: It has an unknown field, or is JSON that cannot be read.
        """
        for match in _FIELD.finditer(text):
            if match[1] not in FIELDS:
                raise NotifyError(
                    f"the template of --notify-template has no field {match[0]} "
                    f"({_place(text, match.start())}): the fields are {', '.join(FIELDS)}"
                )
        self._is_json = _JSON.match(text) is not None
        self._parts = [*_parts(text)]
        if self._is_json:
            self._check()

    def _check(self) -> None:
        rendered = self.render(_SAMPLE).decode()
        try:
            json.loads(rendered)
        except RecursionError:
            raise NotifyError("the template of --notify-template is nested too deeply") from None
        except ValueError as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else 0
            raise NotifyError(
                "the template of --notify-template begins as JSON, and is none once its fields "
                f"are filled in ({_place(rendered, at)})"
            ) from None

    @property
    def content_type(self) -> str:
        return "application/json" if self._is_json else "text/plain; charset=utf-8"

    def render(self, notification: Notification) -> bytes:
        values = notification.fields()
        made = [
            part if name is None else self._value(values[name], in_string=in_string)
            for part, name, in_string in self._parts
        ]
        return "".join(made).encode(errors="replace")

    def _value(self, value: Any, *, in_string: bool) -> str:
        if self._is_json and not in_string:
            return json.dumps(value)
        text = value if isinstance(value, str) else json.dumps(value)
        return json.dumps(text)[1:-1] if self._is_json else text


def _parts(text: str) -> Iterator[tuple[str, str | None, bool]]:
    """Return texts and fields in order, and whether each field is within a JSON string."""
    at, in_string = 0, False
    for match in _FIELD.finditer(text):
        before = text[at : match.start()]
        yield before, None, False
        # A quote behind a backslash does not end a string.
        quotes = re.sub(r"\\.", "", before, flags=re.DOTALL).count('"')
        in_string ^= bool(quotes % 2)
        yield "", match[1], in_string
        at = match.end()
    yield text[at:], None, False


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"
