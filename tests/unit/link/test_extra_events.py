"""Wishes: events of claude's that lastword asks for, in the request that opens a session."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lastword.core.classify.agents import read_event
from tests.kit.wire import Wire, error, failure, greeted, prompt, reply, request
from tests.unit.restart.crashing import LOADING, Link

CLAUDE = "@agentclientprotocol/claude-agent-acp"
WISH = {
    "claudeCode": {
        "emitRawSDKMessages": [
            {"type": "system", "subtype": "api_retry"},
            {"type": "rate_limit_event"},
        ]
    }
}
METHOD = "_claude/sdkMessage"
RETRY = {
    "type": "system",
    "subtype": "api_retry",
    "attempt": 1,
    "max_retries": 10,
    "retry_delay_ms": 2000.5,
    "error_status": 429,
    "error": "rate_limit",
}


def opened(name: str = CLAUDE, method: str = "session/new", **options: Any) -> Wire:
    """A link whose client opens a session, with the request on its way to the agent."""
    meta = options.pop("meta", None)
    params = {"cwd": "/w", "mcpServers": [], **({"_meta": meta} if meta is not None else {})}
    extension = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
    return greeted(extension, name=name, **options).client(request(5, method, **params))


def asked(wire: Wire) -> Any:
    """The `_meta` of what the agent was sent last."""
    return json.loads(wire.to_agent[-1])["params"].get("_meta")


def event(wire: Wire, **members: Any) -> None:
    params = {"sessionId": "s", "message": RETRY | members}
    wire.agent({"jsonrpc": "2.0", "method": METHOD, "params": params})


def in_turn(**options: Any) -> Wire:
    wire = opened(**options).agent(reply(5, sessionId="s")).client(prompt())
    wire.to_client.clear()
    return wire


@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume"])
def test_claude_is_asked_for_its_retry_events_when_a_session_opens(method: str) -> None:
    wire = opened(method=method)
    assert asked(wire) == WISH
    sent = json.loads(wire.to_agent[-1])
    assert (sent["id"], sent["method"], sent["params"]["cwd"]) == (5, method, "/w")


def test_other_members_of_meta_stay() -> None:
    own = {"claudeCode": {"options": {"tools": []}}, "other": 1}
    wire = opened(meta=own)
    assert asked(wire) == {"claudeCode": {**own["claudeCode"], **WISH["claudeCode"]}, "other": 1}


@pytest.mark.parametrize(
    ("name", "options"),
    [("codex-acp", {}), (CLAUDE, {"evidence": "wire"}), (CLAUDE, {"in_process": True})],
)
def test_other_agents_and_wire_only_runs_are_not_asked_for_events(
    name: str, options: dict[str, Any]
) -> None:
    wire = opened(name, **options)
    assert asked(wire) is None


@pytest.mark.parametrize("meta", ["text", {"claudeCode": 7}, {"claudeCode": None}])
def test_a_meta_of_another_shape_is_left_alone_or_replaced(meta: Any) -> None:
    wire = opened(meta=meta)
    assert asked(wire) in (meta, WISH)


def test_a_retry_event_is_reported_and_withheld() -> None:
    wire = in_turn()
    event(wire)
    (told,) = wire.updates()
    assert told["sessionUpdate"] == "agent_retry"
    assert (told["attempt"], told["max_attempts"], told["wait_seconds"]) == (2, 11, 3)
    assert told["error"]["type"] == "rate_limit"
    assert not any(b"sdkMessage" in frame for frame in wire.to_client)


def test_a_provider_that_has_not_answered_is_reported_as_a_retry_of_that_cause() -> None:
    wire = in_turn()
    silent = {"waited_ms": 60_000, "retry_wait_ms": 120_000}
    event(wire, error_status=None, error="unknown", no_response=silent, max_retries=1)
    (told,) = wire.updates()
    assert (told["attempt"], told["max_attempts"]) == (2, 2)
    error = told["error"]
    assert (error["type"], error["reason"]) == ("timeout", "provider_silent")
    assert (error["retryable"], error["retry_safety"]) == (True, "auto")


def test_an_account_limit_is_withheld_and_dates_the_failure_that_follows() -> None:
    wire = in_turn(wall_clock=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))
    reset = int(datetime(2026, 3, 1, 14, tzinfo=UTC).timestamp())
    info = {"status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour"}
    message = {"type": "rate_limit_event", "rate_limit_info": info}
    wire.agent({"method": METHOD, "params": {"sessionId": "s", "message": message}})
    assert wire.to_client == []
    text = "Internal error: You've hit your 5-hour limit · resets 2pm (UTC)"
    failed = {"code": -32603, "message": text, "data": {"errorKind": "rate_limit"}}
    wire.agent({"id": 1, "error": failed})
    fails = failure(wire)
    assert (fails["type"], fails["reason"]) == ("rate_limit", "usage_window")
    assert (fails["retry_after_seconds"], fails["reset_at_epoch_ms"]) == (7200, reset * 1000)
    assert fails["message"].endswith("Try again at 14:00.")


def test_events_that_a_client_requested_itself_pass() -> None:
    own = {"claudeCode": {"emitRawSDKMessages": True}}
    wire = opened(meta=own)
    assert asked(wire) == own
    wire.agent(reply(5, sessionId="s")).client(prompt())
    wire.to_client.clear()
    event(wire)
    assert [json.loads(frame)["method"] for frame in wire.to_client] == [METHOD, "session/update"]
    event(wire, type="rate_limit_event", rate_limit_info={"status": "allowed"})
    assert json.loads(wire.to_client[-1])["method"] == METHOD


def test_a_session_request_that_the_agent_refuses_is_repeated_as_the_client_sent_it() -> None:
    wire = opened()
    wire.agent({"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "Invalid params"}})
    assert asked(wire) is None
    assert wire.answers(5) == []
    wire.agent(reply(5, sessionId="s"))
    assert wire.answers(5)[0]["result"] == {"sessionId": "s"}
    wire.client(request(6, "session/new", cwd="/"))
    assert asked(wire) is None
    wire = opened().agent(error(5, -32602, "Invalid params"), error(5, -32602, "Invalid params"))
    assert len(wire.answers(5)) == 1, "a second refusal passes"


def test_a_request_refused_for_a_missing_login_is_not_repeated() -> None:
    wire = opened()
    sent = len(wire.to_agent)
    wire.agent({"jsonrpc": "2.0", "id": 5, "error": {"code": -32000, "message": "Log in"}})
    assert (len(wire.to_agent), len(wire.answers(5))) == (sent, 1)


def test_a_restored_session_is_asked_for_events_again() -> None:
    named = LOADING | {"agentInfo": {"name": CLAUDE, "version": "1"}}
    link = Link(named).die_and_be_greeted()
    (load,) = link.asked()
    assert load["params"]["_meta"] == WISH
    own = {"claudeCode": {"emitRawSDKMessages": False}}
    link = Link(named)
    link.client(request(5, "session/load", sessionId="s", cwd="/w", mcpServers=[], _meta=own))
    link.answer(5)
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    assert load["params"]["_meta"] == own


@pytest.mark.parametrize("wait", [None, True, -1, 1e18, "soon"])
def test_an_invalid_wait_is_left_out(wait: Any) -> None:
    sign = read_event(METHOD, {"message": RETRY | {"retry_delay_ms": wait}})
    assert sign is not None
    assert sign.wait_seconds is None


def test_an_event_of_another_kind_or_without_its_members_is_no_retry() -> None:
    for params in (None, {}, {"message": 7}, {"message": RETRY | {"subtype": "init"}}):
        assert read_event(METHOD, params) is None
    assert read_event("_other", {"message": RETRY}) is None


def test_a_call_without_an_answer_failed_because_of_the_network() -> None:
    sign = read_event(METHOD, {"message": RETRY | {"error_status": None, "attempt": "x"}})
    assert sign is not None
    assert (sign.verdict.type.value, sign.attempt) == ("network", None)
