"""A process that lives long: thousands of turns leave no memory and no task behind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.doors import DoorClient
    from tests.process.inprocess.sdk.conftest import StartKind

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
    start_kind: StartKind, turns: int
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
