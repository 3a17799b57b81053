"""A turn behind every door: what passes as it was, in which order, and who is told of silence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import texts

if TYPE_CHECKING:
    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Start

END_TURN = {"stopReason": "end_turn"}


@pytest.fixture(params=["sdk", "trio"])
def door(request: pytest.FixtureRequest) -> str:
    """The guard, and `serve` on one of its event loops."""
    name: str = request.param
    return name


def test_a_healthy_turn_is_answered_and_nothing_is_logged(start: Start) -> None:
    client = start()
    result = client.open()["result"]
    assert result["protocolVersion"] == 1
    assert result["agentCapabilities"]["_meta"]["agent_error"]["version"] == 1
    turn = client.turn("say Hello there.")
    assert turn.text == "Hello there."
    assert turn.answer["result"] == END_TURN
    assert client.end() == 0
    assert client.said == ""


def test_messages_are_handled_in_the_order_in_which_they_came(client: DoorClient) -> None:
    lines = [
        {
            "jsonrpc": "2.0",
            "id": f"n{number}",
            "method": "session/prompt",
            "params": {"sessionId": "s", "prompt": [{"type": "text", "text": f"say {number}"}]},
        }
        for number in range(200)
    ]
    client.send_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    client.answer("n199")
    assert client.texts == [str(number) for number in range(200)]


def test_a_prompt_before_initialize_is_served_and_logged(start: Start) -> None:
    client = start()
    assert client.take("say")["result"] == END_TURN
    assert client.turn("fail value_error").error["type"] == "auth"
    assert client.end() == 0
    [said] = client.told
    assert "The client sent session/prompt before initialize" in said


def test_a_second_agent_on_the_same_stdin_is_refused_and_the_first_continues(
    client: DoorClient,
) -> None:
    assert client.take("serve_too")["result"] == END_TURN
    assert "stdin and stdout serve the client of another agent" in "".join(client.texts)
    assert client.goes_on()


def test_a_client_that_does_not_read_slows_the_agent_and_loses_nothing(start: Start) -> None:
    client = start(reads=False)
    client.request("initialize", protocolVersion=1)
    prompt = client.prompt("many 4000")
    waiting = client.request("_wait")
    client.go_on()
    client.read()
    client.answer(prompt)
    assert [text[:6] for text in texts(client.frames)] == [f"{number:06}" for number in range(4000)]
    client.go_on()
    assert client.answer(waiting)["result"] == {"echo": {}}


def test_a_line_that_is_not_a_message_is_answered(start: Start) -> None:
    client = start()
    client.send_bytes(b'no json\n[]\n\xff\xfe\n{"id":1')
    client.close_stdin()
    client.wait()
    codes = [frame["error"]["code"] for frame in client.frames]
    assert codes == [-32700, -32600, -32700, -32700]


# --- what comes too late


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
    client.open_session("s2")
    client.prompt("hang", "s2")  # another session's open turn changes nothing
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
