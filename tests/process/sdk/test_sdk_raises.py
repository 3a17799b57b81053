"""What a handler raised: the client gets a typed error without a secret, whatever it was."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.agent_process import CANARY

if TYPE_CHECKING:
    from tests.kit.agent_process import AgentProcess
    from tests.kit.client import Frame
    from tests.process.sdk.conftest import Start

NO_EXCEPTION = "which is no Exception: its turn is ended as failed"
TYPES = {
    "value_error": "auth",
    "json_text": "internal",
    "request_error": "auth",
    "without_data": "provider_unavailable",
    "not_json_data": "provider_unavailable",
    "validation": "protocol_error",
    "base": "unknown",
    "group": "timeout",  # of the two that it holds, the one that is known
    "base_group": "unknown",
    "own_cancel": "unknown",
}
LINES = {
    "base": f"raised Stopped, {NO_EXCEPTION}",
    "base_group": f"raised BaseExceptionGroup, {NO_EXCEPTION}",
    "own_cancel": "the handler cancelled itself",
}
AUTHORS_OWN = {"request_error", "without_data", "not_json_data"}
"""`RequestError` on a request that is no prompt is the author's own answer: no type is added."""


def fits_every_client(error: dict[str, Any]) -> bool:
    """An int code, a message that is not empty, `data` that is an object or absent."""
    data = error.get("data", {})
    return type(error["code"]) is int and error["message"] != "" and isinstance(data, dict)


def without_canary(agent: AgentProcess) -> bool:
    """No frame that the client got holds the key."""
    return CANARY not in json.dumps(agent.frames)


def ends_well(agent: AgentProcess, how: str, method: str) -> None:
    """The agent goes on, ends well, and said what its author can mend, once."""
    assert agent.take("hello", "s1")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert without_canary(agent)
    expected = [LINES[how]] if how in LINES else []
    assert len(agent.told) == len(expected), agent.told
    for said, wanted in zip(agent.told, expected, strict=True):
        assert wanted in said
        assert NO_EXCEPTION not in said or method in said


@pytest.mark.parametrize("how", TYPES)
def test_a_prompt_whose_handler_raises_ends_typed_and_without_a_secret(
    start: Start, how: str
) -> None:
    agent = start().opened()
    error = agent.take(f"fail {how}")["error"]
    assert fits_every_client(error)
    assert error["data"]["agent_error"]["type"] == TYPES[how]
    assert error["data"]["details"]
    ends_well(agent, how, "session/prompt")


@pytest.mark.parametrize("method", ["session/new", "_fail"])
@pytest.mark.parametrize("how", TYPES)
def test_another_request_whose_handler_raises_is_answered_without_a_secret(
    start: Start, how: str, method: str
) -> None:
    agent = start().opened()
    error = failed(agent, method, how)["error"]
    assert fits_every_client(error)
    typed = error.get("data", {}).get("agent_error", {})
    assert typed.get("type") == (None if how in AUTHORS_OWN else TYPES[how])
    ends_well(agent, how, method)


def failed(agent: AgentProcess, method: str, how: str) -> Frame:
    if method == "session/prompt":
        return agent.take(f"fail {how}")
    if method == "_fail":
        return agent.call(f"_fail/{how}")
    return agent.call(method, cwd=f"/fail {how}", mcpServers=[])


def test_an_error_of_the_authors_own_keeps_its_code_and_its_words(start: Start) -> None:
    agent = start().opened()
    error = failed(agent, "session/new", "without_data")["error"]
    assert error == {"code": -32603, "message": "The model is busy."}


@pytest.mark.parametrize("passthrough", ["", "1"])
def test_only_the_bare_sdk_sends_a_null_as_data(start: Start, passthrough: str) -> None:
    agent = start(LASTWORD_PASSTHROUGH=passthrough).opened()
    for answer in (agent.take("fail without_data"), failed(agent, "_fail", "without_data")):
        assert ("data" in answer["error"] and answer["error"]["data"] is None) == bool(passthrough)


def test_params_that_the_sdk_refuses_are_answered_typed(start: Start) -> None:
    agent = start().opened()
    error = agent.call("session/prompt", sessionId="s1", prompt="no list")["error"]
    assert error["code"] == -32602
    assert error["data"]["agent_error"]["type"] == "invalid_request"
    assert error["data"]["errors"][0]["loc"] == ["prompt"]
    assert agent.end() == 0
    assert agent.told == []


@pytest.mark.parametrize("method", ["session/prompt", "session/new", "_fail"])
@pytest.mark.parametrize("how", ["exit", "interrupt"])
def test_a_handler_that_ends_the_process_is_answered_for_before_it_does(
    start: Start, how: str, method: str
) -> None:
    agent = start().opened()
    failure = failed(agent, method, how)["error"]["data"]["agent_error"]
    assert (failure["type"], failure["reason"]) == ("agent_crash", "premature_exit")
    assert agent.wait(fuse=15) == (3 if how == "exit" else -signal.SIGINT)
    agent.end()
    # Who pressed ctrl-C has nothing to mend.
    expected = 1 if how == "exit" else 0
    assert len([said for said in agent.told if f"raised SystemExit, {NO_EXCEPTION}" in said]) == (
        expected
    )
    assert len(agent.told) == expected


def test_of_two_turns_at_once_in_two_sessions_one_fails_and_the_other_goes_on(
    start: Start,
) -> None:
    agent = start().opened().open_session("s2")
    healthy = agent.prompt("wait", "s1")
    agent.expect_words("waiting")
    failing = agent.take("fail value_error", "s2")
    assert failing["error"]["data"]["agent_error"]["type"] == "auth"
    assert agent.answers(healthy) == []
    agent.notify("_go")
    assert agent.answer(healthy)["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []
