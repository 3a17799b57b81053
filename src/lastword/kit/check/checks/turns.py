"""Checks of turns without failures, and of methods: ends, sessions at once and later, cancels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.phrases import counted
from lastword.core.protocol import acp
from lastword.kit.check.checks.connection import worst
from lastword.kit.check.checks.model import (
    Finding,
    failed,
    judges,
    missing_answer,
    passed,
    shows,
    stop_reason,
    warned,
)
from lastword.kit.check.probes import LARGE_IDS, LIST, OPTIONAL
from lastword.kit.check.schema import Weight, official
from lastword.kit.check.stage import NotApplicableError, UnreachedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.stage import ObservedTurn, Transcript
    from lastword.kit.peer import PeerEvent


@judges("opens-session")
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


@judges("healthy-turn")
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


@judges("sessions")
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


@judges("two-questions")
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


@judges("late-content")
def late_content(acts: Sequence[Transcript]) -> Finding:
    for act in acts:
        for turn in act.turns:
            late = act.after(turn) if turn.answer is not None and not turn.cancelled else []
            for event in late:
                if event.kind in acp.TEXT_KINDS | acp.TOOL_KINDS:
                    return warned(f"content after the answer (act {act.name})", turn.answer, event)
    return passed()


@judges("cancel", "cancel-while-silent", "cancel-in-question")
def cancel(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    turn = act.cancelled_turn()
    if turn.answer is None:
        return failed(missing_answer(act, turn, "session/cancel"))
    reason = stop_reason(turn.answer)
    if reason != acp.CANCELLED:
        return failed(f"answered with {reason or 'an error'!r}", turn.answer)
    return passed(f"after {turn.seconds:.1f} s")


@judges("prompt-after-cancel")
def prompt_after_cancel(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    later = act.turns[act.turns.index(act.cancelled_turn()) + 1 :]
    if not later:
        return failed("the cancelled turn did not end")
    return _went_well(act, later[0])


@judges("idle-cancel")
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


@judges("open-tools")
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
            done = tuple(acp.TOOL_ENDS)  # a faulty agent's status may be unhashable
            left = [e for e in tools.values() if e.update.get("status") not in done]
            what = f"a tool call was left open (act {act.name})"
            if left and turn.answer is not None and turn.cancelled:
                # ACP asks the client to close a cancelled turn's tool calls; not every client does.
                stopped = stopped or warned(f"{what}, in a cancelled turn", left[0], turn.answer)
            elif left and turn.answer is not None:
                return failed(what, left[0], turn.answer)
    if stopped is not None:
        return stopped
    if not calls:
        raise UnreachedError("no tool call was observed")
    return passed(f"{calls} tool calls")


NEEDS = {
    "fs/read_text_file": "fs.readTextFile",
    "fs/write_text_file": "fs.writeTextFile",
    "elicitation/create": "elicitation",
    **{f"terminal/{word}": "terminal" for word in
       ("create", "output", "release", "wait_for_exit", "kill")},
}  # fmt: skip
"""A client's methods, and the capability that offers them; our client has none."""


