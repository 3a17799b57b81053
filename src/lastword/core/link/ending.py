"""The end of a turn: from the event that ends it to the last frame that the client gets.

This module alone moves a turn into a final state, or into the wait before its prompt is sent again.
A turn ends

- by the agent's own answer, which passes: `finish`, `release`, `finish_as_cancelled`, and
  `pass_failure` where the answer itself tells the client of the failure;
- by an answer that is a failure: `fail`, which sends the prompt again, confirms what the user had
  cancelled, or reports the failure;
- because we give up on it: `stop_session`, and `time_out` if the agent does not answer that;
- because its agent is gone or busy: `agent_lost`, `refuse_prompt`;
- by the user, while no agent works on it: `cancel_waiting`, `cancel_unsent`, `client_left`.

Each is carried out at the end of the file: close what is open, send the update, answer once
(`protocol/README.md`, section "The ladder").
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import ladder, retry_policy
from lastword.core.failure.taxonomy import AgentError, Phase
from lastword.core.link import entries, failures, late, reporting, resend
from lastword.core.link.effects import FORWARD, Answer, Effect, End, Send, Side
from lastword.core.link.evidence import FailureSign, Retrying
from lastword.core.link.turn import AT_WORK, Event, Move, State
from lastword.core.link.waits import LimitWait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import By, Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Envelope, Frame

_BY_AGENT = By.AGENT.value
"""For code that runs in every turn: an enum's value costs 0.3 µs on Python 3.11."""


# --- by the agent's own answer -------------------------------------------------------------------


def finish(
    link: Link, turn: Turn, stop_reason: str | None, *, answer: Effect = FORWARD
) -> list[Effect]:
    """End the turn with the agent's own answer, unchanged, unless we stopped it."""
    cancelled = turn.state is State.CANCELLING
    if turn.step(Event.RESULT) is Move.FAIL:
        return _fail(link, turn)
    if turn.resendable is not None and not cancelled:
        link.retry_bucket.succeed()
    restored = _forget(link, turn)
    return [*_answer_entries(link, turn, stop_reason, cancelled=cancelled), *restored, answer]


def finish_as_cancelled(
    link: Link, turn: Turn, stop_reason: str | None, answer: Effect
) -> list[Effect]:
    """End the turn as cancelled, whatever the agent calls it, and close what it left open."""
    turn.step(Event.RESULT)
    closed = [*_close(turn.session, turn), *_forget(link, turn)]
    return [*closed, *_answer_entries(link, turn, stop_reason, cancelled=True), answer]


def release(link: Link, turn: Turn) -> list[Effect]:
    """Send the agent's answer that was held back, unchanged; a failure is reported as one."""
    frame = turn.pop_withheld()
    if frame is None:
        return []
    if turn.withheld_failure:
        return fail(link, turn)
    answer: Effect = Send(Side.CLIENT, frame.line)
    if frame.message.method is None:  # otherwise version 2: the idle update
        answer = Answer(Side.CLIENT, frame.message.request_id or jsonrpc.NULL_ID, frame.line)
    stop_reason = acp.REFUSAL if turn.evidence.refused else acp.END_TURN
    return finish(link, turn, stop_reason, answer=answer)


def pass_failure(link: Link, turn: Turn) -> list[Effect]:
    """End a turn with the agent's answer, which itself reports the failure to the client.

    The answer passes unchanged, and the record gets the failure.
    """
    turn.step(Event.ERROR)
    error, rule = failures.cause_of(link, turn)
    entry = failures.entry_of(link, turn, error, rule, _BY_AGENT)
    closed = reporting.close_warning(link, turn, reporting.FAILED)
    restored = _forget(link, turn)
    return [*closed, *entries.before_end(link, turn), entry, *restored, FORWARD]


def _answer_entries(
    link: Link, turn: Turn, stop_reason: str | None, *, cancelled: bool = False
) -> list[Effect]:
    session = turn.session
    # A turn that the user cancelled is cancelled, whatever the agent calls it.
    otherwise_called = cancelled and stop_reason != acp.CANCELLED
    answer = entries.record(
        link,
        Kind.ANSWER,
        session,
        turn,
        stop_reason=stop_reason,
        by=_BY_AGENT,
        cancelled=otherwise_called or None,
        **entries.waits(turn),
    )
    closed = reporting.close_warning(
        link, turn, reporting.WAS_CANCELLED if cancelled else reporting.WENT_ON
    )
    return [*closed, *entries.before_end(link, turn), answer]


