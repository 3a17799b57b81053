"""An agent that died is started again when it is needed, and its session comes back."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING

import pytest

from tests.kit import left_behind
from tests.kit.agents.memory import Memory
from tests.kit.sidecar import agent_command
from tests.process.sidecar.failing_turn import failure_of, is_healthy, payload_of, quick

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

LIMIT = "core.restart.state."
AT_ONCE = {LIMIT + "FIRST_BACKOFF_SECONDS": 0.02}
NO_LOOP = {
    **AT_ONCE,
    LIMIT + "LOOP_CRASHES": 1e9,
    LIMIT + "LOOP_SHORT_LIVES": 1e9,
}

linux_only = pytest.mark.skipif(not left_behind.CAN_LOOK, reason="looks into /proc")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """What the agent keeps on disk."""
    return Memory(str(tmp_path))


def remembers(client: SidecarClient, prompts: int) -> None:
    """The session knows of so many prompts, this one included, and nothing was told twice."""
    since = len(client.frames)
    turn = client.turn("recall")
    assert is_healthy(turn), turn
    assert turn.text == f"{prompts} promptsHere is the answer."
    methods = [frame.get("method") for frame in client.frames[since:]]
    assert set(methods) == {"session/update", None}


def crash(client: SidecarClient, *, reason: str = "killed") -> None:
    payload = failure_of(client.turn())
    assert (payload["type"], payload["reason"]) == ("agent_crash", reason)


def test_an_agent_killed_between_prompts_is_back_with_the_next(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("healthy", memory=tmp_path)
    client.open()
    assert is_healthy(client.turn("hello"))
    os.kill(memory.pids()[0], signal.SIGKILL)
    client.expect_stderr("the agent ended: killed by SIGKILL")
    assert len(memory.pids()) == 1
    # With the first backoff as it is: one second.
    remembers(client, 2)
    assert len(memory.pids()) == 2
    assert client.end() == 0


def test_an_agent_that_dies_in_mid_prompt_serves_the_next(start: Start, tmp_path: Path) -> None:
    client = start("kills-itself", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    remembers(client, 2)
    crash(client)
    remembers(client, 4)


def test_an_agent_that_dies_at_its_first_start_is_started_again(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("dies-at-first-starts", 1, memory=tmp_path, limits=AT_ONCE)
    payload = payload_of(client.initialize())
    assert (payload["type"], payload["exit_code"]) == ("agent_crash", 3)
    client.open()
    remembers(client, 1)
    assert len(memory.pids()) == 2


def test_a_session_can_be_opened_without_another_hello(start: Start, tmp_path: Path) -> None:
    client = start("dies-at-first-starts", 1, memory=tmp_path, limits=AT_ONCE)
    assert "error" in client.initialize()
    answer = client.answer(client.request("session/new", cwd="/", mcpServers=[]))
    assert answer["result"] == {"sessionId": "s1"}
    remembers(client, 1)


def test_an_agent_that_dies_while_a_session_comes_back_is_started_once_more(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("dies-in-load", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    remembers(client, 2)
    assert len(memory.pids()) == 3


def test_a_session_that_the_agent_has_forgotten_is_said_to_be_lost_and_a_new_one_works(
    start: Start, tmp_path: Path
) -> None:
    client = start("forgets", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    crash(client, reason="context_lost")
    opened = client.answer(client.request("session/new", cwd="/", mcpServers=[]))
    client.session = opened["result"]["sessionId"]
    remembers(client, 1)


@pytest.mark.parametrize(
    ("mode", "limit", "type_"),
    [
        ("silent-at-later-starts", "core.protocol.acp.INITIALIZE_LIMIT_SECONDS", "agent_stalled"),
        ("silent-in-load", "core.protocol.acp.SESSION_REQUEST_LIMIT_SECONDS", "agent_crash"),
    ],
)
def test_an_agent_that_is_silent_while_it_comes_back_cannot_hold_the_turn_open(
    start: Start, tmp_path: Path, mode: str, limit: str, type_: str
) -> None:
    client = start(mode, memory=tmp_path, limits={**AT_ONCE, limit: 0.5})
    client.open()
    crash(client)
    turn = client.turn("hello")
    assert failure_of(turn)["type"] == type_
    assert turn.seconds < quick()


def test_a_program_that_vanishes_is_said_to_be_gone_and_is_found_when_it_is_back(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    program, hidden = tmp_path / "agent", tmp_path / "hidden"
    command = " ".join(agent_command("kills-itself", memory=tmp_path))
    program.write_text(f"#!/bin/sh\nexec {command}\n", encoding="utf-8")
    program.chmod(0o755)
    client = start.command([str(program)], limits=AT_ONCE)
    client.open()
    program.rename(hidden)
    crash(client)
    crash(client, reason="spawn_failed")
    client.expect_stderr("the agent could not be started")
    hidden.rename(program)
    remembers(client, 2)
    assert len(memory.pids()) == 2


def test_after_three_short_lives_every_request_is_answered_at_once(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("dies-at-first-starts", 3, memory=tmp_path, limits=AT_ONCE)
    for _ in range(3):
        assert payload_of(client.initialize())["exit_code"] == 3
    for _ in range(20):
        payload = payload_of(client.initialize())
        assert (payload["type"], payload["reason"]) == ("agent_crash", "crash_loop")
        assert "exit_code" in payload
    assert len(memory.pids()) == 3


def test_a_prompt_that_waits_for_an_agent_that_only_crashes_is_answered_in_the_end(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("dies-at-later-starts", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    crash(client, reason="crash_loop")
    assert len(memory.pids()) == 3


def test_a_crash_loop_ends_with_an_attempt_that_serves(start: Start, tmp_path: Path) -> None:
    limits = {**AT_ONCE, LIMIT + "HALF_OPEN_SECONDS": 0.3}
    client = start("dies-at-first-starts", 3, memory=tmp_path, limits=limits)
    while "error" in (answer := client.initialize()):
        client.listen(0.02)
    assert answer["result"]["protocolVersion"] == 1
    client.open()
    remembers(client, 1)


def test_an_allow_for_a_dead_agents_question_never_answers_its_successors(
    start: Start, tmp_path: Path
) -> None:
    client = start("asks-and-dies-once", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    first = client.expect_method("session/request_permission")
    since = len(client.frames)
    prompt = client.prompt()
    second = client.expect_method("session/request_permission", since=since)
    assert second["id"] != first["id"]
    # Each process numbers its questions from the beginning: on its pipe the two are one.
    client.send(id=first["id"], result={"outcome": {"outcome": "selected", "optionId": "late"}})
    client.send(id=second["id"], result={"outcome": {"outcome": "cancelled"}})
    turn = client.end_of(prompt, since)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == '{"outcome": {"outcome": "cancelled"}}'


@pytest.mark.parametrize("mode", ["ignores-cancel", "ignores-cancel-and-sigterm"])
def test_an_agent_that_ignores_a_cancel_is_replaced_for_the_next_prompt(
    start: Start, tmp_path: Path, memory: Memory, mode: str
) -> None:
    client = start(mode, memory=tmp_path, options=["--cancel-grace", "0.3"])
    client.open()
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    remembers(client, 2)
    first, second = memory.pids()
    assert first not in left_behind.processes(client.mark)
    assert second in left_behind.processes(client.mark) or not left_behind.CAN_LOOK


@linux_only
def test_what_a_dead_agent_left_in_its_group_is_ended_while_the_next_one_serves(
    start: Start, tmp_path: Path
) -> None:
    client = start("leaves-stubborn-child", memory=tmp_path, limits=AT_ONCE)
    client.open()

    def sleepers() -> list[int]:
        found = left_behind.processes(client.mark).items()
        return [pid for pid, command in found if command == "sleep 60"]

    crash(client)
    assert len(sleepers()) == 1
    remembers(client, 2)

    client.read_until_true(lambda: not sleepers(), "the end of the child", fuse=quick())
    assert is_healthy(client.turn("hello"))


@linux_only
@pytest.mark.parametrize("mode", ["kills-itself", "leaves-stubborn-child"])
def test_nothing_of_any_life_is_left_when_the_sidecar_was_killed(
    start: Start, tmp_path: Path, memory: Memory, mode: str
) -> None:
    client = start(mode, memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    remembers(client, 2)
    assert memory.pids()[-1] in left_behind.processes(client.mark)
    client.signal(signal.SIGKILL)
    client.wait()
    assert left_behind.wait_for_none(client.mark) == {}


@linux_only
def test_twenty_restarts_leave_no_descriptor_no_zombie_and_no_guardian(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    limits = {**NO_LOOP, LIMIT + "MAX_BACKOFF_SECONDS": 0.02}
    client = start("kills-itself", memory=tmp_path, limits=limits)
    client.open()
    assert is_healthy(client.turn("hello"))
    before = _holdings(client)
    for _ in range(20):
        crash(client)
        assert is_healthy(client.turn("hello"))
    assert len(memory.pids()) == 21
    assert _holdings(client) == before


def _holdings(client: SidecarClient) -> tuple[int, int]:
    """How many descriptors and children the sidecar has, zombies included."""
    pid = client.pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return len(os.listdir(f"/proc/{pid}/fd")), len(children.read().split())


@pytest.mark.parametrize("how", ["closes", "SIGTERM"])
def test_a_client_that_leaves_while_the_agent_is_being_started_gets_its_answer(
    start: Start, tmp_path: Path, memory: Memory, how: str
) -> None:
    client = start("silent-at-later-starts", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    since = len(client.frames)
    prompt = client.prompt("hello")
    client.read_until_true(lambda: len(memory.pids()) == 2, "the second life")
    _leave(client, how)
    assert failure_of(client.end_of(prompt, since))["type"] == "agent_crash"
    client.wait(fuse=2 * quick())


@pytest.mark.parametrize("how", ["closes", "SIGTERM"])
def test_a_client_that_leaves_before_the_agent_may_start_again_gets_its_answer(
    start: Start, tmp_path: Path, memory: Memory, how: str
) -> None:
    limits = {LIMIT + "FIRST_BACKOFF_SECONDS": 60}
    client = start("kills-itself", memory=tmp_path, limits=limits)
    client.open()
    crash(client)
    since = len(client.frames)
    prompt = client.prompt("hello")
    client.listen(0.1)
    _leave(client, how)
    assert failure_of(client.end_of(prompt, since))["type"] == "agent_crash"
    client.wait(fuse=quick())
    assert len(memory.pids()) == 1


def _leave(client: SidecarClient, how: str) -> None:
    if how == "closes":
        client.close_stdin()
    else:
        os.kill(client.pid, signal.SIGTERM)


def test_with_restart_never_a_dead_agent_stays_dead(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("kills-itself", memory=tmp_path, options=["--restart", "never"])
    client.open()
    crash(client)
    for _ in range(5):
        payload = failure_of(client.turn("hello", fuse=quick()))
        assert (payload["type"], payload["retryable"]) == ("agent_crash", False)
    assert len(memory.pids()) == 1
    assert client.end() == 128 + signal.SIGKILL


def test_a_restarted_agent_that_leaves_on_good_terms_takes_the_sidecar_with_it(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("exits-0-after-answer-in-second-life", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    assert is_healthy(client.turn())
    assert client.wait() == 0


def test_what_every_life_writes_to_stderr_is_passed_on(start: Start, tmp_path: Path) -> None:
    client = start("says-its-life", memory=tmp_path, limits=AT_ONCE)
    client.open()
    crash(client)
    assert is_healthy(client.turn("hello"))
    client.expect_stderr("life 2\n")
    assert client.said.index("life 1\n") < client.said.index("life 2\n")


def test_a_client_that_reads_nothing_while_the_agent_dies_and_returns_misses_nothing(
    start: Start, tmp_path: Path
) -> None:
    client = start("many-frames-in-first-life", memory=tmp_path, limits=AT_ONCE)
    client.open()
    since = len(client.frames)
    first = client.prompt()
    client.stdout.reading = False
    client.listen(0.5)
    second = client.prompt("recall")
    client.listen(0.5)
    client.stdout.reading = True
    turn = client.end_of(first, since)
    assert failure_of(turn)["reason"] == "killed"
    assert turn.kinds.count("agent_message_chunk") == 1500
    after = client.frames.index(turn.answer) + 1
    assert client.end_of(second, after).text == "2 promptsHere is the answer."


@linux_only
def test_a_machine_without_descriptors_is_a_typed_answer_and_no_leak(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    limits = {**NO_LOOP, LIMIT + "MAX_BACKOFF_SECONDS": 0.02}
    client = start("kills-itself", memory=tmp_path, limits=limits)
    client.open()
    files, children = _holdings(client)
    crash(client)
    pid = client.pid
    left = len(os.listdir(f"/proc/{pid}/fd"))
    # Without the three of the dead agent: room for a pipe and a half.
    _allow_descriptors(pid, left)
    for _ in range(5):
        payload = failure_of(client.turn("hello"))
        assert (payload["type"], payload["reason"]) == ("agent_crash", "spawn_failed")
    assert len(os.listdir(f"/proc/{pid}/fd")) <= left
    _allow_descriptors(pid, 1024)
    remembers(client, 2)
    # The recorder, and the pipe to it, came with the first prompt.
    assert _holdings(client) == (files + 1, children + 1)


def _allow_descriptors(pid: int, number: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (number, 1024))
