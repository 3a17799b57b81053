"""A session that is closed in the middle of a turn."""

from __future__ import annotations

from tests.kit.wire import chunk, prompted


def test_a_turn_whose_session_is_closed_is_answered_though_the_agent_is_silent() -> None:
    wire = prompted().agent(chunk())
    close = {"method": "session/close", "params": {"sessionId": "s"}}
    wire.client({"jsonrpc": "2.0", "id": 2} | close)
    wire.agent({"jsonrpc": "2.0", "id": 2, "result": {}}).time(11)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}
