"""Checks of the JSON-RPC error, and of what else an agent with the extension sends on a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import acp
from lastword.kit.check.checks.failure_frames import (
    error_in,
    failed_turns,
    is_typed_update,
    payload_in_answer,
    payload_in_update,
)
from lastword.kit.check.checks.model import FAILING, Finding, check, failed, passed
from lastword.kit.check.checks.turns import missing_answer, shows
from lastword.kit.check.stage import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lastword.kit.check.checks.failure_frames import Payload
    from lastword.kit.check.stage import ObservedTurn, Transcript
    from lastword.kit.peer import PeerEvent

MAX_FRAME_BYTES = 60 * 1024
AGENTS_OWN_CODES = {
    acp.AUTH_REQUIRED,
    -32001,
    acp.RESOURCE_NOT_FOUND,
    acp.METHOD_NOT_FOUND,
    acp.INVALID_PARAMS,
}
"""Codes of an agent that an intermediary must not change."""

MISLEADING_WORDS = (
    "session not found",
    "unknown session",
    "user aborted",
    "this operation was aborted",
    "empty response text",
)
_MEND = "Some client hangs, resends, or shows nothing: keep to section 11 of protocol/README.md."
ERRORS = (*FAILING, "plain", "crash")


def _errors(acts: Sequence[Transcript]) -> Iterator[tuple[Transcript, ObservedTurn, Payload]]:
    """Yield the errors by which speakers ended turns."""
    count = 0
    for act, turn in failed_turns(acts):
        error = error_in(turn.answer)
        if error:
            count += 1
            yield act, turn, error
    if not count:
        raise UnreachedError("no turn ended with an error")


@check("error-data", "TERM-1", "an error's data is an object", acts=ERRORS, mend=_MEND)
def error_data(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        if not isinstance(error.get("data"), dict):
            return failed(f"data is {error.get('data')!r:.40} (act {act.name})", turn.answer)
    return passed()


@check(
    "error-members",
    "TERM-2",
    "an error's data has details, errorKind and agent_error, and they agree",
    acts=ERRORS,
    mend=_MEND,
)
def error_members(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        data = error.get("data")
        data = data if isinstance(data, dict) else {}
        payload = data.get("agent_error")
        if not isinstance(payload, dict) or not data.get("details") or not data.get("errorKind"):
            given = ", ".join(data) or "nothing"
            return failed(f"data has {given} (act {act.name})", turn.answer)
    return passed()


@check(
    "login-code",
    "TERM-7",
    "-32000 stands for auth alone",
    acts=ERRORS,
    mend="Clients log in and send the prompt again: use -32603.",
)
def login_code(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        if error.get("code") != acp.AUTH_REQUIRED:
            continue
        word = (payload_in_answer(turn.answer) or {}).get("type")
        # An intermediary has to leave an agent's own, so what was shown before cannot be judged.
        if word != ErrorType.AUTH:
            return failed(f"-32000 for {word} (act {act.name})", turn.answer)
    return passed()


@check(
    "resend-code",
    "TERM-8",
    "the code is -31050 where a retry does not help, and -32603 where it does",
    acts=ERRORS,
    mend="A client resends what cannot succeed, or does not resend what could.",
)
def resend_code(acts: Sequence[Transcript]) -> Finding:
    for act, turn, error in _errors(acts):
        payload = payload_in_answer(turn.answer) or {}
        code = error.get("code")
        if type(code) is int and code in AGENTS_OWN_CODES:
            continue
        final = (
            payload.get("retryable") is False
            and payload.get("type") != ErrorType.AUTH
            and not _has_output(act, turn)
        )
        expected = acp.DO_NOT_RESEND if final else acp.INTERNAL_ERROR
        if code != expected:
            return failed(f"code {code} instead of {expected} (act {act.name})", turn.answer)
    return passed()


def _has_output(act: Transcript, turn: ObservedTurn) -> bool:
    kinds = acp.TEXT_KINDS | acp.TOOL_KINDS
    return any(event.kind in kinds for event in shows(act, turn))


def _own(acts: Sequence[Transcript]) -> Iterator[PeerEvent]:
    """Yield every frame that reports a failure."""
    for act, turn in failed_turns(acts):
        yield from (e for e in act.of(turn) if payload_in_update(e) is not None)
        if turn.answer is not None and payload_in_answer(turn.answer) is not None:
            yield turn.answer


@check("frame-size", "TERM-11", "frames of a failure are less than 60 KiB", acts=ERRORS, mend=_MEND)
def frame_size(acts: Sequence[Transcript]) -> Finding:
    sizes = []
    for event in _own(acts):
        sizes.append(len(event.raw))
        if sizes[-1] >= MAX_FRAME_BYTES:
            return failed(f"{sizes[-1]} bytes", event)
    return passed(f"at most {max(sizes, default=0)} bytes")


@check(
    "taken-words",
    "TERM-12",
    "the message has no words that some client interprets",
    acts=ERRORS,
    mend="A client takes it for a lost session or a cancel: use other words.",
)
def misleading_words(acts: Sequence[Transcript]) -> Finding:
    for event in _own(acts):
        payload = payload_in_update(event) or payload_in_answer(event) or {}
        message = str(payload.get("message")).lower()
        for words in MISLEADING_WORDS:
            if words in message:
                return failed(f"it says {words!r}", event)
    return passed()


@check(
    "standard-updates",
    "LAD-6",
    "updates of a standard kind have no members of a failure at their root",
    acts=ERRORS,
    mend="Strict clients drop such an update: put it under _meta.",
)
def standard_updates(acts: Sequence[Transcript]) -> Finding:
    for act, _ in failed_turns(acts):
        for event in act.events:
            strange = {"stopReason", "error", "agent_error"} & set(event.update)
            if strange and not is_typed_update(event) and not _is_state(event):
                return failed(f"{', '.join(sorted(strange))} (act {act.name})", event)
    return passed()


def _is_state(event: PeerEvent) -> bool:
    kinds = {acp.STATE_UPDATE, *acp.AGENT_RETRY_KINDS}
    return event.kind in kinds


@check(
    "agent-killed",
    "FAIL-3",
    "an agent killed in mid-turn is reported as agent_crash, and the connection goes on",
    acts=("crash",),
    mend="The intermediary dies with its agent, or says nothing: it has to answer instead.",
)
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
