"""Failures of a link in words: verdicts of our own, and the typed error that a verdict becomes.

Owns the redactor of a link, and what every frame about a failure is made of. `core.classify`
decides what a failure is, and `core.failure.wording` words it; both load with the first failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import attempts as tries
from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import (
    MAX_MESSAGE_CHARS,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.core.link import late
from lastword.core.link.effects import Effect, Send, Side

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.state import Link
    from lastword.core.redact.redactor import Redactor

SPAWN_FAILED = "spawn_failed"
"""The reason of a verdict on a command that could not be started."""


def redactor(link: Link) -> Redactor:
    """Return the redactor of this link."""
    return late.redactor.Redactor(link.options.secrets, counts=link.redactions)


def own_failure(error_type: ErrorType, reason: str, *, detail: str | None = None) -> Verdict:
    """Return the verdict on a failure that we saw ourselves."""
    return late.classify.own_failure(error_type, reason, detail=detail)


def limit_reached(sentence: str) -> Verdict:
    """Return the verdict on a turn at the user's spending limit; the sentence says how much."""
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
    sentence = late.wording.plain_text(redact(message)) if message else ""
    if sentence:
        error = msgspec.structs.replace(error, message=sentence[:MAX_MESSAGE_CHARS])
    return tries.with_attempts(error, tried)


def to_client(frame: bytes) -> list[Effect]:
    """Send the client an optional frame of ours, unless it is too long.

    It is too long if it repeats an overlong id of the agent's.
    """
    return [Send(Side.CLIENT, frame)] if ladder.is_short(frame) else []
