"""Refusals: what a viewer is answered in the agent's place, and the agent in a viewer's.

Owns the words. Each says what to do.
"""

from __future__ import annotations

from typing import Any

from lastword.core.failure.error_object import error_object
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, Origin, Phase, RetrySafety
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of

UNKNOWN_SESSION = -32002
"""ACP's own code for a resource that is not there."""


def _refused(reason: str, message: str, action: Action) -> dict[str, Any]:
    error = AgentError(
        type=ErrorType.INVALID_REQUEST,
        message=message,
        retryable=False,
        reason=reason,
        origin=Origin.LASTWORD,
        phase=Phase.BEFORE_REQUEST,
        retry_safety=RetrySafety.NEVER,
        action=action,
    )
    return error_object(error)


def observes() -> dict[str, Any]:
    """A viewer wants what only a controller may."""
    said = "This connection may watch the session and not steer it. Use a controller's token."
    return _refused("observer", said, Action.FIX_CONFIGURATION)


def turn_open() -> dict[str, Any]:
    """A viewer prompts while another's turn runs."""
    said = "Another window's turn is running in this session. Wait for its end, or cancel it."
    return _refused("turn_open", said, Action.WAIT)


def too_many_open(limit: int) -> dict[str, Any]:
    """A viewer has too many requests open."""
    said = f"{limit} requests of this connection wait for their answers. Wait for one of them."
    return _refused("too_many_requests", said, Action.WAIT)


def too_many_viewers() -> dict[str, Any]:
    """A session has as many viewers as it may have."""
    said = "As many viewers are at this session as there may be. Close one, or see --viewers."
    return _refused("too_many_viewers", said, Action.WAIT)


def unknown_session(session_id: str) -> dict[str, Any]:
    """A session that is not there. Clients know the code."""
    said = "This session does not exist on the gateway. List the sessions, or start a new one."
    return {"code": UNKNOWN_SESSION, "message": said, "data": {"sessionId": session_id[:200]}}


def no_log() -> dict[str, Any]:
    """A session whose log cannot be written: the gateway's machine has to be looked after."""
    error = AgentError(
        type=ErrorType.INTERNAL,
        message="The gateway cannot write this session's log. Its disk may be full.",
        retryable=False,
        reason="log_unwritable",
        origin=Origin.LASTWORD,
        phase=Phase.BEFORE_REQUEST,
        retry_safety=RetrySafety.AUTO,
        action=Action.REPORT,
    )
    return error_object(error)


def answer_of_nobody(method: str, asked: bytes) -> bytes:
    """What an agent is answered where nobody came to answer it; the id is still to be set."""
    if method == acp.PERMISSION:
        return jsonrpc.result(b"0", {"outcome": _rejection(asked)})
    said = "No viewer of this session is there to do this. Go on without it."
    return jsonrpc.error(b"0", {"code": acp.INTERNAL_ERROR, "message": said})


def _rejection(asked: bytes) -> dict[str, Any]:
    """The option that rejects once, where there is one."""
    params = object_of(object_of(jsonrpc.loads(asked)).get("params"))
    options = params.get("options")
    for option in options if isinstance(options, list) else ():
        members = object_of(option)
        if members.get("kind") == "reject_once" and isinstance(members.get("optionId"), str):
            return {"outcome": "selected", "optionId": members["optionId"]}
    return {"outcome": "cancelled"}
