"""Endings of turns and requests that the agent does not end properly.

Owns the order of the last frames: close what was left open, send the update, answer once
(`protocol/README.md`, section "The ladder"). `core.classify` decides what a failure *is*, and
`core.failure.wording` words it; both are imported when the first turn fails, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import attempts as tries
from lastword.core.failure import ladder
from lastword.core.failure.error_object import error_object
from lastword.core.failure.taxonomy import (
    MAX_MESSAGE_CHARS,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.core.link import entries, evidence, late
from lastword.core.link.effects import FORWARD, Answer, Effect, End, Send, Side
from lastword.core.link.turn import AT_WORK, Event, Move, State
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import By, Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.evidence import FailedAnswer
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link, OpenRequest
    from lastword.core.redact.redactor import Redactor

ANNOUNCED = "announced"
"""The rule, in the record, of a failure that the agent told in our own words."""

SPAWN_FAILED = "spawn_failed"
"""The reason of a verdict on a command that could not be started."""


def redactor(link: Link) -> Redactor:
    """Return the redactor of this link."""
    return late.redactor.Redactor(link.options.secrets, counts=link.redactions)


def own_failure(error_type: ErrorType, reason: str, *, detail: str | None = None) -> Verdict:
    """Return the verdict on a failure that we saw ourselves."""
    return late.classify.own_failure(error_type, reason, detail=detail)


def hung_up() -> Verdict:
    """Return the verdict on an agent that closed its output without any other sign."""
    return own_failure(ErrorType.AGENT_CRASH, "closed_stdout")


def fail_turn(link: Link, turn: Turn, *, phase: Phase | None = None) -> list[Effect]:
    """End a turn, typed, by its evidence. The turn's state has been stepped already."""
    session, facts, failed = turn.session, turn.facts, turn.evidence.answer
    error, rule = _by_evidence(link, turn, phase)
    ended = ladder.Ending(
        error=error,
        session_id=session.session_id,
        prompts=tuple(turn.prompts),
        # Its answer to our stop does not explain the failure.
        sent=failed.sent if failed and turn.evidence.stopped is None else None,
        had_output=facts.output,
        can_login=link.agent.can_login,
        agent_gone=link.agent_gone is not None,
        ends_foreground=not _others_run(session, turn),
        state=failed.state if failed else {},
        announced=turn.evidence.passed,
        failure_id=turn.failure_id,
        revision=turn.failure_revision + 1,
    )
    effects = _told(link, turn, ended)
    by_us = rule != ANNOUNCED and not (failed and failed.message)
    told = entries.failure(link, error, worded_by_us=by_us)
    effects.append(_failure_entry(link, turn, told, rule))
    forget(link, turn)
    return effects


def pass_failure(link: Link, turn: Turn) -> list[Effect]:
    """End a turn by its agent's answer, which tells the client of the failure by itself.

    The answer passes as it came, and the record has the failure. The turn's state has been stepped
    already.
    """
    error, rule = _by_evidence(link, turn, None)
    told = entries.failure(link, error, worded_by_us=True) | {"by": By.AGENT.value}
    entry = _failure_entry(link, turn, told, rule)
    forget(link, turn)
    return [*entries.stderr_burst(link, turn.session, turn), entry, FORWARD]


def _by_evidence(link: Link, turn: Turn, phase: Phase | None) -> tuple[AgentError, str]:
    """What a turn failed of, and the rule that says so."""
    session, facts, failed = turn.session, turn.facts, turn.evidence.answer
    if facts.text and evidence.is_error_text(link, turn):
        facts = facts.without_text()
    known = evidence.decide(link, turn)
    if isinstance(known, AgentError):
        return _with_tries(turn, known), ANNOUNCED
    error = compose(
        link,
        known,
        phase=phase or facts.phase(tool_running=session.tools.running),
        retry_safety=facts.retry_safety(retryable=known.retryable),
        tried=_tried(turn, known, failed),
        message=failed.message if failed else None,
    )
    return error, known.rule


