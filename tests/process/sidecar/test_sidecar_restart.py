"""An agent that died is started again when it is needed, and its session comes back."""

from __future__ import annotations

import operator
import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit import left_behind
from tests.kit.agents.acp_agent import Memory
from tests.process.sidecar.failing_turn import failure_of, is_healthy

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

LIMIT = "core.restart.state."
AT_ONCE = {LIMIT + "FIRST_BACKOFF_SECONDS": 0.02}
NO_LOOP = {
    **AT_ONCE,
    LIMIT + "MAX_BACKOFF_SECONDS": 0.02,
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


def crash(client: SidecarClient, text: str = "fail", *, reason: str = "killed") -> None:
    payload = failure_of(client.turn(text))
    assert (payload["type"], payload["reason"]) == ("agent_crash", reason)


def test_an_agent_killed_between_prompts_is_restarted_for_the_next(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("says-its-life", memory=tmp_path)
    client.open()
    assert is_healthy(client.turn("hello"))
    os.kill(memory.pids()[0], signal.SIGKILL)
    client.expect_stderr("the agent ended: killed by SIGKILL")
    assert len(memory.pids()) == 1
    # With the first backoff as it is: one second.
    remembers(client, 2)
    assert len(memory.pids()) == 2
    assert client.end() == 0
    assert client.said.index("life 1\n") < client.said.index("life 2\n")


@linux_only
def test_an_agent_that_ignores_a_cancel_and_sigterm_is_replaced_for_the_next_prompt(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    options = ["--cancel-grace", "0.3"]
    client = start("ignores-cancel-and-sigterm", memory=tmp_path, options=options)
    client.open()
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    remembers(client, 2)
    first, second = memory.pids()
    assert first not in left_behind.processes(client.mark)
    assert second in left_behind.processes(client.mark)


@linux_only
def test_a_dead_agents_children_end_while_the_next_serves_and_nothing_outlives_the_sidecar(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    # Long enough to be seen.
    limits = {**AT_ONCE, "sidecar.child.SIGNALLED_GRACE_SECONDS": 5.0}
    client = start("leaves-stubborn-child", memory=tmp_path, limits=limits)
    client.open()

    def sleepers() -> list[int]:
        found = left_behind.processes(client.mark).items()
        return [pid for pid, command in found if command == "sleep 60"]

    crash(client)
    client.read_until_true(lambda: len(sleepers()) == 1, "the child")
    remembers(client, 2)
    client.read_until_true(lambda: not sleepers(), "the end of the child")
    assert is_healthy(client.turn("hello"))
    crash(client)
    remembers(client, 5)
    assert memory.pids()[-1] in left_behind.processes(client.mark)
    client.signal(signal.SIGKILL)
    client.wait()
    assert left_behind.wait_for_none(client.mark) == {}


def until_recorder_runs(client: SidecarClient) -> None:
    """The record's file is opened with the first prompt."""
    folder = Path(f"/proc/{client.pid}/fd")

    def is_open() -> bool:
        # One that is closed meanwhile is its own name.
        return any(os.path.realpath(each).endswith(".jsonl") for each in folder.iterdir())

    client.read_until_true(is_open, "the recorder")


def _holdings(client: SidecarClient) -> tuple[int, int]:
    """How many descriptors and children the sidecar has, zombies included."""
    pid = client.pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return len(os.listdir(f"/proc/{pid}/fd")), len(children.read().split())


def test_a_client_that_reads_nothing_while_the_agent_dies_and_returns_misses_nothing(
    start: Start, tmp_path: Path, memory: Memory
) -> None:
    client = start("many-frames-in-first-life", memory=tmp_path, limits=AT_ONCE)
    client.open()
    since = len(client.frames)
    first = client.prompt()
    client.stdout.reading = False
    client.expect_stderr("the agent ended: killed by SIGKILL")
    second = client.prompt("recall")
    client.read_until_true(lambda: len(memory.pids()) == 2, "the second life")
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
    client = start("kills-itself", memory=tmp_path, limits=NO_LOOP)
    client.open()
    files, children = _holdings(client)
    crash(client)
    until_recorder_runs(client)
    left = until_settled(client)
    # Without the three of the dead agent: room for a pipe and a half.
    resource.prlimit(client.pid, resource.RLIMIT_NOFILE, (left, 1024))
    for _ in range(5):
        crash(client, "hello", reason="spawn_failed")
    client.expect_stderr("the agent could not be started")
    assert until_settled(client) <= left
    resource.prlimit(client.pid, resource.RLIMIT_NOFILE, (1024, 1024))
    remembers(client, 2)

    def holds_no_more() -> bool:
        # What is open for a moment may have been counted, or be there now; the record is one more.
        return all(map(operator.le, _holdings(client), (files + 1, children)))

    client.read_until_true(holds_no_more, f"no more than {files + 1} and {children}")


def until_settled(client: SidecarClient) -> int:
    """How many descriptors it has open once it opens and closes none any more."""
    counts: list[int] = []

    def stays() -> bool:
        counts.append(_holdings(client)[0])
        return counts[-20:] == [counts[-1]] * 20

    client.read_until_true(stays, "what it needs being open")
    return counts[-1]
