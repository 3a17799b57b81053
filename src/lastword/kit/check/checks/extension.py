"""Checks of an agent with the extension: negotiation, rung, order, and every payload."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

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
from lastword.core.protocol import acp
from lastword.kit.check.checks.model import (
    Finding,
    error_in,
    failed,
    failed_turns,
    is_typed_update,
    judges,
    passed,
    payload_in_answer,
    payload_in_update,
    payloads,
    stop_reason,
)
from lastword.kit.check.stage import NotApplicableError, UnreachedError, advertised

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from enum import StrEnum

    from lastword.kit.check.checks.model import Payload
    from lastword.kit.check.stage import Transcript

    WrongWith = Callable[[Payload, bool], str]


@judges("advertisement")
def advertisement(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if not act.welcome:
        raise UnreachedError("initialize was not answered")
    if not act.speaks:
        raise NotApplicableError("it does not say that it speaks agent_error")
    member = advertised(act.welcome)["agent_error"]
    answer = act.notes.get("initialized")
    try:
        read = model.Advertisement.model_validate(member)
    except ValidationError as error:
        return failed(f"invalid: {error.errors()[0]['msg'].lower()}", answer)
    if not read.types or not read.implementation:
        return failed("types and implementation are missing", answer)
    return passed(f"version {read.version}, {read.implementation}"[:60])


@judges("typed-update")
def typed_update(acts: Sequence[Transcript]) -> Finding:
    turns = failed_turns(acts)
    for act, turn in turns:
        before = [e for e in act.of(turn) if is_typed_update(e)]
        if len(before) != 1:
            what = f"{len(before)} agent_error updates before the answer (act {act.name})"
            return failed(what, *before[:2], turn.answer)
    return passed(f"{len(turns)} turns")


@judges("update-and-answer")
def update_and_answer(acts: Sequence[Transcript]) -> Finding:
    for act, turn in failed_turns(acts):
        for event in filter(is_typed_update, act.of(turn)):
            update = payload_in_update(event) or {}
            answer = dict(payload_in_answer(turn.answer) or {})
            answer.pop("stopReason", None)
            if {k: v for k, v in update.items() if k != "stopReason"} != answer:
                return failed(f"they differ (act {act.name})", event, turn.answer)
    return passed()


@judges("payload-in-time")
def payload_in_time(acts: Sequence[Transcript]) -> Finding:
    for act, turn in failed_turns(acts):
        updates = [payload_in_update(event) for event in act.of(turn)]
        if all(payload is None for payload in [payload_in_answer(turn.answer), *updates]):
            return failed(f"no payload at all (act {act.name})", turn.answer)
    return passed()


@judges("nothing-after")
def nothing_after(acts: Sequence[Transcript]) -> Finding:
    for act, turn in failed_turns(acts):
        for event in act.after(turn):
            if payload_in_update(event) is not None:
                return failed(
                    f"reported again after the answer (act {act.name})", turn.answer, event
                )
    return passed()


@judges("not-negotiated", "malformed-advertisement")
def not_negotiated(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    typed = [event for event in act.events if is_typed_update(event)]
    return failed("it got one", typed[0]) if typed else passed()


@judges("rung-of-older-clients")
def rung_of_older_clients(acts: Sequence[Transcript]) -> Finding:
    for _, turn in failed_turns(acts):
        if not error_in(turn.answer) or payload_in_answer(turn.answer) is None:
            return failed("it got something else", turn.answer)
    return passed()


@judges("carrier")
def carrier(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act, turn in failed_turns(acts):
        for event in act.of(turn):
            if payload_in_update(event) is None or is_typed_update(event):
                continue
            count += 1
            if set(event.update) != {"sessionUpdate", "_meta"}:
                return failed(f"it holds {', '.join(sorted(event.update))}", event)
    return passed(f"{count} updates")


@judges("consent")
def consent(acts: Sequence[Transcript]) -> Finding:
    turns = failed_turns(acts)
    if any(turn.answer and turn.answer.kind == acp.STATE_UPDATE for _, turn in turns):
        raise NotApplicableError("in version 2 every failing turn ends so")
    for act, turn in turns:
        has = stop_reason(turn.answer) == acp.STOP_ERROR
        if has and act.name != "consenting":
            return failed(f"it came unasked (act {act.name})", turn.answer)
    return passed()


@judges("consent-kept")
def consent_honoured(acts: Sequence[Transcript]) -> Finding:
    for _, turn in failed_turns(acts):
        if stop_reason(turn.answer) != acp.STOP_ERROR or not payload_in_answer(turn.answer):
            return failed("it got something else", turn.answer)
    return passed()


@judges("retries-asked-for")
def retries_requested(acts: Sequence[Transcript]) -> Finding:
    _speaking(acts)
    for act in acts:
        for event in act.events:
            retry = event.kind in acp.AGENT_RETRY_KINDS
            if retry and act.name != "consenting":
                return failed(f"it came unasked (act {act.name})", event)
    return passed()


@judges("cancel-is-no-failure")
def cancel_is_no_failure(acts: Sequence[Transcript]) -> Finding:
    (act,) = _speaking(acts)
    turn = act.cancelled_turn()
    for event in [*act.of(turn), *act.after(turn)]:
        if payload_in_update(event) is not None:
            return failed("a failure was reported", event)
    return passed()


def _speaking(acts: Sequence[Transcript]) -> list[Transcript]:
    speaking = [act for act in acts if act.speaks]
    if not speaking:
        raise NotApplicableError("it does not say that it speaks agent_error")
    return speaking


CLOSED: dict[str, type[StrEnum]] = {
    "origin": Origin,
    "phase": Phase,
    "retry_safety": RetrySafety,
    "action": Action,
}


def _each(acts: Sequence[Transcript], wrong_with: WrongWith) -> Finding:
    """Judge every payload by a function that says what is wrong, or nothing."""
    count = 0
    for payload, event, typed in payloads(acts):
        count += 1
        if wrong := wrong_with(payload, typed):
            return failed(wrong, event)
    if not count:
        raise UnreachedError("it sent no payload")
    return passed(f"{count} payloads")


def judges_payloads(name: str) -> Callable[[WrongWith], WrongWith]:
    """Have a function judge every payload: it returns what is wrong with one, or nothing."""

    def enter(wrong_with: WrongWith) -> WrongWith:
        judges(name)(lambda acts: _each(acts, wrong_with))
        return wrong_with

    return enter


@judges_payloads("payload-required")
def required(payload: Payload, _typed: bool) -> str:  # noqa: FBT001  (the table's shape)
    kinds: dict[str, type] = {"type": str, "message": str, "retryable": bool}
    missing = [name for name, kind in kinds.items() if not isinstance(payload.get(name), kind)]
    return f"missing: {', '.join(missing)}" if missing else ""


@judges_payloads("payload-no-null")
def no_null(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    nulls = [name for name, value in payload.items() if value is None]
    return f"null: {', '.join(nulls)}" if nulls else ""


@judges_payloads("payload-message")
def message(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    text = payload.get("message")
    if not isinstance(text, str):
        return ""
    if not text.strip():
        return "the message is empty"
    if len(text) > MAX_MESSAGE_CHARS:
        return f"the message has {len(text)} characters"
    return "the message has a [" if "[" in text else ""


@judges_payloads("payload-detail")
def detail(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    given = payload.get("detail")
    if given is None:
        return ""
    if not isinstance(given, dict):
        return "the detail is not an object"
    size = len(json.dumps(given, ensure_ascii=False).encode())
    return f"the detail has {size} bytes" if size > MAX_DETAIL_BYTES else ""


@judges_payloads("payload-waits")
def waits(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    for name in ("retry_after_seconds", "reset_at_epoch_ms"):
        if _is_other(payload.get(name)):
            return f"{name} is {payload[name]!r}"
    return ""


def _is_other(value: Any) -> bool:
    return value is not None and (type(value) is not int or value < 0)


@judges_payloads("payload-stop-reason")
def stop_reason_beside(payload: Payload, typed: bool) -> str:  # noqa: FBT001
    if typed or payload.get("stopReason") == "error":
        return ""
    return f"its stopReason is {payload.get('stopReason')!r}"


@judges_payloads("payload-type")
def error_type(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    word = payload.get("type")
    return "" if word in [t.value for t in ErrorType] else f"the type is {word!r}"


@judges_payloads("payload-closed-sets")
def closed_sets(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    for name, words in CLOSED.items():
        if name in payload and payload[name] not in [word.value for word in words]:
            return f"{name} is {payload[name]!r}"
    return ""


@judges_payloads("payload-read")
def as_read(payload: Payload, _typed: bool) -> str:  # noqa: FBT001
    given = {name: value for name, value in payload.items() if value is not None}
    got = model.AgentErrorPayload.model_validate(payload).to_wire()
    if isinstance(given.get("message"), str):
        got["message"] = given["message"]  # how it is worded is `PAY-3`'s
    changed = sorted(name for name in given | got if given.get(name) != got.get(name))
    return f"read as something else: {', '.join(changed)}" if changed else ""
