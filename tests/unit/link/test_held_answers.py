"""Answers that are held back, and what comes meanwhile."""

from __future__ import annotations

from tests.kit.wire import INITIALIZE, INITIALIZED, Wire, prompt, result, second_version, update


def test_a_prompt_that_comes_meanwhile_lets_the_answer_go() -> None:
    wire = Wire()
    wire.client(INITIALIZE)
    wire.agent(INITIALIZED)
    wire.client(prompt())
    wire.agent(result())
    wire.client(prompt(2))
    assert wire.answers() == [result()]


def test_new_work_does_not_overtake_the_idle_state_before_it() -> None:
    wire = second_version()
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    wire.agent(update(**idle))
    wire.agent(update(sessionUpdate="state_update", state="running"))
    wire.time(1)
    assert [told["state"] for told in wire.updates()] == ["running", "idle", "running"]
    assert "error" not in wire.updates()[1]
