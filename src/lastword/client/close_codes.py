"""Close codes and upgrade statuses: what the end of a connection to a gateway means for the next.

Owns the table, so that clients with their own reconnect logic still agree on what is final. Knows
no state and no clock (`reconnect`). Needs only the standard library.

Sources of the codes: RFC 6455, section 7.4.1, and IANA's registry for 1000 to 1015; Centrifugo's
terminal range for 3500 to 3999; HTTP's 4xx for 44xx, so that 4404 is 404; and clients in the field
for 4000 and 4001, which they send for 4408 and 4401.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_CAUSE_CHARS = 200
"""The longest text of a peer or a library that is shown; a close reason has 123 bytes at most."""


class LossKind(StrEnum):
    """What to do after the end of a connection, or of an attempt at one."""

    TRANSIENT = "transient"
    """Try again, after a growing wait."""
    CUT = "cut"
    """The same, but at once if the link had been stable."""
    NOW = "now"
    """The same, but always at once."""
    PATIENT = "patient"
    """The same, but more often: the gateway will return."""
    REFRESH = "refresh"
    """Try again once, with a new token."""
    PERMANENT = "permanent"
    """Give up: another attempt would end in the same way."""
    FINAL = "final"
    """Stop: nothing has failed."""


class Why(StrEnum):
    """Why there is no further attempt."""

    UNREACHABLE = "unreachable"
    ASKED_TO_WAIT = "asked_to_wait"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    SESSION_UNKNOWN = "session_unknown"
    PROTOCOL = "protocol"
    REFUSED = "refused"
    REDIRECTED = "redirected"
    CERTIFICATE = "certificate"
    SESSION_ENDED = "session_ended"
    SUPERSEDED = "superseded"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Loss:
    """What the end of a connection, or of an attempt, means.

    Attributes:
        kind: What to do.
        cause: What happened, for people: one line, at most 200 characters.
        why: The reason to stop trying: for `PERMANENT` and `FINAL` now, for `REFRESH` if the new
            token is refused too. Otherwise `None`.
        wait: The shortest wait that the gateway asked for, in milliseconds, or `None`.
    """

    kind: LossKind
    cause: str
    why: Why | None = None
    wait: int | None = None


SAME_CODE = {4000: 4408, 4001: 4401}
"""Codes that clients in the field send, and the ones that they mean."""

_CODES: dict[int, tuple[LossKind, Why | None]] = {
    1000: (LossKind.FINAL, Why.SESSION_ENDED),
    1001: (LossKind.PATIENT, None),
    1002: (LossKind.PERMANENT, Why.PROTOCOL),
    1003: (LossKind.PERMANENT, Why.PROTOCOL),
    1005: (LossKind.CUT, None),
    1006: (LossKind.CUT, None),
    1007: (LossKind.PERMANENT, Why.PROTOCOL),
    1008: (LossKind.PERMANENT, Why.FORBIDDEN),
    1009: (LossKind.PERMANENT, Why.PROTOCOL),
    1012: (LossKind.PATIENT, None),
    1013: (LossKind.PATIENT, None),
    1015: (LossKind.CUT, None),
    4400: (LossKind.PERMANENT, Why.PROTOCOL),
    4401: (LossKind.REFRESH, Why.UNAUTHORIZED),
    4403: (LossKind.PERMANENT, Why.FORBIDDEN),
    4404: (LossKind.PERMANENT, Why.SESSION_UNKNOWN),
    4408: (LossKind.NOW, None),
    4409: (LossKind.FINAL, Why.SUPERSEDED),
    4410: (LossKind.FINAL, Why.SESSION_ENDED),
    4425: (LossKind.TRANSIENT, None),
    4429: (LossKind.TRANSIENT, None),
}
_REFUSED_RANGES = ((3500, 3999), (4400, 4499))

_STATUSES: dict[int, tuple[LossKind, Why | None]] = {
    401: (LossKind.REFRESH, Why.UNAUTHORIZED),
    403: (LossKind.PERMANENT, Why.FORBIDDEN),
    404: (LossKind.PERMANENT, Why.SESSION_UNKNOWN),
    408: (LossKind.TRANSIENT, None),
    410: (LossKind.PERMANENT, Why.SESSION_UNKNOWN),
    421: (LossKind.TRANSIENT, None),
    425: (LossKind.TRANSIENT, None),
    429: (LossKind.TRANSIENT, None),
}
_STATUS_IN_WORDS = re.compile(r"Unexpected server response: ([1-5][0-9]{2})(?![0-9])")
"""How the `ws` package for Node words a refused upgrade."""

_RETRY_IN_REASON = re.compile(r"retry[\"=: ]{1,3}([0-9]{1,9})(?![0-9])")
_SECONDS = re.compile(r"[0-9]{1,9}")
_CERTIFICATE = re.compile(r"[Cc]ertificate|CERT|UNABLE_TO_VERIFY")
"""As Python's `ssl`, browsers, and OpenSSL's codes in Node word it."""

_NOT_SHOWN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Controls, line ends, marks of direction and halves of characters."""


