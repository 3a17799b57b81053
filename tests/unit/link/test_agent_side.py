"""Questions of sub-agents, whose sessions the client never opened."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.effects import Answer
from tests.kit.wire import chunk, permission, prompted, result


@pytest.mark.parametrize("params", [{"sessionId": "child"}, {"requestId": 1}])
def test_a_sub_agents_question_stops_the_clocks(params: dict[str, Any]) -> None:
    wire = prompted().agent(chunk())
    method = "session/request_permission" if "sessionId" in params else "elicitation/create"
    wire.agent({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}).time(5000)
    assert not any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.client({"jsonrpc": "2.0", "id": 9, "result": {}}).time(5901)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)


# --- An agent whose last word is an error without an id


def test_an_error_without_an_id_is_heard_though_the_agent_exits_at_once() -> None:
    wire = prompted()
    said = {"code": -32000, "message": "Invalid API key"}
    wire.agent({"jsonrpc": "2.0", "id": None, "error": said}).eof(Side.AGENT)
    assert [one["error"]["data"]["errorKind"] for one in wire.answers()] == ["auth"]


# --- Requests of the agent's over the limit


def test_an_agent_whose_request_was_too_long_is_answered() -> None:
    wire = prompted()
    line = b'{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"content":"xxx'
    effects = wire.core.receive_oversized(Side.AGENT, line, 0.0)
    answers = [effect for effect in effects if isinstance(effect, Answer)]
    assert [(one.to, one.request_id) for one in answers] == [(Side.AGENT, b"7")]


# --- Requests of the agent's that a person sees


def test_a_turn_that_asked_the_user_was_not_silent() -> None:
    wire = prompted().agent(permission()).client({"jsonrpc": "2.0", "id": 9, "result": {}})
    wire.agent(result()).time(1)
    assert wire.answers() == [result()]
