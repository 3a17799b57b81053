"""What a handler, or a task of it, sends when its turn has been answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.doors import DoorClient

END_TURN = {"stopReason": "end_turn"}


@pytest.fixture(params=["sdk", "trio"])
def door(request: pytest.FixtureRequest) -> str:
    """The guard, and `serve` on one of its event loops."""
    name: str = request.param
    return name


def test_updates_after_a_healthy_turns_answer_pass_and_are_logged(client: DoorClient) -> None:
    # A new session's commands belong to no turn.
    client.open_session("commands")
    assert client.take("say", "commands")["result"] == END_TURN
    assert client.settled() == []
    assert len(client.updates("available_commands_update")) == 1
    assert client.take("late")["result"] == END_TURN
    client.go_on()
    client.expect_text("late")
    [said] = client.settled()
    assert "session/update was sent after the answer to its own session/prompt" in said
    assert "sent, out of turn" in said


def test_updates_after_a_failed_turns_answer_are_dropped_and_a_question_is_refused(
    client: DoorClient,
) -> None:
    assert "error" in client.take("late value_error")
    client.go_on()
    client.expect_line("and is dropped")
    assert len(client.settled()) == 1
    assert client.texts == ["said"]
    assert "error" in client.take("ask_late value_error")
    client.go_on()
    client.expect_line("refused: -32800")
    assert len(client.settled()) == 2
    assert not [f for f in client.frames if f.get("method") == "session/request_permission"]


def test_a_task_that_outlives_the_failed_turn_it_began_in_works_for_the_turns_after_it(
    client: DoorClient,
) -> None:
    own = client.session
    client.open_session("s2")
    assert "error" in client.take("queue value_error")
    assert client.take("queue")["result"] == END_TURN
    assert client.take("queue", "s2")["result"] == END_TURN
    prompt = client.prompt("queue ask")
    question = client.expect_method("session/request_permission")
    client.send(id=question["id"], result={"outcome": {"outcome": "selected", "optionId": "yes"}})
    assert client.answer(prompt)["result"] == END_TURN
    assert client.settled() == []
    assert client.texts == [
        *(f"value_error in {own}", f" in {own}", " in s2", f"ask in {own}", "selected")
    ]
