"""Turns that the agent ends wrongly while its process is well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.client import update_of
from tests.process.sidecar.failing_turn import (
    fails,
    failure_of,
    is_healthy,
    next_request_is_answered,
    payload_of,
    quick,
)

if TYPE_CHECKING:
    from tests.process.sidecar.conftest import Start

TYPED = {"_meta": {"agent_error": {"version": 1}}}


@pytest.mark.parametrize(
    ("mode", "error_type", "reason"),
    [
        ("http-429", "rate_limit", None),
        ("silent-success", "unknown", "silent_success"),
        ("null-result", "protocol_error", "no_stop_reason"),
        ("unknown-stop-reason", "unknown", None),
        ("id-null", "provider_unavailable", None),
        ("error-twice", "provider_unavailable", None),
        ("error-after-text", "network", "connection_lost"),
        ("auth-error", "auth", "login_required"),
        ("empty-error", "internal", None),
        ("string-code", "network", None),
        ("no-message", "internal", None),
        ("text-as-error", "provider_unavailable", None),
    ],
)
def test_a_turn_that_the_agent_ends_wrongly_is_a_typed_failure_and_the_session_goes_on(
    start: Start, mode: str, error_type: str, reason: str | None
) -> None:
    client = start(mode)
    client.open()
    turn = client.turn()
    payload = failure_of(turn)
    assert payload["type"] == error_type
    if reason is not None:
        assert payload["reason"] == reason
    assert turn.seconds < quick()
    assert is_healthy(client.turn("hello"))


def test_a_rate_limit_says_when_to_try_again(start: Start) -> None:
    client = start("http-429")
    client.open()
    payload = failure_of(client.turn())
    assert payload["retry_after_seconds"] == 20
    assert payload["retryable"] is True
    assert payload["retry_safety"] == "auto"
    assert payload["http_status"] == 429
    assert "20 seconds" in payload["message"]


def test_a_client_that_negotiated_gets_the_typed_update_and_the_error(start: Start) -> None:
    client = start("http-429")
    client.open(**TYPED)
    turn = client.turn()
    assert turn.kinds == ["agent_error"]
    assert turn.updates[0]["error"]["type"] == "rate_limit"
    assert payload_of(turn.answer)["type"] == "rate_limit"


def test_a_tool_call_that_was_left_open_is_closed_before_the_failure(start: Start) -> None:
    client = start("error-after-text")
    client.open()
    turn = client.turn()
    assert turn.kinds[-2:] == ["tool_call_update", "session_info_update"]
    assert (turn.updates[-2]["toolCallId"], turn.updates[-2]["status"]) == ("t1", "failed")
    assert failure_of(turn)["retry_safety"] == "ask"


def test_an_answer_whose_id_is_the_number_as_text_is_the_answer(start: Start) -> None:
    client = start("id-as-text")
    client.open()
    assert is_healthy(client.turn())


def test_an_answer_to_somebody_else_never_arrives_and_the_turn_still_ends(start: Start) -> None:
    client = start("foreign-id", options=["--idle-timeout", "0.3", "--cancel-grace", "0.3"])
    client.open()
    assert fails(client) == ("agent_stalled", "idle_timeout")
    assert not [frame for frame in client.frames if frame.get("id") == 987654]


@pytest.mark.parametrize("mode", ["twice", "error-twice"])
def test_only_the_first_of_several_answers_arrives(start: Start, mode: str) -> None:
    client = start(mode)
    client.open()
    first = client.turn()
    # Whatever the agent sent after its first answer came before this one.
    assert is_healthy(client.turn("hello"))
    prompt_id = first.answer["id"]
    assert [f for f in client.frames if f.get("id") == prompt_id] == [first.answer]


def test_what_a_healthy_agent_sends_after_its_answer_still_arrives(start: Start) -> None:
    client = start("talks-afterwards")
    client.open()
    turn = client.turn()
    assert is_healthy(turn)
    assert is_healthy(client.turn("hello"))
    after = client.frames.index(turn.answer) + 1
    kinds = [update_of(frame)["sessionUpdate"] for frame in client.frames[after : after + 2]]
    assert kinds == ["usage_update", "session_info_update"]


@pytest.mark.parametrize(
    ("text", "options"), [("/clear", ()), ("hello", ("--silent-success", "pass"))]
)
def test_a_turn_may_show_nothing_if_the_prompt_or_the_user_says_so(
    start: Start, text: str, options: tuple[str, ...]
) -> None:
    client = start("shows-nothing", options=options)
    client.open()
    turn = client.turn(text)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.updates == []


def test_an_agent_that_repeats_itself_for_ever_is_stopped(start: Start) -> None:
    client = start("runaway")
    client.open()
    assert fails(client) == ("agent_stalled", "runaway")
    assert is_healthy(client.turn("hello"))


def test_a_program_that_writes_its_input_back_is_told_from_an_agent(start: Start) -> None:
    client = start("cat")
    answer = client.initialize()
    payload = payload_of(answer)
    assert (payload["type"], payload["reason"]) == ("protocol_error", "not_acp")
    assert "error" in client.answer(client.request("session/new", cwd="/", mcpServers=[]))
    assert client.end() == 0


def test_an_error_that_hangs_clients_is_mended_also_where_there_is_no_turn(start: Start) -> None:
    client = start("refuses-sessions")
    client.initialize()
    error = client.answer(client.request("session/new", cwd="/", mcpServers=[]))["error"]
    assert error["code"] == -32603
    assert error["message"]
    assert "data" not in error


def test_a_permission_that_a_dead_agent_asked_for_is_withdrawn(start: Start) -> None:
    client = start("permission-then-dies")
    client.open()
    turn = client.turn()
    assert failure_of(turn)["type"] == "agent_crash"
    asked = client.expect_method("session/request_permission")
    withdrawn = client.expect_method("$/cancel_request")
    assert withdrawn["params"] == {"requestId": asked["id"]}
    assert client.frames.index(withdrawn) < client.frames.index(turn.answer)
    # The user's late answer to the dead agent's question disturbs nobody.
    client.send(id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": "yes"}})
    next_request_is_answered(client)


def test_two_questions_under_one_id_do_not_hold_the_turn_open(start: Start) -> None:
    client = start("asks-twice-by-one-id")
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    asked = client.expect_method("session/request_permission")
    for _ in range(2):
        client.send(id=asked["id"], result={"outcome": {"outcome": "cancelled"}})
    assert is_healthy(client.end_of(prompt, since))
    assert is_healthy(client.turn("hello"))


def test_answers_in_another_order_than_the_prompts_are_the_answers(start: Start) -> None:
    client = start("answers-backwards")
    client.open()
    first, second = client.prompt(), client.prompt("hello")
    for prompt in (second, first):
        assert client.answer(prompt)["result"] == {"stopReason": "end_turn"}
    assert is_healthy(client.turn("hello"))


def test_a_tool_call_in_the_wrong_order_holds_no_turn_open(start: Start) -> None:
    client = start("unordered", options=["--tool-timeout", "0.5"])
    client.open()
    assert is_healthy(client.turn())
    client.listen(0.7)
    assert is_healthy(client.turn("hello"))


def test_unknown_methods_are_the_agents_to_answer(start: Start) -> None:
    client = start("healthy")
    client.open()
    answer = client.answer(client.request("_vendor/thing", deep={"er": [1, 2]}))
    assert answer["error"]["message"] == 'There is no method "_vendor/thing".'
    client.go_on()
    assert is_healthy(client.turn("hello"))
