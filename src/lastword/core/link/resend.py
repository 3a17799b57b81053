"""Resending: a prompt that failed before anything happened goes to the agent again.

Owns `--retry`: which failed turn is tried again, and the wait before it.
`core.failure.retry_policy` decides whether a retry is worthwhile and how long to wait,
`core.link.ending` begins and ends the wait, and `core.restart` restarts an agent that crashed.

A prompt is resent as the very frame that the client sent, under its id, and only when the agent no
longer works on it: it has answered, or its process is gone. Version 2 has no such moment: there an
answer accepts a prompt, and only the session's state says how the work went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure import retry_policy
from lastword.core.failure.taxonomy import AgentError, Phase, RetrySafety
from lastword.core.link.evidence import FailureSign
from lastword.core.link.turn import AT_WORK

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame

MAX_RESENDABLE_BYTES = 4 * 1024 * 1024
"""A longer prompt is not kept, and so not sent again."""

MAX_ALL_RESENDABLE_BYTES = 4 * MAX_RESENDABLE_BYTES
"""What is kept of all sessions' prompts together."""

_EARLY = frozenset({Phase.STARTUP, Phase.BEFORE_REQUEST, Phase.BEFORE_OUTPUT})


def may_resend(link: Link, turn: Turn, prompt: Frame) -> bool:
    """Return whether a prompt that goes to the agent now may have to be sent again."""
    if not link.options.retry or link.dialect.turn_ends_by_state or link.options.in_process:
        return False
    size = len(prompt.line)
    turns = [*link.resent.values(), *(t for s in link.sessions.values() for t in s.turns)]
    prompts = [other.resendable for other in turns if other is not turn]
    others = sum(len(other.line) for other in prompts if other is not None)
    return size <= MAX_RESENDABLE_BYTES and size + others <= MAX_ALL_RESENDABLE_BYTES


def _may(turn: Turn, cause: AgentError | Verdict) -> bool:
    """Return whether another try can do no harm, and nobody else is at work on this one."""
    facts = turn.facts
    if turn.resendable is None or turn.state not in AT_WORK or turn.overlapped:
        return False
    if FailureSign.STOPPED in turn.evidence.signs or turn.evidence.passed:
        return False
    if facts.shown or facts.retry_safety(retryable=True) is not RetrySafety.AUTO:
        return False
    if isinstance(cause, AgentError):
        # The agent may know of more than has passed here.
        if cause.retryable:
            return cause.retry_safety is RetrySafety.AUTO
        return cause.phase in _EARLY
    return True


def wait_seconds(link: Link, turn: Turn, cause: AgentError | Verdict) -> float | None:
    """Return the wait before the prompt is sent again, or `None` if it is not."""
    if not _may(turn, cause):
        return None
    options = link.options
    failed = retry_policy.Failed(
        type=cause.type,
        retryable=cause.retryable,
        refused=not isinstance(cause, AgentError) and cause.refused,
        retry_after_seconds=cause.retry_after_seconds,
        reset_at_epoch_ms=cause.reset_at_epoch_ms,
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


def comes_back(link: Link, session: Session) -> bool:
    """Return whether another agent will follow that can have this session."""
    agent = link.agent
    by_agent = agent.can_resume or agent.can_load
    return link.restarts and by_agent and session.opening is not None


def waiting(session: Session) -> list[Turn]:
    """Return the session's turns whose prompts are to be sent again."""
    return [turn for turn in session.turns if turn.waits]


def shows_work(turn: Turn) -> bool:
    """Return whether the agent was active after the answer that the turn waits out."""
    safe = turn.facts.retry_safety(retryable=True) is RetrySafety.AUTO
    return turn.facts.shown or turn.evidence.passed or not safe


def due_prompts(link: Link) -> list[Frame]:
    """Return the prompts whose wait is over, to be taken in as if the client sent them now."""
    due: list[Frame] = []
    for session in link.sessions.values():
        for turn in waiting(session):
            if turn.again_at <= link.now and turn.resendable is not None:
                turn.time_out()
                session.end(turn)
                link.requeue(turn)
                due.append(turn.resendable)
    return due
