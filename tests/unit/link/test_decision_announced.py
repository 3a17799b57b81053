"""Agents that speak `agent_error` themselves, and die."""

from __future__ import annotations

import pytest

from lastword.core.link.connection import Side
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    permission,
    prompt,
    prompted,
    result,
    update,
)


def speaking() -> Wire:
    """A prompt under way between two ends that speak our words."""
    spoken = {"_meta": {"agent_error": {"version": 1}}}
    wire = Wire()
    wire.client(INITIALIZE | {"params": {"protocolVersion": 1, "clientCapabilities": spoken}})
    wire.agent(INITIALIZED | {"result": {"protocolVersion": 1, "agentCapabilities": spoken}})
    return wire.client(prompt())


def test_a_failure_that_the_agent_announced_is_not_announced_again() -> None:
    wire = speaking()
    told = {"type": "rate_limit", "message": "Wait.", "retryable": True}
    wire.agent(update(sessionUpdate="agent_error", stopReason="error", error=told)).eof(Side.AGENT)
    assert [one["sessionUpdate"] for one in wire.updates()] == ["agent_error"]
    assert wire.answers()[0]["error"]["data"]["errorKind"] == "rate_limit"


def test_a_payload_beside_a_success_passes_where_both_ends_speak() -> None:
    wire = speaking().agent(chunk("Wait."))
    told = {"type": "rate_limit", "message": "Wait.", "retryable": True, "stopReason": "error"}
    answer = {"stopReason": "end_turn", "_meta": {"agent_error": told}}
    wire.agent({"jsonrpc": "2.0", "id": 1, "result": answer})
    assert wire.answers()[0]["result"] == answer


@pytest.mark.parametrize("kind", ["agent_error", "agent_retry"])
@pytest.mark.parametrize("asked", [True, False])
def test_what_a_session_never_opened_tells_in_our_words_passes_to_who_asked_alone(
    kind: str, *, asked: bool
) -> None:
    wish = {"_meta": {"agent_error": {"version": 1, "retry": True}}} if asked else {}
    wire = prompted(wish)
    told = update(sessionUpdate=kind)
    told["params"]["sessionId"] = "sub"
    wire.agent(told)
    assert [one["sessionUpdate"] for one in wire.updates()] == ([kind] if asked else [])


def test_a_cancel_of_an_agent_that_waited_for_the_user_stands_before_what_it_announced() -> None:
    wire = speaking().agent(permission()).client(cancel())
    wire.agent(update(sessionUpdate="agent_error", error={"type": "budget", "message": "Empty."}))
    wire.agent(result(1, "max_tokens"))
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}
