"""Tool calls that belong to no open turn."""

from __future__ import annotations

from tests.kit.wire import error, greeted, prompt, update


def test_a_tool_call_from_before_a_turn_is_not_the_turns() -> None:
    wire = greeted()
    load = {"method": "session/load", "params": {"sessionId": "s"}}
    wire.client({"jsonrpc": "2.0", "id": 5} | load).agent({"jsonrpc": "2.0", "id": 5, "result": {}})
    wire.agent(update(sessionUpdate="tool_call", toolCallId="old", status="in_progress"))
    wire.client(prompt()).time(901)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.agent(error())
    assert not any(told["sessionUpdate"] == "tool_call_update" for told in wire.updates())