@judges("agent-info")
def agent_info(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if not act.welcome:
        raise UnreachedError("initialize was not answered")
    member = acp.dialect(act.welcome.get("protocolVersion")).agent_info
    info = act.welcome.get(member)
    answer = act.notes.get("initialized")
    if info is None:
        return warned(f"{member} is missing", answer)
    words = [info.get(key) for key in ("name", "version")] if isinstance(info, dict) else []
    named = [word for word in words if isinstance(word, str) and word.strip()]
    if len(named) < 2:  # noqa: PLR2004  (both)
        return warned(f"{member} has no name or no version", answer)
    return passed(" ".join(named)[:60])


@judges("unadvertised-method")
def unadvertised_method(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    tried = [method for method in OPTIONAL if method in act.notes]
    if not tried:
        raise NotApplicableError("it advertises every optional method")
    for method in tried:
        if act.notes[method] is None:
            return failed(f"no answer to {method}, which is not advertised")
    results = [m for m in tried if "result" in (act.notes[m].frame or {})]
    for method in results:
        if act.notes[method].frame["result"] is None:
            return failed(f"{method}, which is not advertised, got null", act.notes[method])
    version = acp.dialect(act.welcome.get("protocolVersion")).version
    for method in results:
        wrong = worst(official(version), method, act.notes[method].frame["result"])
        if wrong is not None and wrong.weight is Weight.WRONG:
            return failed(f"{method}, which is not advertised: {wrong}", act.notes[method])
    for method in results:
        return warned(f"{method} works, and is not advertised", act.notes[method])
    return passed(f"{len(tried)} methods")


@judges("unoffered-calls")
def unoffered_calls(acts: Sequence[Transcript]) -> Finding:
    turns = 0
    for act in acts:
        turns += len(act.turns)
        for event in act.events:
            method = (event.frame or {}).get("method") if not event.sent else None
            if isinstance(method, str) and method in NEEDS:
                what = f"{method}, to a client that did not offer {NEEDS[method]}"
                return failed(f"{what} (act {act.name})", event)
    if not turns:
        raise UnreachedError("no turn was observed")
    return passed(f"none in {turns} turns")


@judges("large-ids")
def large_ids(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    for request_id in LARGE_IDS:
        if not act.answers(request_id):
            requests = [e for e in act.events if e.sent and (e.frame or {}).get("id") == request_id]
            after = act.events[act.events.index(requests[0]) :] if requests else []
            other = next((e for e in after if e.is_answer), None)
            what = "was answered under another" if other else "was not answered"
            return failed(f"a request with the id {request_id} {what}", *requests[:1], other)
    return passed(f"{len(LARGE_IDS)} ids")


@judges("session-burst")
def session_burst(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answers: list[PeerEvent | None] = act.notes["burst"]
    opened: list[str] = act.notes["opened"]
    if len(opened) < len(answers):
        bad = next((a for a in answers if a is None or "result" not in (a.frame or {})), None)
        return failed(f"of {len(answers)} sessions opened at once, {len(opened)} opened", bad)
    if len(set(opened)) < len(opened):
        return failed(
            f"{len(opened)} sessions, but only {counted(len(set(opened)), 'different id')}",
            *answers,
        )
    for number, turn in enumerate(act.turns):
        if turn.answer is None:
            return failed(f"a prompt in session {number + 1} was not answered")
        if turn.failed and any(not other.failed for other in act.turns):
            return failed(f"a prompt in session {number + 1} failed", turn.answer)
    if all(turn.failed for turn in act.turns):
        return passed(f"{len(opened)} ids; without a model, nothing more can be checked")
    return passed(f"{len(opened)} sessions")


@judges("session-list")
def session_list(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answer = _result_of(act, LIST)
    if answer is not None:
        return answer
    if "listed" not in act.notes:
        return failed("the result has no list of sessions", act.notes[LIST])
    listed, session = act.notes["listed"], act.notes["session"]
    if session not in listed and not act.turns[0].failed:
        return warned(f"{len(listed)} sessions, and not the one just used", act.notes[LIST])
    return passed(f"{len(listed)} sessions")


def _result_of(act: Transcript, method: str) -> Finding | None:
    """Return the finding on a method that was not answered with a result, `None` if it was."""
    answer = act.notes.get(method)
    if answer is None:
        return failed(f"no answer to {method}, which is advertised")
    if "error" in (answer.frame or {}):
        return failed(f"{method} is advertised, and fails", answer)
    return None


@judges("session-load")
def session_load(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    back = _came_back(act, acp.LOAD)
    if back is not None:
        return back
    if act.notes["shown"] and not act.notes["replayed"]:
        late = act.notes["replayed_late"]
        what = "the history came after the answer" if late else "nothing of it was replayed"
        return failed(f"the session is loaded, and {what}", act.notes[acp.LOAD], *late[:1])
    return _goes_on(act, acp.LOAD, f"{len(act.notes['replayed'])} updates replayed")


@judges("session-resume")
def session_resume(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    back = _came_back(act, acp.RESUME)
    if back is not None:
        return back
    if act.notes["replayed"]:
        return failed("the history was replayed", act.notes["replayed"][0], act.notes[acp.RESUME])
    return _goes_on(act, acp.RESUME, "")


def _came_back(act: Transcript, method: str) -> Finding | None:
    answer = act.notes.get(method)
    if answer is None:
        return failed(f"after a restart {method}, which is advertised, was not answered")
    if "error" in (answer.frame or {}):
        # ACP does not require sessions to outlive the process, but every client relies on it.
        return warned(f"after a restart the session is lost to {method}", answer)
    return None


def _goes_on(act: Transcript, method: str, evidence: str) -> Finding:
    if not act.notes["shown"]:
        return passed("the session is back; without a model, nothing more can be checked")
    turn = act.turns[-1]
    if turn.answer is None or turn.failed or not shows(act, turn):
        return failed(f"after {method} the next prompt did not work", turn.answer)
    return passed(evidence)


@judges("session-close")
def session_close(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    bad = _result_of(act, acp.CLOSE)
    if bad is not None:
        return bad
    turn = act.notes.get("closed_turn")
    if turn is not None and turn.answer is None:
        return failed("the open turn of the closed session was not answered", act.notes[acp.CLOSE])
    if act.notes.get("again") is None:
        return failed("afterwards session/new was not answered")
    return passed("with a turn open" if turn else "without a turn open")
