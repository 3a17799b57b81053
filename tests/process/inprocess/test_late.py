"""What a handler, or a task of it, sends when its turn has been answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.process.inprocess.conftest import Start

END_TURN = {"stopReason": "end_turn"}


def test_what_a_healthy_turn_sends_after_its_answer_passes_and_its_author_is_told(
    start: Start,
) -> None:
    client = start().opened()
    assert client.take("late")["result"] == END_TURN
    client.go_on()
    client.expect_text("late")
    assert client.end() == 0
    [said] = client.told
    assert "session/update was sent after the answer to its own session/prompt" in said
    assert "sent, out of turn" in said


def test_what_a_failed_turn_sends_after_its_answer_is_dropped_and_its_author_is_told(
    start: Start,
) -> None:
    client = start().opened()
    assert "error" in client.take("late value_error")
    client.go_on()
    client.expect_line("and is dropped")
    client.roundtrip()
    assert client.end() == 0
    assert client.texts == ["said"]
    assert len(client.told) == 1


def test_a_question_that_a_failed_turn_asks_after_its_answer_is_refused_to_the_agent(
    start: Start,
) -> None:
    client = start().opened()
    assert "error" in client.take("ask_late value_error")
    client.go_on()
    client.expect_line("refused: -32800")
    assert client.end() == 0
    assert not [f for f in client.frames if f.get("method") == "session/request_permission"]
    assert len(client.told) == 1


def test_a_task_that_outlives_the_failed_turn_it_began_in_works_for_the_turns_after_it(
    start: Start,
) -> None:
    client = start().opened().open_session("s2")
    assert "error" in client.take("queue value_error")
    assert client.take("queue")["result"] == END_TURN
    assert client.take("queue", "s2")["result"] == END_TURN
    prompt = client.prompt("queue ask")
    question = client.expect_method("session/request_permission")
    client.send(id=question["id"], result={"outcome": {"outcome": "selected", "optionId": "yes"}})
    assert client.answer(prompt)["result"] == END_TURN
    assert client.end() == 0
    assert client.texts == ["value_error in s1", " in s1", " in s2", "ask in s1", "selected"]
    assert client.told == []


def test_a_new_sessions_commands_may_follow_its_answer(start: Start) -> None:
    client = start().opened().open_session("commands")
    assert client.take("say", "commands")["result"] == END_TURN
    assert client.end() == 0
    assert len(client.updates("available_commands_update")) == 1
    assert client.told == []
