"""Checks of an agent whose provider fails, of the error that it then sends, and of the extension.

The extension's checks cover its negotiation, the rung, the order of frames, and every payload.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import ValidationError

from lastword.client import model, read_error
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
    missing_answer,
    passed,
    payload_in_answer,
    payload_in_update,
    payloads,
    quoted,
    reports_failure,
    shows,
    speaking,
    stop_reason,
    warned,
)
from lastword.kit.check.stage import NotApplicableError, UnreachedError, advertised
from lastword.kit.provider.server import ProviderScenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from enum import StrEnum

    from lastword.kit.check.checks.model import Payload
    from lastword.kit.check.stage import ObservedTurn, Transcript

    WrongWith = Callable[[Payload], str]
    """Returns what is wrong with a payload, or an empty text."""


# --- the extension


@judges("advertisement")
def advertisement(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if not act.welcome:
        raise UnreachedError("initialize was not answered")
    speaking(acts)
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
    speaking(acts)
    for act in acts:
        for event in act.events:
            retry = event.kind in acp.AGENT_RETRY_KINDS
            if retry and act.name != "consenting":
                return failed(f"it came unasked (act {act.name})", event)
    return passed()


@judges("cancel-is-no-failure")
def cancel_is_no_failure(acts: Sequence[Transcript]) -> Finding:
    (act,) = speaking(acts)
    turn = act.cancelled_turn()
    for event in [*act.of(turn), *act.after(turn)]:
        if payload_in_update(event) is not None:
            return failed("a failure was reported", event)
    return passed()


CLOSED: dict[str, type[StrEnum]] = {
    "origin": Origin,
    "phase": Phase,
    "retry_safety": RetrySafety,
    "action": Action,
}


def judges_payloads(
    name: str, *, of_typed_updates: bool = True
) -> Callable[[WrongWith], WrongWith]:
    """Register a function that returns what is wrong with a payload, or an empty text.

    Args:
        name: The check's name.
        of_typed_updates: Whether the payloads of `agent_error` updates are judged too.
    """

    def enter(wrong_with: WrongWith) -> WrongWith:
        def judge(acts: Sequence[Transcript]) -> Finding:
            count = 0
            for payload, event in payloads(acts):
                count += 1
                is_judged = of_typed_updates or not is_typed_update(event)
                if is_judged and (wrong := wrong_with(payload)):
                    return failed(wrong, event)
            if not count:
                raise UnreachedError("it sent no payload")
            return passed(f"{count} payloads")

        judges(name)(judge)
        return wrong_with

    return enter


@judges_payloads("payload-required")
def required(payload: Payload) -> str:
    kinds: dict[str, type] = {"type": str, "message": str, "retryable": bool}
    missing = [name for name, kind in kinds.items() if not isinstance(payload.get(name), kind)]
    return f"missing: {', '.join(missing)}" if missing else ""


@judges_payloads("payload-no-null")
def no_null(payload: Payload) -> str:
    nulls = [name for name, value in payload.items() if value is None]
    return f"null: {', '.join(nulls)}" if nulls else ""


@judges_payloads("payload-message")
def message(payload: Payload) -> str:
    text = payload.get("message")
    if not isinstance(text, str):
        return ""
    if not text.strip():
        return "the message is empty"
    if len(text) > MAX_MESSAGE_CHARS:
        return f"the message has {len(text)} characters"
    return "the message has a [" if "[" in text else ""


@judges_payloads("payload-detail")
def detail(payload: Payload) -> str:
    given = payload.get("detail")
    if given is None:
        return ""
    if not isinstance(given, dict):
        return "the detail is not an object"
    size = len(json.dumps(given, ensure_ascii=False).encode())
    return f"the detail has {size} bytes" if size > MAX_DETAIL_BYTES else ""


@judges_payloads("payload-waits")
def waits(payload: Payload) -> str:
    for name in ("retry_after_seconds", "reset_at_epoch_ms"):
        value = payload.get(name)
        if value is not None and (type(value) is not int or value < 0):
            return f"{name} is {value!r}"
    return ""


@judges_payloads("payload-stop-reason", of_typed_updates=False)
def stop_reason_beside(payload: Payload) -> str:
    reason = payload.get("stopReason")
    return "" if reason == "error" else f"its stopReason is {reason!r}"


@judges_payloads("payload-type")
def error_type(payload: Payload) -> str:
    word = payload.get("type")
    return "" if word in [t.value for t in ErrorType] else f"the type is {word!r}"


@judges_payloads("payload-closed-sets")
def closed_sets(payload: Payload) -> str:
    for name, words in CLOSED.items():
        if name in payload and payload[name] not in [word.value for word in words]:
            return f"{name} is {payload[name]!r}"
    return ""


@judges_payloads("payload-read")
def as_read(payload: Payload) -> str:
    given = {name: value for name, value in payload.items() if value is not None}
    got = model.AgentErrorPayload.model_validate(payload).to_wire()
    if isinstance(given.get("message"), str):
        got["message"] = given["message"]  # `PAY-3` covers its wording
    changed = sorted(name for name in given | got if given.get(name) != got.get(name))
    return f"read as something else: {', '.join(changed)}" if changed else ""


# --- failing turns

MISLEADING_CODES = {
    acp.RESOURCE_NOT_FOUND,
    acp.INVALID_PARAMS,
    acp.PARSE_ERROR,
    acp.REQUEST_CANCELLED,
}
"""Codes that some client takes for another failure."""

_T = ErrorType

EXPECTED = {
    ProviderScenario.UNAUTHORIZED: {_T.AUTH},
    ProviderScenario.RATE_LIMITED: {_T.RATE_LIMIT},
    ProviderScenario.BAD_GATEWAY: {_T.PROVIDER_UNAVAILABLE},
    ProviderScenario.CONTEXT_OVERFLOW: {_T.CONTEXT_OVERFLOW},
    # An agent that is driven by prompts fails with a 429 after some text instead.
    ProviderScenario.CUT: {_T.NETWORK, _T.PROVIDER_UNAVAILABLE, _T.RATE_LIMIT},
    ProviderScenario.CUT_IN_TOOL: {_T.NETWORK, _T.PROVIDER_UNAVAILABLE},
}
"""The types that each failure may have. There is no agreed one for an empty stream."""

_WITH_TEXT = {ProviderScenario.CUT, ProviderScenario.CUT_IN_TOOL}
"""Failures that occur after the model's first text."""


