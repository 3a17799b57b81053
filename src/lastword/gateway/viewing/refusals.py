"""Refusals: answers to a viewer in the agent's place, and to the agent in a viewer's place.

Owns the messages. Each says what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure.error_object import error_object
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, Origin, Phase, RetrySafety
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from lastword.gateway.log.owner import LogOwner

"""ACP's own code for a resource that is not there."""


RESERVED: dict[str, Any] = {
    "code": acp.METHOD_NOT_FOUND,
    "message": "Methods below _lastword/ are the gateway's own.",
}
_CLOSED: dict[str, Any] = {
    "code": acp.REQUEST_CANCELLED,
    "message": "The session was closed before this was done.",
}


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
    """Refuse an observer what only a controller may do."""
    said = "This connection may watch the session and not steer it. Use a controller's token."
    return _refused("observer", said, Action.FIX_CONFIGURATION)


def one_session() -> dict[str, Any]:
    """Refuse the bearer of a token for one session what concerns others, or the whole agent."""
    said = "This token is for one session alone. Use a token for all sessions."
    return _refused("one_session", said, Action.FIX_CONFIGURATION)


def too_many_sessions() -> dict[str, Any]:
    """Refuse another session in an agent that has as many as it may."""
    said = "This agent has as many sessions as it may. Close one of them."
    return _refused("too_many_sessions", said, Action.WAIT)


def turn_open() -> dict[str, Any]:
    """Refuse a prompt while another viewer's turn is running."""
    said = "Another window's turn is running in this session. Wait for its end, or cancel it."
    return _refused("turn_open", said, Action.WAIT)


def too_many_open(limit: int) -> dict[str, Any]:
    """Refuse a viewer with too many open requests."""
    said = f"{limit} requests of this connection wait for their answers. Wait for one of them."
    return _refused("too_many_requests", said, Action.WAIT)


def too_fast() -> dict[str, Any]:
    """Refuse a request of a kind that comes too often."""
    said = "Requests of this kind come too fast over this connection. Wait a moment."
    return _refused("too_many_requests", said, Action.WAIT)


def agent_not_running() -> dict[str, Any]:
    """Refuse an observer a session whose agent would have to be started."""
    said = "No agent runs for this session. It is there again once a controller opens it."
    return _refused("observer", said, Action.WAIT)


def too_much_waits() -> dict[str, Any]:
    """Refuse a viewer of whom too much waits for agents."""
    said = "Too much of this connection waits for its agents. Send it again later."
    return _refused("too_many_requests", said, Action.WAIT)


def too_many_viewers() -> dict[str, Any]:
    """Refuse a viewer of a session that has as many as it may."""
    said = "As many viewers are at this session as there may be. Close one, or see --viewers."
    return _refused("too_many_viewers", said, Action.WAIT)


def unknown_session(session_id: str) -> dict[str, Any]:
    """Refuse a session that does not exist. Clients know the code."""
    said = "This session does not exist on the gateway. List the sessions, or start a new one."
    return {
        "code": acp.RESOURCE_NOT_FOUND,
        "message": said,
        "data": {"sessionId": session_id[:200]},
    }


def outside_root(member: str, root: str) -> dict[str, Any]:
    """Refuse a path outside of the gateway's root.

    Args:
        member: The member that names it.
        root: The root; empty for a viewer that may not know it.
    """
    below = f"below {root}" if root else "below the gateway's root"
    said = f"Sessions of this gateway work {below}; {member} is not there. See --root."
    return _refused("outside_root", said, Action.FIX_CONFIGURATION) | {"code": acp.INVALID_PARAMS}


def owned_elsewhere(owner: LogOwner) -> dict[str, Any]:
    """Refuse a session whose log another gateway's process writes."""
    port = owner.address.rpartition(":")[2]
    ends = f"`lastword gateway stop --agents --port {port}`" if port.isdigit() else "its gateway"
    said = (
        f"This session belongs to another gateway of yours, {owner.address or 'on this machine'}"
        f" (process {owner.pid}). Connect to that one, or end its agents with {ends}."
    )
    error = _refused("session_elsewhere", said, Action.FIX_CONFIGURATION)
    error["data"]["gateway"] = {"pid": owner.pid, "address": owner.address}
    return error