def _failure_entry(link: Link, turn: Turn, told: dict[str, Any], rule: str) -> Effect:
    facts = told | {"rule": rule, "redactions": link.take_redactions()}
    return entries.record(link, Kind.ERROR, turn.session, turn, **facts)


def _tried(
    turn: Turn, known: Verdict, failed: FailedAnswer | None
) -> tuple[tries.FailedAttempt, ...]:
    """Return every try that failed: the handler's own, or one for each time the prompt was sent."""
    within = failed.tried if failed else ()
    if within or not turn.tried:
        return (*turn.tried, *within)
    return (*turn.tried, tries.FailedAttempt(verdict=known, tries=turn.tries))


def _with_tries(turn: Turn, announced: AgentError) -> AgentError:
    """Add our tries to the agent's count, which covers only the last time the prompt was sent."""
    before = sum(attempt.tries for attempt in turn.tried)
    if not before:
        return announced
    return msgspec.structs.replace(announced, attempts=before + (announced.attempts or 1))


def confirm_cancelled(link: Link, turn: Turn) -> list[Effect]:
    """Answer a cancelled turn in place of the agent."""
    session = turn.session
    ended = ladder.CancelledEnding(
        session_id=session.session_id,
        prompts=tuple(turn.prompts),
        agent_gone=link.agent_gone is not None,
        ends_foreground=not _others_run(session, turn),
    )
    effects = _told(link, turn, ended)
    by = By.LASTWORD.value
    effects.append(
        entries.record(link, Kind.ANSWER, session, turn, stop_reason=acp.CANCELLED, by=by)
    )
    forget(link, turn)
    return effects


def _told(link: Link, turn: Turn, ended: ladder.Ending | ladder.CancelledEnding) -> list[Effect]:
    """Turn an ending into frames, in this one place: close what is open, then send them."""
    effects: list[Effect] = [*close(turn.session, turn), End(ended)]
    dialect = link.dialect
    rung = ladder.rung_for(link.options.fallback, link.client, dialect)
    for out in ladder.frames_for(ended, rung=rung, client=link.client, dialect=dialect):
        answer = out.answers
        effects.append(
            Send(Side.CLIENT, out.frame)
            if answer is None
            else Answer(Side.CLIENT, answer, out.frame)
        )
    return [*effects, *entries.stderr_burst(link, turn.session, turn)]


def _others_run(session: Session, turn: Turn) -> bool:
    """Return whether other work goes on; a prompt cancelled before it was taken in is none."""
    return any(
        other.open and (other.running_seen or other.state is not State.CANCELLING)
        for other in session.turns
        if other is not turn
    )


def forget(link: Link, turn: Turn) -> None:
    """Forget a turn that has been answered: nothing waits for it any more."""
    session = turn.session
    for prompt in turn.prompts:
        link.client_has_answer(prompt)
    session.end(turn)
    link.note_turn_end()


def quarantine(link: Link, turn: Turn) -> list[Effect]:
    """Hold the session of a turn that was ended while the agent lives, until the agent answers."""
    if link.agent_gone is not None:
        return []
    session = turn.session
    if any(other is not turn and _goes_on(other) for other in session.turns):
        # Its late frames cannot be told from those of a turn that goes on, which must be shown.
        return []
    foreground = link.dialect.turn_ends_by_state and turn.running_seen
    session.quarantine(turn, foreground=foreground)
    effects: list[Effect] = [entries.record(link, Kind.QUARANTINED, session, turn)]
    for request_id, request in list(link.from_agent.items()):
        if request.session_id == session.session_id:
            # Permission given now would reach a turn that is over for the user.
            link.withdraw(request_id)
            session.withdraw(request_id)
            effects += [refuse(request_id, request.method), *_withdrawal(request_id)]
    return effects


