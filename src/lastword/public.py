"""`lastword.classify` for whoever writes an agent: an error, and what had happened, to one value.

Owns the door: `TurnFacts`, the environment's secrets, the clock. What a failure is comes from
`core.classify`, its words from `core.sentences`. Imports no provider's package and raises for no
error, however odd.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from lastword.core import classify as classifier
from lastword.core import sentences
from lastword.core.known_secrets import secrets_of
from lastword.core.redact import Redactor
from lastword.core.taxonomy import (
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Action",
    "AgentError",
    "ErrorType",
    "Origin",
    "Phase",
    "RetrySafety",
    "TurnFacts",
    "classify",
]


class TurnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What had happened in the turn when it failed, as its author knows it.

    As it stands, `TurnFacts()` says: the request was sent, and nothing came back.

    Attributes:
        request_sent: A request had been sent to the model provider.
        thought: Reasoning had come.
        text: Text that the user sees had come.
        tool_called: The model had begun to ask for a tool, which had not run.
        tool_ran: A tool had run that only reads, searches or fetches.
        unsafe_tool: A tool had been started that changes something, or of unknown effect.
        tool_running: A tool was still at work.
        provider_tools: The provider runs tools by itself, so what ran is not known.
    """

    request_sent: bool = True
    thought: bool = False
    text: bool = False
    tool_called: bool = False
    tool_ran: bool = False
    unsafe_tool: bool = False
    tool_running: bool = False
    provider_tools: bool = False

    @property
    def phase(self) -> Phase:
        """How far the turn had come."""
        if self.tool_running:
            return Phase.TOOL_RUNNING
        if self.tool_ran or self.unsafe_tool:
            return Phase.AFTER_TOOL
        if self.text or self.tool_called:
            return Phase.MID_OUTPUT
        if self.request_sent or self.thought or self.provider_tools:
            return Phase.BEFORE_OUTPUT
        return Phase.BEFORE_REQUEST

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Would sending the prompt again do harm?"""
        if not retryable:
            return RetrySafety.NEVER
        if self.tool_ran or self.unsafe_tool or self.tool_running or self.provider_tools:
            return RetrySafety.ASK
        if self.text or self.thought or self.tool_called:
            return RetrySafety.OFFER_CONTINUE
        return RetrySafety.AUTO


def classify(
    error: object,
    *,
    facts: TurnFacts | None = None,
    redactor: Callable[[str], str] | None = None,
) -> AgentError:
    """Say what a failure is, whether a retry would help, and whether it would do harm.

    Give the exception itself rather than its text: a status, a body and a class say far more.

    Args:
        error: An exception, an HTTP response, a decoded body, a JSON-RPC error, or text.
        facts: What had happened in the turn. Without them `retry_safety` is `ask`, or `never`
            where a retry would not help.
        redactor: Called on every text after our own redaction. If it raises, the text is dropped.

    Returns:
        The failure, redacted, in words that can be shown.
    """
    return compose(classifier.classify(error), facts=facts, redactor=redactor)


def compose(
    verdict: classifier.Verdict,
    *,
    facts: TurnFacts | None = None,
    redactor: Callable[[str], str] | None = None,
) -> AgentError:
    """The error for a verdict, with this process's secrets taken out and its own time of day."""
    safety = RetrySafety.ASK if verdict.retryable else RetrySafety.NEVER
    return sentences.compose(
        verdict,
        phase=facts.phase if facts else None,
        retry_safety=facts.retry_safety(retryable=verdict.retryable) if facts else safety,
        redact=Redactor(secrets_of(os.environ), hook=redactor),
        now=datetime.now().astimezone(),
    )
