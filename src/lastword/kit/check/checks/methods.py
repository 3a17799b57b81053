"""Checks of methods: advertised ones, others, and the client's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.durations import counted
from lastword.core.protocol import acp
from lastword.kit.check.checks.model import EVERY_ACT, Finding, check, failed, passed, warned
from lastword.kit.check.checks.shapes import worst
from lastword.kit.check.checks.turns import shows
from lastword.kit.check.probes import LARGE_IDS, LIST, OPTIONAL
from lastword.kit.check.schema import Weight, official
from lastword.kit.check.stage import NotApplicableError, UnreachedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.stage import Transcript
    from lastword.kit.peer import PeerEvent

NEEDS = {
    "fs/read_text_file": "fs.readTextFile",
    "fs/write_text_file": "fs.writeTextFile",
    "elicitation/create": "elicitation",
    **{f"terminal/{word}": "terminal" for word in
       ("create", "output", "release", "wait_for_exit", "kill")},
}  # fmt: skip
"""Methods of a client, and what it says where it has them; our client has none."""


@check(
    "agent-info",
    "AGT-30",
    "the agent names itself, and its version, in its answer to initialize",
    acts=("healthy",),
    partial=True,
    mend="A bug report cannot say which agent it was: give agentInfo a name and a version.",
)
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


@check(
    "unadvertised-method",
    "AGT-29",
    "an optional method that is not advertised is answered with an error",
    acts=("optional",),
    mend="A client that tries it takes a session for loaded, listed or closed that is not: "
    "answer -32601.",
)
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
    for method in results:
        wrong = worst(official(_version(act)), method, act.notes[method].frame["result"])
        if wrong is not None and wrong.weight is Weight.WRONG:
            return failed(f"{method}, which is not advertised: {wrong}", act.notes[method])
    for method in results:
        return warned(f"{method} works, and is not advertised", act.notes[method])
    return passed(f"{len(tried)} methods")


def _version(act: Transcript) -> int:
    return acp.dialect(act.welcome.get("protocolVersion")).version


@check(
    "unoffered-calls",
    "AGT-32",
    "the agent calls no method of the client's that the client did not offer",
    acts=EVERY_ACT,
    partial=True,
    mend="The call fails: check the client's capabilities before it.",
)
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


@check(
    "large-ids",
    "AGT-4",
    "an id beyond 32 bits comes back unchanged: 2147483648, 2^53 - 1",
    acts=("large_ids",),
    mend="A client that counts in milliseconds waits for ever: keep ids as they came, or as 64 "
    "bits.",
)
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


@check(
    "session-burst",
    "AGT-19",
    "sessions that are opened in one burst have ids of their own, and each works",
    acts=("burst",),
    mend="Two windows that open at once share a conversation: make unique ids.",
)
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


@check(
    "session-list",
    "AGT-33",
    "session/list, where it is advertised, has the session that was just used",
    acts=("list",),
    mend="The user cannot find a conversation again: list what session/new opened.",
)
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
    """Return what is wrong where a method was not answered with a result."""
    answer = act.notes.get(method)
    if answer is None:
        return failed(f"no answer to {method}, which is advertised")
    if "error" in (answer.frame or {}):
        return failed(f"{method} is advertised, and fails", answer)
    return None


@check(
    "session-load",
    "AGT-34",
    "session/load, where it is advertised, replays the session after a restart, and it goes on",
    acts=("load",),
    mend="The user reopens the editor and the conversation is gone: keep sessions on disk, and "
    "replay them before the answer.",
)
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


@check(
    "session-resume",
    "AGT-34",
    "session/resume, where it is advertised, works after a restart, without a replay",
    acts=("resume",),
    mend="A client shows the history twice, or loses it: keep sessions on disk, and replay nothing "
    "unasked.",
)
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
        # ACP does not say that sessions outlive the process; every client relies on it.
        return warned(f"after a restart the session is lost to {method}", answer)
    return None


def _goes_on(act: Transcript, method: str, evidence: str) -> Finding:
    if not act.notes["shown"]:
        return passed("the session is back; without a model, nothing more can be checked")
    turn = act.turns[-1]
    if turn.answer is None or turn.failed or not shows(act, turn):
        return failed(f"after {method} the next prompt did not work", turn.answer)
    return passed(evidence)


@check(
    "session-close",
    "AGT-33",
    "session/close, where it is advertised, is answered, and ends the session's open turn",
    acts=("close",),
    mend="A closed window's turn runs on, and is paid for: cancel it, and answer.",
)
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
