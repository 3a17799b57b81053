"""Processes: what an agent leaves behind, and an agent that leaves where it was started."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

END_TURN = {"stopReason": "end_turn"}
LEAVES: Life = {
    "start": [["leave_group"]],
    "session/prompt": [[["hang"]]],
    "end": [["hang"]],
    "capabilities": {"loadSession": True},
}
"""It leaves its process group, and hangs at a prompt and at the end of its input."""

HEALTHY: Life = {"capabilities": {"loadSession": True}}


def alive(pid: int) -> bool:
    """Does the process run? One that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_an_agent_that_left_its_group_is_ended_when_the_client_leaves(attack: Attack) -> None:
    with attack.run(LEAVES) as client:
        client.open()
        (agent,) = attack.pids("started")
        client.close_stdin()
        client.wait()
        assert not alive(agent)


def test_an_agent_that_left_its_group_is_ended_when_lastword_is_told_to_stop(
    attack: Attack,
) -> None:
    agent = {**LEAVES, "start": [["leave_group"], ["ignore", "SIGTERM"]]}
    with attack.run(agent) as client:
        client.open()
        (pid,) = attack.pids("started")
        client.signal(signal.SIGTERM)
        client.wait()
        assert not alive(pid)


def test_an_agent_that_left_its_group_is_ended_when_lastword_is_killed(attack: Attack) -> None:
    with attack.run(LEAVES) as client:
        client.open()
        (pid,) = attack.pids("started")
        client.signal(signal.SIGKILL)
        client.read_until_true(lambda: not alive(pid), "the end of the agent")


def test_after_a_cancel_that_such_an_agent_does_not_confirm_the_next_prompt_is_answered(
    attack: Attack,
) -> None:
    with attack.run(LEAVES, HEALTHY, options=("--cancel-grace=0.5",)) as client:
        client.open()
        prompt = client.prompt("Hang.")
        client.cancel()
        assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
        assert client.turn("Again.")["result"] == END_TURN


# An exit with status 0 in mid-turn is a crash (FAIL-3), for its group as well.


@pytest.mark.parametrize("dies", [["exit", 0], ["exit", 1], ["kill"]])
def test_what_an_agent_that_ended_in_mid_turn_left_in_its_group_is_ended(
    attack: Attack, dies: list[object]
) -> None:
    with attack.run({"session/prompt": [[["worker", "group"], dies]]}, HEALTHY) as client:
        client.open()
        assert payload_of(client.turn())["type"] == "agent_crash"
        (worker,) = attack.pids("worker")
        client.close_stdin()
        client.wait()
        assert not alive(worker)


@pytest.mark.parametrize("dies", [["exit", 0], ["exit", 1], ["kill"]])
def test_a_daemon_in_a_session_of_its_own_is_left_alone(attack: Attack, dies: list[object]) -> None:
    with attack.run({"session/prompt": [[["worker", "session"], dies]]}, HEALTHY) as client:
        client.open()
        assert payload_of(client.turn())["type"] == "agent_crash"
        # By now the next agent serves, and the group of the first has been seen to.
        client.call("session/new", cwd="/", mcpServers=[])
        client.close_stdin()
        client.wait()
        (worker,) = attack.pids("worker")
        assert alive(worker)


def test_an_agent_that_leaves_on_good_terms_while_idle_keeps_what_it_started(
    attack: Attack,
) -> None:
    agent = {"_test/leave": [[["worker", "group"], ["exit", 0]]]}
    with attack.run(agent) as client:
        client.open()
        client.notify("_test/leave")
        assert client.wait() == 0
        (worker,) = attack.pids("worker")
        assert alive(worker)
        os.kill(worker, signal.SIGKILL)
