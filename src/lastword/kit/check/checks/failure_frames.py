"""The places in a failing turn that report the failure, read once for all checks.

Owns reading payloads out of frames, without correcting anything. It defines no check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.kit.check.checks.turns import stop_reason
from lastword.kit.check.stage import NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lastword.kit.check.stage import ObservedTurn, Transcript
    from lastword.kit.peer import PeerEvent

Payload = dict[str, Any]


def error_in(answer: PeerEvent | None) -> Payload:
    """Return the error object of an answer, empty where there is none."""
    error = (answer.update or answer.frame or {}).get("error") if answer else None
    return error if isinstance(error, dict) else {}


def payload_in_answer(answer: PeerEvent | None) -> Payload | None:
    """Return the payload in a prompt's answer, error or result."""
    data = error_in(answer).get("data")
    result = (answer.frame or {}).get("result") if answer else None
    meta = result.get("_meta") if isinstance(result, dict) else None
    for carrier in (data, meta):
        payload = carrier.get("agent_error") if isinstance(carrier, dict) else None
        if isinstance(payload, dict):
            return payload
    return None


def payload_in_update(event: PeerEvent) -> Payload | None:
    """Return the payload in an update, of whatever rung."""
    update = event.update
    if event.kind in acp.AGENT_ERROR_KINDS:
        error = update.get("error")
        return error if isinstance(error, dict) else {}
    meta = update.get("_meta")
    payload = meta.get("agent_error") if isinstance(meta, dict) else None
    return payload if isinstance(payload, dict) else None


def is_typed_update(event: PeerEvent) -> bool:
    """Return whether it is an `agent_error` update."""
    return event.kind in acp.AGENT_ERROR_KINDS


def reports_failure(turn: ObservedTurn) -> bool:
    """Return whether a turn's answer says that it failed."""
    return (
        (turn.answer is not None and bool("error" in (turn.answer.frame or {})))
        or stop_reason(turn.answer) == acp.STOP_ERROR
        or payload_in_answer(turn.answer) is not None
        or _has_session_failure(turn.answer)
    )


def _has_session_failure(answer: PeerEvent | None) -> bool:
    result = (answer.frame or {}).get("result") if answer else None
    text = str(result.get("_meta")) if isinstance(result, dict) else ""
    return "sessionFailure" in text


def failed_turns(acts: Sequence[Transcript]) -> list[tuple[Transcript, ObservedTurn]]:
    """Return the failing turns of speakers that ended as such; others have checks of their own.

    Raises:
        NotApplicableError: The agent does not speak the extension.
    """
    speaking = [act for act in acts if act.speaks]
    if not speaking:
        raise NotApplicableError("it does not say that it speaks agent_error")
    # Only the first turn of each of these acts fails.
    return [(act, act.turns[0]) for act in speaking if act.turns and reports_failure(act.turns[0])]


def payloads(acts: Sequence[Transcript]) -> Iterator[tuple[Payload, PeerEvent, bool]]:
    """Yield every payload that speakers sent, its frame, and whether that is a typed update."""
    for act, turn in failed_turns(acts):
        for event in act.of(turn):
            payload = payload_in_update(event)
            if payload is not None:
                yield payload, event, is_typed_update(event)
        payload = payload_in_answer(turn.answer)
        if payload is not None and turn.answer is not None:
            yield payload, turn.answer, False
