"""A turn's failure as one value: its cause in words, every try of it, and its entry in the record.

Owns the composition. `core.link.decision` says what a turn failed of, `core.link.ending` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure import attempts as tries
from lastword.core.failure.taxonomy import AgentError
from lastword.core.link import decision, entries, failures
from lastword.core.link.decision import ANNOUNCED

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.taxonomy import Phase
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link


def cause_of(link: Link, turn: Turn, phase: Phase | None = None) -> tuple[AgentError, str]:
    """Return what a turn failed of, in words, and the rule that says so."""
    session, facts, failed = turn.session, turn.facts, turn.evidence.answer
    decided = link.decide(turn)
    cause = decided.cause
    if isinstance(cause, AgentError):
        return tries.with_earlier(cause, turn.tried), ANNOUNCED
    if facts.text and decision.is_error_text(decided.snapshot):
        facts = facts.without_text()
    if turn.earlier is not None:
        facts = facts.after(turn.earlier)
    error = failures.compose(
        link,
        cause,
        phase=phase or facts.phase(tool_running=session.tools.running),
        retry_safety=facts.retry_safety(retryable=cause.retryable),
        tried=_tried(turn, cause),
        message=failed.message if failed else None,
    )
    return error, cause.rule


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
