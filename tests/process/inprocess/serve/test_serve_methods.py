"""Handlers without an SDK: which params they are given, and what their client gets for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.kit.doors import DoorClient
    from tests.process.inprocess.serve.conftest import Serve


@pytest.fixture
def door() -> str:
    """One event loop: which params a handler is given is decided before."""
    return "asyncio"


def test_two_handlers_are_enough_for_a_turn_and_an_unknown_method_is_answered(
    serve: Serve,
) -> None:
    client = serve()
    result = client.open()["result"]
    assert result["protocolVersion"] == 1
    assert set(result["agentCapabilities"]) == {"_meta"}
    assert client.turn("say Hello there.").text == "Hello there."
    # Params come by name, in snake case.
    assert client.session == "/[]"
    client.send(method="_nobody/knows", params={})
    error = client.answer(client.request("_nobody/knows" + "x" * 9000))["error"]
    assert error["code"] == -32601
    assert len(error["message"]) < 300
    assert error["data"] == {"details": error["message"]}
    # An error of the author's own keeps its code and words, and is not logged.
    error = client.call("_test/error")["error"]
    assert error == {"code": -32001, "message": "Nothing by that name", "data": {"name": "x"}}
    error = client.turn("error_of_its_own").answer["error"]
    assert (error["code"], error["message"]) == (-32001, "Nothing by that name")
    assert error["data"]["name"] == "x"
    assert client.end() == 0
    assert client.said == ""
    # Descriptors are given back as they were.
    assert client.frames[-1]["params"] == {"blocking": [True, True]}


TAKEN: list[tuple[dict[str, Any], list[Any]]] = [
    ({"firstName": 1, "second": 2, "third": 3}, [1, 2]),
    ({"firstName": {"innerName": 1}}, [{"innerName": 1}, "none"]),
    ({"first_name": None, "client": 1, "_": 2, "self": 3}, [None, "none"]),
]


def test_a_handler_gets_the_params_in_its_signature(served: DoorClient) -> None:
    for params, taken in TAKEN:
        answer = served.answer(served.request("_test/two", **params))
        assert answer["result"] == taken, params
    params = {"_meta": {"a": 1}, "sessionId": "s", "MCPServers": [], "with space": 1, "bound": 2}
    answer = served.answer(served.request("_test/everything", **params))
    assert answer["result"]["params"] == {
        "_meta": {"a": 1},
        "session_id": "s",
        "mcp_servers": [],
        "with space": 1,
        "bound": 2,
    }


def test_params_that_a_handler_does_not_accept_are_refused(served: DoorClient) -> None:
    error = served.call("_test/two", second=1)["error"]
    assert error["code"] == -32602
    # As it goes over the wire.
    assert error["message"] == 'Invalid params: _test/two needs "firstName".'
    assert error["data"] == {"details": error["message"]}
    for number, params in enumerate(([1, 2], "text", 7, True)):
        served.send(id=f"x{number}", method="_test/two", params=params)
        error = served.answer(f"x{number}")["error"]
        assert error["code"] == -32602
        assert "an object" in error["message"]


def test_params_may_be_left_out_and_unknown_root_members_are_ignored(served: DoorClient) -> None:
    odd: list[dict[str, Any]] = [{}, {"params": None}, {"params": {}, "traceparent": "00-1"}]
    for number, members in enumerate(odd):
        served.send(id=f"y{number}", method="_test/nothing", **members)
        assert served.answer(f"y{number}")["result"] == {}


REFUSALS: list[tuple[Any, list[Any]]] = [
    ({"code": -32601, "message": "No", "data": {"a": 1}}, [-32601, "No", {"a": 1}]),
    ({"code": "x"}, [-32603, "it gave no reason", None]),
    ("odd", [-32603, "it gave no reason", None]),
]


def test_a_clients_error_answer_is_raised_as_an_exception(served: DoorClient) -> None:
    for error, told in REFUSALS:
        since = len(served.frames)
        prompt = served.prompt("question why")
        asked = served.expect_method("_test/ask", since=since)
        served.send(id=asked["id"], error=error)
        served.answer(prompt)
        assert served.texts[-1] == json.dumps(told)
    assert "$/cancel_request" not in {frame.get("method") for frame in served.frames}


def test_handlers_receive_the_clients_capabilities_and_info(served: DoorClient) -> None:
    told = json.loads(served.turn("introduce").text)
    assert told == [{"fs": {"readTextFile": True}}, served.info]


def test_a_question_of_a_cancelled_turn_is_withdrawn(served: DoorClient) -> None:
    prompt = served.prompt("question why")
    asked = served.expect_method("_test/ask")
    assert asked["params"] == {"question": "why"}
    served.cancel()
    assert served.answer(prompt)["result"] == {"stopReason": "cancelled"}
    taken_back = served.expect_method("$/cancel_request")
    assert taken_back["params"] == {"requestId": asked["id"]}
    assert served.goes_on()
    assert served.settled() == []


def test_a_failure_of_the_authors_is_answered_and_its_traceback_begins_with_their_code(
    served: DoorClient,
) -> None:
    error = served.turn("update_without_kind").error
    assert (error["type"], error["reason"]) == ("internal", "uncaught_exception")
    # Data that is not JSON costs the error neither its code nor its message.
    error = served.call("_test/odd_error")["error"]
    assert (error["code"], error["message"]) == (-32099, "Odd")
    served.turn("fail throttled")
    served.expect_stderr("The handler of session/prompt raised RateLimitError.")
    served.expect_stderr("RateLimitError: 429")
    served.settled()
    assert "doors/serve.py" in served.said
    assert "request.py" not in served.said
    assert "handling.py" not in served.said


def test_prints_of_a_handler_or_its_child_go_to_stderr_and_neither_reads_the_client(
    served: DoorClient,
) -> None:
    assert served.turn("print").text == "read ''"
    served.expect_stderr("printed noise")
    served.expect_stderr("noise of a child")
