"""What a handler raised or returned: one typed outcome each, no secret, and a line to mend it."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import TYPED
from tests.kit.doors import CANARY, DOORS
from tests.process.inprocess.conftest import SECRET

if TYPE_CHECKING:
    from tests.kit.client import Frame
    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Record, Start

END_TURN = {"stopReason": "end_turn"}
NO_EXCEPTION = "which is not an Exception, so its turn fails"
TYPES = {
    "value_error": "auth",
    "json_text": "internal",
    "throttled": "rate_limit",
    "authors_error": "auth",
    "without_data": "provider_unavailable",
    "not_json_data": "provider_unavailable",
    "validation": "protocol_error",
    "base": "unknown",
    "group": "timeout",  # of the two that it holds, the one that is known
    "nested_group": "rate_limit",
    "base_group": "unknown",
    "own_cancel": "unknown",
    "unspeakable": "unknown",
    "wordless": "unknown",
    "recursive": "unknown",
    "unspeakable_cause": "internal",
}
LINES = {
    "base": f"raised Stopped, {NO_EXCEPTION}",
    "base_group": f"raised BaseExceptionGroup, {NO_EXCEPTION}",
    "own_cancel": "the handler cancelled itself, or the agent cancelled its task",
}
AUTHORS_OWN = {"authors_error", "without_data", "not_json_data"}
"""On a request that is no prompt it is the author's own answer: no type is added."""

RETURNED = {
    "nothing": ("protocol_error", "no_stop_reason", "returned no stop reason"),
    "text": ("protocol_error", "no_stop_reason", "returned no stop reason"),
    "no_stop_reason": ("protocol_error", "no_stop_reason", "returned no stop reason"),
    "unknown_stop_reason": ("unknown", "unknown_stop_reason", "that the protocol does not know"),
    "object": ("internal", "uncaught_exception", "value that cannot be sent as JSON"),
    "object_within": ("internal", "uncaught_exception", "value that cannot be sent as JSON"),
}


@pytest.fixture(params=["sdk", "asyncio"])
def door(request: pytest.FixtureRequest) -> str:
    """The guard, and `serve`; on trio `test_scopes` fails as much."""
    name: str = request.param
    return name


def fits_every_client(error: dict[str, Any]) -> bool:
    """An int code, a message that is not empty, `data` that is an object or absent."""
    data = error.get("data", {})
    return type(error["code"]) is int and error["message"] != "" and isinstance(data, dict)


def failed(client: DoorClient, method: str, how: str) -> Frame:
    """The error of a request whose handler raises."""
    if method == "session/prompt":
        answer = client.take(f"fail {how}")
    elif method == "_fail":
        answer = client.call("_fail", how=how)
    else:
        answer = client.call(method, cwd=f"/fail {how}", mcpServers=[])
    error: Frame = answer["error"]
    return error


def test_a_request_whose_handler_raises_gets_a_typed_answer_without_a_secret(
    client: DoorClient,
) -> None:
    told = 0
    for how, error_type in TYPES.items():
        for method in ("session/prompt", "session/new", "_fail"):
            error = failed(client, method, how)
            assert fits_every_client(error), (how, method)
            expected = None if how in AUTHORS_OWN and method != "session/prompt" else error_type
            found = error.get("data", {}).get("agent_error", {}).get("type")
            assert found == expected, (how, method)
            if method == "session/prompt":
                assert error["data"]["details"]
                assert client.goes_on()
        # What its author can mend is said once for each.
        said = client.settled()[told:]
        assert len(said) == (3 if how in LINES else 0), (how, said)
        assert all(LINES[how] in line for line in said)
        told += len(said)
    assert CANARY not in json.dumps(client.frames)
    # The author has the exception with its traceback in the log.
    client.expect_line("RateLimitError: 429 Too Many Requests")
    assert "work.py" in client.said


def test_a_secret_of_the_environment_does_not_reach_the_client(typed: DoorClient) -> None:
    assert "is wrong" in str(typed.take("fail of_environment"))
    assert SECRET not in str(typed.frames)


