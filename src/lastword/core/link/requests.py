"""Requests other than prompts that end without their peer: refused, withdrawn, or failed.

Owns the answers that stand in for the client's or the agent's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import ladder
from lastword.core.failure.error_object import error_object
from lastword.core.failure.taxonomy import Phase, RetrySafety
from lastword.core.link import entries, failures
from lastword.core.link.effects import Answer, Effect, Send, Side
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.state import Link, OpenRequest


def fail(link: Link, request_id: bytes, request: OpenRequest, verdict: Verdict) -> list[Effect]:
    """Answer a request other than a prompt with a typed JSON-RPC error."""
    error = failures.compose(link, verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.AUTO)
    # `had_output` keeps the code at -32603, since no prompt could be sent again.
    details = ladder.details_of(link.client)
    members = error_object(error, had_output=True, details=details, is_prompt=False)
    answer = jsonrpc.error(request_id, members)
    entry = entries.failed_request(link, request_id, request, error)
    return [Answer(Side.CLIENT, request_id, answer), entry]


def refuse(request_id: bytes, method: str) -> Answer:
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
    return failures.to_client(jsonrpc.notification(acp.CANCEL_REQUEST, params))


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
