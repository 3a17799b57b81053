"""`--retry`, as a property: a prompt is sent again only where nothing was begun or shown."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastword.core.failure.retry_policy import CAPACITY, RETRY_COST, TIMEOUT_COST, RetryBucket
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.handshake import read_agent
from tests.kit.rows import every
from tests.kit.wire import chunk, error, failure, prompt, prompted, result, update
from tests.unit.link.test_resend import LIMITED, linked, prompts

SESSIONS = ("s", "of-a-sub-agent")
"""The session of the prompt, and one that the client never opened."""


class Happening(NamedTuple):
    """What an agent may send before it fails.

    Attributes:
        frame: the message, or the line.
        counts: it shows or begins something, so the prompt is never sent again.
        is_safe: it begins nothing, so that the client may send the prompt again.
    """

    frame: dict[str, Any] | bytes
    counts: bool
    is_safe: bool


def _request(method: str, session: str, **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": f"a-{method}-{session}",
        "method": method,
        "params": {"sessionId": session, **params},
    }


def _notification(method: str, session: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"sessionId": session, **params}}


def _mcp(method: object) -> dict[str, Any]:
    params = {"connectionId": "c", "method": method, "params": {"name": "pay"}}
    return {"jsonrpc": "2.0", "id": f"mcp-{method}", "method": "mcp/message", "params": params}


def _happenings(session: str) -> list[Happening]:
    text = {"type": "text", "text": "Here"}
    call = {"toolCallId": "t", "title": "Run", "kind": "execute"}
    shown = [
        update(session, sessionUpdate="plan", entries=[]),
        _request("session/request_permission", session, options=[], toolCall=call),
        _request("elicitation/create", session, message="Which?"),
    ]
    begun = [
        chunk("Here", session),
        update(session, sessionUpdate="agent_thought_chunk", content=text),
        *(update(session, sessionUpdate="tool_call", status=status, **call)
          for status in ("pending", "in_progress", "completed", "failed", "running", "cancelled")),
        update(session, sessionUpdate="tool_call_update", toolCallId="t", status="completed"),
        update(session, sessionUpdate="tool_call_content_chunk", toolCallId="t"),
        update(session, sessionUpdate="terminal_output_chunk", terminalId="t"),
        update(session, sessionUpdate="subagent_update", status="running"),
        update(session, sessionUpdate="_acme_diff_applied", path="/tmp/x"),
        update(session, sessionUpdate="diff_applied", content={"type": "text", "text": ""}),
        update(session, sessionUpdate=7),
        update(session),
        update(session, sessionUpdate="usage_update", used=1) | {"id": "a-request"},
        _request("fs/write_text_file", session, path="/tmp/x", content="x"),
        _request("fs/delete", session, path="/tmp/x"),
        _request("terminal/kill", session, terminalId="t"),
        *(_mcp(method) for method in ("tools/call", "resources/subscribe", None, ["ping"])),
        _request("tools/list", session),
        _request("mcp/message", session),
        {"jsonrpc": "2.0", "id": "m", "method": "mcp/message"},
        _request("terminal/create", session, command="make"),
        _request("_vendor/run", session),
        _request("_vendor/anything", session),
        _notification("_vendor/tool_call", session, name="make"),
        _notification("_vendor/terminal", session),
        _notification("_vendor/news", session, toolCallId="t"),
        _notification("_vendor/status", session, state="busy"),
        _notification("_acme/file_written", session, path="/tmp/x"),
        {"jsonrpc": "2.0", "method": "_acme/file_written"},
        _notification("session/updates", session),
        _notification("_claude/sdkMessage", session, message={"type": "assistant"}),
        json.dumps([update(session, sessionUpdate="tool_call", **call)]).encode(),
        json.dumps([_notification("_acme/file_written", session)] * 2).encode(),
        json.dumps(update(session, sessionUpdate="tool_call", **call)).encode()[:-9],
        json.dumps({"params": {"sessionId": session, "update": call}}).encode(),
    ]  # fmt: skip
    silent = [
        update(session, sessionUpdate="usage_update", used=1, size=2),
        update(session, sessionUpdate="available_commands_update", availableCommands=[]),
        update(session, sessionUpdate="current_mode_update", currentModeId="code"),
        update(session, sessionUpdate="session_info_update", title="A title"),
        update(session, sessionUpdate="config_option_update", configOptions=[]),
        update(session, sessionUpdate="user_message_chunk", content=text),
        chunk("", session),
        _request("fs/read_text_file", session, path="/tmp/x"),
        _request("terminal/output", session, terminalId="t"),
        _request("terminal/wait_for_exit", session, terminalId="t"),
        _notification("elicitation/complete", session, elicitationId="e"),
        {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "q"}},
        *(_mcp(method) for method in ("initialize", "ping", "tools/list", "prompts/list")),
        _notification("_vendor/model_retry", session, attempt=1, message="429 rate limited"),
        _notification("_session/retrying", session, category="rate_limited", detail="HTTP 429"),
        _notification("_claude/sdkMessage", session, message={"type": "rate_limit_event"}),
        b"[INFO] loading the model",
    ]
    return [
        # In a sub-agent's session, whatever shows something is work that goes on.
        *(Happening(each, True, session == "s" or "id" in each) for each in shown),
        *(Happening(each, True, False) for each in begun),
        *(Happening(each, False, True) for each in silent),
    ]


ALL = [happening for session in SESSIONS for happening in _happenings(session)]


def sent_again(happened: list[Happening], *, late: bool = False, **options: Any) -> bool:
    """Is the client's prompt sent again after these, and a limit?"""
    wire = linked(**options)
    wire.agent(*([error(message=LIMITED)] if late else []))
    for happening in happened:
        wire.now += 0.1
        wire.agent(happening.frame)
    wire.agent(*([] if late else [error(message=LIMITED)])).time(wire.now + 60)
    texts = [each["params"]["prompt"][0]["text"] for each in prompts(wire)]
    return texts.count("hi") > 1


