"""Failures of agents that know nothing of the contract, and what libraries make of them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, TypeVar

import acp
import pytest
from acp.schema import AgentMessageChunk, PromptResponse, SessionInfoUpdate, SessionNotification
from pydantic import BaseModel

from lastword.client import model, raise_for_error, read_error, read_retry
from lastword.core.failure.taxonomy import AgentError, ErrorType, RetrySafety
from lastword.errors import AgentLostError, AuthError, PromptFailedError
from tests.kit import places
from tests.kit.rows import every

SAMPLES = [json.loads(line) for line in places.SAMPLES.read_text().splitlines()]


def rpc_error(sample: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON-RPC error of a sample that has that shape."""
    body = sample.get("body")
    error = body.get("error") if isinstance(body, dict) and "jsonrpc" in body else None
    found = error or sample.get("rpc_error")
    return found if isinstance(found, dict) and isinstance(found.get("code"), int) else None


BARE = {sample["name"]: sample for sample in SAMPLES if rpc_error(sample)}


@every("name", BARE)
def test_a_bare_agents_error_is_read_the_same_from_every_shape(name: str) -> None:
    sample = BARE[name]
    error = rpc_error(sample)
    assert error is not None
    told = sure(read_error({"jsonrpc": "2.0", "id": 2, "error": error}))
    assert (told.type, told.retryable) == (sample["type"], sample["retryable"])
    assert told.retry_safety is (RetrySafety.ASK if told.retryable else RetrySafety.NEVER)
    assert told.phase is None
    assert told.message
    raised = acp.RequestError(error["code"], error.get("message", ""), error.get("data"))
    assert read_error(error) == told
    assert read_error(raised) == told
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error"}
    assert read_error(idle | {"error": error}) == told


def test_our_own_words_in_a_bare_error_are_trusted() -> None:
    for error_type in ErrorType:
        data = {"details": "It failed.", "errorKind": error_type.value}
        told = sure(read_error({"code": -32603, "message": "It failed.", "data": data}))
        expected = ErrorType.INTERNAL if error_type is ErrorType.UNKNOWN else error_type
        assert told.type in {error_type, expected}


def test_the_code_that_forbids_a_retry_forbids_it() -> None:
    told = sure(read_error({"code": -31050, "message": "Overloaded", "data": {"status": 529}}))
    assert (told.type, told.retryable) == ("provider_unavailable", False)
    assert told.retry_safety is RetrySafety.NEVER


def test_a_secret_in_an_agents_error_is_not_shown() -> None:
    told = sure(
        read_error({"code": -32603, "message": "Incorrect API key sk-proj-abcdefghij0123456789"})
    )
    assert "abcdefghij" not in str(told)


# --- conventions of single agents ----------------------------------------------------------------


T = TypeVar("T")


def sure(found: T | None) -> T:
    assert found is not None
    return found


def air(severity: str, **failure: object) -> dict[str, Any]:
    failure = {"id": "1", "revision": 1, "severity": severity, **failure}
    return {"_meta": {"jetbrains": {"air": {"sessionFailure": failure}}}}


def test_what_agents_hide_in_meta_is_read_as_a_failure_or_a_retry() -> None:
    failure = air("error", category="access", title="Something happened", actions=["retry"])
    error = sure(read_error({"stopReason": "end_turn", **failure}))
    assert error.type == "auth"
    assert read_error({"stopReason": "end_turn", **air("error", category=[], title={})}) is not None
    warning = air("warning", category="limit", title="Rate limited, retrying in 4 s")
    assert read_error({"stopReason": "end_turn", **warning}) is None
    broken = {"codex": {"threadStatus": {"type": "systemError"}}}
    assert read_error({"stopReason": "end_turn", "_meta": broken}) is not None
    again = {
        "message": "429 Too Many Requests, retry in 4 s",
        "codexErrorInfo": "x",
        "willRetry": True,
    }
    for meta in (warning, {"_meta": {"codex": {"error": again}}}):
        update = {"sessionUpdate": "session_info_update", **meta}
        assert read_error(update) is None
        retry = sure(read_retry({"sessionId": "s", "update": update}))
        assert retry.error is not None
        assert (retry.error.type, retry.wait_seconds) == ("rate_limit", 4)


# --- models and exceptions -----------------------------------------------------------------------

PAYLOAD = {"type": "budget", "message": "No credit left. Top up.", "retryable": False, "by": "x"}
ERROR = AgentError(
    type=ErrorType.BUDGET, message="No credit left. Top up.", retryable=False, extra={"by": "x"}
)


class Odd(BaseModel):
    """A model that cannot be made into JSON."""

    code: int = -32603
    message: str = "Too many requests"
    data: Any = None


