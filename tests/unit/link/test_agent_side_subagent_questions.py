"""Questions of sub-agents, whose sessions the client never opened."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.wire import chunk, prompted


@pytest.mark.parametrize("params", [{"sessionId": "child"}, {"requestId": 1}])
def test_a_sub_agents_question_stops_the_clocks(params: dict[str, Any]) -> None:
    wire = prompted().agent(chunk())
    method = "session/request_permission" if "sessionId" in params else "elicitation/create"
    wire.agent({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}).time(5000)
    assert not any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.client({"jsonrpc": "2.0", "id": 9, "result": {}}).time(5901)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
