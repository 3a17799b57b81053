"""JetBrains AIR's convention for failures, `sessionFailure`.

Owns the convention: its negotiation, its members and their closed sets, and the mapping from our
vocabulary to its words (`protocol/README.md`, section "The rung `air`"). It follows what the agents
that use it send (claude-agent-acp 0.100). Reading what such agents send is the job of
`core.classify.agents`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.failure.signs import EMPTY_MESSAGES
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, RetrySafety
from lastword.core.protocol.tolerant import has_version, object_of, raw_members

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION_FAILURE = "sessionFailure"
VERSION = 1

CATEGORIES: dict[ErrorType, str] = {
    ErrorType.RATE_LIMIT: "limit",
    ErrorType.BUDGET: "limit",
    ErrorType.PROVIDER_UNAVAILABLE: "service",
    ErrorType.CONTEXT_OVERFLOW: "limit",
    ErrorType.AUTH: "access",
    ErrorType.MODEL_NOT_FOUND: "request",
    ErrorType.INVALID_REQUEST: "request",
    ErrorType.CONTENT_FILTER: "request",
    ErrorType.TIMEOUT: "connection",
    ErrorType.NETWORK: "connection",
    ErrorType.CANCELLED: "unknown",
    ErrorType.AGENT_CRASH: "connection",
    ErrorType.AGENT_STALLED: "connection",
    ErrorType.STDERR_OVERFLOW: "service",
    ErrorType.PROTOCOL_ERROR: "service",
    ErrorType.INTERNAL: "service",
    ErrorType.UNKNOWN: "unknown",
}
"""Its category for each of our types; an agent's lost worker is a `connection` to it."""

_NEW_SESSION = frozenset({Action.SHORTEN, Action.RESTART})
_NEW_SESSION_REASONS = frozenset({"context_lost", "crash_loop"})


def negotiated(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a side's decoded capabilities announce `sessionFailure`."""
    air = extension_in(object_of(capabilities.get("_meta")))
    names = air.get("capabilities")
    return has_version(air) and isinstance(names, list) and SESSION_FAILURE in names


def extension_in(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a `_meta` holds for JetBrains AIR."""
    return object_of(object_of(meta.get("jetbrains")).get("air"))


def advertise(meta: dict[str, Raw]) -> None:
    """Add `sessionFailure` to the `_meta` of the agent's advertised capabilities.

    A client may look for it there before it reads a failure. If the agent's own members leave no
    room for it, they are left unchanged.
    """
    try:
        jetbrains = raw_members(meta.get("jetbrains"))
        air = raw_members(jetbrains.get("air"))
        names = msgspec.json.decode(air.get("capabilities", Raw(b"[]")), type=list[Any])
    except (msgspec.MsgspecError, ValueError):
        return
    if SESSION_FAILURE not in names:
        names.append(SESSION_FAILURE)
    air.setdefault("version", Raw(msgspec.json.encode(VERSION)))
    air["capabilities"] = Raw(msgspec.json.encode(names))
    jetbrains["air"] = Raw(msgspec.json.encode(air))
    meta["jetbrains"] = Raw(msgspec.json.encode(jetbrains))


def failure_meta(error: AgentError, *, failure_id: str, revision: int) -> dict[str, Any]:
    """Return the `_meta` members of a prompt result that report a failed turn.

    Args:
        error: the failure.
        failure_id: the id shared by every record of one turn.
        revision: the number of this record within the turn, counted from 1.
    """
    text = error.detail.get("text") if error.detail else None
    has_text = isinstance(text, str) and text.lower() not in EMPTY_MESSAGES
    return _meta(
        {
            "id": failure_id,
            "revision": revision,
            "category": CATEGORIES[error.type],
            "severity": "error",
            "title": error.message,
            "details": text if has_text else None,
            # The convention leaves this word open. We send the type, which the category blurs.
            "reason": error.type.value,
            "actions": _actions(error),
        }
    )


def warning_meta(
    error_type: ErrorType | None, *, title: str, failure_id: str, revision: int
) -> dict[str, Any]:
    """Return the `_meta` members of an update that reports a retry or, without a type, a delay."""
    return _meta(
        {
            "id": failure_id,
            "revision": revision,
            "category": CATEGORIES[error_type] if error_type else "unknown",
            "severity": "warning",
            "title": title,
            "reason": error_type.value if error_type else None,
            "actions": [],
        }
    )


def _meta(record: dict[str, Any]) -> dict[str, Any]:
    members = {key: value for key, value in record.items() if value is not None}
    return {"jetbrains": {"air": {"version": VERSION, SESSION_FAILURE: members}}}


def _actions(error: AgentError) -> list[str]:
    """Return the buttons to show: `retry`, `login`, `new_session`."""
    if error.action is Action.LOGIN:
        return ["login"]
    actions = []
    # AIR cannot ask first, so no button is offered for a retry that could do harm.
    if error.retryable and error.retry_safety not in {RetrySafety.ASK, RetrySafety.NEVER}:
        actions.append("retry")
    if error.action in _NEW_SESSION or error.reason in _NEW_SESSION_REASONS:
        actions.append("new_session")
    return actions
