"""Agents that speak `agent_error` themselves, and die."""

from __future__ import annotations

from wire import INITIALIZE, INITIALIZED, Wire, prompt, update

from lastword.core.connection import Side


def test_a_failure_that_the_agent_announced_is_not_announced_again() -> None:
    wire = Wire()
    spoken = {"_meta": {"agent_error": {"version": 1}}}
    wire.client(INITIALIZE | {"params": {"protocolVersion": 1, "clientCapabilities": spoken}})
    wire.agent(INITIALIZED | {"result": {"protocolVersion": 1, "agentCapabilities": spoken}})
    wire.client(prompt())
    told = {"type": "rate_limit", "message": "Wait.", "retryable": True}
    wire.agent(update(sessionUpdate="agent_error", stopReason="error", error=told))
    wire.eof(Side.AGENT)
    assert [one["sessionUpdate"] for one in wire.updates()] == ["agent_error"]
    assert wire.answers()[0]["error"]["data"]["errorKind"] == "rate_limit"