# --- by an answer that is a failure --------------------------------------------------------------


def fail(link: Link, turn: Turn) -> list[Effect]:
    """End the turn as failed, as the agent answered, unless the user had cancelled."""
    if turn.waits:
        return []  # it was answered with a failure already, and is to be sent again
    again = try_again(link, turn)
    if not again and link.options.fallback_model and turn.resendable is not None:
        begun = resend.begin_switch(link, turn)
        # The tools of the work that failed will not report any more.
        again = [*_close(turn.session, turn), *begun] if begun else []
    again = again or wait_for_reset(link, turn)
    if again:
        return again
    if turn.step(Event.ERROR) is Move.CONFIRM:
        return _confirm_cancelled(link, turn)
    return _fail(link, turn)


def try_again(link: Link, turn: Turn) -> list[Effect]:
    """Begin the wait for another try instead of failing; return nothing if the failure is final."""
    if turn.resendable is None:
        return []
    cause = link.decide(turn)
    wait = resend.wait_seconds(link, turn, cause.cause)
    if wait is None:
        return []
    if not link.retry_bucket.spend(cause.cause.type):
        turn.refuse_retry()
        return []
    verdict = cause.verdict
    within = cause.cause.attempts if isinstance(cause.cause, AgentError) else None
    tried = retry_policy.FailedAttempt(
        verdict=verdict, tries=within or turn.tries, wait_seconds=wait
    )
    turn.wait(tried, link.now + wait)
    by_prompts_alone = all(attempt.tries == 1 for attempt in turn.tried)
    retry = Retrying(
        verdict=verdict,
        attempt=sum(attempt.tries for attempt in turn.tried) + 1,
        # If the agent also tries by itself, the maximum is unknown.
        max_attempts=link.options.retry + 1 if by_prompts_alone else None,
        wait_seconds=wait,
    )
    burst = entries.stderr_burst(link, turn.session, turn)
    return [*burst, *reporting.announce(link, turn, retry)]


def wait_for_reset(link: Link, turn: Turn) -> list[Effect]:
    """Begin the wait for the end of a limit; return nothing if the turn does not wait for one."""
    if not link.options.continue_at_reset_seconds or turn.resendable is None:
        return []
    decided = link.decide(turn)
    cause, verdict = decided.cause, decided.verdict
    epoch = resend.epoch_seconds(link)
    seconds = late.limits.reset_wait_seconds(
        retry_policy.failed_of(cause),
        left_seconds=link.options.continue_at_reset_seconds - turn.limit_waited,
        waits=turn.limit_waits,
        epoch_seconds=epoch,
        roll=link.options.roll() if link.options.roll else 1.0,
    )
    if seconds is None or not resend.is_free(turn):
        return []
    if not link.retry_bucket.spend(cause.type):
        turn.refuse_retry()
        return []
    left = link.options.continue_at_reset_seconds - turn.limit_waited
    wait = LimitWait(
        until_epoch_seconds=None if epoch is None else epoch + seconds,
        latest_epoch_seconds=None if epoch is None else epoch + left + late.limits.LATE_SECONDS,
        resends=resend.is_harmless(turn, cause),
    )
    # The tools of the work that failed will not report any more.
    closed = _close(turn.session, turn)
    turn.count_limit_wait(seconds)
    burst = entries.stderr_burst(link, turn.session, turn)
    return [*closed, *burst, *_begin_limit_wait(link, turn, wait, verdict, seconds)]


def resume_wait(link: Link, turn: Turn, stored: StoredWait) -> list[Effect]:
    """Continue a turn's wait for the end of a limit that began in another process."""
    verdict = late.classify.own_failure(stored.type, stored.reason)
    turn.restore_wait(stored, verdict)
    seconds = stored.left_seconds(resend.epoch_seconds(link))
    return _begin_limit_wait(link, turn, stored.wait, verdict, seconds)


