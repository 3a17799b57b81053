"""Plain English for the closed words of a failure: its type, place, origin, and retry advice.

Owns short phrases for lists and labels; `wording` owns the sentences. An unknown word is shown as
it is, with spaces for its underscores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure.durations import short_duration
from lastword.core.failure.taxonomy import ErrorType, Origin, Phase, RetrySafety

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPES: dict[str, str] = {
    ErrorType.RATE_LIMIT: "rate limit",
    ErrorType.BUDGET: "usage limit",
    ErrorType.PROVIDER_UNAVAILABLE: "provider unavailable",
    ErrorType.CONTEXT_OVERFLOW: "context too long",
    ErrorType.AUTH: "login refused",
    ErrorType.UNKNOWN: "unknown error",
    ErrorType.MODEL_NOT_FOUND: "model not found",
    ErrorType.INVALID_REQUEST: "invalid request",
    ErrorType.CONTENT_FILTER: "content blocked",
    ErrorType.TIMEOUT: "provider timeout",
    ErrorType.NETWORK: "network error",
    ErrorType.CANCELLED: "cancelled",
    ErrorType.AGENT_CRASH: "agent crashed",
    ErrorType.AGENT_STALLED: "agent stalled",
    ErrorType.STDERR_OVERFLOW: "error output flooded",
    ErrorType.PROTOCOL_ERROR: "protocol error",
    ErrorType.INTERNAL: "internal error",
}
"""Each at most 20 characters, which is a column of a list."""

PHASES: dict[str, str] = {
    Phase.STARTUP: "while the agent was starting",
    Phase.BEFORE_REQUEST: "before the prompt reached the agent",
    Phase.BEFORE_OUTPUT: "before any output",
    Phase.MID_OUTPUT: "in the middle of the answer",
    Phase.TOOL_RUNNING: "while a tool was running",
    Phase.AFTER_TOOL: "after a tool had run",
}

ORIGINS: dict[str, str] = {
    Origin.PROVIDER: "the model provider's, or it lies in what it was asked for",
    Origin.NETWORK: "the network's, between the agent and the model provider",
    Origin.AGENT: "the agent's",
    Origin.PROCESS: "the agent process's, or that of whatever ended it",
    Origin.CLIENT: "the client's",
    Origin.LASTWORD: "lastword's",
}
"""The origins of failures, in words."""

CANCELLED_BY = {
    "user": "the user",
    "client_gone": "the client, which left",
    "watchdog": "lastword's watchdog",
    "shutdown": "lastword, which was told to stop",
    "agent": "the agent",
    "lastword": "lastword",
}
"""Who ended a turn early."""

_TOOL_PHASES = (Phase.AFTER_TOOL, Phase.TOOL_RUNNING)


def plain(word: object, names: Mapping[str, str] | None = None) -> str:
    """Return a word in plain English, from the table or else without its underscores."""
    text = str(word)
    return (names or {}).get(text) or text.replace("_", " ")


def retry_words(facts: Mapping[str, Any]) -> str:
    """Return whether the prompt may be sent again after a failure; empty if that is unknown."""
    safety = str(facts.get("retry_safety"))
    if safety == RetrySafety.AUTO:
        wait = facts.get("retry_after_seconds")
        if isinstance(wait, int) and wait > 0:
            return f"yes, after {short_duration(wait)}"
        return "yes, it is safe"
    if safety == RetrySafety.OFFER_CONTINUE:
        return "it would repeat what was shown, so ask the agent to continue"
    if safety == RetrySafety.ASK:
        ran = "had run" if facts.get("phase") in _TOOL_PHASES else "may have run"
        return f"only if the user agrees, because a tool {ran}"
    return "no, the same prompt would fail again" if safety == RetrySafety.NEVER else ""
