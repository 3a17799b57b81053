"""Checks of turns without failures: their ends, simultaneous sessions, cancels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.protocol import acp
from lastword.kit.check.checks.connection import IN_FRONT
from lastword.kit.check.checks.model import EVERY_ACT, Finding, check, failed, passed, warned
from lastword.kit.check.stage import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.stage import ObservedTurn, Transcript
    from lastword.kit.peer import PeerEvent

ENDS_CANCELLED = "`lastword run --` in front ends a turn that does not answer"


def stop_reason(answer: PeerEvent | None) -> str | None:
    """Return the stop reason in a prompt's answer, `None` where there is none."""
    result = (answer.frame or {}).get("result") if answer else None
    if answer is not None and answer.kind == acp.STATE_UPDATE:
        result = answer.update
    reason = result.get("stopReason") if isinstance(result, dict) else None
    return reason if isinstance(reason, str | None) else repr(reason)


def missing_answer(act: Transcript, turn: ObservedTurn, since: str = "") -> str:
    """Return the sentence for a turn without an answer, with the time or the agent's exit."""
    if act.exit_code is not None:
        return f"no answer: the agent exited with status {act.exit_code}"
    return f"no answer within {turn.seconds:.0f} s" + (f" of {since}" if since else "")


def shows(act: Transcript, turn: ObservedTurn) -> list[PeerEvent]:
    """Return the updates of a turn that a user sees."""
    return [e for e in act.of(turn) if e.kind in acp.SHOWN_KINDS]