def _begin_limit_wait(
    link: Link, turn: Turn, wait: LimitWait, verdict: Verdict, seconds: float
) -> list[Effect]:
    tried = retry_policy.FailedAttempt(verdict=verdict, tries=turn.tries, wait_seconds=seconds)
    until = wait.until_epoch_seconds
    turn.wait_for_reset(tried, link.now + seconds, wait)
    reset = None if until is None else math.ceil(until * 1000)
    retry = Retrying(
        # A client that attaches during the wait counts down to this moment.
        verdict=msgspec.structs.replace(verdict, reset_at_epoch_ms=reset),
        attempt=sum(attempt.tries for attempt in turn.tried) + 1,
        wait_seconds=seconds,
        sentence=late.limits.sentence_of_wait(seconds, link.options.local_time()),
    )
    return reporting.announce(link, turn, retry)


def go_without_model(link: Link, turn: Turn) -> list[Effect]:
    """End the wait for another model, which the turn does not get: the failure before it stands."""
    return wait_for_reset(link, turn) or give_up_wait(link, turn.session)


def give_up_for_prompt(link: Link, session: Session) -> list[Effect]:
    """End the session's waits because the user continues with another prompt.

    A wait for the end of a limit, or for another model, was announced as one that continues: it
    ends as cancelled. A wait before a resend ends in its failure.
    """
    effects: list[Effect] = []
    for turn in resend.waiting(session):
        if resend.waits_to_continue(turn):
            effects += cancel_waiting(link, turn)
    return [*effects, *give_up_wait(link, session)]


def give_up_wait(link: Link, session: Session) -> list[Effect]:
    """Give up resending the session's prompt: the turn fails as it would have without a wait."""
    effects: list[Effect] = []
    for turn in resend.waiting(session):
        turn.step(Event.STOP)
        turn.stop_waiting()
        effects += _fail(link, turn)
    return effects


def give_up_if_shown(link: Link, session_id: str | None) -> list[Effect]:
    """Give up a wait if the agent was active in this session after the answer that failed.

    Activity in a session that the client does not know may belong to any session.
    """
    named = link.sessions.get(session_id or "")
    effects: list[Effect] = []
    for session in [named] if named is not None else list(link.sessions.values()):
        waiting = [turn for turn in resend.waiting(session) if not resend.waits_to_continue(turn)]
        if any(resend.shows_work(turn) for turn in waiting):
            effects += give_up_wait(link, session)
    return effects


def due_prompts(link: Link) -> list[Frame]:
    """Return the prompts whose wait is over, to be received as if the client sent them now."""
    due: list[Frame] = []
    for session in link.sessions.values():
        for turn in resend.waiting(session):
            prompt = resend.due_prompt(link, turn)
            if prompt is not None:
                turn.time_out()
                session.end(turn)
                link.requeue(turn)
                due.append(prompt)
    return due


# --- because we give up on it --------------------------------------------------------------------


def stop_session(link: Link, session: Session, event: Event, verdict: Verdict) -> list[Effect]:
    """Give up on a session's open turns: tell the agent to stop, and give it a grace period."""
    stopped = False
    effects: list[Effect] = give_up_wait(link, session)
    for turn in list(session.turns):
        if turn.withheld is not None:
            # The agent has answered and will not answer again: there is nothing to wait for.
            turn.pop_withheld()
            turn.evidence.note(FailureSign.STOPPED, verdict)
            fails = turn.step(Event.ERROR) is Move.FAIL
            effects += _fail(link, turn) if fails else _confirm_cancelled(link, turn)
        elif turn.state in AT_WORK:
            turn.stop(event, verdict, link.now + link.options.cancel_grace_seconds)
            stopped = True
    if not stopped:
        return effects
    entry = entries.record(
        link,
        Kind.CANCEL,
        session,
        by=By.WATCHDOG.value,
        type=verdict.type.value,
        reason=verdict.reason,
    )
    cancel = jsonrpc.notification(acp.CANCEL, {"sessionId": session.session_id})
    return [*effects, entry, Send(Side.AGENT, cancel)]


