"""What a handler returned: one typed outcome each, and one line where the author can mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.sdk.conftest import Start

NO_STOP_REASON = "the handler of session/prompt returned no stop reason"
UNKNOWN_STOP_REASON = "returned a stop reason that the protocol does not know"
NO_JSON = "The handler of session/prompt returned what cannot be sent as JSON"


@pytest.mark.parametrize(
    ("what", "error_type", "reason", "line"),
    [
        ("nothing", "protocol_error", "no_stop_reason", NO_STOP_REASON),
        ("text", "protocol_error", "no_stop_reason", NO_STOP_REASON),
        ("no_stop_reason", "protocol_error", "no_stop_reason", NO_STOP_REASON),
        ("unknown_stop_reason", "unknown", "unknown_stop_reason", UNKNOWN_STOP_REASON),
        ("object", "internal", "uncaught_exception", NO_JSON),
    ],
)
def test_a_handler_that_returns_no_answer_ends_its_turn_typed_and_its_author_is_told(
    start: Start, what: str, error_type: str, reason: str | None, line: str | None
) -> None:
    agent = start().opened()
    answer = agent.take(f"return {what}")
    failure = answer["error"]["data"]["agent_error"]
    assert (failure["type"], failure.get("reason")) == (error_type, reason)
    assert failure["phase"] == "mid_output"
    assert answer["error"]["code"] == -32603
    assert answer["error"]["message"]
    assert answer["error"]["data"]["details"]
    # The next turn of the same session is an ordinary one.
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert len(agent.told) == (1 if line else 0)
    assert all(line in said for said in agent.told if line)


@pytest.mark.parametrize(
    ("what", "meta"), [("bytes", {"raw": "/w=="}), ("not_a_number", {"rate": None})]
)
def test_a_returned_value_that_json_has_no_word_for_is_sent_as_the_nearest_that_it_has(
    start: Start, what: str, meta: dict[str, object]
) -> None:
    agent = start().opened()
    assert agent.take(f"return {what}")["result"] == {"stopReason": "end_turn", "_meta": meta}
    assert agent.end() == 0
    assert agent.told == []


def test_a_turn_that_shows_nothing_is_an_error_and_its_author_is_told(start: Start) -> None:
    agent = start().opened()
    error = agent.take("silent")["error"]
    assert error["data"]["agent_error"]["reason"] == "silent_success"
    assert agent.end() == 0
    [said] = agent.told
    assert "returned without having shown anything" in said


def test_a_turn_that_shows_nothing_passes_where_the_user_allows_it(start: Start) -> None:
    agent = start(LASTWORD_SILENT_SUCCESS="pass").opened()
    assert agent.take("silent")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_handler_that_answers_twice_is_heard_once_and_its_author_is_told(start: Start) -> None:
    agent = start().opened()
    prompt = agent.prompt("twice 2")
    assert agent.answer(prompt)["result"] == {"stopReason": "max_tokens"}
    agent.expect_line("answer once, by returning from the handler")
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert len(agent.answers(prompt)) == 1
    assert len(agent.told) == 1


def test_what_a_healthy_turn_sends_after_its_answer_passes_and_its_author_is_told(
    start: Start,
) -> None:
    agent = start().opened()
    assert agent.take("late")["result"] == {"stopReason": "end_turn"}
    agent.notify("_go")
    agent.expect_words("late")
    assert agent.end() == 0
    [said] = agent.told
    assert "session/update was sent after the answer to its own session/prompt" in said
    assert "sent, out of turn" in said


def test_what_a_failed_turn_sends_after_its_answer_is_dropped_and_its_author_is_told(
    start: Start,
) -> None:
    agent = start().opened()
    assert "error" in agent.take("late value_error")
    agent.notify("_go")
    agent.expect_line("and is dropped")
    agent.roundtrip()
    assert agent.end() == 0
    assert [update["content"]["text"] for update in agent.updates("agent_message_chunk")] == [
        "said"
    ]
    assert len(agent.told) == 1


def test_a_question_that_a_failed_turn_asks_after_its_answer_is_refused_to_the_agent(
    start: Start,
) -> None:
    agent = start().opened()
    assert "error" in agent.take("asks_late value_error")
    agent.notify("_go")
    assert "refused: -32800" in agent.expect_line("refused:")
    assert agent.end() == 0
    assert not [f for f in agent.frames if f.get("method") == "session/request_permission"]
    assert len(agent.told) == 1


def test_a_task_that_outlives_the_failed_turn_it_began_in_works_for_the_turns_after_it(
    start: Start,
) -> None:
    agent = start().opened().open_session("s2")
    assert "error" in agent.take("queue value_error")
    assert agent.take("queue")["result"] == {"stopReason": "end_turn"}
    assert agent.take("queue", "s2")["result"] == {"stopReason": "end_turn"}
    prompt = agent.prompt("queue ask")
    question = agent.expect(lambda frame: frame.get("method") == "session/request_permission")
    outcome = {"outcome": "selected", "optionId": "yes"}
    agent.send(id=question["id"], result={"outcome": outcome})
    assert agent.answer(prompt)["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert [update["content"]["text"] for update in agent.updates("agent_message_chunk")] == [
        *("value_error in s1", " in s1", " in s2", "ask in s1", "selected")
    ]
    assert agent.told == []


def test_a_new_sessions_commands_may_follow_its_answer(start: Start) -> None:
    agent = start().opened().open_session("commands")
    assert agent.take("hello", "commands")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert len(agent.updates("available_commands_update")) == 1
    assert agent.told == []