@check(
    "opens-session",
    "AGT-35",
    "session/new opens a session, or says that a login is needed first",
    acts=("healthy",),
    partial=True,
    mend="No client can continue: open a session for an existing folder, without MCP servers.",
)
def opens_session(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    why = str(act.notes.get("unreached", ""))
    if "session_answer" not in act.notes:
        raise UnreachedError(why or "no session was requested")
    answer: PeerEvent | None = act.notes["session_answer"]
    frame = (answer.frame or {}) if answer else {}
    error = frame.get("error")
    if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
        raise UnreachedError(why)
    result = frame.get("result")
    if answer is None:
        return failed(why)
    if not isinstance(result, dict) or not isinstance(result.get("sessionId"), str):
        return failed("session/new gave no session", answer)
    return passed()


@check(
    "healthy-turn",
    "AGT-18",
    "a turn that goes well shows something and ends with a stop reason of ACP's",
    acts=("healthy",),
    mend="Clients throw on an unknown stop reason, or show an empty reply.",
    in_front="`lastword run --` in front ends it as an error that says so",
)
def healthy_turn(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    turn = act.turns[0]
    if turn.answer is None:
        return failed(missing_answer(act, turn))
    reason = stop_reason(turn.answer)
    if reason not in acp.STOP_REASONS:
        return failed(f"its stop reason is {reason!r}", turn.answer)
    if not shows(act, turn):
        return failed("it answered that it is done, and showed nothing", turn.answer)
    return passed(f"{reason} after {turn.seconds:.1f} s")


@check(
    "sessions",
    "AGT-19",
    "two sessions at once: two ids, both answered, every update in a session that exists",
    acts=("sessions",),
    mend="Text appears in the wrong chat, or a second window hangs: keep sessions apart.",
)
def sessions(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    ids = act.notes.get("sessions", ())
    if len(set(ids)) < len(ids):
        return failed(f"two sessions have the same id: {ids[0]!r}")
    for turn in act.turns:
        if turn.answer is None or turn.failed:
            return failed("one of two simultaneous prompts failed", turn.answer)
        if not shows(act, turn):
            return failed(
                "one of two simultaneous prompts showed nothing in its session", turn.answer
            )
    stray = [e for e in act.events if e.update and e.session not in ids]
    if stray:
        return failed(f"an update names the unknown session {stray[0].session!r}", stray[0])
    return passed()


@check(
    "two-questions",
    "AGT-36",
    "two permissions requested at once: each answer reaches its own request, and both turns end",
    acts=("two_questions",),
    mend="The user allows one thing and another is done, or a turn hangs: keep each open request "
    "under its own id.",
)
def two_questions(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    requests = [next((e for e in act.of(t) if e.is_permission_request), None) for t in act.turns]
    at_once = act.notes["at_once"]
    if at_once and len({repr((e.frame or {})["id"]) for e in requests if e}) < len(requests):
        return failed("two open requests have the same id", *requests)
    for turn, request in zip(act.turns, requests, strict=True):
        answer = turn.answer
        if request and answer and not act.is_answered_before(request, answer):
            return failed("a turn ended while its own request was open", request, answer)
    for turn, request in zip(act.turns, requests, strict=True):
        if turn.answer is None and request:
            return failed(missing_answer(act, turn, "the permission"), request)
        if turn.answer is None:
            what = f"no second request while one was open, and {missing_answer(act, turn)}"
            return failed(what, *requests)
    if None in requests:
        raise UnreachedError("the agent requested a permission in one of two sessions only")
    if not at_once:
        return warned("the second request came only when the first was answered", *requests)
    return passed("answered in reverse order")


@check(
    "late-content",
    "AGT-20",
    "a turn's content comes before its answer",
    acts=EVERY_ACT,
    mend="Clients show what follows the answer in the wrong place, or as an error: answer last.",
)
def late_content(acts: Sequence[Transcript]) -> Finding:
    for act in acts:
        for turn in act.turns:
            late = act.after(turn) if turn.answer is not None and not turn.cancelled else []
            for event in late:
                if event.kind in acp.TEXT_KINDS | acp.TOOL_KINDS:
                    return warned(f"content after the answer (act {act.name})", turn.answer, event)
    return passed()


@check(
    "cancel",
    "CAN-1",
    "a cancelled turn ends, with the stop reason cancelled",
    acts=("cancel",),
    mend="The user presses Stop, and the spinner goes on, or an error appears.",
    in_front=ENDS_CANCELLED,
)
def cancel(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    turn = act.cancelled_turn()
    if turn.answer is None:
        return failed(missing_answer(act, turn, "session/cancel"))
    reason = stop_reason(turn.answer)
    if reason != acp.CANCELLED:
        return failed(f"answered with {reason or 'an error'!r}", turn.answer)
    return passed(f"after {turn.seconds:.1f} s")


@check(
    "cancel-while-silent",
    "CAN-1",
    "a cancel also ends a turn whose provider does not answer at all",
    acts=("cancel_silent",),
    mend="The user cannot stop a turn that hangs: abandon the model call.",
    in_front=ENDS_CANCELLED,
)
def cancel_while_silent(acts: Sequence[Transcript]) -> Finding:
    return cancel(acts)


@check(
    "cancel-in-question",
    "CAN-1",
    "a turn that is cancelled while it asks for a permission ends with the stop reason cancelled",
    acts=("cancel_in_question",),
    mend="The user presses Stop at a dialog, and reads that the work is done: end a turn whose "
    "dialog was cancelled as cancelled.",
    in_front=IN_FRONT,
)
def cancel_in_question(acts: Sequence[Transcript]) -> Finding:
    return cancel(acts)


@check(
    "prompt-after-cancel",
    "AGT-21",
    "after a cancel, the next prompt of the session works",
    acts=("cancel",),
    mend="Pressing Stop loses the session: keep it, and take the next prompt.",
)
def prompt_after_cancel(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    later = act.turns[act.turns.index(act.cancelled_turn()) + 1 :]
    if not later:
        return failed("the cancelled turn did not end")
    return _went_well(act, later[0])


@check(
    "idle-cancel",
    "AGT-22",
    "a cancel without a turn changes nothing",
    acts=("healthy",),
    mend="A late press on Stop breaks the next turn: ignore a cancel when no turn is running.",
)
def idle_cancel(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    return _went_well(act, act.turns[1])


def _went_well(act: Transcript, turn: ObservedTurn) -> Finding:
    if turn.answer is None:
        return failed(f"the next prompt got {missing_answer(act, turn)}")
    if stop_reason(turn.answer) in {None, acp.CANCELLED, acp.STOP_ERROR}:
        return failed("the next prompt did not work", turn.answer)
    if not shows(act, turn):
        return failed("the next prompt showed nothing", turn.answer)
    return passed()


@check(
    "open-tools",
    "CLOSE-1",
    "no tool call is left open when its turn ends",
    acts=EVERY_ACT,
    partial=True,
    mend="A tool spins for ever in the client: end each call as completed or failed.",
    in_front="`lastword run --` in front does it where the turn fails",
)
def open_tools(acts: Sequence[Transcript]) -> Finding:
    calls = 0
    stopped: Finding | None = None
    for act in acts:
        for turn in act.turns:
            tools: dict[object, PeerEvent] = {}
            for event in act.of(turn):
                if event.kind in acp.TOOL_KINDS:
                    key = str(event.update.get("toolCallId"))
                    if event.update.get("status", "pending" if key not in tools else None):
                        tools[key] = event
            calls += len(tools)
            left = [e for e in tools.values() if e.update.get("status") not in _DONE]
            what = f"a tool call was left open (act {act.name})"
            if left and turn.answer is not None and turn.cancelled:
                # ACP asks the client to close those of a turn that it cancels; not every one does.
                stopped = stopped or warned(f"{what}, in a cancelled turn", left[0], turn.answer)
            elif left and turn.answer is not None:
                return failed(what, left[0], turn.answer)
    if stopped is not None:
        return stopped
    if not calls:
        raise UnreachedError("no tool call was observed")
    return passed(f"{calls} tool calls")


_DONE = tuple(acp.TOOL_ENDS)
