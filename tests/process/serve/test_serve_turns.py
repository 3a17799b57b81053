"""What a handler is given, what its client gets, and in which order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.serve_client import ServeClient

    Start = Callable[..., ServeClient]


def test_a_turn_is_taken_with_two_handlers_alone(start: Start) -> None:
    client = start()
    result = client.open()["result"]
    assert result["protocolVersion"] == 1
    assert set(result["agentCapabilities"]) == {"_meta"}
    turn = client.turn("say Hello there.")
    assert turn.text == "Hello there."
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert client.end() == 0
    assert client.said == ""


def test_params_come_by_name_in_snake_case(start: Start) -> None:
    client = start()
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
    start: Start, params: dict[str, Any], taken: list[Any]
) -> None:
    client = start()
    client.send(id=9, method="_test/two", params=params)
    assert client.answer(9)["result"] == taken


def test_a_handler_that_takes_all_params_gets_all(start: Start) -> None:
    client = start()
    params = {"_meta": {"a": 1}, "sessionId": "s", "MCPServers": [], "with space": 1, "bound": 2}
    answer = client.answer(client.request("_test/everything", **params))
    assert answer["result"]["params"] == {
        "_meta": {"a": 1},
        "session_id": "s",
        "mcp_servers": [],
        "with space": 1,
        "bound": 2,
    }


def test_a_missing_param_is_named_as_it_goes_over_the_wire(start: Start) -> None:
    client = start()
    error = client.answer(client.request("_test/two", second=1))["error"]
    assert error["code"] == -32602
    assert error["message"] == 'Invalid params: _test/two needs "firstName".'
    assert error["data"] == {"details": error["message"]}


@pytest.mark.parametrize("params", [[1, 2], "text", 7, True])
def test_params_that_are_no_object_are_refused(start: Start, params: Any) -> None:
    client = start()
    client.send(id=9, method="_test/two", params=params)
    error = client.answer(9)["error"]
    assert error["code"] == -32602
    assert "an object" in error["message"]


@pytest.mark.parametrize("params", [{}, {"params": None}])
def test_params_may_be_left_out(start: Start, params: dict[str, Any]) -> None:
    client = start()
    client.send(id="x", method="_test/nothing", **params)
    assert client.answer("x")["result"] == {}


def test_members_at_the_root_that_nobody_knows_are_no_matter(start: Start) -> None:
    client = start()
    client.send(id=9, method="_test/nothing", params={}, traceparent="00-1", extra=[1])
    assert client.answer(9)["result"] == {}


def test_an_unknown_method_is_answered_and_an_unknown_notification_left_alone(start: Start) -> None:
    client = start()
    client.send(method="_nobody/knows", params={})
    error = client.answer(client.request("_nobody/knows" + "x" * 9000))["error"]
    assert error["code"] == -32601
    assert len(error["message"]) < 300
    assert error["data"] == {"details": error["message"]}
    assert client.end() == 0
    assert client.said == ""
    assert [frame.get("method") for frame in client.frames] == [None, "_test/served"]


def test_messages_are_handled_in_the_order_in_which_they_came(start: Start) -> None:
    client = start()
    client.open()
    texts = [f"say {number}" for number in range(200)]
    lines = [
        {
            "jsonrpc": "2.0",
            "id": 1000 + number,
            "method": "session/prompt",
            "params": {"sessionId": "s", "prompt": [{"type": "text", "text": text}]},
        }
        for number, text in enumerate(texts)
    ]
    client.send_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    client.answer(1199)
    seen = [f["params"]["update"]["content"]["text"] for f in client.frames if "params" in f]
    assert seen == [str(number) for number in range(200)]


def test_a_handler_asks_the_client(start: Start) -> None:
    client = start()
    client.open()
    prompt = client.prompt("ask why")
    asked = client.expect(lambda frame: frame.get("method") == "_test/ask")
    assert asked["params"] == {"question": "why"}
    client.send(id=asked["id"], result={"because": [1, None]})
    client.expect_text('{"because": [1, null]}')
    assert client.answer(prompt)["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"code": -32601, "message": "No", "data": {"a": 1}}, [-32601, "No", {"a": 1}]),
        ({"code": "x"}, [-32603, "it gave no reason", None]),
        ("odd", [-32603, "it gave no reason", None]),
    ],
)
def test_a_client_that_answers_with_an_error_is_an_exception(
    start: Start, error: Any, told: list[Any]
) -> None:
    client = start()
    client.open()
    client.prompt("ask why")
    asked = client.expect(lambda frame: frame.get("method") == "_test/ask")
    client.send(id=asked["id"], error=error)
    client.expect_text(json.dumps(told))


def test_handlers_know_what_the_client_said_of_itself(start: Start) -> None:
    client = start()
    client.open(fs={"readTextFile": True})
    told = json.loads(client.turn("introduce").text)
    assert told == [{"fs": {"readTextFile": True}}, {"name": "raw"}]


def test_a_handlers_thread_speaks_of_its_turn(start: Start) -> None:
    client = start()
    client.open()
    turn = client.turn("thread")
    assert turn.text == client.session
    assert turn.error["retry_safety"] == "ask"


def test_a_prompt_before_initialize_is_taken_and_the_author_is_told(start: Start) -> None:
    client = start()
    client.send(
        id=1, method="session/prompt", params={"sessionId": "s", "prompt": [{"text": "say"}]}
    )
    assert client.answer(1)["result"] == {"stopReason": "end_turn"}
    client.expect_stderr("before initialize")


def test_a_client_that_does_not_read_slows_the_agent_and_loses_nothing(start: Start) -> None:
    client = start(reads=False)
    client.send(id=1, method="initialize", params={"protocolVersion": 1})
    content = [{"type": "text", "text": "flood 4000"}]
    client.send(id=2, method="session/prompt", params={"sessionId": "s", "prompt": content})
    client.send(id=3, method="_test/wait", params={})
    client.send(method="_test/go")
    client.read()
    client.answer(2)
    texts = [f["params"]["update"]["content"]["text"][:6] for f in client.frames if "params" in f]
    assert texts == [f"{number:06}" for number in range(4000)]
    assert client.answer(3)["result"] == {"waited": True}


@pytest.mark.parametrize(
    ("line", "code"),
    [(b"no json\n", -32700), (b"[]\n", -32600), (b"\xff\xfe\n", -32700), (b'{"id":1', -32700)],
)
def test_a_line_that_is_no_message_is_answered(start: Start, line: bytes, code: int) -> None:
    client = start()
    client.send_bytes(line)
    client.close_stdin()
    client.wait()
    assert client.frames[0]["error"]["code"] == code
