"""Retry notices: an agent is trying again, which a client may show although nothing has failed.

Owns the standard ways of reporting a retry. `core.classify.agents` has those of single agents.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from lastword.client import reading
from lastword.client.reading import kind_of, object_of, update_in
from lastword.core.classify import agents, own_failure
from lastword.core.failure import phrases, sentences
from lastword.core.failure.payload import AnnouncedRetry
from lastword.core.failure.payload import read_retry as read_announced
from lastword.core.protocol import acp
from lastword.quirks import wire

if TYPE_CHECKING:
    from lastword.client.reading import Members

MAX_TITLE_CHARS = 1000
_UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_OWN_TITLE = re.compile(
    r"(?:Trying again (?:now|in (?P<wait>\d{1,7}) (?P<unit>second|minute|hour|day)s?)"
    r" \(attempt (?P<attempt>\d{1,7})(?: of (?P<most>\d{1,7}))?\)"
    r"|The agent is trying again)\.$"
)
"""How a notice of ours ends (`core.link.reporting`)."""


class RetryNotice(AnnouncedRetry, frozen=True, kw_only=True):
    """The agent's model call failed and will be retried; the turn continues.

    Attributes:
        attempt: The number of the next try; the first was 1.
        max_attempts: The maximum number of tries.
        wait_seconds: How long the agent waits before it, counted from when this was received.
        error: The failure of the previous try.
    """

    @property
    def message(self) -> str:
        """One or two plain sentences for the user."""
        when = f" in {phrases.plain_duration(self.wait_seconds)}" if self.wait_seconds else ""
        attempt = ""
        if self.attempt is not None:
            attempt = f" ({phrases.attempt_words(self.attempt, self.max_attempts)})"
        error = self.error
        what = "" if error is None else f"{sentences.what_of(error.type, error.reason)} "
        return f"{what}Trying again{when}{attempt}."


def read_retry(message: object) -> RetryNotice | None:
    """Return the retry that a message reports, or `None`.

    Args:
        message: A `session/update` (the notification, its params or its `update`), as decoded JSON
            or as the official SDK's models, or a notification of an agent's own; anything else is
            not a retry.

    Returns:
        The retry, as far as it is known. One that an agent reports only in prose is not recognised.
    """
    try:
        return _read(object_of(message))
    except Exception:  # noqa: BLE001 - as in `read_error`
        return None


def _read(members: Members) -> RetryNotice | None:
    method = members.get("method")
    if isinstance(method, str) and method in wire.METHODS:
        return _of_sign(agents.read_notification(method, object_of(members.get("params"))))
    update = update_in(members)
    kind = kind_of(update)
    if kind in acp.AGENT_RETRY_KINDS:
        return _of_update(update)
    if kind == "notice":
        return _of_notice(update.get("title"))
    if kind in acp.AGENT_ERROR_KINDS:
        return None
    return _of_sign(agents.read_update(update))


def _of_update(update: Members) -> RetryNotice:
    update_notice = read_announced(update | {"error": object_of(update.get("error")) or None})
    return RetryNotice(**msgspec.structs.asdict(update_notice))


def _of_notice(title: object) -> RetryNotice | None:
    if not isinstance(title, str) or len(title) > MAX_TITLE_CHARS:
        return None
    match = _OWN_TITLE.search(title)
    if match is None:
        return None
    own = reading.type_of_sentence(title)
    wait = match["wait"] and int(match["wait"]) * _UNIT_SECONDS[match["unit"]]
    return RetryNotice(
        attempt=int(match["attempt"]) if match["attempt"] else None,
        max_attempts=int(match["most"]) if match["most"] else None,
        wait_seconds=wait or None,
        error=reading.compose(own_failure(*own)) if own else None,
    )


def _of_sign(sign: agents.Sign | None) -> RetryNotice | None:
    if sign is None or not sign.will_retry:
        return None
    return RetryNotice(
        attempt=sign.attempt,
        max_attempts=sign.max_attempts,
        wait_seconds=sign.wait_seconds or sign.verdict.retry_after_seconds,
        error=reading.compose(sign.verdict),
    )
