"""Checks of an agent whose provider fails, whether it speaks the extension or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.client import read_error
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import acp
from lastword.kit.check.checks.connection import IN_FRONT
from lastword.kit.check.checks.failure_frames import error_in, payload_in_answer, reports_failure
from lastword.kit.check.checks.model import FAILING, Finding, check, failed, passed, quoted, warned
from lastword.kit.check.checks.turns import missing_answer, shows, stop_reason
from lastword.kit.check.stage import UnreachedError
from lastword.kit.provider.server import ProviderScenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.stage import ObservedTurn, Transcript

MISLEADING_CODES = {
    acp.RESOURCE_NOT_FOUND,
    acp.INVALID_PARAMS,
    acp.PARSE_ERROR,
    acp.REQUEST_CANCELLED,
}
"""Codes that mean something else to some client."""

_T = ErrorType

EXPECTED = {
    ProviderScenario.UNAUTHORIZED: {_T.AUTH},
    ProviderScenario.RATE_LIMITED: {_T.RATE_LIMIT},
    ProviderScenario.BAD_GATEWAY: {_T.PROVIDER_UNAVAILABLE},
    ProviderScenario.CONTEXT_OVERFLOW: {_T.CONTEXT_OVERFLOW},
    # An agent that is driven by words fails with a 429 after some text instead.
    ProviderScenario.CUT: {_T.NETWORK, _T.PROVIDER_UNAVAILABLE, _T.RATE_LIMIT},
    ProviderScenario.CUT_IN_TOOL: {_T.NETWORK, _T.PROVIDER_UNAVAILABLE},
}
"""What each failure may be called. An empty stream has no name that all agree on."""

_WITH_TEXT = {ProviderScenario.CUT, ProviderScenario.CUT_IN_TOOL}
"""Failures before which the model itself had said something."""


def _ended(acts: Sequence[Transcript]) -> list[tuple[Transcript, ObservedTurn]]:
    ended = [(act, act.turns[0]) for act in acts if act.turns and act.turns[0].answer]
    if not ended:
        raise UnreachedError("no failing turn ended")
    return ended


def _names(turns: Sequence[tuple[Transcript, ObservedTurn]]) -> str:
    return ", ".join(turn.scenario for _, turn in turns)


@check(
    "failing-turn-ends",
    "AGT-23",
    "a turn whose model call fails ends in time",
    acts=FAILING,
    mend="The user sees a spinner that never ends, for no client has a limit: bound the retries.",
    in_front="`lastword run --idle-timeout SECONDS --` in front ends such a turn",
)
def failing_turn_ends(acts: Sequence[Transcript]) -> Finding:
    hanging = [(act, act.turns[0]) for act in acts if act.turns and not act.turns[0].answer]
    if hanging:
        act, turn = hanging[0]
        evidence = f"{missing_answer(act, turn)}: {_names(hanging)}"
        return failed(evidence, *act.events[-1:])
    slowest = max((act.turns[0] for act in acts if act.turns), key=lambda turn: turn.seconds)
    return passed(f"the slowest took {slowest.seconds:.0f} s ({slowest.scenario})")


@check(
    "failing-turn-told",
    "AGT-24",
    "a failing turn is not reported as a success with nothing shown",
    acts=FAILING,
    mend="The user gets an empty reply and no reason: answer with an error.",
    in_front=IN_FRONT,
)
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


@check(
    "failing-turn-no-prose",
    "AGT-25",
    "a failing turn is not reported as a success, with the failure as text or text cut off",
    acts=FAILING,
    mend="A client cannot tell it from an answer, and cannot retry: answer with an error.",
    in_front="`lastword run --` in front corrects it for the agents that it knows",
)
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


@check(
    "failing-turn-typed",
    "AGT-26",
    "a failing turn names its type of error, and the type is right",
    acts=FAILING,
    mend="A client cannot offer the right button (wait, log in, top up).",
    in_front=IN_FRONT,
)
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


@check(
    "failing-turn-code",
    "TERM-10",
    "a failing turn's error has no code that means something else to a client",
    acts=FAILING,
    mend="Clients swallow it, or forget the session: use -32603, or -32000 for a login.",
)
def failing_turn_code(acts: Sequence[Transcript]) -> Finding:
    for _, turn in _ended(acts):
        code = error_in(turn.answer).get("code")
        if type(code) is int and code in MISLEADING_CODES:
            return failed(f"code {code}: {turn.scenario}", turn.answer)
    return passed()


@check(
    "no-refusal",
    "LAD-5",
    "a failing turn does not end with the stop reason refusal",
    acts=FAILING,
    mend="Zed deletes the user's message and all after it: answer with an error.",
)
def no_refusal(acts: Sequence[Transcript]) -> Finding:
    refused = [(act, turn) for act, turn in _ended(acts) if stop_reason(turn.answer) == "refusal"]
    if refused:
        return failed(f"refusal: {_names(refused)}", refused[0][1].answer)
    return passed()


@check(
    "session-goes-on",
    "AGT-27",
    "after a failing turn, the next prompt of the session works",
    acts=FAILING,
    mend="The conversation is lost with the failure: keep the session usable.",
)
def session_goes_on(acts: Sequence[Transcript]) -> Finding:
    later = [(act, act.turns[1]) for act in acts if len(act.turns) > 1]
    if not later:
        raise UnreachedError("no failing turn ended")
    for act, turn in later:
        if turn.answer is None or stop_reason(turn.answer) not in acp.STOP_REASONS:
            outcome = quoted(turn.answer.raw) if turn.answer else missing_answer(act, turn)
            return failed(f"the next prompt got {outcome} (act {act.name})", turn.answer)
    return passed(f"in {len(later)} sessions" if len(later) > 1 else "in 1 session")