def _ended(acts: Sequence[Transcript]) -> list[tuple[Transcript, ObservedTurn]]:
    ended = [(act, act.turns[0]) for act in acts if act.turns and act.turns[0].answer]
    if not ended:
        raise UnreachedError("no failing turn ended")
    return ended


def _names(turns: Sequence[tuple[Transcript, ObservedTurn]]) -> str:
    return ", ".join(turn.scenario for _, turn in turns)


@judges("failing-turn-ends")
def failing_turn_ends(acts: Sequence[Transcript]) -> Finding:
    hanging = [(act, act.turns[0]) for act in acts if act.turns and not act.turns[0].answer]
    if hanging:
        act, turn = hanging[0]
        evidence = f"{missing_answer(act, turn)}: {_names(hanging)}"
        return failed(evidence, *act.events[-1:])
    slowest = max((act.turns[0] for act in acts if act.turns), key=lambda turn: turn.seconds)
    return passed(f"the slowest took {slowest.seconds:.0f} s ({slowest.scenario})")


@judges("failing-turn-told")
def failing_turn_reported(acts: Sequence[Transcript]) -> Finding:
    silent = [
        (act, turn)
        for act, turn in _ended(acts)
        if not reports_failure(turn) and not shows(act, turn)
    ]
    if silent:
        return failed(
            f"reported as a success with nothing shown: {_names(silent)}", silent[0][1].answer
        )
    return passed()


@judges("failing-turn-no-prose")
def failing_turn_no_prose(acts: Sequence[Transcript]) -> Finding:
    prose = [
        (act, turn) for act, turn in _ended(acts) if not reports_failure(turn) and shows(act, turn)
    ]
    if not prose:
        return passed()
    act, turn = prose[0]
    cut = "a partial answer is reported as a complete one"
    what = cut if turn.scenario in _WITH_TEXT else "the failure is reported as text"
    return failed(f"{what}: {_names(prose)}", shows(act, turn)[-1], turn.answer)


@judges("failing-turn-typed")
def failing_turn_typed(acts: Sequence[Transcript]) -> Finding:
    reported = [(act, turn) for act, turn in _ended(acts) if reports_failure(turn)]
    if not reported:
        raise UnreachedError("no failing turn was answered with an error")
    untyped = [(act, turn) for act, turn in reported if payload_in_answer(turn.answer) is None]
    if untyped:
        answer = untyped[0][1].answer
        read = read_error(answer.frame) if answer else None
        guess = f"; lastword takes it for {read.type}" if read else ""
        return warned(f"no agent_error: {_names(untyped)}{guess}", answer)
    for act, turn in reported:
        word = str((payload_in_answer(turn.answer) or {}).get("type"))
        expected = EXPECTED.get(turn.scenario)
        if expected is not None and word not in expected:
            return warned(f"{turn.scenario} is typed {word} (act {act.name})", turn.answer)
    return passed(", ".join(sorted({str((payload_in_answer(t.answer) or {}).get("type"))
                                    for _, t in reported})))  # fmt: skip


@judges("failing-turn-code")
def failing_turn_code(acts: Sequence[Transcript]) -> Finding:
    for _, turn in _ended(acts):
        code = error_in(turn.answer).get("code")
        if type(code) is int and code in MISLEADING_CODES:
            return failed(f"code {code}: {turn.scenario}", turn.answer)
    return passed()