def test_models_are_read_like_their_json() -> None:
    meta = {"agent_error": PAYLOAD | {"stopReason": "error"}}
    update = SessionInfoUpdate(session_update="session_info_update", field_meta=meta)
    assert read_error(update) == ERROR
    assert read_error(SessionNotification(session_id="s", update=update)) == ERROR
    assert read_error({"sessionId": "s", "update": update}) == ERROR
    assert read_error(PromptResponse(stop_reason="end_turn", field_meta=meta)) == ERROR
    assert read_error(PromptResponse(stop_reason="end_turn")) is None
    chunk = acp.update_agent_message_text("agent_error")
    assert isinstance(chunk, AgentMessageChunk)
    assert read_error(chunk) is None
    # Our own.
    payload = model.AgentErrorPayload.model_validate(PAYLOAD)
    ours = {"sessionUpdate": "agent_error", "stopReason": "error", "error": payload}
    assert read_error(payload) == ERROR
    assert read_error(ours) == ERROR
    assert read_error(model.AgentErrorUpdate.model_validate(ours | {"error": PAYLOAD})) == ERROR
    assert read_error(ERROR) is ERROR
    assert read_error(PromptFailedError(ERROR)) is ERROR
    told = sure(read_error(Odd(data={"status": 429, "socket": object()})))
    assert told.type is ErrorType.RATE_LIMIT


class McpLikeError(Exception):
    """Holds the error object as an attribute, as other JSON-RPC libraries have it."""

    def __init__(self, error: object) -> None:
        super().__init__("wrapped")
        self.error = error


def wrapped(inner: Exception) -> Exception:
    error = ValueError("the client's own words")
    error.__cause__ = inner
    return error


@pytest.mark.parametrize(
    "shape",
    [
        acp.RequestError(-32603, "x", {"agent_error": PAYLOAD}),
        McpLikeError({"code": -32603, "message": "x", "data": {"agent_error": PAYLOAD}}),
        wrapped(acp.RequestError(-32603, "x", {"agent_error": PAYLOAD})),
        ExceptionGroup(
            "turns", [ValueError("x"), acp.RequestError(1, "", {"agent_error": PAYLOAD})]
        ),
        {"name": "RequestError", "code": -32603, "message": "x", "data": {"agent_error": PAYLOAD}},
        {"error": {"code": -32603, "message": "x", "data": {"agent_error": PAYLOAD}}},
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_an_error_is_found_in_any_shape_that_a_library_gives_it(shape: object) -> None:
    assert read_error(shape) == ERROR


def test_the_raised_error_keeps_the_librarys_exception_as_its_cause() -> None:
    original = acp.RequestError(-32000, "Authentication required")
    with pytest.raises(AuthError) as raised:
        raise_for_error(original)
    assert raised.value.__cause__ is original


@pytest.mark.parametrize("lost", [ConnectionError("Connection closed"), EOFError()])
def test_a_lost_connection_is_a_lost_agent(lost: Exception) -> None:
    with pytest.raises(AgentLostError) as raised:
        raise_for_error(lost)
    assert (raised.value.error.type, raised.value.error.retry_safety) == ("agent_crash", "ask")


class StatusError(Exception):
    """Has a code as urllib's exception has one: the client's own request to somebody else."""

    code = 429


class HostileError(Exception):
    """Raises whatever is asked of it."""

    code = -32603

    def __str__(self) -> str:
        raise RuntimeError

    @property
    def data(self) -> object:
        raise RuntimeError


def test_a_hostile_exception_is_read_as_far_as_possible() -> None:
    assert sure(read_error(HostileError())).type in {ErrorType.INTERNAL, ErrorType.UNKNOWN}


@every(
    "nothing",
    [
        None, 0, 7, "", "429", b"{}", [], {}, (), object(), SimpleNamespace(code=-32603),
        ValueError("a bug of the client's"), StatusError(), TimeoutError(),
        KeyboardInterrupt(), SystemExit(3),
        {"error": None}, {"result": None}, {"result": {}}, {"method": "session/update"},
        {"method": "initialize", "params": {"update": 3}}, {"stopReason": "end_turn"},
        {"stopReason": "max_tokens"}, {"stopReason": "refusal"}, {"_meta": None},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "error 429"}},
        {"sessionUpdate": "tool_call_update", "status": "failed", "toolCallId": "t"},
        {"sessionUpdate": "session_info_update", "title": "agent_error"},
        {"sessionUpdate": "notice", "severity": "error", "title": "The agent crashed"},
        {"sessionUpdate": "agent_retry", "error": PAYLOAD},
        {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}},
        {"type": "text", "text": "hello"}, {"code": None, "message": "x"},
    ],
)  # fmt: skip
def test_a_value_that_is_not_a_failure_passes_through(nothing: object) -> None:
    assert read_error(nothing) is None
    assert raise_for_error(nothing) is nothing


# --- anything ------------------------------------------------------------------------------------


class Hostile(dict[str, Any]):
    """A mapping that breaks on every look."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError

    def __contains__(self, _: object) -> bool:
        raise RuntimeError


class Unloadable:
    @property
    def __class__(self) -> Any:
        raise RuntimeError


def test_a_hostile_object_raises_nothing() -> None:
    for hostile in (Hostile(error={}), Unloadable()):
        assert read_error(hostile) is None
        assert read_retry(hostile) is None
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"error": deep, "data": deep}
    assert read_error({"error": deep}) is not None
    looped: dict[str, Any] = {"code": -32603, "message": "x"}
    looped["data"] = looped
    assert read_error(looped) is not None
