"""What only an agent of the SDK's has: ways to give it, what the SDK refuses, what it drops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import FUSE_SECONDS
from tests.kit.command import at_a_terminal
from tests.kit.places import ROOT
from tests.process.inprocess.sdk.conftest import AGENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.doors import DoorClient

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def test_the_user_can_disable_lastword(start_kind: Callable[..., DoorClient]) -> None:
    agent = start_kind(LASTWORD_PASSTHROUGH="1")
    result = agent.call("initialize", protocolVersion=1)["result"]
    assert "_meta" not in result.get("agentCapabilities", {})
    assert agent.take("silent")["result"] == {"stopReason": "end_turn"}
    for answer in (agent.take("fail without_data"), agent.call("_fail", how="without_data")):
        assert answer["error"]["data"] is None
    assert agent.end() == 0
    assert agent.told == []


SAID = {"factory": "made for AgentSideConnection", "observed": "observed: incoming"}
"""What a factory prints of its connection, and an observer of what it sees."""


@pytest.mark.parametrize("kind", ["factory", "class", "camel_case", "observed", "guarded"])
def test_an_agent_is_guarded_however_it_is_given_to_the_sdk(
    start_kind: Callable[..., DoorClient], kind: str
) -> None:
    agent = start_kind(kind).opened()
    assert agent.take("say")["result"] == {"stopReason": "end_turn"}
    assert agent.take("fail value_error")["error"]["data"]["agent_error"]["type"] == "auth"
    error = agent.call("session/new", cwd="/fail value_error", mcpServers=[])["error"]
    assert error["data"]["agent_error"]["type"] == "auth"
    assert agent.end() == 0
    assert agent.told == []
    assert SAID.get(kind, "") in agent.said


@pytest.mark.parametrize(("kind", "code"), [("unstable", None), ("stable", -32601)])
def test_the_unstable_methods_are_available_on_request(
    start_kind: Callable[..., DoorClient], kind: str, code: int | None
) -> None:
    agent = start_kind(kind).opened()
    answer = agent.call("session/fork", sessionId="s1", cwd="/", mcpServers=[])
    assert answer.get("error", {}).get("code") == code
    if code is None:
        assert answer["result"] == {"sessionId": "s1-fork"}
        error = agent.call("session/fork", sessionId="s1", cwd="/fail value_error")["error"]
        assert error["data"]["agent_error"]["type"] == "auth"
    assert agent.end() == 0


def test_a_silent_client_ends_the_agent_as_under_the_sdk(
    start_kind: Callable[..., DoorClient],
) -> None:
    agents = [start_kind("timeout", LASTWORD_PASSTHROUGH=word) for word in ("", "1")]
    assert all("result" in agent.call("initialize", protocolVersion=1) for agent in agents)
    said = [(agent.wait(), agent.expect_line("RequestError: Internal error")) for agent in agents]
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", ["own_streams", "held"])
def test_prints_stay_out_of_the_authors_streams_that_are_the_standard_ones(
    start_kind: Callable[..., DoorClient], kind: str
) -> None:
    agent = start_kind(kind).opened()
    for _ in range(2):
        assert agent.take("print")["result"] == {"stopReason": "end_turn"}
    agent.expect_stderr("printed by the handler")
    assert agent.serves_on()
    assert len([said for said in agent.told if "Printed output goes to stderr" in said]) == 1


def plain_agent(**streams: Any) -> subprocess.CompletedProcess[bytes]:
    """A plain agent with these streams, when it has ended."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([*AGENTS, "plain"], cwd=ROOT, timeout=FUSE_SECONDS, check=False, **given)


