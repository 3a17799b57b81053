"""Agents that speak `agent_error` themselves, and die."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.connection import Side
from tests.kit.wire import Wire, cancel, chunk, error, permission, prompted, result, update


def speaking() -> Wire:
    """A prompt under way between two ends that speak our words."""
    spoken = {"_meta": {"agent_error": {"version": 1}}}
    return prompted(spoken, says={"agentCapabilities": spoken})


def test_a_failure_that_the_agent_announced_is_not_announced_again() -> None:
    wire = speaking()
    told = {"type": "rate_limit", "message": "Wait.", "retryable": True}
    wire.agent(update(sessionUpdate="agent_error", stopReason="error", error=told)).eof(Side.AGENT)
    assert [one["sessionUpdate"] for one in wire.updates()] == ["agent_error"]
    assert wire.answers()[0]["error"]["data"]["errorKind"] == "rate_limit"


WROTE = update(sessionUpdate="tool_call", toolCallId="t", kind="execute", status="completed")
UNKNOWN = {"jsonrpc": "2.0", "method": "_acme/file_written", "params": {"sessionId": "s"}}
THOUGHT = update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "Hm"})


def failing(safety: str, action: str, form: str) -> list[dict[str, Any]]:
    """The frames by which an agent ends its turn in our words."""
    told = {"type": "network", "message": "Gone.", "retryable": True}
    told |= {"retry_safety": safety, "action": action}
    announced = update(sessionUpdate="agent_error", stopReason="error", error=told)
    failed = {"code": -32603, "message": "Gone.", "data": {"agent_error": told}}
    meta = {"_meta": {"agent_error": told | {"stopReason": "error"}}}
    return {
        "update": [announced, error(1, message="Gone.")],
        "answer": [{"jsonrpc": "2.0", "id": 1, "error": failed}],
        "both": [announced, {"jsonrpc": "2.0", "id": 1, "error": failed}],
        "success": [{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"} | meta}],
        "stop reason": [{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "error"} | meta}],
    }[form]


def payloads(value: Any) -> list[dict[str, Any]]:
    """The payloads anywhere within a message."""
    if not isinstance(value, dict):
        return []
    within = [each for member in value.values() for each in payloads(member)]
    return [value, *within] if "retry_safety" in value else within


@pytest.mark.parametrize("form", ["update", "answer", "both", "success", "stop reason"])
@pytest.mark.parametrize(
    ("happened", "theirs", "ours"),
    [
        ([WROTE], ("auto", "retry"), ("ask", "confirm_retry")),
        ([WROTE], ("offer_continue", "continue"), ("ask", "confirm_retry")),
        ([WROTE], ("auto", "login"), ("ask", "login")),
        ([UNKNOWN, chunk()], ("auto", "retry"), ("ask", "confirm_retry")),
        ([THOUGHT, chunk()], ("auto", "retry"), ("offer_continue", "continue")),
        ([chunk()], ("ask", "confirm_retry"), ("ask", "confirm_retry")),
        ([WROTE], ("never", "report"), ("never", "report")),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_an_agent_may_be_more_careful_about_a_retry_than_the_events_require_and_never_less(
    form: str,
    happened: list[dict[str, Any]],
    theirs: tuple[str, str],
    ours: tuple[str, str],
    *,
    typed: bool,
) -> None:
    wire = speaking() if typed else prompted({})
    wire.agent(*happened, *failing(*theirs, form)).time(1)
    told = [each for line in wire.to_client for each in payloads(json.loads(line))]
    assert told
    assert {(one["retry_safety"], one["action"]) for one in told} == {ours}
    assert len(wire.answers()) == 1


@pytest.mark.parametrize("form", ["update", "answer", "both", "success"])
def test_an_agents_own_agent_error_about_an_uneventful_turn_passes_unchanged(
    form: str,
) -> None:
    frames = failing("auto", "retry", form)
    wire = speaking()
    if form == "success":
        frames.insert(0, chunk())  # as an answer without a word it would be a failure
        frames[-1]["result"]["_meta"]["agent_error"]["retry_safety"] = "offer_continue"
    sent = len(wire.to_client)
    wire.agent(*frames)
    assert list(map(json.loads, wire.to_client[sent:])) == frames


@pytest.mark.parametrize("kind", ["agent_error", "agent_retry"])
@pytest.mark.parametrize("asked", [True, False])
def test_an_agent_error_of_an_unknown_session_reaches_only_clients_that_asked(
    kind: str, *, asked: bool
) -> None:
    wish = {"_meta": {"agent_error": {"version": 1, "retry": True}}} if asked else {}
    wire = prompted(wish)
    told = update(sessionUpdate=kind)
    told["params"]["sessionId"] = "sub"
    wire.agent(told)
    assert [one["sessionUpdate"] for one in wire.updates()] == ([kind] if asked else [])


def test_a_cancel_while_the_agent_waited_for_the_user_outranks_its_announced_failure() -> None:
    wire = speaking().agent(permission()).client(cancel())
    wire.agent(update(sessionUpdate="agent_error", error={"type": "budget", "message": "Empty."}))
    wire.agent(result(1, "max_tokens"))
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}
