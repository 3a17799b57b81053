"""Resending: a prompt that failed before anything happened goes to the agent again.

Owns `--retry`: which failed turn is tried again, and the wait before it; and the prompt that ends a
wait for a limit. `core.failure.retry_policy` decides whether a retry is worthwhile and how long to
wait, `core.link.reset_wait` how long a limit lasts, `core.link.ending` begins and ends the wait,
and `core.restart` restarts an agent that crashed.

A prompt is resent as the very frame that the client sent, under its id, and only when the agent no
longer works on it: it has answered, or its process is gone. Version 2 has no such moment: there an
answer accepts a prompt, and only the session's state says how the work went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import retry_policy
from lastword.core.failure.taxonomy import AgentError, Phase, RetrySafety
from lastword.core.link.evidence import FailureSign
from lastword.core.link.limit_wait import StoredWait
from lastword.core.link.turn import REPORTS_WAITS
from lastword.core.protocol import acp, jsonrpc

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
    if not link.options.tries_again or link.dialect.turn_ends_by_state or link.options.in_process:
        return False
    size = len(prompt.line)
    turns = [*link.resent.values(), *(t for s in link.sessions.values() for t in s.turns)]
    prompts = [other.resendable for other in turns if other is not turn]
    others = sum(len(other.line) for other in prompts if other is not None)
    return size <= MAX_RESENDABLE_BYTES and size + others <= MAX_ALL_RESENDABLE_BYTES


def is_free(turn: Turn) -> bool:
    """Return whether nobody else is at work on the turn, and its failure is not yet reported."""
    # A turn that waits for another model may have to wait for its limit after all.
    if turn.resendable is None or turn.state not in REPORTS_WAITS or turn.overlapped:
        return False
    return FailureSign.STOPPED not in turn.evidence.signs and not turn.evidence.passed


def is_harmless(turn: Turn, cause: AgentError | Verdict) -> bool:
    """Return whether the same prompt can be sent again: nothing was shown, and nothing begun."""
    facts = turn.facts
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
    if not is_free(turn) or not is_harmless(turn, cause):
        return None
    options = link.options
    limits = retry_policy.RetryBounds(
        tries=options.retry + 1,
        max_wait_seconds=options.retry_wait_limit_seconds or float("inf"),
        sits_out=True,
    )
    return retry_policy.next_wait(
        failed_of(cause),
        [1] * (len(turn.tried) + 1),
        limits,
        epoch_seconds=epoch_seconds(link),
        roll=options.roll() if options.roll else 1.0,
    )


def failed_of(cause: AgentError | Verdict) -> retry_policy.Failed:
    """Return the facts about a failure that the policy needs."""
    return retry_policy.Failed(
        type=cause.type,
        retryable=cause.retryable,
        refused=not isinstance(cause, AgentError) and cause.refused,
        retry_after_seconds=cause.retry_after_seconds,
        reset_at_epoch_ms=cause.reset_at_epoch_ms,
    )


def epoch_seconds(link: Link) -> float | None:
    """Return the time of day in seconds since 1970, if there is a clock for it."""
    clock = link.options.wall_clock
    return clock().timestamp() if clock else None


def comes_back(link: Link, session: Session) -> bool:
    """Return whether another agent will follow that can have this session."""
    agent = link.agent
    by_agent = agent.can_resume or agent.can_load
    return link.restarts and by_agent and session.opening is not None


def waiting(session: Session) -> list[Turn]:
    """Return the session's turns whose prompts are to be sent again."""
    return [turn for turn in session.turns if turn.waits]


def goes_on(turn: Turn) -> bool:
    """Return whether a turn waits to go on, with whichever prompt, and not for a mere retry."""
    return turn.limit_wait is not None or turn.switch is not None


def shows_work(turn: Turn) -> bool:
    """Return whether the agent was active after the answer that the turn waits out."""
    safe = turn.facts.retry_safety(retryable=True) is RetrySafety.AUTO
    return turn.facts.shown or turn.evidence.passed or not safe


LOOK_SECONDS = 15.0
"""How often the time of day is looked at in a wait for the end of a limit: a computer that slept
may have slept past it."""


def next_look(link: Link, turn: Turn) -> float:
    """Return when to look next whether a turn's wait is over."""
    if turn.switch is not None:
        return turn.switch.due
    return turn.again_at if turn.limit_wait is None else min(turn.again_at, link.now + LOOK_SECONDS)


def is_too_late(link: Link, turn: Turn) -> bool:
    """Return whether a turn waits for a limit beyond the time that the user allows, by day."""
    latest = turn.limit_wait.latest_epoch_seconds if turn.limit_wait is not None else None
    epoch = epoch_seconds(link) if latest is not None else None
    return latest is not None and epoch is not None and epoch > latest


def stored_wait(turn: Turn) -> StoredWait | None:
    """Return a turn's wait for the end of a limit, for another process; `None` without one."""
    if turn.limit_wait is None:
        return None
    verdict = turn.tried[-1].verdict
    return StoredWait(
        request_id=turn.prompts[0],
        wait=turn.limit_wait,
        type=verdict.type,
        reason=verdict.reason,
        waits=turn.limit_waits,
        waited_seconds=turn.limit_waited,
        facts=msgspec.structs.replace(turn.all_facts),
    )


def due_prompt(link: Link, turn: Turn) -> Frame | None:
    """Return the prompt that ends the turn's wait, or `None` while the wait goes on.

    After a limit, and with another model, the user's own prompt is sent again only if nothing was
    shown or begun. Otherwise a new one asks the agent to go on, under the same id, so that the
    agent's answer is the turn's.
    """
    wait, own = turn.limit_wait or turn.switch, turn.resendable
    if is_too_late(link, turn) or not _is_over(link, turn):
        return None
    if wait is None:
        return own
    resends = wait.resends and not shows_work(turn)
    turn.go_on(new_prompt=not resends)
    return own if resends else _continue_prompt(link, turn)


def _is_over(link: Link, turn: Turn) -> bool:
    """Return whether a wait is over by the clock that says so first.

    One may have stood still, and the other have been set.
    """
    if turn.switch is not None:
        return turn.switch.accepted
    epoch = epoch_seconds(link) if turn.limit_wait is not None else None
    until = turn.limit_wait.until_epoch_seconds if turn.limit_wait is not None else None
    by_day = epoch is not None and until is not None and epoch >= until
    return by_day or turn.again_at <= link.now


def _continue_prompt(link: Link, turn: Turn) -> Frame | None:
    text = {"type": "text", "text": link.options.continue_with}
    params = {"sessionId": turn.session.session_id, "prompt": [text]}
    frame = jsonrpc.decode(jsonrpc.request(turn.prompts[0], acp.PROMPT, params))
    return None if isinstance(frame, jsonrpc.Malformed) else frame
