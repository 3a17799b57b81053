"""Exceptions of foreign libraries are read by duck-typing, never by importing the library."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from lastword.core.classify import classify, classify_rpc_error
from lastword.core.failure.taxonomy import ErrorType
from lastword.errors import MisuseError, NotInTurnError, StreamTruncatedError
from tests.kit.rows import every


def error_class(
    name: str, base: type[BaseException] = Exception, *, module: str = "somesdk", **members: Any
) -> type[BaseException]:
    return type(name, (base,), {"__module__": module, **members})


def test_the_status_and_body_of_an_sdk_exception_are_read() -> None:
    error = error_class("APIStatusError", module="openai")("Error code: 429")
    error.status_code = 429
    error.body = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
    verdict = classify(error)
    assert (verdict.type, verdict.http_status) == ("budget", 429)
    assert verdict.provider_code == "insufficient_quota"


def test_response_headers_give_wait_and_request_id() -> None:
    error = error_class("RateLimitError", module="anthropic")("slow down")
    error.status_code = 429
    error.response = SimpleNamespace(
        status_code=429, headers={"Retry-After": "19.2", "Request-Id": "req_1"}
    )
    verdict = classify(error)
    assert (verdict.type, verdict.retry_after_seconds) == ("rate_limit", 20)
    assert (verdict.request_id, verdict.source) == ("req_1", "anthropic")


def test_an_already_read_body_is_used_and_none_is_fetched() -> None:
    class Response:
        status_code = 400
        headers = None
        _content = b'{"error": {"code": "context_length_exceeded"}}'

        @property
        def text(self) -> str:
            raise AssertionError("reading the body would be I/O")

    error = error_class("HTTPStatusError", module="httpx")("Client error")
    error.response = Response()
    assert classify(error).type == "context_overflow"


def test_a_botocore_response_dict_is_read() -> None:
    error = error_class("ThrottlingException", module="botocore.errorfactory")("x")
    error.response = {
        "Error": {"Code": "ThrottlingException", "Message": "Too many tokens"},
        "ResponseMetadata": {"HTTPStatusCode": 429, "HTTPHeaders": {"retry-after": "3"}},
    }
    verdict = classify(error)
    assert (verdict.type, verdict.retry_after_seconds) == ("rate_limit", 3)


def test_the_name_of_a_grpc_status_is_read() -> None:
    class AioRpcError(Exception):
        def code(self) -> object:
            return SimpleNamespace(name="UNAUTHENTICATED")

    AioRpcError.__module__ = "grpc.aio._call"
    assert classify(AioRpcError()).type == "auth"


def test_a_method_called_code_of_something_else_is_never_called() -> None:
    class OddError(Exception):
        def code(self) -> object:
            raise AssertionError("called")

    assert classify(OddError("odd")).type == "unknown"


@every(
    ("error", "kind", "retryable", "reason"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), "network", True, "connection_lost"),
        (ConnectionRefusedError(111, "refused"), "network", True, "connection_refused"),
        (TimeoutError(), "timeout", True, "transport"),
        (type("TooSlowError", (Exception,), {})(), "timeout", True, "transport"),  # trio's
        (socket.gaierror(-2, "Name or service not known"), "network", False, "name_not_resolved"),
        (socket.gaierror(-3, "Temporary failure in name resolution"), "network", True, None),
        (ssl.SSLCertVerificationError("certificate verify failed"), "network", False, None),
        (asyncio.CancelledError(), "cancelled", False, None),
        (KeyboardInterrupt(), "cancelled", False, None),
        (KeyError("rate_limit"), "internal", False, "uncaught_exception"),
        (ValueError("odd"), "internal", False, "uncaught_exception"),
        (subprocess.CalledProcessError(137, "agent"), "agent_crash", True, "killed"),
    ],
)
def test_the_languages_own_exceptions_are_typed(
    error: BaseException, kind: str, *, retryable: bool, reason: str | None
) -> None:
    verdict = classify(error)
    assert (verdict.type, verdict.retryable) == (kind, retryable)
    if reason is not None:
        assert verdict.reason == reason


def test_the_cause_outweighs_a_general_connection_error() -> None:
    error = error_class("APIConnectionError", module="openai")("Connection error.")
    error.__cause__ = error_class("ConnectTimeout", module="httpx")("")
    assert classify(error).type == "timeout"


def test_an_exception_group_and_a_retry_wrapper_are_unwrapped() -> None:
    inner = error_class("ReadTimeout", module="httpx")("")
    wrapper = error_class("RetryError", module="tenacity")("RetryError[...]")
    wrapper.last_attempt = SimpleNamespace(_exception=inner)
    assert classify(wrapper).type == "timeout"
    assert classify(ExceptionGroup("several", [inner])).type == "timeout"  # type: ignore[list-item]


def test_a_cancelled_error_further_down_the_chain_is_a_timeout() -> None:
    error = error_class("ReadTimeout", module="httpx")("")
    error.__cause__ = asyncio.CancelledError("Cancelled by cancel scope")
    assert classify(error).type == "timeout"


def test_the_context_of_an_exception_is_not_its_cause() -> None:
    error = error_class("OddError")("odd")
    error.__context__ = error_class("RateLimitError", module="openai")("429")
    assert classify(error).type == "unknown"


def test_the_class_decides_where_the_message_is_empty() -> None:
    assert classify(error_class("RemoteProtocolError", module="httpx")("")).type == "network"


def test_a_cyclic_chain_of_causes_ends() -> None:
    first, second = Exception("first"), Exception("second")
    first.__cause__, second.__cause__ = second, first
    assert classify(first).type == "unknown"


def test_properties_and_texts_that_raise_are_treated_as_missing() -> None:
    class Hostile(Exception):  # noqa: N818
        def __getattribute__(self, name: str) -> Any:
            if name in {"status_code", "body", "response", "code", "headers", "retry_after"}:
                raise RuntimeError("hostile")
            return super().__getattribute__(name)

        def __str__(self) -> str:
            raise ValueError("hostile")

    assert classify(Hostile()).type == "unknown"


def test_headers_that_raise_are_treated_as_missing() -> None:
    class HostileHeaders(dict[str, str]):
        def items(self) -> Any:
            raise RuntimeError("hostile")

    for headers in (HostileHeaders(a="b"), "retry-after: 5", 7, [("a", "b")]):
        verdict = classify(SimpleNamespace(status_code=503, headers=headers))
        assert (verdict.type, verdict.rule) == ("provider_unavailable", "status:503")


def test_a_response_object_alone_is_enough() -> None:
    verdict = classify(SimpleNamespace(status_code=503, headers={"retry-after": "7"}))
    assert (verdict.type, verdict.retry_after_seconds) == ("provider_unavailable", 7)


def test_a_servers_refusal_of_a_retry_is_obeyed() -> None:
    error = error_class("APIStatusError", module="openai")("oops")
    error.status_code = 503
    error.response = SimpleNamespace(headers={"x-should-retry": "false"})
    assert not classify(error).retryable


def test_a_servers_consent_does_not_make_a_terminal_failure_retryable() -> None:
    error = error_class("APIStatusError", module="openai")("oops")
    error.status_code = 401
    error.response = SimpleNamespace(headers={"x-should-retry": "true"})
    assert not classify(error).retryable


def test_the_headers_of_the_agent_error_proposal_decide() -> None:
    response = SimpleNamespace(
        status_code=429,
        headers={
            "x-llm-error-type": "budget",
            "x-llm-error-retryable": "false",
            "x-llm-error-reset-at": "2026-02-20T01:00:00Z",
        },
    )
    verdict = classify(response)
    assert (verdict.type, verdict.reset_at_epoch_ms) == ("budget", 1771549200000)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("rate"), "KeyError: 'rate'"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (AssertionError(), "AssertionError"),
        (RuntimeError("boom"), "boom"),
    ],
)
def test_a_bug_is_reported_by_its_name_where_its_text_says_nothing(
    error: Exception, told: str
) -> None:
    verdict = classify(error)
    assert (verdict.type, verdict.detail) == (ErrorType.INTERNAL, told)


@pytest.mark.parametrize(
    "error", [MisuseError("type is one of rate_limit, budget"), NotInTurnError()]
)
def test_a_wrong_call_to_our_own_api_is_the_authors_bug(error: Exception) -> None:
    verdict = classify(error)
    assert (verdict.type, verdict.reason) == (ErrorType.INTERNAL, "uncaught_exception")
    assert classify(StreamTruncatedError("openai", 3)).type is ErrorType.NETWORK


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603])
def test_a_code_that_json_rpc_defines_belongs_to_no_agent(code: int) -> None:
    assert classify_rpc_error({"code": code, "message": ""}).provider_code is None
    assert classify_rpc_error({"code": -32010, "message": ""}).provider_code == "-32010"