def _goes_on(turn: Turn) -> bool:
    """Return whether the agent still works on this turn: unanswered, and stopped by nobody."""
    return turn.open and turn.stop_due is None and turn.held is None


def refuse(request_id: bytes, method: str) -> Answer:
    """Answer a request from the agent in the client's place, since its turn is over."""
    if method == acp.PERMISSION:
        cancelled = {"outcome": {"outcome": "cancelled"}}
        return Answer(Side.AGENT, request_id, jsonrpc.result(request_id, cancelled))
    message = "The turn that this request belongs to has been ended."
    error = {"code": acp.REQUEST_CANCELLED, "message": message}
    return Answer(Side.AGENT, request_id, jsonrpc.error(request_id, error))


def to_client(frame: bytes) -> list[Effect]:
    """Send the client an optional frame of ours, unless it is too long.

    It is too long if it repeats an overlong id of the agent's.
    """
    return [Send(Side.CLIENT, frame)] if ladder.is_short(frame) else []


def _withdrawal(request_id: bytes) -> list[Effect]:
    """Tell the client that a request from the agent no longer needs an answer."""
    params = {"requestId": msgspec.Raw(request_id)}
    return to_client(jsonrpc.notification(acp.CANCEL_REQUEST, params))


def close(session: Session, turn: Turn) -> list[Effect]:
    """Close the session's open tool calls along with its last open turn."""
    if any(other.open and other is not turn for other in session.turns):
        return []
    effects: list[Effect] = []
    for tool_call_id in session.tools.drain():
        update = {"sessionUpdate": "tool_call_update", "toolCallId": tool_call_id}
        closing = ladder.session_update(session.session_id, update | {"status": "failed"})
        effects += to_client(closing)
    return effects


def fail_request(
    link: Link, request_id: bytes, request: OpenRequest, verdict: Verdict
) -> list[Effect]:
    """Answer a request other than a prompt with a typed JSON-RPC error."""
    error = compose(link, verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.AUTO)
    # `had_output` keeps the code at -32603: there is no prompt that could be resent.
    details = ladder.details_of(link.client)
    members = error_object(error, had_output=True, details=details, is_prompt=False)
    answer = jsonrpc.error(request_id, members)
    told = entries.failed_request(link, request_id, request, error)
    return [Answer(Side.CLIENT, request_id, answer), told]


def compose(  # noqa: PLR0913 - six options is our own limit
    link: Link,
    verdict: Verdict,
    *,
    phase: Phase,
    retry_safety: RetrySafety,
    tried: tuple[tries.FailedAttempt, ...] = (),
    message: str | None = None,
) -> AgentError:
    """Return the failure as a redacted value in words; `message` is the author's own sentence."""
    if verdict.type is ErrorType.CANCELLED:
        # Nobody on this side cancelled: what the agent calls cancelled is its own failure.
        verdict = msgspec.structs.replace(
            verdict, type=ErrorType.UNKNOWN, reason="agent_cancelled", origin=Origin.AGENT
        )
    if not verdict.retryable:
        retry_safety = RetrySafety.NEVER
    clock = link.options.wall_clock
    redact = redactor(link)
    crashed = verdict.type is ErrorType.AGENT_CRASH
    error = late.wording.compose(
        verdict,
        phase=phase,
        retry_safety=retry_safety,
        attempts=tries.count(tried),
        incident_id=link.next_incident(),
        redact=redact,
        now=clock() if clock else None,
        restarts=link.restarts or (link.options.in_process and not crashed),
    )
    said = late.wording.plain_text(redact(message)) if message else ""
    if said:
        error = msgspec.structs.replace(error, message=said[:MAX_MESSAGE_CHARS])
    return tries.with_attempts(error, tried)


