"""Processes: what an agent leaves behind, and an agent that leaves where it was started."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.kit.gateway.serving import is_running
from tests.process.attacks.client import payload_of
from tests.process.attacks.conftest import GRACE
from tests.process.attacks.watched import CANCELLED, END_TURN

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

LEAVES: Life = {
    "start": [["leave_group"]],
    "session/prompt": [[["hang"]]],
    "end": [["hang"]],
    "capabilities": {"loadSession": True},
}
"""It leaves its process group, and hangs at a prompt and at the end of its input."""

HEALTHY: Life = {"capabilities": {"loadSession": True}}


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGKILL])
def test_an_agent_that_left_its_group_ends_however_lastword_ends(
    attack: Attack, number: int | None
) -> None:
    ignores = [["ignore", "SIGTERM"]] if number == signal.SIGTERM else []
    with attack.run({**LEAVES, "start": [["leave_group"], *ignores]}) as client:
        client.open()
        (agent,) = attack.pids("started")
        if number is None:
            client.close_stdin()
        else:
            client.signal(number)
        client.wait()
        if number == signal.SIGKILL:  # then another process sees to it
            client.read_until_true(lambda: not is_running(agent), "the end of the agent")
        assert not is_running(agent)


def test_the_next_prompt_is_answered_after_such_an_agent_ignores_a_cancel(
    attack: Attack,
) -> None:
    with attack.run(LEAVES, HEALTHY, options=(GRACE,)) as client:
        client.open()
        prompt = client.prompt("Hang.")
        client.cancel()
        assert client.answer(prompt)["result"] == CANCELLED
        assert client.turn("Again.")["result"] == END_TURN
        client.read_until_true(lambda: not is_running(attack.pids("started")[0]), "the agent's end")


# An exit with status 0 in mid-turn is a crash (FAIL-3), for its group as well.


@pytest.mark.parametrize("dies", [["exit", 0], ["kill"]])
def test_an_agent_that_ended_in_mid_turn_loses_its_group_but_not_its_daemon(
    attack: Attack, dies: list[object]
) -> None:
    leaves = [["worker", "group"], ["worker", "session"], dies]
    with attack.run({"session/prompt": [leaves]}, HEALTHY) as client:
        client.open()
        assert payload_of(client.turn())["type"] == "agent_crash"
        # By now the next agent serves, and the group of the first has been seen to.
        client.new_session()
        client.close_stdin()
        client.wait()
        of_its_group, daemon = attack.pids("worker")
        client.read_until_true(lambda: not is_running(of_its_group), "the end of the group")
        assert is_running(daemon)