CONTINUES = {"retry": 0, "continue_at_reset_seconds": 3600.0, "roll": lambda: 0.0}


@every("number", range(len(ALL)))
def test_each_alone(number: int) -> None:
    happening = ALL[number]
    assert sent_again([happening]) is not happening.counts, happening.frame
    assert sent_again([happening], **CONTINUES) is not happening.counts, happening.frame


@every("number", range(len(ALL)))
def test_each_alone_within_the_wait(number: int) -> None:
    happening = ALL[number]
    assert sent_again([happening], late=True) is not happening.counts, happening.frame
    assert sent_again([happening], late=True, **CONTINUES) is not happening.counts, happening.frame


@every("number", range(len(ALL)))
def test_a_client_may_send_a_prompt_again_only_after_what_is_known_to_be_harmless(
    number: int,
) -> None:
    happening = ALL[number]
    wire = prompted({"_meta": {"agent_error": {"version": 1}}}).agent(happening.frame)
    wire.agent(error(message=LIMITED)).time(1)
    safety = failure(wire)["retry_safety"]
    assert (safety == "auto") is happening.is_safe, happening.frame


def _permission(*kinds: str) -> dict[str, Any]:
    """The agent asks for a permission; each option's id is its kind's, or the same for all."""
    options = [{"optionId": kind.rpartition("=")[0] or kind, "kind": kind.rpartition("=")[2]}
               for kind in kinds]  # fmt: skip
    call = {"toolCallId": "t", "title": "Run", "kind": "execute"}
    return _request("session/request_permission", "s", options=options, toolCall=call)


@every(
    ("kinds", "outcome", "safety"),
    [
        (["allow_once"], {"outcome": "selected", "optionId": "allow_once"}, "ask"),
        (["x=allow_once", "x=reject_once"], {"outcome": "selected", "optionId": "x"}, "ask"),
        (["x=odd"], {"outcome": "selected", "optionId": "x"}, "ask"),
        (["allow_once"], {"outcome": "selected", "optionId": "unknown"}, "ask"),
        (["reject_once"], {"outcome": "selected", "optionId": "reject_once"}, "auto"),
        (["reject_always"], {"outcome": "selected", "optionId": "reject_always"}, "auto"),
        (["allow_once"], {"outcome": "cancelled"}, "auto"),
        (["allow_once"], None, "auto"),
    ],
)
def test_a_permission_that_the_user_gave_makes_a_prompt_unsafe_to_send_again(
    kinds: list[str], outcome: dict[str, Any] | None, safety: str
) -> None:
    asked = _permission(*kinds)
    wire = prompted({"_meta": {"agent_error": {"version": 1}}}).agent(asked)
    if outcome is not None:
        wire.client({"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": outcome}})
    wire.agent(error(message=LIMITED)).time(1)
    assert failure(wire)["retry_safety"] == safety


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(ALL), max_size=8))
def test_a_prompt_is_sent_again_only_where_nothing_was_begun_or_shown(
    happened: list[Happening],
) -> None:
    assert sent_again(happened) is not any(happening.counts for happening in happened)


def test_an_empty_bucket_sends_nothing_again_and_the_record_says_so() -> None:
    bucket = RetryBucket(RETRY_COST)
    wire = linked(retry_bucket=bucket).agent(error(message=LIMITED)).time(60)
    assert len(prompts(wire)) == 2
    wire.agent(error(message=LIMITED)).time(120)
    assert len(prompts(wire)) == 2
    (entry,) = [entry for entry in wire.entries if entry.kind.value == "error"]
    assert entry.facts["retry_refused"] is True


def test_a_success_returns_what_the_last_retry_took() -> None:
    bucket = RetryBucket(RETRY_COST)
    wire = linked(retry_bucket=bucket).agent(error(message=LIMITED)).time(60)
    assert bucket.tokens == 0
    wire.agent(chunk(), result())
    assert bucket.tokens == RETRY_COST


def test_sessions_share_the_bucket() -> None:
    wire = linked(retry_bucket=RetryBucket(RETRY_COST)).client(prompt(2, "other"))
    wire.agent(error(message=LIMITED), error(2, message=LIMITED)).time(60)
    assert len(prompts(wire)) == 3


def test_a_bucket_never_holds_more_than_its_capacity_and_a_timeout_costs_more() -> None:
    bucket = RetryBucket()
    bucket.succeed()
    assert bucket.tokens == CAPACITY
    assert bucket.spend(ErrorType.TIMEOUT)
    assert bucket.tokens == CAPACITY - TIMEOUT_COST
    assert not RetryBucket(RETRY_COST).spend(ErrorType.NETWORK)
    bucket.succeed()
    bucket.spend(ErrorType.RATE_LIMIT)
    bucket.succeed()
    bucket.succeed()
    assert bucket.tokens == CAPACITY


@pytest.mark.parametrize(
    ("members", "version"),
    [
        ({"agentInfo": {"name": "a"}}, 1),
        ({"agentCapabilities": {}}, 1),
        ({"info": {"name": "a"}}, 2),
        ({}, 2),
    ],
)
def test_an_agent_that_repeats_the_clients_version_speaks_the_one_it_answers_in(
    members: dict[str, Any], version: int
) -> None:
    profile = read_agent({"protocolVersion": 2, **members})
    assert profile.dialect is not None
    assert profile.dialect.version == version
