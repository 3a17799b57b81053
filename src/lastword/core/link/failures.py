"""Failures of a link in words: our own verdicts, and the typed error that a verdict becomes.

Owns the values from which frames about failures are made, the answers that replace a peer's to
requests other than prompts, and a turn's failure as one value. `core.classify` decides what a
failure is, and `core.failure.wording` words it; both load with the first failure.
`core.link.decision` says why a turn failed, and `core.link.ending` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import ladder, retry_policy
from lastword.core.failure.ladder import error_object
from lastword.core.failure.taxonomy import (
    MAX_MESSAGE_CHARS,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.core.link import decision, entries, late
from lastword.core.link.decision import ANNOUNCED
from lastword.core.link.effects import Answer, Effect, Send, Side
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.facts import Facts
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link, OpenRequest

SPAWN_FAILED = "spawn_failed"
"""The reason for a failure of a command that could not be started."""


def own_failure(error_type: ErrorType, reason: str, *, detail: str | None = None) -> Verdict:
    """Return the verdict on a failure that lastword itself observed."""
    return late.classify.own_failure(error_type, reason, detail=detail)


def limit_reached(sentence: str) -> Verdict:
    """Return the verdict on a turn at the user's spending limit; the sentence has the amounts."""
    verdict = own_failure(ErrorType.BUDGET, "spend_limit", detail=sentence)
    return msgspec.structs.replace(verdict, origin=Origin.LASTWORD)


def hung_up(link: Link) -> Verdict:
    """Return the verdict on an agent that is gone without any other sign."""
    if link.ends_agent:
        verdict = own_failure(ErrorType.AGENT_CRASH, "ended_by_lastword")
        return msgspec.structs.replace(verdict, origin=Origin.LASTWORD)
    return own_failure(ErrorType.AGENT_CRASH, "closed_stdout")


def compose(  # noqa: PLR0913 - six options is our own limit
    link: Link,
    verdict: Verdict,
    *,
    phase: Phase,
    retry_safety: RetrySafety,
    tried: tuple[retry_policy.FailedAttempt, ...] = (),
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
    redact = link.redactor
    crashed = verdict.type is ErrorType.AGENT_CRASH
    error = late.wording.compose(
        verdict,
        phase=phase,
        retry_safety=retry_safety,
        attempts=retry_policy.count_requests(tried),
        incident_id=link.next_incident(),
        redact=redact,
        now=link.options.local_time(),
        restarts=link.restarts or (link.options.in_process and not crashed),
    )
    sentence = late.wording.plain_text(redact(message)) if message else ""
    if sentence:
        error = msgspec.structs.replace(error, message=sentence[:MAX_MESSAGE_CHARS])
    return retry_policy.with_attempts(error, tried)


def to_client(frame: bytes) -> list[Effect]:
    """Send the client an optional frame of ours, unless an overlong id makes it too long."""
    return [Send(Side.CLIENT, frame)] if ladder.is_short(frame) else []


# --- requests other than prompts, refused, withdrawn or failed ------------------------------------


def fail_request(
    link: Link, request_id: bytes, request: OpenRequest, verdict: Verdict
) -> list[Effect]:
    """Answer a request other than a prompt with a typed JSON-RPC error."""
    error = compose(link, verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.AUTO)
    # `had_output` keeps the code at -32603, since no prompt could be sent again.
    details = ladder.details_of(link.client)
    members = error_object(error, had_output=True, details=details, is_prompt=False)
    answer = jsonrpc.error(request_id, members)
    entry = entries.failed_request(link, request_id, request, error)
    return [Answer(Side.CLIENT, request_id, answer), entry]


def refuse_request(request_id: bytes, method: str) -> Answer:
    """Answer a request from the agent in the client's place, since its turn is over."""
    if method == acp.PERMISSION:
        cancelled = {"outcome": {"outcome": "cancelled"}}
        return Answer(Side.AGENT, request_id, jsonrpc.result(request_id, cancelled))
    message = "The turn that this request belongs to has been ended."
    error = {"code": acp.REQUEST_CANCELLED, "message": message}
    return Answer(Side.AGENT, request_id, jsonrpc.error(request_id, error))


def withdrawal(request_id: bytes) -> list[Effect]:
    """Tell the client that a request from the agent no longer needs an answer."""
    params = {"requestId": msgspec.Raw(request_id)}
    return to_client(jsonrpc.notification(acp.CANCEL_REQUEST, params))


def withdraw_all(link: Link) -> list[Effect]:
    """Withdraw a dead agent's requests to the client, and free what it has there."""
    effects: list[Effect] = []
    for request_id in list(link.from_agent):
        effects += withdrawal(request_id)
        link.withdraw(request_id)
    for session in link.sessions.values():
        session.withdraw_all()
    for terminal_id, session_id in link.pop_terminals().items():
        effects += release_terminal(link, terminal_id, session_id)
    return effects


def release_terminal(link: Link, terminal_id: str, session_id: str | None) -> list[Effect]:
    """Kill and release a terminal whose agent is gone."""
    params = {"sessionId": session_id, "terminalId": terminal_id}
    return [
        Send(Side.CLIENT, jsonrpc.request(link.next_request_id(), method, params))
        for method in (acp.TERMINAL_KILL, acp.TERMINAL_RELEASE)
    ]


# --- a turn's failure as one value ----------------------------------------------------------------


def cause_of(link: Link, turn: Turn, phase: Phase | None = None) -> tuple[AgentError, str]:
    """Return the cause of a turn's failure, in words, and the rule that found it."""
    session, failed = turn.session, turn.evidence.answer
    cause = link.decide(turn).cause
    if isinstance(cause, AgentError):
        return retry_policy.with_earlier(with_our_care(link, turn, cause), turn.tried), ANNOUNCED
    facts = _facts(link, turn)
    # Every try that failed: the handler's own, or one for each time that the prompt was sent.
    within = failed.tried if failed else ()
    tried = (*turn.tried, *within)
    if turn.tried and not within:
        tried = (*tried, retry_policy.FailedAttempt(verdict=cause, tries=turn.tries))
    error = compose(
        link,
        cause,
        phase=phase or facts.phase(tool_running=session.tools.running),
        retry_safety=facts.retry_safety(retryable=cause.retryable),
        tried=tried,
        message=failed.message if failed else None,
    )
    return error, cause.rule


def with_our_care(link: Link, turn: Turn, error: AgentError) -> AgentError:
    """Return the agent's own failure, as careful about a retry as the turn's frames demand.

    The agent may know more than its frames show, and is then the more careful one. Without a
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
    """Return what has happened in all tries of the turn, apart from the error's own text."""
    facts = turn.facts
    if facts.text and decision.is_error_text(link.decide(turn).snapshot):
        # Its text was the error itself.
        facts = msgspec.structs.replace(facts, text=False, shown=False)
    return facts if turn.earlier is None else facts.after(turn.earlier)


def entry_of(link: Link, turn: Turn, error: AgentError, rule: str, by: str | None = None) -> Effect:
    failed = turn.evidence.answer
    worded_by_us = rule != ANNOUNCED and not (failed and failed.message)
    facts = entries.failure(link, error, worded_by_us=worded_by_us)
    facts |= {"by": by, "rule": rule, "redactions": link.pop_redactions()}
    facts["retry_refused"] = turn.retry_refused or None
    facts |= entries.waits(turn)
    return entries.failed_turn(link, turn, error, facts)