def time_out(link: Link, turn: Turn) -> list[Effect]:
    """End a turn whose agent has not answered in time after it was told to stop.

    While the agent lives, the session is in quarantine until it answers.
    """
    move, session = turn.time_out(), turn.session
    effects: list[Effect] = []
    # If another turn continues there, whose frames must be shown, late ones cannot be told apart.
    continues = any(
        other is not turn and other.open and other.stop_due is None and other.withheld is None
        for other in session.turns
    )
    if link.agent_gone is None and not continues:
        foreground = link.dialect.turn_ends_by_state and turn.running
        session.quarantine(turn, foreground=foreground)
        effects.append(entries.record(link, Kind.QUARANTINED, session, turn))
        for request_id, request in list(link.from_agent.items()):
            if request.session_id == session.session_id:
                # Permission given now would reach a turn that is over for the user.
                link.withdraw(request_id)
                session.withdraw(request_id)
                refused = failures.refuse_request(request.agents_id or request_id, request.method)
                effects += [refused, *failures.withdrawal(request_id)]
    confirms = move is Move.CONFIRM
    return effects + (_confirm_cancelled(link, turn) if confirms else _fail(link, turn))


# --- because its agent is gone or busy -----------------------------------------------------------


def agent_lost(link: Link, verdict: Verdict) -> list[Effect]:
    """Answer everything that waits for an agent that is gone.

    Prompts that are to be sent again wait for another agent.
    """
    link.lose_agent(verdict)
    follows = verdict.reason != failures.SPAWN_FAILED
    effects: list[Effect] = []
    for session in list(link.sessions.values()) if link.options.tries_again else ():
        if not follows or not resend.can_be_restored(link, session):
            effects += give_up_wait(link, session)
            continue
        for turn in list(session.turns):
            if turn.waits_for_model:
                effects += go_without_model(link, turn)
            elif turn.resendable is not None and turn.state in AT_WORK and turn.withheld is None:
                turn.evidence.note(FailureSign.LOST, verdict)
                effects += try_again(link, turn)
    effects += failures.withdraw_all(link)
    for session in list(link.sessions.values()):
        for turn in [turn for turn in session.turns if not turn.waits]:
            move = turn.step(Event.AGENT_LOST)
            if move is Move.CONFIRM:
                effects += _confirm_cancelled(link, turn)
                continue
            turn.evidence.note(FailureSign.LOST, verdict)
            effects += _fail(link, turn) if move is Move.FAIL else []
        for prompt in session.pop_waiting():
            effects += refuse_prompt(link, session, prompt.frame, verdict)
        effects += resend.restore_model(link, session)
    for request_id, request in list(link.from_client.items()):
        if not request.waits_for_resend:
            effects += failures.fail_request(link, request_id, request, verdict)
            link.client_has_answer(request_id)
    # As far as this module knows, no agent follows, so sending a prompt again cannot help.
    link.lose_agent(msgspec.structs.replace(verdict, retryable=False))
    return effects


def refuse_prompt(link: Link, session: Session, frame: Frame, verdict: Verdict) -> list[Effect]:
    """Answer a prompt that never reached the agent."""
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    turn = link.turn_of(session, request_id)
    turn.add_prompt(request_id)
    turn.step(Event.AGENT_LOST)
    turn.evidence.note(FailureSign.STOPPED, verdict)
    entry = entries.prompt(link, turn, frame)
    return [*entry, *_fail(link, turn, phase=Phase.BEFORE_REQUEST)]


# --- by the user, while no agent works on it -----------------------------------------------------


def cancel_waiting(link: Link, turn: Turn) -> list[Effect]:
    """Cancel a waiting turn for the user: the prompt never reaches the agent again."""
    turn.step(Event.CANCEL)
    entry = entries.record(link, Kind.CANCEL, turn.session, turn, by=By.USER.value)
    return [entry, *_confirm_cancelled(link, turn)]


def cancelled_by(link: Link, cancel: Envelope) -> list[Effect]:
    """Cancel the waiting prompts named by a cancel that does not reach an agent."""
    params = cancel.params
    named = None
    if cancel.method == acp.CANCEL_REQUEST and params and params.request_id:
        named = jsonrpc.same_id(bytes(params.request_id))
    return [
        effect
        for session in link.sessions.values()
        for turn in resend.waiting(session)
        if (session.session_id == cancel.session_id if named is None else named in turn.prompts)
        for effect in cancel_waiting(link, turn)
    ]


def cancel_withheld_failure(link: Link, turn: Turn) -> list[Effect]:
    """Cancel a turn whose failure the user does not know about yet: for them it was cancelled."""
    turn.step(Event.CANCEL)
    return release(link, turn)


