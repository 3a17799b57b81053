"""Resending: a prompt that failed before anything happened goes to the agent again.

Owns `--retry`: which failed turn is tried again, the wait before it, and what ends the wait early.
`core.failure.retry_policy` decides whether a retry is worthwhile and how long to wait,
`core.link.retries` reports it, and `core.restart` restarts an agent that crashed.

A prompt is resent as the very frame that the client sent, under its id, and only when the agent no
longer works on it: it has answered, or its process is gone. Version 2 has no such moment: there an
answer accepts a prompt, and only the session's state says how the work went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure import retry_policy
from lastword.core.failure.attempts import FailedAttempt
from lastword.core.failure.taxonomy import AgentError, Phase, RetrySafety
from lastword.core.link import ending, entries, evidence, late, retries
from lastword.core.link.turn import AT_WORK, Event, Move, State
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import By, Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Envelope, Frame

MAX_KEPT_BYTES = 4 * 1024 * 1024
"""A longer prompt is not kept, and so not sent again."""

MAX_ALL_KEPT_BYTES = 4 * MAX_KEPT_BYTES
"""What is kept of all sessions' prompts together."""

_EARLY = frozenset({Phase.STARTUP, Phase.BEFORE_REQUEST, Phase.BEFORE_OUTPUT})


def keep(link: Link, turn: Turn, prompt: Frame) -> None:
    """Keep a prompt that goes to the agent now, in case it has to be sent again."""
    if link.dialect.turn_ends_by_state or link.options.in_process or turn.overlapped:
        return
    size = len(prompt.line)
    turns = [*link.resent.values(), *(t for s in link.sessions.values() for t in s.turns)]
    others = sum(len(other.kept.line) for other in turns if other.kept and other is not turn)
    if size <= MAX_KEPT_BYTES and size + others <= MAX_ALL_KEPT_BYTES:
        turn.keep(prompt)


def instead(link: Link, turn: Turn) -> list[Effect]:
    """Begin the wait for another try instead of failing; return nothing if the failure is final."""
    known = evidence.decide(link, turn)
    wait = _wait(link, turn, known) if _may(turn, known) else None
    if wait is None or turn.step(Event.RETRY) is not Move.WAIT:
        return []
    verdict = _verdict_of(known)
    within = known.attempts if isinstance(known, AgentError) else None
    tried = FailedAttempt(verdict=verdict, tries=within or turn.tries, wait_seconds=wait)
    turn.wait(tried, link.now + wait)
    by_prompts_alone = all(attempt.tries == 1 for attempt in turn.tried)
    word = retries.Retrying(
        verdict=verdict,
        attempt=sum(attempt.tries for attempt in turn.tried) + 1,
        # If the agent also tries by itself, nobody knows how often it will.
        max_attempts=link.options.retry + 1 if by_prompts_alone else None,
        wait_seconds=wait,
    )
    burst = entries.stderr_burst(link, turn.session, turn)
    return [*burst, *retries.told_by_handler(link, turn, word)]


def _may(turn: Turn, known: AgentError | Verdict) -> bool:
    """Return whether another try can do no harm, and nobody else is at work on this one."""
    facts = turn.facts
    if turn.kept is None or turn.state not in AT_WORK or turn.overlapped:
        return False
    if turn.evidence.stopped is not None or turn.evidence.passed:
        return False
    if facts.shown or facts.retry_safety(retryable=True) is not RetrySafety.AUTO:
        return False
    if isinstance(known, AgentError):
        # The agent may know of more than has passed here.
        if known.retryable:
            return known.retry_safety is RetrySafety.AUTO
        return known.phase in _EARLY
    return True


def _wait(link: Link, turn: Turn, known: AgentError | Verdict) -> float | None:
    """Return the wait before the prompt is sent again, or `None` if it is not."""
    options = link.options
    failed = retry_policy.Failed(
        type=known.type,
        retryable=known.retryable,
        refused=not isinstance(known, AgentError) and known.refused,
        retry_after_seconds=known.retry_after_seconds,
        reset_at_epoch_ms=known.reset_at_epoch_ms,
    )
    limits = retry_policy.RetryBounds(
        tries=options.retry + 1,
        max_wait_seconds=options.retry_wait_limit_seconds or float("inf"),
        sits_out=True,
    )
    return retry_policy.next_wait(
        failed,
        [1] * (len(turn.tried) + 1),
        limits,
        epoch_seconds=options.wall_clock().timestamp() if options.wall_clock else None,
        roll=options.roll() if options.roll else 1.0,
    )


