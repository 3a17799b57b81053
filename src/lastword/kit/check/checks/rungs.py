"""Checks of what an agent with the extension sends to which client: negotiation, rung, order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from lastword.client import model
from lastword.core.protocol import acp
from lastword.kit.check.checks.failure_frames import (
    error_in,
    failed_turns,
    is_typed_update,
    payload_in_answer,
    payload_in_update,
)
from lastword.kit.check.checks.model import EVERY_ACT, FAILING, Finding, check, failed, passed
from lastword.kit.check.checks.turns import stop_reason
from lastword.kit.check.stage import NotApplicableError, UnreachedError, advertised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.stage import Transcript

_KEEP = "Clients rely on this: keep to protocol/README.md."


@check(
    "advertisement",
    "NEG-3",
    "a speaker says so in initialize: version, types, implementation",
    acts=("healthy",),
    partial=True,
    mend="Clients do not find the extension: say {version, types, implementation}.",
)
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


@check(
    "typed-update",
    "UPD-2",
    "a client that negotiated gets exactly one agent_error before the answer",
    acts=FAILING,
    mend=_KEEP,
)
def typed_update(acts: Sequence[Transcript]) -> Finding:
    turns = failed_turns(acts)
    for act, turn in turns:
        before = [e for e in act.of(turn) if is_typed_update(e)]
        if len(before) != 1:
            what = f"{len(before)} agent_error updates before the answer (act {act.name})"
            return failed(what, *before[:2], turn.answer)
    return passed(f"{len(turns)} turns")


@check(
    "update-and-answer",
    "UPD-4",
    "the answer carries the same payload as the update",
    acts=FAILING,
    mend=_KEEP,
)
def update_and_answer(acts: Sequence[Transcript]) -> Finding:
    for act, turn in failed_turns(acts):
        for event in filter(is_typed_update, act.of(turn)):
            update = payload_in_update(event) or {}
            answer = dict(payload_in_answer(turn.answer) or {})
            answer.pop("stopReason", None)
            if {k: v for k, v in update.items() if k != "stopReason"} != answer:
                return failed(f"they differ (act {act.name})", event, turn.answer)
    return passed()


@check(
    "payload-in-time",
    "G3",
    "a failing turn's payload comes before its answer, or in it",
    acts=(*FAILING, "plain", "consenting"),
    mend=_KEEP,
)
def payload_in_time(acts: Sequence[Transcript]) -> Finding:
    for act, turn in failed_turns(acts):
        updates = [payload_in_update(event) for event in act.of(turn)]
        if all(payload is None for payload in [payload_in_answer(turn.answer), *updates]):
            return failed(f"no payload at all (act {act.name})", turn.answer)
    return passed()


@check(
    "nothing-after",
    "G2",
    "nothing of the failure follows its answer",
    acts=(*FAILING, "plain", "consenting"),
    mend="Clients show what follows the answer in the wrong place: answer last.",
)
def nothing_after(acts: Sequence[Transcript]) -> Finding:
    for act, turn in failed_turns(acts):
        for event in act.after(turn):
            if payload_in_update(event) is not None:
                return failed(
                    f"reported again after the answer (act {act.name})", turn.answer, event
                )
    return passed()


@check(
    "not-negotiated",
    "UPD-1",
    "a client that did not negotiate gets no agent_error",
    acts=("plain",),
    mend="Strict clients drop it and log a traceback: send it only where it was negotiated.",
)
def not_negotiated(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    typed = [event for event in act.events if is_typed_update(event)]
    return failed("it got one", typed[0]) if typed else passed()


@check(
    "malformed-advertisement",
    "NEG-6",
    'a client whose version is not an integer ("1") counts as one without the extension',
    acts=("odd",),
    mend="A client with a bug gets frames that it cannot take: read strictly.",
)
def malformed_advertisement(acts: Sequence[Transcript]) -> Finding:
    return not_negotiated(acts)


@check(
    "rung-of-older-clients",
    "LAD-2",
    "a client that said nothing gets a JSON-RPC error with the payload in its data",
    acts=("plain",),
    mend="An older client shows nothing: end the turn with the error that all clients show.",
)
def rung_of_older_clients(acts: Sequence[Transcript]) -> Finding:
    for _, turn in failed_turns(acts):
        if not error_in(turn.answer) or payload_in_answer(turn.answer) is None:
            return failed("it got something else", turn.answer)
    return passed()


@check(
    "carrier",
    "LAD-3",
    "the update for older clients holds sessionUpdate and _meta, nothing else",
    acts=("plain",),
    mend="Older clients would show it as news of the session: put nothing else in.",
)
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


@check(
    "consent",
    "LAD-4",
    "only a client that consents gets a result with the stop reason error",
    acts=(*FAILING, "plain", "consenting"),
    mend="Strict clients lose such a result, and the turn hangs: send the error instead.",
)
def consent(acts: Sequence[Transcript]) -> Finding:
    turns = failed_turns(acts)
    if any(turn.answer and turn.answer.kind == acp.STATE_UPDATE for _, turn in turns):
        raise NotApplicableError("in version 2 every failing turn ends so")
    for act, turn in turns:
        has = stop_reason(turn.answer) == acp.STOP_ERROR
        if has and act.name != "consenting":
            return failed(f"it came unasked (act {act.name})", turn.answer)
    return passed()


@check(
    "consent-kept",
    "LAD-2",
    "a client that consents gets the failure as a result, payload in its _meta",
    acts=("consenting",),
    mend=_KEEP,
)
def consent_honoured(acts: Sequence[Transcript]) -> Finding:
    for _, turn in failed_turns(acts):
        if stop_reason(turn.answer) != acp.STOP_ERROR or not payload_in_answer(turn.answer):
            return failed("it got something else", turn.answer)
    return passed()


@check(
    "retries-asked-for",
    "RTY-1",
    "agent_retry goes only to clients that asked for it",
    acts=EVERY_ACT,
    mend="Strict clients drop it and log a traceback: send it only where it was asked for.",
)
def retries_requested(acts: Sequence[Transcript]) -> Finding:
    _speaking(acts)
    for act in acts:
        for event in act.events:
            retry = event.kind in acp.AGENT_RETRY_KINDS
            if retry and act.name != "consenting":
                return failed(f"it came unasked (act {act.name})", event)
    return passed()


@check(
    "cancel-is-no-failure",
    "VOC-4",
    "a turn that the user cancelled is not reported as a failure",
    acts=("cancel",),
    mend="The user presses Stop and gets an error: a cancel is not a failure.",
)
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
