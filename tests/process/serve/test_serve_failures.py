"""What comes of handlers that raise, or return what they should not."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import TYPED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.serve_client import ServeClient

    Start = Callable[..., ServeClient]


@pytest.mark.parametrize(
    ("prompt", "error_type", "reason"),
    [
        ("throttled", "rate_limit", None),
        ("group", "rate_limit", None),
        ("nested_group", "rate_limit", None),
        ("base_exception", "unknown", None),
        ("nothing", "protocol_error", "no_stop_reason"),
        ("a_string", "protocol_error", "no_stop_reason"),
        ("a_new_reason", "unknown", "unknown_stop_reason"),
        ("no_json", "internal", "uncaught_exception"),
        ("update_without_kind", "internal", "uncaught_exception"),
        ("fail_and_catch", "budget", None),
        ("no_such_handler", "internal", "uncaught_exception"),
    ],
)
def test_a_failing_handler_ends_its_turn_typed_and_the_next_one_is_taken(
    start: Start, prompt: str, error_type: str, reason: str | None
) -> None:
    client = start()
    client.open(**TYPED)
    turn = client.turn(prompt)
    assert turn.kinds == ["agent_error"]
    assert turn.error["type"] == error_type
    assert turn.error.get("reason") == reason
    assert client.turn("say").answer["result"] == {"stopReason": "end_turn"}
    assert client.end() == 0


def test_the_words_of_turn_fail_reach_the_user_whoever_catches_it(start: Start) -> None:
    client = start()
    client.open()
    assert client.turn("fail_and_catch").error["message"] == (
        "The team's money is gone. Ask for more."
    )


def test_a_cancellation_that_nobody_asked_for_is_a_failure(start: Start) -> None:
    client = start()
    client.open()
    assert "error" in client.turn("cancel_itself").answer
    assert client.turn("say").text == "Hello."


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("throttled", "The handler of session/prompt raised RateLimitError."),
        ("base_exception", "raised Odd, which is no Exception"),
        ("no_json", "cannot be sent as JSON"),
        ("nothing", "returned no stop reason"),
    ],
)
def test_the_author_is_told_on_stderr(start: Start, prompt: str, words: str) -> None:
    client = start()
    client.open()
    client.turn(prompt)
    client.expect_stderr(words)


def test_the_traceback_in_the_authors_log_begins_with_the_authors_code(start: Start) -> None:
    client = start()
    client.open()
    client.turn("throttled")
    client.expect_stderr("RateLimitError: 429")
    assert "served_agent.py" in client.said
    assert "request.py" not in client.said
    assert "handling.py" not in client.said


@pytest.mark.parametrize("prompt", ["exit", "exit_deep_down"])
def test_a_handler_that_ends_the_process_does_so_after_every_turn_was_answered(
    start: Start, prompt: str
) -> None:
    client = start()
    client.open(**TYPED)
    other = client.prompt("wait")
    client.expect_text("waiting")
    turn = client.turn(prompt)
    assert turn.error["type"] == "agent_crash"
    error = client.answer(other)["error"]["data"]["agent_error"]
    assert error["reason"] == "premature_exit"
    assert client.wait() == 3
    assert "Traceback" not in client.said


def test_an_interrupt_ends_every_turn_before_the_process(start: Start) -> None:
    client = start()
    client.open()
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.signal(signal.SIGINT)
    error = client.answer(prompt)["error"]["data"]["agent_error"]
    assert (error["type"], error["reason"]) == ("agent_crash", "premature_exit")
    assert client.wait() != 0


def test_an_error_of_the_authors_own_keeps_its_code_and_words(start: Start) -> None:
    client = start()
    client.open()
    error = client.answer(client.request("_test/error"))["error"]
    assert error == {"code": -32001, "message": "Nothing by that name", "data": {"name": "x"}}
    error = client.turn("error_of_its_own").answer["error"]
    assert (error["code"], error["message"]) == (-32001, "Nothing by that name")
    assert error["data"]["name"] == "x"
    assert client.end() == 0
    assert client.said == ""


def test_an_error_whose_data_is_no_json_keeps_its_code_and_words(start: Start) -> None:
    client = start()
    error = client.answer(client.request("_test/odd_error"))["error"]
    assert (error["code"], error["message"]) == (-32099, "Odd")


@pytest.mark.parametrize(
    ("method", "error_type"), [("_test/raises", "rate_limit"), ("_test/no_json", "internal")]
)
def test_a_request_that_is_no_prompt_fails_typed_too(
    start: Start, method: str, error_type: str
) -> None:
    client = start()
    client.open()
    error = client.answer(client.request(method))["error"]
    assert error["data"]["agent_error"]["type"] == error_type


def test_a_notification_whose_handler_fails_is_its_authors_alone_to_know(start: Start) -> None:
    client = start()
    client.send(method="_test/note", params={})
    client.expect_stderr("the note's own failure")
    assert client.turn("say").text == "Hello."


def test_a_secret_of_the_environment_does_not_reach_the_client(start: Start) -> None:
    secret = "s3cr3t-0123456789-abcdef"
    client = start(environment={"TEST_API_KEY": secret})
    client.open(**TYPED)
    client.turn("tell_a_secret")
    assert secret not in str(client.frames)


def test_what_comes_after_the_answer_is_sent_and_the_author_told(start: Start) -> None:
    client = start()
    client.open()
    assert client.turn("speak_later").text == "now"
    client.go_on()
    client.expect_text("later")
    client.expect_stderr("after the answer to its own session/prompt")
