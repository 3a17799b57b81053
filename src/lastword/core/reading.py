"""Read a failure that somebody else put on the wire: the payload, and the shapes of the wild.

Owns tolerance: a reader takes what it can use and never raises. Unknown words become unknown.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from lastword.core import jsonrpc, sentences
from lastword.core.taxonomy import (
    DEFAULTS,
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.redact import Redactor

_Word = TypeVar("_Word", bound=StrEnum)

MAX_TEXT_CHARS = 500
MAX_DETAIL_BYTES = 4096


def read_update(frame: object, redactor: Redactor) -> AgentError:
    """Read a `session/update` of the kind `agent_error`, in our shape or in one seen in the wild.

    Those are `{sessionUpdate, message, raw}` and `{sessionUpdate, type: "error", text}`.
    """
    params = frame.get("params") if isinstance(frame, dict) else None
    update = params.get("update") if isinstance(params, dict) else None
    members = update if isinstance(update, dict) else {}
    error = members.get("error")
    if isinstance(error, dict):
        return read_payload(error, redactor)
    text = members.get("message") or members.get("text")
    return read_payload({"message": text}, redactor)


def read_payload(payload: dict[str, Any], redactor: Redactor) -> AgentError:
    """Read the payload as far as it keeps the contract; what does not is left out."""
    error_type = _word(ErrorType, payload.get("type")) or ErrorType.UNKNOWN
    retryable = payload.get("retryable")
    said = sentences.plain_text(_text(payload, "message", redactor) or "")
    message = said or "The agent reported a failure."
    return AgentError(
        type=error_type,
        message=message,
        detail=_detail(payload.get("detail"), redactor),
        retryable=retryable is True or (retryable is None and DEFAULTS[error_type].retryable),
        retry_after_seconds=_whole(payload.get("retry_after_seconds")),
        reset_at_epoch_ms=_whole(payload.get("reset_at_epoch_ms")),
        source=_text(payload, "source", redactor),
        reason=_text(payload, "reason", redactor),
        origin=_word(Origin, payload.get("origin")),
        phase=_word(Phase, payload.get("phase")),
        retry_safety=_word(RetrySafety, payload.get("retry_safety")),
        action=_word(Action, payload.get("action")),
        http_status=_whole(payload.get("http_status")),
        provider_code=_text(payload, "provider_code", redactor),
        request_id=_text(payload, "request_id", redactor),
        attempts=_whole(payload.get("attempts")),
        exit_code=_whole(payload.get("exit_code")),
        exit_signal=_text(payload, "exit_signal", redactor),
        incident_id=_text(payload, "incident_id", redactor),
    )


def _detail(detail: object, redactor: Redactor) -> dict[str, Any] | None:
    """The detail within its bound: where it is over, what is left of its text."""
    if not isinstance(detail, dict):
        return None
    clean: dict[str, Any] = redactor.json(detail)
    if len(jsonrpc.dumps(clean)) <= MAX_DETAIL_BYTES:
        return clean
    text = clean.get("text")
    return {"text": text[:MAX_TEXT_CHARS]} if isinstance(text, str) else None


def _word(words: type[_Word], value: object) -> _Word | None:
    try:
        return words(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _text(payload: dict[str, Any], key: str, redact: Callable[[str], str]) -> str | None:
    value = payload.get(key)
    return redact(value)[:MAX_TEXT_CHARS] if isinstance(value, str) and value else None


MAX_WHOLE = 2**53
"""A larger number is no number to every client in JavaScript."""


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return math.ceil(value) if 0 <= value <= MAX_WHOLE else None