def stop_session(link: Link, session: Session, event: Event, verdict: Verdict) -> list[Effect]:
    """Give up on a session's open turns: tell the agent to stop, and give it its grace."""
    stopped = False
    effects: list[Effect] = []
    for turn in list(session.turns):
        if turn.held is not None:
            # The agent has answered, and will not again: there is nothing to wait for.
            turn.let_go()
            turn.evidence.stop(verdict)
            fails = turn.step(Event.ERROR) is Move.FAIL
            effects += fail_turn(link, turn) if fails else confirm_cancelled(link, turn)
        elif turn.state is State.WAITING:
            turn.stop_waiting()
            turn.step(Event.STOP)
            effects += fail_turn(link, turn)
        elif turn.state in AT_WORK and turn.step(event) is Move.STOP:
            stopped = True
            turn.evidence.stop(verdict)
            turn.grant(link.now + link.options.cancel_grace_seconds)
    if not stopped:
        return effects
    cancel = jsonrpc.notification(acp.CANCEL, {"sessionId": session.session_id})
    return [
        *effects,
        entries.record(
            link,
            Kind.CANCEL,
            session,
            by=By.WATCHDOG.value,
            type=verdict.type.value,
            reason=verdict.reason,
        ),
        Send(Side.AGENT, cancel),
    ]


def agent_lost(link: Link, verdict: Verdict) -> list[Effect]:
    """Answer everything that waits for an agent that is gone.

    Prompts that are to be sent again wait for another agent (`core.link.resend`).
    """
    link.lost_agent(verdict)
    effects: list[Effect] = _withdraw(link)
    for session in list(link.sessions.values()):
        session.resolve_all()
        for turn in list(session.turns):
            if turn.state is not State.WAITING:
                effects += lose_turn(link, turn, verdict)
        for prompt in session.take_waiting():
            effects += refuse_prompt(link, session, prompt.frame, verdict)
    for request_id, request in list(link.from_client.items()):
        if request.turn is None or request.turn.state is not State.WAITING:
            effects += fail_request(link, request_id, request, verdict)
            link.client_has_answer(request_id)
    # As far as this module knows, nothing follows: sending a prompt to this process cannot help.
    link.lost_agent(msgspec.structs.replace(verdict, retryable=False))
    return effects


def lose_turn(link: Link, turn: Turn, verdict: Verdict) -> list[Effect]:
    """End one turn of an agent that is gone."""
    move = turn.step(Event.AGENT_LOST)
    if move is Move.CONFIRM:
        return confirm_cancelled(link, turn)
    turn.evidence.lose(verdict)
    return fail_turn(link, turn) if move is Move.FAIL else []


def refuse_prompt(
    link: Link, session: Session, frame: jsonrpc.Frame, verdict: Verdict
) -> list[Effect]:
    """Answer a prompt that never reached the agent."""
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    turn = link.turn_of(session, request_id)
    turn.add_prompt(request_id)
    turn.step(Event.AGENT_LOST)
    turn.evidence.stop(verdict)
    told = entries.prompt(link, turn, frame)
    return [*told, *fail_turn(link, turn, phase=Phase.BEFORE_REQUEST)]


def _withdraw(link: Link) -> list[Effect]:
    """Withdraw a dead agent's requests to the client, and free what it holds there."""
    effects: list[Effect] = []
    for request_id in list(link.from_agent):
        effects += _withdrawal(request_id)
        link.withdraw(request_id)
    for session in link.sessions.values():
        session.withdraw_all()
    for terminal_id, session_id in link.take_terminals().items():
        effects += release_terminal(link, terminal_id, session_id)
    return effects


def release_terminal(link: Link, terminal_id: str, session_id: str | None) -> list[Effect]:
    """Kill and release a terminal whose agent is gone."""
    params = {"sessionId": session_id, "terminalId": terminal_id}
    return [
        Send(Side.CLIENT, jsonrpc.request(link.next_request_id(), method, params))
        for method in (acp.TERMINAL_KILL, acp.TERMINAL_RELEASE)
    ]
