"""Checks of every payload that an agent with the extension sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.client import model
from lastword.core.failure.taxonomy import (
    MAX_DETAIL_BYTES,
    MAX_MESSAGE_CHARS,
    Action,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.kit.check.checks.failure_frames import payloads
from lastword.kit.check.checks.model import FAILING, Finding, check, failed, passed
from lastword.kit.check.stage import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from enum import StrEnum

    from lastword.kit.check.checks.failure_frames import Payload
    from lastword.kit.check.stage import Transcript

SPOKEN = (*FAILING, "plain", "consenting", "crash")
"""The acts in which a speaker sends a payload."""

CLOSED: dict[str, type[StrEnum]] = {
    "origin": Origin,
    "phase": Phase,
    "retry_safety": RetrySafety,
    "action": Action,
}


def _each(acts: Sequence[Transcript], wrong_with: Callable[[Payload, bool], str]) -> Finding:
    """Judge every payload by a function that says what is wrong, or nothing."""
    count = 0
    for payload, event, typed in payloads(acts):
        count += 1
        if wrong := wrong_with(payload, typed):
            return failed(wrong, event)
    if not count:
        raise UnreachedError("it sent no payload")
    return passed(f"{count} payloads")


_MEND = "Readers misread or drop it: keep to protocol/schema.json."


def _row(
    name: str, requirement: str, title: str
) -> Callable[[Callable[[Payload, bool], str]], Callable[[Payload, bool], str]]:
    def enter(wrong_with: Callable[[Payload, bool], str]) -> Callable[[Payload, bool], str]:
        check(name, requirement, title, acts=SPOKEN, mend=_MEND)(
            lambda acts: _each(acts, wrong_with)
        )
        return wrong_with

    return enter


@_row("payload-required", "PAY-1", "a payload has type, message and retryable")
def required(payload: Payload, _typed: bool) -> str:  # noqa: FBT001  (the table's shape)
    kinds: dict[str, type] = {"type": str, "message": str, "retryable": bool}
    missing = [name for name, kind in kinds.items() if not isinstance(payload.get(name), kind)]
    return f"missing: {', '.join(missing)}" if missing else ""


@_row("payload-no-null", "PAY-2", "a payload has no member that is null")
def no_null(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    nulls = [name for name, value in payload.items() if value is None]
    return f"null: {', '.join(nulls)}" if nulls else ""


@_row("payload-message", "PAY-3", "the message is a plain sentence of at most 500 characters")
def message(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    text = payload.get("message")
    if not isinstance(text, str):
        return ""
    if not text.strip():
        return "the message is empty"
    if len(text) > MAX_MESSAGE_CHARS:
        return f"the message has {len(text)} characters"
    return "the message has a [" if "[" in text else ""


@_row("payload-detail", "PAY-4", "the detail is an object of at most 4 KiB")
def detail(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    given = payload.get("detail")
    if given is None:
        return ""
    if not isinstance(given, dict):
        return "the detail is not an object"
    size = len(json.dumps(given, ensure_ascii=False).encode())
    return f"the detail has {size} bytes" if size > MAX_DETAIL_BYTES else ""


@_row("payload-waits", "PAY-5", "waits are whole numbers: seconds, and milliseconds since 1970")
def waits(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    for name in ("retry_after_seconds", "reset_at_epoch_ms"):
        if _is_other(payload.get(name)):
            return f"{name} is {payload[name]!r}"
    return ""


def _is_other(value: Any) -> bool:
    return value is not None and (type(value) is not int or value < 0)


@_row("payload-stop-reason", "PAY-8", "a payload outside a typed update says stopReason error")
def stop_reason_beside(payload: Payload, typed: bool) -> str:  # noqa: FBT001
    if typed or payload.get("stopReason") == "error":
        return ""
    return f"its stopReason is {payload.get('stopReason')!r}"


@_row("payload-type", "VOC-1", "the type is one of the vocabulary's words")
def error_type(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    word = payload.get("type")
    return "" if word in [t.value for t in ErrorType] else f"the type is {word!r}"


@_row("payload-closed-sets", "VOC-2", "origin, phase, retry_safety, action are of their sets")
def closed_sets(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    for name, words in CLOSED.items():
        if name in payload and payload[name] not in [word.value for word in words]:
            return f"{name} is {payload[name]!r}"
    return ""


@_row("payload-read", "AGT-28", "a reader gets back what the payload says")
def as_read(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    given = {name: value for name, value in payload.items() if value is not None}
    got = model.AgentErrorPayload.model_validate(payload).to_wire()
    if isinstance(given.get("message"), str):
        got["message"] = given["message"]  # how it is worded is `PAY-3`'s
    changed = sorted(name for name in given | got if given.get(name) != got.get(name))
    return f"read as something else: {', '.join(changed)}" if changed else ""
