"""What the options ask for, as one value that also travels to a gateway's sessions.

Owns the reading of the options; a bad one is refused with a sentence before an agent is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.notify.notification import USUAL, NotifiedEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

PER_MINUTE = 6
"""How many notifications a session sends in a minute; the others are counted in the next one."""


class NotifyError(Exception):
    """Notifications cannot be sent as the options say; the text names the option, and no secret."""


class NotifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is notified, and where.

    Attributes:
        url: where notifications go; empty for nowhere.
        form: `webhook` or `ntfy`.
        secret_file: a file with ntfy's token or the webhook's secret; empty for none.
        template_file: a file with the body of a webhook's request; empty for lastword's own.
        events: the events that are notified.
        content: say what a session is about, too.
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
    """Return what the options' values say.

    Raises:
        NotifyError: One of the events is none.
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
    """Return the events in a list with commas; the usual ones for an empty text.

    Raises:
        NotifyError: One of the words is none.
    """
    by_value = {each.value: each for each in NotifiedEvent}
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in by_value:
            raise NotifyError(f"--notify-events has no {word!r}: it takes {', '.join(by_value)}")
    return tuple(by_value[word] for word in words) or USUAL