def classify_close(code: int, reason: str = "") -> Loss:
    """Return what a closed connection means.

    Args:
        code: The close code; 1005 or 1006 if there was none.
        reason: Its text. `retry=N` in it is the shortest wait, in seconds. With 1005, 1006 and
            1015, which no peer sends, an error of the `ws` package is searched for its status.
    """
    if (refused := _STATUS_IN_WORDS.search(reason)) and code in {1005, 1006, 1015}:
        return classify_upgrade(int(refused[1]))
    usual_code = SAME_CODE.get(code, code)
    is_refused = any(low <= usual_code <= high for low, high in _REFUSED_RANGES)
    unlisted: tuple[LossKind, Why | None]
    unlisted = (LossKind.PERMANENT, Why.REFUSED) if is_refused else (LossKind.TRANSIENT, None)
    kind, why = _CODES.get(usual_code, unlisted)
    wait = _RETRY_IN_REASON.search(reason)
    return Loss(
        kind,
        plain(f"closed {code}: {reason}" if reason else f"closed {code}"),
        why,
        int(wait[1]) * 1000 if wait and why is None else None,
    )


def classify_upgrade(status: int, retry_after: int | str | None = None) -> Loss:
    """Return what an HTTP response means if it does not switch to WebSocket.

    Args:
        status: The status.
        retry_after: The header `Retry-After`, in seconds, as a number or as its text. A date
            counts as absent, since it would need a clock.
    """
    kind: LossKind
    why: Why | None
    if status in _STATUSES:
        kind, why = _STATUSES[status]
    elif 300 <= status <= 399:  # noqa: PLR2004 - HTTP's classes
        kind, why = LossKind.PERMANENT, Why.REDIRECTED
    elif 400 <= status <= 499:  # noqa: PLR2004
        kind, why = LossKind.PERMANENT, Why.REFUSED
    else:
        kind, why = LossKind.TRANSIENT, None
    if isinstance(retry_after, str):
        seconds = _SECONDS.fullmatch(retry_after.strip(" "))
        retry_after = int(seconds[0]) if seconds else None
    wait = None
    if why is None and retry_after is not None and retry_after >= 0:
        wait = retry_after * 1000
    return Loss(kind, f"HTTP {status}", why, wait)


def classify_failure(text: str) -> Loss:
    """Return what a failed attempt means if there was no response.

    Args:
        text: A word, such as `dns`, or the library's own error text. One that mentions a
            certificate is permanent; one with a status is read as that status.
    """
    if refused := _STATUS_IN_WORDS.search(text):
        return classify_upgrade(int(refused[1]))
    if _CERTIFICATE.search(text):
        return Loss(LossKind.PERMANENT, plain(text), Why.CERTIFICATE)
    return Loss(LossKind.TRANSIENT, plain(text))


def plain(text: str) -> str:
    """Return a peer's text fit for display: one line, without terminal control characters."""
    return _NOT_SHOWN.sub(" ", text)[:MAX_CAUSE_CHARS].strip(" ")
