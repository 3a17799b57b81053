"""The `agent_error` payload as a peer wrote it, read in one place for every entry point.

Owns tolerance (`protocol/README.md`, section "Reading"): a peer's mistake in a payload never hides
that there was a failure. Does not own where a payload is looked for (`core.failure.signs` and the
client's `reading`) nor how one is written (`AgentError.payload`).
"""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from lastword.core.failure import sentences, wording
from lastword.core.failure.members import BY_NAME, MEMBERS, ValueForm
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    MAX_DETAIL_BYTES,
    MAX_MESSAGE_CHARS,
    MAX_TEXT_CHARS,
    AgentError,
    ErrorType,
)
from lastword.core.protocol import jsonrpc
from lastword.core.redact.truncate import to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.core.redact.redactor import Redactor

_Word = TypeVar("_Word", bound=StrEnum)

MAX_WHOLE = 2**53
"""JavaScript cannot represent larger integers exactly."""

MAX_OTHER_MEMBERS = 64
"""The most members outside the contract that are passed on."""

STOP_REASON = "stopReason"
"""The member that marks a payload outside of a typed update (`PAY-8`)."""

_CLOSED_SETS = {
    member.name: member.words for member in MEMBERS if member.words and member.name != "type"
}


class AnnouncedRetry(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an `agent_retry` update.

    Attributes:
        attempt: the number of the next attempt; the first was 1.
        max_attempts: the most attempts that there will be.
        wait_seconds: the wait until the next attempt, rounded up.
        error: the failure of the previous attempt.
    """

    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: int | None = None
    error: AgentError | None = None


def read_payload(payload: Mapping[str, Any]) -> AgentError:
    """Read a payload, leaving out every member that breaks the contract."""
    error_type = _word(ErrorType, payload.get("type")) or ErrorType.UNKNOWN
    retryable = payload.get("retryable")
    will_help = DEFAULTS[error_type].retryable if retryable is None else retryable is True
    words: dict[str, Any] = {
        name: _word(closed_set, payload.get(name)) for name, closed_set in _CLOSED_SETS.items()
    }
    text = payload.get("message")
    message = wording.on_one_line(text) if isinstance(text, str) else ""
    if len(message) > MAX_MESSAGE_CHARS:
        message = f"{message[: MAX_MESSAGE_CHARS - 1]}…"  # `PAY-3`
    if not message:
        usual = wording.usual_action(error_type, words["retry_safety"], retryable=will_help)
        message = sentences.own_sentence(error_type, words["action"] or usual)
    return AgentError(
        type=error_type,
        message=message,
        retryable=will_help,
        extra=_well_formed(_other_members(payload)) or None,
        **{
            member.name: _READERS[member.form](payload.get(member.name))
            for member in MEMBERS
            if member.form in _READERS
        },
        **words,
    )


def payload_of(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an `agent_error` update, or of one of the two shapes that preceded it.

    Those are `{sessionUpdate, message, raw}` and `{sessionUpdate, type: "error", text}`. An `error`
    that is plain text is read the same way.
    """
    error = update.get("error")
    if isinstance(error, dict):
        return error
    texts = (update.get(key) for key in ("message", "text", "error"))
    first = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    return {"message": first, "detail": update.get("raw")}


def read_retry(update: Mapping[str, Any]) -> AnnouncedRetry:
    """Read an `agent_retry` update."""
    error = update.get("error")
    return AnnouncedRetry(
        attempt=_count(update.get("attempt")),
        max_attempts=_count(update.get("max_attempts")),
        wait_seconds=_count(update.get("wait_seconds")),
        error=read_payload(error) if isinstance(error, dict) else None,
    )


def read_to_forward(payload: Mapping[str, Any], redactor: Redactor) -> AgentError:
    """Read a payload to forward, within the bounds that the contract sets for a sender.

    Secrets are removed from every text before it is cut. Members that the contract does not name
    are forwarded if they are few and small, and phrases that some client misreads are reworded.
    """
    others = list(_other_members(payload))[:MAX_OTHER_MEMBERS]
    names = [name for name in payload if name in BY_NAME] + others
    scrubbed: dict[str, Any] = {}
    for name in names:
        scrubbed |= redactor.json({name: payload[name]})
    error = read_payload(scrubbed)
    detail, text = error.detail, error.detail.get("text") if error.detail else None
    if detail is not None and isinstance(text, str):
        detail = detail | {"text": wording.without_forbidden(text)}
    extra: dict[str, Any] = {}
    for name, value in (error.extra or {}).items():
        if _fits(extra | {name: value}):
            extra[name] = value
    return msgspec.structs.replace(
        error,
        message=wording.without_forbidden(error.message)[:MAX_MESSAGE_CHARS],
        detail=_detail(detail),
        extra=extra or None,
    )


def _other_members(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in payload.items()
        if isinstance(name, str)
        and name not in BY_NAME
        and name != STOP_REASON
        and value is not None
    }


def _detail(value: object) -> dict[str, Any] | None:
    """Return a detail within its bound (`PAY-4`), cutting its text if needed."""
    if isinstance(value, dict):
        if _fits(value):
            return _well_formed(value)
        value = value.get("text")
    text = _characters(value) if isinstance(value, str) else _digits(value)
    if not text:
        return None
    detail = {"text": text}
    if _fits(detail):
        return detail
    return {"text": to_bytes(text, MAX_DETAIL_BYTES - len('{"text":""}'))}


def _fits(value: object) -> bool:
    """Return whether this is JSON, and no longer than a detail may be."""
    try:
        return len(jsonrpc.dumps(value)) <= MAX_DETAIL_BYTES
    except (TypeError, ValueError, RecursionError):
        return False


def _word(words: type[_Word], value: object) -> _Word | None:
    try:
        return words(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _text(value: object) -> str | None:
    """Return a text, or the digits of a number that stands in its place (`PAY-6`)."""
    return _characters(value[:MAX_TEXT_CHARS]) if isinstance(value, str) else _digits(value)


def _characters(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, at which most readers stop."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _well_formed(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members with whole characters, or unchanged if they are not JSON."""
    try:
        text = json.dumps(members, ensure_ascii=False)
        whole = _characters(text)
        readable: dict[str, Any] = members if whole == text else json.loads(whole)
    except (TypeError, ValueError, RecursionError):
        return members
    return readable


def _digits(value: object) -> str | None:
    number = _whole(value)
    return None if number is None else str(number)


def _whole(value: object) -> int | None:
    """Return a whole number, including one written with a zero fraction."""
    number = _number(value)
    return None if number is None or number != int(number) else int(number)


def _count(value: object) -> int | None:
    """Return a non-negative whole number, rounded up (`PAY-5`)."""
    number = _number(value)
    return None if number is None or number < 0 else math.ceil(number)


def _number(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -MAX_WHOLE <= value <= MAX_WHOLE else None


_READERS: dict[ValueForm, Callable[[object], Any]] = {
    ValueForm.DETAIL: _detail,
    ValueForm.COUNT: _count,
    ValueForm.WHOLE: _whole,
    ValueForm.TEXT: _text,
}
"""The readers of optional members; a word is read from its closed set."""
