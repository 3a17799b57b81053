"""`--retry`, as a property: a prompt is sent again only where nothing was begun or shown."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastword.core.failure.retry_bucket import CAPACITY, RETRY_COST, TIMEOUT_COST, RetryBucket
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.handshake import read_agent
from tests.kit.rows import every
from tests.kit.wire import chunk, error, prompt, result, update
from tests.unit.link.test_resend import LIMITED, linked, prompts

SESSIONS = ("s", "of-a-sub-agent")
"""The session of the prompt, and one that the client never opened."""


class Happening(NamedTuple):
    """What an agent may send before it fails.

    Attributes:
        frame: the message.
        counts: it shows or begins something, so the prompt is never sent again.
    """

    frame: dict[str, Any]
    counts: bool


def _request(method: str, session: str, **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": f"a-{method}-{session}",
        "method": method,
        "params": {"sessionId": session, **params},
    }


def _notification(method: str, session: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"sessionId": session, **params}}


def _happenings(session: str) -> list[Happening]:
    text = {"type": "text", "text": "Here"}
    call = {"toolCallId": "t", "title": "Run", "kind": "execute"}
    shown = [
        chunk("Here", session),
        update(session, sessionUpdate="agent_thought_chunk", content=text),
        update(session, sessionUpdate="plan", entries=[]),
        *(update(session, sessionUpdate="tool_call", status=status, **call)
          for status in ("pending", "in_progress", "completed", "failed")),
        update(session, sessionUpdate="tool_call_update", toolCallId="t", status="completed"),
        _request("session/request_permission", session, options=[], toolCall=call),
        _request("elicitation/create", session, message="Which?"),
        _request("fs/write_text_file", session, path="/tmp/x", content="x"),
        _request("terminal/create", session, command="make"),
        _request("_vendor/run", session),
        _request("_vendor/anything", session),
        _notification("_vendor/tool_call", session, name="make"),
        _notification("_vendor/terminal", session),
        _notification("_vendor/news", session, toolCallId="t"),
    ]  # fmt: skip
    silent = [
        update(session, sessionUpdate="usage_update", used=1, size=2),
        update(session, sessionUpdate="available_commands_update", availableCommands=[]),
        update(session, sessionUpdate="current_mode_update", currentModeId="code"),
        update(session, sessionUpdate="session_info_update", title="A title"),
        chunk("", session),
        _request("fs/read_text_file", session, path="/tmp/x"),
        _notification("_vendor/status", session, state="busy"),
        _notification("_vendor/model_retry", session, attempt=1, message="429 rate limited"),
    ]
    return [
        *(Happening(each, True) for each in shown),
        *(Happening(each, False) for each in silent),
    ]


ALL = [happening for session in SESSIONS for happening in _happenings(session)]


def sent_again(happened: list[Happening]) -> bool:
    """Is the prompt sent again after these, and a limit?"""
    wire = linked()
    for happening in happened:
        wire.now += 0.1
        wire.agent(happening.frame)
    wire.agent(error(message=LIMITED)).time(wire.now + 60)
    return len(prompts(wire)) > 1


@every("number", range(len(ALL)))
def test_each_alone(number: int) -> None:
    happening = ALL[number]
    assert sent_again([happening]) is not happening.counts, happening.frame


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
