"""What the SDK drops or refuses on its way, and a guarded agent's client gets all the same."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import termios
import time
from array import array
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.agent_process import AGENTS
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sdk.conftest import Start

TYPED = {"_meta": {"agent_error": {"version": 1}}}
NOTICES: dict[str, Any] = {"session": {"notices": {}}}
SOON = {"LASTWORD_WARN_AFTER": "0.2"}
FULL_PIPE_BYTES = 60_000
HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def test_a_client_that_advertises_notices_is_told_of_a_silent_agent(start: Start) -> None:
    agent = start(**SOON).opened(**NOTICES)
    prompt = agent.prompt("wait")
    agent.expect(lambda f: f.get("params", {}).get("update", {}).get("sessionUpdate") == "notice")
    agent.notify("_go")
    assert agent.answer(prompt)["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_client_that_does_not_advertise_them_gets_no_notice(start: Start) -> None:
    agent = start(**SOON, LASTWORD_IDLE_TIMEOUT="1").opened()
    # The limit comes well after the notice would have.
    error = agent.take("wait")["error"]
    assert error["data"]["agent_error"]["reason"] == "idle_timeout"
    assert agent.end() == 0
    assert agent.updates("notice") == []
    [said] = agent.told
    assert "the handler went silent" in said


def test_a_client_that_negotiated_gets_the_typed_update_that_the_sdk_refuses_to_send(
    start: Start,
) -> None:
    agent = start().opened(**TYPED)
    answer = agent.take("fail value_error")
    [update] = agent.updates("agent_error")
    assert update["stopReason"] == "error"
    assert update["error"]["type"] == "auth"
    assert answer["error"]["data"]["agent_error"]["type"] == "auth"
    assert agent.end() == 0


def test_the_sdk_alone_refuses_such_an_update(start: Start) -> None:
    agent = start().opened(**TYPED)
    # The refusal is the handler's own failure, and a typed one.
    error = agent.take("unknown_kind agent_error")["error"]
    assert error["data"]["agent_error"]["type"] == "protocol_error"
    assert agent.end() == 0


def test_initialize_promises_that_no_turn_ends_in_silence(start: Start) -> None:
    agent = start()
    result = agent.call("initialize", protocolVersion=1)["result"]
    assert result["agentCapabilities"]["_meta"]["agent_error"]["version"] == 1


def test_the_user_can_take_lastword_out_of_the_way(start: Start) -> None:
    agent = start(LASTWORD_PASSTHROUGH="1")
    result = agent.call("initialize", protocolVersion=1)["result"]
    assert "_meta" not in result.get("agentCapabilities", {})
    assert agent.take("silent")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_prompt_before_initialize_is_served_and_its_author_is_told(start: Start) -> None:
    agent = start()
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    error = agent.take("fail value_error")["error"]
    assert error["data"]["agent_error"]["type"] == "auth"
    assert agent.end() == 0
    [said] = agent.told
    assert "The client sent session/prompt before initialize" in said


@pytest.mark.parametrize("kind", ["plain", "factory", "class", "camel_case", "observed", "guarded"])
def test_every_way_to_give_the_sdk_an_agent_is_guarded(start: Start, kind: str) -> None:
    agent = start(kind).opened()
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.take("fail value_error")["error"]["data"]["agent_error"]["type"] == "auth"
    error = agent.call("session/new", cwd="/fail value_error", mcpServers=[])["error"]
    assert error["data"]["agent_error"]["type"] == "auth"
    assert agent.end() == 0
    assert agent.told == []


def test_a_method_of_the_agents_own_passes_both_ways(start: Start) -> None:
    agent = start().opened()
    assert agent.call("_ping", n=1)["result"] == {"echo": {"n": 1}}


def test_a_factory_is_given_the_sdks_own_connection(start: Start) -> None:
    agent = start("factory").opened()
    agent.expect_line("made for AgentSideConnection")


def test_observers_see_what_they_see_under_the_sdk(start: Start) -> None:
    agent = start("observed").opened()
    agent.take("hello")
    agent.expect_line("observed: incoming")


@pytest.mark.parametrize(("kind", "code"), [("unstable", None), ("stable", -32601)])
def test_the_unstable_part_is_there_where_it_was_asked_for(
    start: Start, kind: str, code: int | None
) -> None:
    agent = start(kind).opened()
    answer = agent.call("session/fork", sessionId="s1", cwd="/", mcpServers=[])
    assert answer.get("error", {}).get("code") == code
    if code is None:
        assert answer["result"] == {"sessionId": "s1-fork"}
        error = agent.call("session/fork", sessionId="s1", cwd="/fail value_error")["error"]
        assert error["data"]["agent_error"]["type"] == "auth"
    assert agent.end() == 0


def test_a_client_that_says_nothing_for_too_long_ends_the_agent_as_under_the_sdk(
    start: Start,
) -> None:
    said = []
    for passthrough in ("", "1"):
        agent = start("timeout", LASTWORD_PASSTHROUGH=passthrough)
        assert "result" in agent.call("initialize", protocolVersion=1)
        said.append((agent.wait(fuse=15), agent.expect_line("RequestError: Internal error")))
    assert said[0] == said[1]


def test_a_client_that_leaves_right_after_its_question_is_answered() -> None:
    done = subprocess.run(
        [*AGENTS, "plain"],
        cwd=ROOT,
        input=HELLO,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.count(b'"result"') == 1
    assert b"[lastword]" not in done.stderr


@pytest.mark.parametrize("passthrough", ["", "1"])
def test_a_file_as_stdin_is_refused_with_the_same_error_as_by_the_sdk(
    tmp_path: Path, passthrough: str
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(HELLO)
    with file.open("rb") as stdin:
        done = subprocess.run(
            [*AGENTS, "plain"],
            cwd=ROOT,
            stdin=stdin,
            env={"LASTWORD_PASSTHROUGH": passthrough},
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"ValueError: Pipe transport is for pipes/sockets only." in done.stderr


def test_a_client_that_dies_while_its_agent_writes_ends_the_agent_without_a_fault() -> None:
    requests = [
        {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}},
        {
            "id": 1,
            "method": "session/prompt",
            "params": {"sessionId": "s1", "prompt": [{"type": "text", "text": "many 100000"}]},
        },
    ]
    with subprocess.Popen(
        [*AGENTS, "plain"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if k != "LASTWORD_PASSTHROUGH"},
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        for request in requests:
            agent.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        agent.stdin.flush()
        until = time.monotonic() + FUSE_SECONDS
        waiting = array("i", [0])
        while waiting[0] < FULL_PIPE_BYTES:
            assert time.monotonic() < until
            fcntl.ioctl(agent.stdout.fileno(), termios.FIONREAD, waiting)
        # The agent waits for room, and hears of both pipes at once.
        agent.stdout.close()
        agent.stdin.close()
        assert agent.wait(FUSE_SECONDS) == 0
