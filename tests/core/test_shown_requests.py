"""Requests of the agent's that a person sees."""

from __future__ import annotations

from typing import Any

from wire import INITIALIZE, INITIALIZED, Wire, prompt, result


def permission(request_id: int = 9, session_id: str = "s") -> dict[str, Any]:
    """The agent asks the user."""
    params = {"sessionId": session_id, "toolCall": {"toolCallId": "t"}, "options": []}
    method = "session/request_permission"
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def test_a_turn_that_asked_the_user_was_not_silent() -> None:
    wire = Wire()
    wire.client(INITIALIZE)
    wire.agent(INITIALIZED)
    wire.client(prompt())
    wire.agent(permission())
    wire.client({"jsonrpc": "2.0", "id": 9, "result": {}})
    wire.agent(result())
    wire.time(1)
    assert wire.answers() == [result()]