def cancel_unsent(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """Cancel a prompt that never reached the agent, and never will."""
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    turn = link.turn_of(session, request_id)
    turn.add_prompt(request_id)
    turn.step(Event.CANCEL)
    turn.step(Event.ERROR)
    return _confirm_cancelled(link, turn)


def client_left(link: Link) -> list[Effect]:
    """Cancel every turn, since the client is gone for good; those that wait end at once."""
    by = By.CLIENT_GONE.value
    effects: list[Effect] = [entries.record(link, Kind.CLIENT_GONE)]
    moves = [(turn, turn.step(Event.CLIENT_LOST)) for turn in link.open_turns()]
    effects += [entries.record(link, Kind.CANCEL, turn.session, turn, by=by) for turn, _ in moves]
    for turn, move in moves:
        if move is Move.CONFIRM:
            effects += _confirm_cancelled(link, turn)
    return effects


# --- what the client gets ------------------------------------------------------------------------


def _fail(link: Link, turn: Turn, *, phase: Phase | None = None) -> list[Effect]:
    """Answer a turn with its failure, typed. The turn's state has been stepped already."""
    session, facts, failed = turn.session, turn.all_facts, turn.evidence.answer
    error, rule = failures.cause_of(link, turn, phase)
    stopped = FailureSign.STOPPED in turn.evidence.signs
    ended = ladder.Ending(
        error=error,
        session_id=session.session_id,
        prompts=tuple(turn.prompts),
        # Its answer to our stop does not explain the failure.
        sent=failed.sent if failed and not stopped else None,
        had_output=facts.output,
        can_login=link.agent.can_login,
        agent_gone=link.agent_gone is not None,
        ends_foreground=not _others_run(session, turn),
        state=failed.state if failed else {},
        announced=turn.evidence.passed,
        failure_id=turn.failure_id,
        revision=turn.failure_revision + 1,
    )
    effects = _frames(link, turn, ended)
    effects.append(failures.entry_of(link, turn, error, rule))
    return effects + _forget(link, turn)


def _confirm_cancelled(link: Link, turn: Turn) -> list[Effect]:
    session = turn.session
    ended = ladder.CancelledEnding(
        session_id=session.session_id,
        prompts=tuple(turn.prompts),
        agent_gone=link.agent_gone is not None,
        ends_foreground=not _others_run(session, turn),
    )
    effects = reporting.close_warning(link, turn, reporting.WAS_CANCELLED, of_agent=True)
    effects += _frames(link, turn, ended)
    by = By.LASTWORD.value
    effects.append(
        entries.record(
            link,
            Kind.ANSWER,
            session,
            turn,
            stop_reason=acp.CANCELLED,
            by=by,
            **entries.waits(turn),
        )
    )
    return effects + _forget(link, turn)


def _forget(link: Link, turn: Turn) -> list[Effect]:
    link.forget(turn)
    return resend.restore_model(link, turn.session)


def _frames(link: Link, turn: Turn, ended: ladder.Ending | ladder.CancelledEnding) -> list[Effect]:
    """Turn an ending into frames, which only this function does: close what is open, then send."""
    effects: list[Effect] = [*_close(turn.session, turn), End(ended)]
    dialect = link.dialect
    rung = ladder.rung_for(link.options.fallback, link.client, dialect)
    for out in ladder.frames_for(ended, rung=rung, client=link.client, dialect=dialect):
        answer = out.answers
        effects.append(
            Send(Side.CLIENT, out.frame)
            if answer is None
            else Answer(Side.CLIENT, answer, out.frame)
        )
    return [*effects, *entries.before_end(link, turn)]


def _close(session: Session, turn: Turn) -> list[Effect]:
    """Close the session's open tool calls along with its last open turn."""
    if any(other.open and other is not turn for other in session.turns):
        return []
    effects: list[Effect] = []
    for tool_call_id in session.tools.drain():
        update = {"sessionUpdate": "tool_call_update", "toolCallId": tool_call_id}
        closing = ladder.session_update(session.session_id, update | {"status": "failed"})
        effects += failures.to_client(closing)
    return effects


def _others_run(session: Session, turn: Turn) -> bool:
    """Return whether other work continues; a prompt cancelled before it was accepted is not."""
    return any(
        other.open and (other.running or other.state is not State.CANCELLING)
        for other in session.turns
        if other is not turn
    )
