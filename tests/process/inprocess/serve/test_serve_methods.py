"""Handlers without an SDK: which params they are given, and what their client gets for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.process.inprocess.serve.conftest import Serve


def test_a_turn_is_taken_with_two_handlers_alone(serve: Serve) -> None:
    client = serve()
    result = client.open()["result"]
    assert result["protocolVersion"] == 1
    assert set(result["agentCapabilities"]) == {"_meta"}
    assert client.turn("say Hello there.").text == "Hello there."
    assert client.end() == 0
    assert client.said == ""


def test_params_come_by_name_in_snake_case(serve: Serve) -> None:
    client = serve()
    client.open()
    assert client.session == "/[]"


@pytest.mark.parametrize(
    ("params", "taken"),
    [
        ({"firstName": 1, "second": 2, "third": 3}, [1, 2]),
        ({"firstName": {"innerName": 1}}, [{"innerName": 1}, "none"]),
        ({"first_name": None, "client": 1, "_": 2, "self": 3}, [None, "none"]),
    ],
)
def test_a_handler_gets_the_params_that_it_takes(
    serve: Serve, params: dict[str, Any], taken: list[Any]
) -> None:
    client = serve()
    client.send(id=9, method="_test/two", params=params)
    assert client.answer(9)["result"] == taken


def test_a_handler_that_takes_all_params_gets_all(serve: Serve) -> None:
    client = serve()
    params = {"_meta": {"a": 1}, "sessionId": "s", "MCPServers": [], "with space": 1, "bound": 2}
    answer = client.answer(client.request("_test/everything", **params))
    assert answer["result"]["params"] == {
        "_meta": {"a": 1},
        "session_id": "s",
        "mcp_servers": [],
        "with space": 1,
        "bound": 2,
    }


def test_a_missing_param_is_named_as_it_goes_over_the_wire(serve: Serve) -> None:
    client = serve()
    error = client.answer(client.request("_test/two", second=1))["error"]
    assert error["code"] == -32602
    assert error["message"] == 'Invalid params: _test/two needs "firstName".'
    assert error["data"] == {"details": error["message"]}


@pytest.mark.parametrize("params", [[1, 2], "text", 7, True])
def test_params_that_are_no_object_are_refused(serve: Serve, params: Any) -> None:
    client = serve()
    client.send(id=9, method="_test/two", params=params)
    error = client.answer(9)["error"]
    assert error["code"] == -32602
    assert "an object" in error["message"]


@pytest.mark.parametrize("params", [{}, {"params": None}])
def test_params_may_be_left_out(serve: Serve, params: dict[str, Any]) -> None:
    client = serve()
    client.send(id="x", method="_test/nothing", **params)
    assert client.answer("x")["result"] == {}


def test_members_at_the_root_that_nobody_knows_are_no_matter(serve: Serve) -> None:
    client = serve()
    client.send(id=9, method="_test/nothing", params={}, traceparent="00-1", extra=[1])
    assert client.answer(9)["result"] == {}


def test_an_unknown_method_is_answered_and_an_unknown_notification_left_alone(serve: Serve) -> None:
    client = serve()
    client.send(method="_nobody/knows", params={})
    error = client.answer(client.request("_nobody/knows" + "x" * 9000))["error"]
    assert error["code"] == -32601
    assert len(error["message"]) < 300
    assert error["data"] == {"details": error["message"]}
    assert client.end() == 0
    assert client.said == ""
    assert [frame.get("method") for frame in client.frames] == [None, "_test/served"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"code": -32601, "message": "No", "data": {"a": 1}}, [-32601, "No", {"a": 1}]),
        ({"code": "x"}, [-32603, "it gave no reason", None]),
        ("odd", [-32603, "it gave no reason", None]),
    ],
)
def test_a_client_that_answers_with_an_error_is_an_exception(
    serve: Serve, error: Any, told: list[Any]
) -> None:
    client = serve()
    client.open()
    client.prompt("question why")
    asked = client.expect_method("_test/ask")
    client.send(id=asked["id"], error=error)
    client.expect_text(json.dumps(told))


def test_handlers_know_what_the_client_said_of_itself(serve: Serve) -> None:
    client = serve()
    client.open(fs={"readTextFile": True})
    told = json.loads(client.turn("introduce").text)
    assert told == [{"fs": {"readTextFile": True}}, client.info]


def test_a_question_of_a_cancelled_turn_is_taken_back(serve: Serve) -> None:
    client = serve()
    client.open()
    prompt = client.prompt("question why")
    asked = client.expect_method("_test/ask")
    assert asked["params"] == {"question": "why"}
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    taken_back = client.expect_method("$/cancel_request")
    assert taken_back["params"] == {"requestId": asked["id"]}
    assert client.serves_on()
    assert client.said == ""


def test_an_update_that_has_no_kind_fails_its_turn(serve: Serve) -> None:
    client = serve()
    client.open()
    error = client.turn("update_without_kind").error
    assert (error["type"], error["reason"]) == ("internal", "uncaught_exception")
    assert client.serves_on()


def test_an_error_of_the_authors_own_keeps_its_code_and_words_and_is_not_logged(
    serve: Serve,
) -> None:
    client = serve()
    client.open()
    error = client.call("_test/error")["error"]
    assert error == {"code": -32001, "message": "Nothing by that name", "data": {"name": "x"}}
    error = client.turn("error_of_its_own").answer["error"]
    assert (error["code"], error["message"]) == (-32001, "Nothing by that name")
    assert error["data"]["name"] == "x"
    assert client.end() == 0
    assert client.said == ""


def test_an_error_whose_data_is_no_json_keeps_its_code_and_words(serve: Serve) -> None:
    error = serve().call("_test/odd_error")["error"]
    assert (error["code"], error["message"]) == (-32099, "Odd")


def test_the_traceback_in_the_authors_log_begins_with_the_authors_code(serve: Serve) -> None:
    client = serve()
    client.open()
    client.turn("fail throttled")
    client.expect_stderr("The handler of session/prompt raised RateLimitError.")
    client.expect_stderr("RateLimitError: 429")
    assert "doors/serve.py" in client.said
    assert "request.py" not in client.said
    assert "handling.py" not in client.said
