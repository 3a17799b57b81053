"""A turn's failure as one value: its cause in words, every try of it, and its entry in the record.

Owns the composition. `core.link.decision` says what a turn failed of, `core.link.ending` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import attempts as tries
from lastword.core.failure.taxonomy import AgentError, RetrySafety
from lastword.core.link import decision, entries, failures, late
from lastword.core.link.decision import ANNOUNCED

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.taxonomy import Phase
    from lastword.core.link.effects import Effect
    from lastword.core.link.facts import Facts
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link


def cause_of(link: Link, turn: Turn, phase: Phase | None = None) -> tuple[AgentError, str]:
    """Return what a turn failed of, in words, and the rule that says so."""
    session, failed = turn.session, turn.evidence.answer
    cause = link.decide(turn).cause
    if isinstance(cause, AgentError):
        return tries.with_earlier(with_our_care(link, turn, cause), turn.tried), ANNOUNCED
    facts = _facts(link, turn)
    error = failures.compose(
        link,
        cause,
        phase=phase or facts.phase(tool_running=session.tools.running),
        retry_safety=facts.retry_safety(retryable=cause.retryable),
        tried=_tried(turn, cause),
        message=failed.message if failed else None,
    )
    return error, cause.rule


def with_our_care(link: Link, turn: Turn, error: AgentError) -> AgentError:
    """Return the agent's own failure, as careful about a retry as what has passed here demands.

    The agent may know of more than has passed here, and is then the more careful one. Without a
    `retry_safety`, nobody sends the prompt again.
    """
    ours, theirs = _facts(link, turn).retry_safety(retryable=True), error.retry_safety
    words = list(RetrySafety)
    if theirs is None or not error.retryable or words.index(theirs) >= words.index(ours):
        return error
    before, after = (
        late.wording.usual_action(error.type, safety, retryable=True) for safety in (theirs, ours)
    )
    action = after if error.action is before else error.action
    return msgspec.structs.replace(error, retry_safety=ours, action=action)


def _facts(link: Link, turn: Turn) -> Facts:
    """Return what has happened in the turn, in all its tries, besides the error's own text."""
    facts = turn.facts
    if facts.text and decision.is_error_text(link.decide(turn).snapshot):
        facts = facts.without_text()
    return facts if turn.earlier is None else facts.after(turn.earlier)


def _tried(turn: Turn, cause: Verdict) -> tuple[tries.FailedAttempt, ...]:
    """Return every try that failed: the handler's own, or one for each time the prompt was sent."""
    failed = turn.evidence.answer
    within = failed.tried if failed else ()
    if within or not turn.tried:
        return (*turn.tried, *within)
    return (*turn.tried, tries.FailedAttempt(verdict=cause, tries=turn.tries))


def entry_of(link: Link, turn: Turn, error: AgentError, rule: str, by: str | None = None) -> Effect:
    """Return the record's entry of the failure."""
    failed = turn.evidence.answer
    worded_by_us = rule != ANNOUNCED and not (failed and failed.message)
    facts = entries.failure(link, error, worded_by_us=worded_by_us)
    facts |= {"by": by, "rule": rule, "redactions": link.pop_redactions()}
    facts["retry_refused"] = turn.retry_refused or None
    facts |= entries.waits(turn)
    return entries.failed_turn(link, turn, error, facts)