def test_stdin_as_a_file_is_refused_as_by_the_sdk_and_an_empty_one_is_a_client_that_has_left(
    tmp_path: Path,
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(HELLO)
    for passthrough in ("", "1"):
        with file.open("rb") as stdin:
            done = plain_agent(stdin=stdin, env={"LASTWORD_PASSTHROUGH": passthrough})
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"ValueError: Pipe transport is for pipes/sockets only." in done.stderr
    done = plain_agent(stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_file_as_stdout_gets_every_answer(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    with file.open("wb") as stdout:
        done = plain_agent(input=HELLO, stdout=stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    (answer,) = map(json.loads, file.read_bytes().splitlines())
    assert answer["result"]["protocolVersion"] == 1


def test_a_person_who_starts_an_agent_at_a_terminal_sees_what_it_waits_for() -> None:
    done = at_a_terminal([*AGENTS, "plain"], b"\x04")
    assert done.returncode == 0
    assert b"A client normally starts this program" in done.stderr


def test_what_the_sdk_refuses_is_answered_typed_and_its_null_data_is_not_sent(
    plain: DoorClient,
) -> None:
    error = plain.call("session/prompt", sessionId="s1", prompt="no list")["error"]
    assert error["code"] == -32602
    assert error["data"]["agent_error"]["type"] == "invalid_request"
    assert error["data"]["errors"][0]["loc"] == ["prompt"]
    assert plain.settled() == []
    # An invalid update is the handler's own failure.
    error = plain.take("unknown_kind agent_error")["error"]
    assert error["data"]["agent_error"]["type"] == "protocol_error"
    assert plain.take("fail without_data")["error"]["data"]
    assert "data" not in plain.call("_fail", how="without_data")["error"]


def test_the_second_of_two_answers_is_dropped_and_logged(
    start_kind: Callable[..., DoorClient],
) -> None:
    agent = start_kind().opened()
    prompt = agent.prompt("twice 2")
    assert agent.answer(prompt)["result"] == {"stopReason": "max_tokens"}
    agent.expect_line("answer once, by returning from the handler")
    assert agent.serves_on()
    assert len(agent.answers(prompt)) == 1
    assert len(agent.told) == 1


# --- a process that lives long


AT_ONCE = 50
WARM_UP_TURNS = 4_000
"""Then the store's cache of pages has its 2 MiB, and the allocator what it reuses."""

AT_A_STRETCH = 1_000
"""Then what is not recorded yet is written: how far the recorder lags behind is no growth."""

GROWTH_LIMIT_KIB = 4 * 1024
"""In the matrix, 256 bytes a turn would be more; what the collector counts is looked at, too."""


def resident_kib(agent: DoorClient) -> int:
    status = Path(f"/proc/{agent.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


def take(agent: DoorClient, turns: int) -> dict[str, int]:
    """Take so many turns, and say what is left of them in the agent."""
    for _ in range(turns // AT_A_STRETCH):
        take_a_stretch(agent)
        left = agent.call("_tasks")["result"]
    return dict(left)


def take_a_stretch(agent: DoorClient) -> None:
    """Take turns, some at once in sessions of their own, every tenth a failing one."""
    for _ in range(AT_A_STRETCH // AT_ONCE):
        prompts = [
            agent.prompt("fail value_error" if n % 10 == 0 else "say", f"session-{n % 5}")
            for n in range(AT_ONCE)
        ]
        for prompt in prompts:
            agent.answer(prompt)
        # This side must not grow either: the answers are all there.
        agent.peer.forget()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("turns", [4_000, pytest.param(20_000, marks=pytest.mark.matrix)])
def test_thousands_of_turns_leave_no_memory_and_no_task_behind(
    start_kind: Callable[..., DoorClient], turns: int
) -> None:
    agent = start_kind().opened()
    tasks = take(agent, WARM_UP_TURNS)
    before = resident_kib(agent)
    left = take(agent, turns)
    after = resident_kib(agent)
    assert left["tasks"] == tasks["tasks"]
    assert left["objects"] < tasks["objects"] + turns // 100
    assert after < before + GROWTH_LIMIT_KIB, f"{before} KiB, then {after} KiB"
    assert agent.end() == 0