METHODS = ("__str__", "__repr__", "__getattr__", "__notes__", "__getattribute__")
RAISED = ("exit", "interrupt", "cancel", "base", "recursion")
PLACES = ("alone", "cause", "context", "note", "group", "nested")


def test_a_request_is_answered_even_if_the_exceptions_own_methods_raise(
    typed: DoorClient,
) -> None:
    for method in METHODS:
        for raises in RAISED:
            for place in PLACES:
                turn = typed.turn(f"fail hostile {method} {raises} {place}")
                assert "error" in turn.answer, (method, raises, place)
                assert turn.answer["error"]["message"]
            answer = typed.call("_fail", how=f"hostile {method} {raises} alone")
            assert answer["error"]["code"] == -32603
    assert typed.goes_on()


@pytest.mark.parametrize(
    ("how", "method"), [("exit", "session/new"), ("interrupt", "session/prompt")]
)
def test_a_request_is_answered_before_its_handler_ends_the_process(
    start: Start, how: str, method: str
) -> None:
    client = start().opened()
    failure = failed(client, method, how)["data"]["agent_error"]
    assert (failure["type"], failure["reason"]) == ("agent_crash", "premature_exit")
    assert client.wait() == (3 if how == "exit" else -signal.SIGINT)
    # Who pressed ctrl-C has nothing to mend.
    assert len(client.told) == (how == "exit")
    assert all(f"raised SystemExit, {NO_EXCEPTION}" in said for said in client.told)


@pytest.mark.parametrize(
    ("door", "how"),
    [
        *((door, "exit_deep_down") for door in DOORS),
        # An event loop that ends cancels its tasks in any order.
        *((door, "exit_and_cancel_the_waiting_first") for door in ("sdk", "asyncio")),
    ],
)
def test_every_turn_is_answered_before_a_handler_ends_the_process_from_deep_down(
    start: Start, record: Record, how: str
) -> None:
    client = start().opened(**TYPED)
    other = client.prompt("wait")
    client.expect_text("waiting")
    assert client.turn(how).error["type"] == "agent_crash"
    error = client.answer(other)["error"]["data"]["agent_error"]
    assert error["reason"] == "premature_exit"
    assert client.wait() == 3
    # Both are in the record, which was closed.
    assert record.outcomes == [("failed", "agent_crash")] * 2
    assert record.rows("SELECT ended FROM runs") == [(1,)]


def test_an_interrupt_ends_every_turn_before_the_process(start: Start, door: str) -> None:
    client = start().opened()
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.signal(signal.SIGINT)
    error = client.answer(prompt)["error"]["data"]["agent_error"]
    assert (error["type"], error["reason"]) == ("agent_crash", "premature_exit")
    # The SDK takes an interrupt of its loop for a good end.
    assert (client.wait() == 0) is (door == "sdk")


def test_a_handler_that_returns_no_answer_ends_its_turn_typed_and_is_logged(
    client: DoorClient,
) -> None:
    for number, (what, (error_type, reason, line)) in enumerate(RETURNED.items()):
        error = client.take(f"return {what}")["error"]
        failure = error["data"]["agent_error"]
        assert (failure["type"], failure.get("reason")) == (error_type, reason), what
        assert failure["phase"] == "mid_output"
        assert error["code"] == -32603
        assert error["message"]
        assert error["data"]["details"]
        # The next turn of the same session is an ordinary one.
        assert client.goes_on()
        told = client.settled()
        assert len(told) == number + 1
        assert line in told[-1]
    # A request that is no prompt fails typed, too.
    error = client.call("_return", what="object")["error"]
    assert error["data"]["agent_error"]["type"] == "internal"
    told = client.settled()
    assert client.turn("silent").error["reason"] == "silent_success"
    [said] = client.settled()[len(told) :]
    assert "returned without an answer" in said
    # What JSON cannot express is sent as the nearest that it can.
    for what, meta in (("bytes", {"raw": "/w=="}), ("not_a_number", {"rate": None})):
        assert client.take(f"return {what}")["result"] == END_TURN | {"_meta": meta}
