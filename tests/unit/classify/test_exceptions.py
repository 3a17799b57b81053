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
from lastword.core.classify.gather import MAX_FRAMES
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


def test_properties_texts_and_headers_that_raise_are_treated_as_missing() -> None:
    class Hostile(Exception):  # noqa: N818
        def __getattribute__(self, name: str) -> Any:
            if name in {"status_code", "body", "response", "code", "headers", "retry_after"}:
                raise RuntimeError("hostile")
            return super().__getattribute__(name)

        def __str__(self) -> str:
            raise ValueError("hostile")

    class HostileHeaders(dict[str, str]):
        def items(self) -> Any:
            raise RuntimeError("hostile")

    assert classify(Hostile()).type == "unknown"
    for headers in (HostileHeaders(a="b"), "retry-after: 5", 7, [("a", "b")]):
        verdict = classify(SimpleNamespace(status_code=503, headers=headers))
        assert (verdict.type, verdict.rule) == ("provider_unavailable", "status:503")
    verdict = classify(SimpleNamespace(status_code=503, headers={"retry-after": "7"}))
    assert (verdict.type, verdict.retry_after_seconds) == ("provider_unavailable", 7)


@pytest.mark.parametrize(("status", "word"), [(503, "false"), (401, "true")])
def test_a_server_may_refuse_a_retry_and_not_allow_one(status: int, word: str) -> None:
    error = error_class("APIStatusError", module="openai")("oops")
    error.status_code = status
    error.response = SimpleNamespace(headers={"x-should-retry": word})
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


# --- groups and chains


class LimitError(Exception):
    status_code = 429


class KeyRefusedError(Exception):
    status_code = 401


SLOW = LimitError("slow down")


@pytest.mark.parametrize("turned", [False, True])
def test_of_what_failed_together_the_recognised_and_the_final_failure_decide(
    *, turned: bool
) -> None:
    def together(*members: BaseException) -> BaseException:
        return BaseExceptionGroup("together", members[::-1] if turned else members)

    assert classify(together(ValueError("odd"), SLOW)).type is ErrorType.RATE_LIMIT
    verdict = classify(together(KeyRefusedError("no"), SLOW))
    assert (verdict.type, verdict.retryable) == (ErrorType.AUTH, False)
    inner = ExceptionGroup("inner", [SLOW])
    assert classify(together(asyncio.CancelledError(), inner)).type is ErrorType.RATE_LIMIT
    outer = RuntimeError("the model call failed")
    outer.__cause__ = inner
    assert classify(outer).type is ErrorType.RATE_LIMIT


def test_a_group_of_thousands_and_a_chain_are_read_up_to_a_bound() -> None:
    deep: BaseException = SLOW
    for _ in range(5000):
        deep = ExceptionGroup("deeper", [deep])  # type: ignore[list-item]
    assert classify(deep).type is ErrorType.RATE_LIMIT
    assert classify(ExceptionGroup("wide", [SLOW] * 5000)).retryable
    first = error = RuntimeError("cause 0")
    for number in range(1, 20):
        cause = RuntimeError(f"cause {number}")
        error.__cause__, error = cause, cause
    detail = classify(first).detail
    assert detail is not None
    assert detail.splitlines() == [f"cause {number}" for number in range(8)]
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert classify(one).detail == "one\nother"


# --- whose exception


def raised(text: str, *, module: str, kind: type[Exception] = ValueError) -> Exception:
    """The exception as it is caught, raised by code of this module."""
    scope: dict[str, Any] = {"__name__": module, "kind": kind}
    exec("def fail(text): raise kind(text)", scope)
    try:
        scope["fail"](text)
    except Exception as error:  # noqa: BLE001 - what was raised
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return error
    raise AssertionError


def test_an_exception_of_the_language_is_the_handlers_own() -> None:
    for kind in (ValueError, RuntimeError, KeyError):
        error = raised("invalid api key format in my config file", module="my_agent", kind=kind)
        verdict = classify(error)
        assert (verdict.type, verdict.retryable) == (ErrorType.INTERNAL, False)


def test_an_exception_is_the_providers_if_its_package_raised_or_caused_it() -> None:
    for kind in (ValueError, TypeError):
        error = raised("Missing api key", module="anthropic._client", kind=kind)
        assert classify(error).type == "auth"
    outer = raised("Missing api key", module="my_agent")
    outer.__cause__ = type("APIError", (Exception,), {"__module__": "openai"})("Missing api key")
    assert classify(outer).type == "auth"


def test_a_transport_error_or_a_status_is_trusted_from_anyone() -> None:
    assert classify(raised("Connection reset by peer", module="my_agent")).type == "network"
    assert classify(raised("HTTP 429: slow down", module="my_agent")).type == "rate_limit"


def test_an_endless_traceback_is_read_up_to_a_bound() -> None:
    def deep(left: int) -> None:
        if left == 0:
            raise ValueError("invalid api key")
        deep(left - 1)

    with pytest.raises(ValueError, match="key") as caught:
        deep(MAX_FRAMES + 20)
    assert classify(caught.value).type is ErrorType.INTERNAL


# --- rare shapes


def test_a_retry_wrapper_without_an_exception_is_skipped() -> None:
    error = RuntimeError("gave up")
    error.last_attempt = SimpleNamespace(_exception=None)  # type: ignore[attr-defined]
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert classify(error).type is ErrorType.NETWORK


class MuteError(OSError):
    def __str__(self) -> str:
        return ""


def test_a_mute_error_is_recognised_by_its_system_code_or_its_class() -> None:
    assert classify(MuteError(104, "Connection reset by peer")).type is ErrorType.NETWORK
    assert classify(error_class("RemoteProtocolError", module="httpx")("")).type == "network"


def test_the_wait_of_the_outermost_exception_counts_and_so_does_its_request() -> None:
    outer, inner = RuntimeError("429 Too Many Requests"), RuntimeError("slow down")
    outer.retry_after, inner.retry_after = 7, 70  # type: ignore[attr-defined]
    outer.request_id = "req_7"  # type: ignore[attr-defined]
    outer.__cause__ = inner
    verdict = classify(outer)
    assert (verdict.retry_after_seconds, verdict.request_id) == (7, "req_7")


@pytest.mark.parametrize(
    ("module", "code", "kind"),
    [
        ("grpc.aio", lambda _: SimpleNamespace(name="UNAUTHENTICATED"), "auth"),
        ("grpc.aio", lambda _: 1 / 0, "unknown"),
        ("another", lambda _: pytest.fail("it was called"), "unknown"),
    ],
)
def test_the_code_of_a_grpc_error_alone_is_called_and_may_fail(
    module: str, code: object, kind: str
) -> None:
    assert classify(error_class("AioRpcError", module=module, code=code)("odd")).type == kind


def test_the_last_words_of_a_process_can_be_bytes() -> None:
    error = subprocess.CalledProcessError(1, "agent", stderr=b"Segmentation fault (core dumped)")
    verdict = classify(error)
    assert (verdict.type, verdict.reason) == (ErrorType.AGENT_CRASH, "native_crash")


def test_a_cancel_that_mentions_a_timeout_is_a_timeout() -> None:
    assert classify(asyncio.CancelledError()).type is ErrorType.CANCELLED
    assert classify(asyncio.CancelledError("request timed out")).type is ErrorType.TIMEOUT


def test_two_words_close_together_count_only_in_a_packages_own_exception() -> None:
    kind = error_class("Oops", Exception)
    assert classify(kind("The backend went down")).type is ErrorType.PROVIDER_UNAVAILABLE
    assert classify(KeyError("The backend went down")).type is ErrorType.INTERNAL