@judges("no-refusal")
def no_refusal(acts: Sequence[Transcript]) -> Finding:
    refused = [(act, turn) for act, turn in _ended(acts) if stop_reason(turn.answer) == "refusal"]
    if refused:
        return failed(f"refusal: {_names(refused)}", refused[0][1].answer)
    return passed()


@judges("session-goes-on")
def session_goes_on(acts: Sequence[Transcript]) -> Finding:
    later = [(act, act.turns[1]) for act in acts if len(act.turns) > 1]
    if not later:
        raise UnreachedError("no failing turn ended")
    for act, turn in later:
        if turn.answer is None or stop_reason(turn.answer) not in acp.STOP_REASONS:
            outcome = quoted(turn.answer.raw) if turn.answer else missing_answer(act, turn)
            return failed(f"the next prompt got {outcome} (act {act.name})", turn.answer)
    return passed(f"in {len(later)} sessions" if len(later) > 1 else "in 1 session")


MAX_FRAME_BYTES = 60 * 1024
AGENTS_OWN_CODES = {
    acp.AUTH_REQUIRED,
    -32001,
    acp.RESOURCE_NOT_FOUND,
    acp.METHOD_NOT_FOUND,
    acp.INVALID_PARAMS,
}
"""Agents' codes that an intermediary must not change."""

MISLEADING_WORDS = (
    "session not found",
    "unknown session",
    "user aborted",
    "this operation was aborted",
    "empty response text",
)


def _errors(acts: Sequence[Transcript]) -> Iterator[tuple[Transcript, ObservedTurn, Payload]]:
    """Yield the errors with which agents that speak the extension ended turns."""
    count = 0
    for act, turn in failed_turns(acts):
        error = error_in(turn.answer)
        if error:
            count += 1
            yield act, turn, error
    if not count:
        raise UnreachedError("no turn ended with an error")


@judges("error-data")
def error_data(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        if not isinstance(error.get("data"), dict):
            return failed(f"data is {error.get('data')!r:.40} (act {act.name})", turn.answer)
    return passed()


@judges("error-members")
def error_members(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        data = error.get("data")
        data = data if isinstance(data, dict) else {}
        payload = data.get("agent_error")
        if not isinstance(payload, dict) or not data.get("details") or not data.get("errorKind"):
            given = ", ".join(data) or "nothing"
            return failed(f"data has {given} (act {act.name})", turn.answer)
    return passed()


@judges("login-code")
def login_code(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        if error.get("code") != acp.AUTH_REQUIRED:
            continue
        word = (payload_in_answer(turn.answer) or {}).get("type")
        # An intermediary must not change an agent's own, so earlier output is not judged.
        if word != ErrorType.AUTH:
            return failed(f"-32000 for {word} (act {act.name})", turn.answer)
    return passed()


@judges("resend-code")
def resend_code(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        payload = payload_in_answer(turn.answer) or {}
        code = error.get("code")
        if type(code) is int and code in AGENTS_OWN_CODES:
            continue
        kinds = acp.TEXT_KINDS | acp.TOOL_KINDS
        final = (
            payload.get("retryable") is False
            and payload.get("type") != ErrorType.AUTH
            and not any(event.kind in kinds for event in shows(act, turn))
        )
        expected = acp.DO_NOT_RESEND if final else acp.INTERNAL_ERROR
        if code != expected:
            return failed(f"code {code} instead of {expected} (act {act.name})", turn.answer)
    return passed()


@judges("frame-size")
def frame_size(acts: Sequence[Transcript]) -> Finding:
    sizes = []
    for _, event in payloads(acts):
        sizes.append(len(event.raw))
        if sizes[-1] >= MAX_FRAME_BYTES:
            return failed(f"{sizes[-1]} bytes", event)
    return passed(f"at most {max(sizes, default=0)} bytes")


@judges("taken-words")
def misleading_words(acts: Sequence[Transcript]) -> Finding:
    for payload, event in payloads(acts):
        message = str(payload.get("message")).lower()
        for words in MISLEADING_WORDS:
            if words in message:
                return failed(f"it says {words!r}", event)
    return passed()


@judges("standard-updates")
def standard_updates(acts: Sequence[Transcript]) -> Finding:
    allowed = {acp.STATE_UPDATE, *acp.AGENT_RETRY_KINDS}
    for act, _ in failed_turns(acts):
        for event in act.events:
            strange = {"stopReason", "error", "agent_error"} & set(event.update)
            if strange and not is_typed_update(event) and event.kind not in allowed:
                return failed(f"{', '.join(sorted(strange))} (act {act.name})", event)
    return passed()


@judges("agent-killed")
def agent_killed(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    turn = act.turns[0]
    if turn.answer is None:
        return failed(missing_answer(act, turn, "the kill"))
    word = (payload_in_answer(turn.answer) or {}).get("type")
    if word != ErrorType.AGENT_CRASH:
        return failed(f"reported as {word!r}", turn.answer)
    if act.notes.get("again") is None:
        return failed("afterwards session/new was not answered", turn.answer)
    return passed(f"after {turn.seconds:.1f} s")