def _comes_back(link: Link, session: Session) -> bool:
    """Return whether another agent will follow that can have this session."""
    agent = link.agent
    by_agent = agent.can_resume or agent.can_load
    return link.restarts and by_agent and session.opening is not None


def _verdict_of(known: AgentError | Verdict) -> Verdict:
    """Return the failure without its words, which are for a failure that lasts."""
    if not isinstance(known, AgentError):
        return known
    return late.classify.Verdict(
        type=known.type,
        rule=ending.ANNOUNCED,
        retryable=known.retryable,
        reason=known.reason,
        origin=known.origin,
        retry_after_seconds=known.retry_after_seconds,
        reset_at_epoch_ms=known.reset_at_epoch_ms,
        http_status=known.http_status,
        provider_code=known.provider_code,
        source=known.source,
    )


# --- the end of a wait ---------------------------------------------------------------------------


def take_due(link: Link) -> list[Frame]:
    """Return the prompts whose wait is over, to be taken in as if the client sent them now."""
    due: list[Frame] = []
    for session in link.sessions.values():
        for turn in list(session.turns):
            if turn.state is State.WAITING and turn.again_at <= link.now and turn.kept is not None:
                turn.step(Event.TIMEOUT)
                session.end(turn)
                link.take_back(turn)
                due.append(turn.kept)
    return due


def give_up(link: Link, session: Session) -> list[Effect]:
    """Give up resending the session's prompt: the turn fails as it would have without a wait."""
    effects: list[Effect] = []
    for turn in _waiting(session):
        turn.step(Event.STOP)
        turn.stop_waiting()
        effects += ending.fail_turn(link, turn)
    return effects


def shown(link: Link, session_id: str | None) -> list[Effect]:
    """Give up a wait if the agent was active in this session after the answer it waits out.

    What it does in a session that the client does not know may be any session's doing.
    """
    known = link.sessions.get(session_id or "")
    effects: list[Effect] = []
    for session in [known] if known is not None else list(link.sessions.values()):
        if any(_has_shown(turn) for turn in _waiting(session)):
            effects += give_up(link, session)
    return effects


def _has_shown(turn: Turn) -> bool:
    safe = turn.facts.retry_safety(retryable=True) is RetrySafety.AUTO
    return turn.facts.shown or turn.evidence.passed or not safe


def cancel(link: Link, turn: Turn) -> list[Effect]:
    """Cancel a waiting turn for the user: the prompt never reaches the agent again."""
    turn.step(Event.CANCEL)
    entry = entries.record(link, Kind.CANCEL, turn.session, turn, by=By.USER.value)
    return [entry, *ending.confirm_cancelled(link, turn)]


def cancelled_by(link: Link, cancel_: Envelope) -> list[Effect]:
    """Handle a cancel while there is no agent: waiting prompts are never sent."""
    params = cancel_.params
    named = None
    if cancel_.method == acp.CANCEL_REQUEST and params and params.request_id:
        named = jsonrpc.same_id(bytes(params.request_id))
    return [
        effect
        for session in link.sessions.values()
        for turn in _waiting(session)
        if (session.session_id == cancel_.session_id if named is None else named in turn.prompts)
        for effect in cancel(link, turn)
    ]


def agent_lost(link: Link, verdict: Verdict) -> list[Effect]:
    """Set aside the turns that wait for another agent, before the others end."""
    link.lost_agent(verdict)
    follows = verdict.reason != ending.SPAWN_FAILED
    effects: list[Effect] = []
    for session in list(link.sessions.values()):
        if not follows or not _comes_back(link, session):
            effects += give_up(link, session)
            continue
        for turn in list(session.turns):
            if turn.kept is not None and turn.state in AT_WORK and turn.held is None:
                turn.evidence.lose(verdict)
                effects += instead(link, turn)
    return effects


def client_left(link: Link) -> list[Effect]:
    """Cancel what waits: the client is gone for good."""
    return [
        effect
        for session in list(link.sessions.values())
        for turn in _waiting(session)
        if turn.step(Event.CLIENT_LOST) is Move.CONFIRM
        for effect in ending.confirm_cancelled(link, turn)
    ]


def _waiting(session: Session) -> list[Turn]:
    return [turn for turn in session.turns if turn.state is State.WAITING]