def too_many_agents(limit: int) -> dict[str, Any]:
    """Refuse another agent beyond the limit."""
    said = f"The gateway is full: {limit} agents run already. Close a session, or see --sessions."
    return _refused("too_many_agents", said, Action.WAIT)


def not_started(reason: str) -> dict[str, Any]:
    """Refuse because a holder, and so its agent, could not be started."""
    said = "The agent could not be started; the gateway's stderr says why. Try again after that."
    return _failed(ErrorType.AGENT_CRASH, reason, said, Action.RESTART, Phase.STARTUP)


def holder_lost() -> dict[str, Any]:
    """Refuse what a holder was sent that ended at that moment."""
    said = "The process with this session's agent has just ended. Send it again."
    return _failed(ErrorType.AGENT_CRASH, "holder_died", said, Action.RETRY, None)


def holder_silent() -> dict[str, Any]:
    """Refuse what a holder was sent that does not answer."""
    said = (
        "The process with this session's agent does not answer. Try again later, or end it: "
        "`lastword gateway status` has its number."
    )
    return _failed(ErrorType.TIMEOUT, "holder_silent", said, Action.RETRY, None)


def _failed(
    kind: ErrorType, reason: str, message: str, action: Action, phase: Phase | None
) -> dict[str, Any]:
    error = AgentError(
        type=kind,
        message=message,
        retryable=True,
        reason=reason,
        origin=Origin.PROCESS,
        phase=phase,
        retry_safety=RetrySafety.ASK,
        action=action,
    )
    return error_object(error)


def no_log() -> dict[str, Any]:
    """Refuse because a session's log cannot be written, so its operator has to act."""
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


def agent_lost(advice: str, incident: str | None = None) -> dict[str, Any]:
    """Refuse what was open when an agent's process, or its holder, ended.

    Args:
        advice: A sentence on what to do.
        incident: The incident's id, where the end is recorded under one.
    """
    error = AgentError(
        type=ErrorType.AGENT_CRASH,
        message=f"The agent's process ended unexpectedly. {advice}",
        retryable=True,
        reason="holder_died",
        origin=Origin.PROCESS,
        retry_safety=RetrySafety.ASK,
        action=Action.RETRY,
        incident_id=incident,
    )
    return error_object(error)


def answer_of_nobody(method: str, asked: bytes) -> bytes:
    """Return the answer to an agent when nobody came to answer; the id is added later."""
    if method == acp.PERMISSION:
        return jsonrpc.result(b"0", {"outcome": _rejection(asked)})
    said = "No viewer of this session is there to do this. Go on without it."
    return jsonrpc.error(b"0", {"code": acp.INTERNAL_ERROR, "message": said})


def cancelled_answer(method: str, request_id: bytes) -> bytes:
    """Return the answer to an agent's question in a session that is closed."""
    if method == acp.PERMISSION:
        return jsonrpc.result(request_id, {"outcome": {"outcome": "cancelled"}})
    return jsonrpc.error(request_id, _CLOSED)


def closed_answer(request_id: bytes, method: str) -> bytes:
    """Return the answer to a viewer's request that was open when its session was closed."""
    if method == acp.PROMPT:
        return jsonrpc.result(request_id, {"stopReason": acp.CANCELLED})
    if method in acp.ENDS_SESSION:
        return jsonrpc.result(request_id, {})
    return jsonrpc.error(request_id, _CLOSED)


def _rejection(asked: bytes) -> dict[str, Any]:
    """Return the option that rejects once, if there is one."""
    params = object_of(object_of(jsonrpc.loads(asked)).get("params"))
    options = params.get("options")
    for option in options if isinstance(options, list) else ():
        members = object_of(option)
        if members.get("kind") == "reject_once" and isinstance(members.get("optionId"), str):
            return {"outcome": "selected", "optionId": members["optionId"]}
    return {"outcome": "cancelled"}
