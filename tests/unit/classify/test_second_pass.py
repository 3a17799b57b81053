"""Whose failure, whose wait, whose word: evidence that looks like more than it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.classify import (
    classify,
    classify_exit,
    classify_rpc_error,
    classify_text,
    gather,
)
from lastword.core.classify.decide import decide
from lastword.core.classify.gather import MAX_FRAMES
from lastword.core.classify.process import exit_code_in
from lastword.core.failure.taxonomy import ErrorType

# --- a generic word beside money, or beside a decisive status


@pytest.mark.parametrize("word", ["server_error", "ThrottlingException", "api_error", "timeout"])
def test_a_402_is_about_money_whatever_generic_word_stands_beside_it(word: str) -> None:
    body = {"error": {"type": word, "message": "not this time"}}
    assert classify({"http_status": 402, "body": body}).type == "budget"


@pytest.mark.parametrize("word", ["RESOURCE_EXHAUSTED", "Too Many Requests", "rate_limit_error"])
def test_a_402_is_about_money_also_where_the_body_came_as_the_message(word: str) -> None:
    body = json.dumps({"error": {"code": 402, "status": word, "message": "not this time"}})
    assert classify_rpc_error({"code": 402, "message": body}).type == "budget"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request"), (401, "auth"), (403, "auth"), (404, "model_not_found")],
)
def test_a_word_for_something_broke_gives_way_to_a_decisive_status(status: int, kind: str) -> None:
    for word in ("server_error", "upstream_error", "api_error"):
        assert classify({"http_status": status, "body": {"error": {"type": word}}}).type == kind


def test_a_used_up_account_is_money_whatever_the_server_calls_it() -> None:
    for text in (
        "server_error: Insufficient account funds",
        "ThrottlingException: 9 for this month",
    ):
        assert classify_text(text).type == "budget"


# --- names


@pytest.mark.parametrize("value", ["system", "object", "net", "Request"])
def test_the_value_of_a_field_is_no_exceptions_name(value: str) -> None:
    text = f"it did not work {{ type: '{value}', kind: '{value}' }}"
    assert classify_text(text).type is ErrorType.UNKNOWN


def test_an_exception_of_that_name_still_is_one() -> None:
    assert classify({"exception_class": "httpx.ReadError", "message": ""}).type == "network"


def test_the_names_of_aws_are_read_without_what_stands_around_them() -> None:
    body = {"__type": "com.amazon.x#ThrottlingException", "message": "no"}
    assert classify(body).type == "rate_limit"
    headers = {"x-amzn-ErrorType": "AccessDeniedException:http://internal.amazon.com/coral/"}
    assert classify({"http_status": 400, "headers": headers}).type == "auth"


# --- whose server


@pytest.mark.parametrize(
    "text",
    [
        "MCP error -32001: Request timed out",
        "MCP server 'github' failed to start: spawn npx ENOENT",
        "Error calling tool: MCP error -32603: 429 Too Many Requests",
    ],
)
def test_a_tool_server_is_not_the_model_provider(text: str) -> None:
    stated = classify_rpc_error({"code": -32603, "message": text})
    for verdict, kind in ((classify_text(text), "unknown"), (stated, "internal")):
        assert (verdict.type, verdict.reason, verdict.retryable) == (kind, "tool_server", False)


def test_a_providers_error_that_speaks_of_such_a_server_is_the_providers() -> None:
    body = {"error": {"message": "mcp server definitions failed validation"}}
    assert classify({"http_status": 400, "body": body}).type == "invalid_request"
    text = 'API Error: 529 {"error":{"type":"overloaded_error","message":"the MCP server failed"}}'
    assert classify_text(text).type == "provider_unavailable"
    assert classify_text("the MCP server is fine").reason is None


# --- whose wait


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("429 Retrying in 4 seconds\u2026 (attempt 4/10)", None),
        ("429 Retrying in 4 seconds... (attempt 4/10)", None),
        ("429 Trying again in 9s (attempt 2)", None),
        ("429 retrying in 4s... please retry in 30 seconds", 30),
        ("429 Please retry in 4 seconds", 4),
    ],
)
def test_what_an_agent_says_of_its_own_retries_is_no_wait_of_the_servers(
    text: str, wait: int | None
) -> None:
    assert classify_text(text).retry_after_seconds == wait


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


@pytest.mark.parametrize(
    "text",
    ["invalid api key format in my config file", "type is one of rate_limit, budget, timeout"],
)
def test_an_exception_of_the_language_is_the_handlers_own(text: str) -> None:
    for kind in (ValueError, RuntimeError, KeyError):
        verdict = classify(raised(text, module="my_agent", kind=kind))
        assert (verdict.type, verdict.retryable) == (ErrorType.INTERNAL, False)


def test_it_is_the_providers_where_its_package_raised_it_or_stands_in_the_chain() -> None:
    for kind in (ValueError, TypeError):
        error = raised("Missing api key", module="anthropic._client", kind=kind)
        assert classify(error).type == "auth"
    outer = raised("Missing api key", module="my_agent")
    outer.__cause__ = type("APIError", (Exception,), {"__module__": "openai"})("Missing api key")
    assert classify(outer).type == "auth"


def test_what_a_transport_or_a_status_says_is_believed_from_anyone() -> None:
    assert classify(raised("Connection reset by peer", module="my_agent")).type == "network"
    assert classify(raised("HTTP 429: slow down", module="my_agent")).type == "rate_limit"


def test_a_traceback_without_end_is_looked_at_up_to_a_bound() -> None:
    def deep(left: int) -> None:
        if left == 0:
            raise ValueError("invalid api key")
        deep(left - 1)

    with pytest.raises(ValueError, match="key") as caught:
        deep(MAX_FRAMES + 20)
    assert classify(caught.value).type is ErrorType.INTERNAL


# --- words of single agents


@pytest.mark.parametrize(
    ("agent", "error", "kind"),
    [
        ("claude-agent-acp", {"subtype": "api_retry", "error_status": None}, "network"),
        ("kimi-code", {"message": "APIEmptyResponseError: nothing"}, "protocol_error"),
        (
            "gemini-cli",
            {"message": "Error when talking to Gemini API x.json terminated"},
            "network",
        ),
        ("codex-acp", {"message": "The model produced an error."}, "provider_unavailable"),
        ("mistral-vibe", {"message": "IncompleteProviderStream: eof"}, "network"),
    ],
)
def test_a_name_or_a_sentence_of_one_agents_own_is_read(
    agent: str, error: dict[str, Any], kind: str
) -> None:
    assert (classify(error, agent=agent).type, classify(error).type) == (kind, kind)
    assert not decide(gather.from_any(error, "cline")).rule.startswith("agent:")


# --- programs that do not run


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (
            "/lib64/libc.so.6: version `GLIBC_2.34' not found (required by agent)",
            1,
            "missing_library",
        ),
        ("error while loading shared libraries: libssl.so.1.1", 127, "missing_library"),
        ("SyntaxError: '??='\n at Loader.moduleStrategy (x.js:1:1)", 1, "runtime_version"),
        ("npm WARN EBADENGINE Unsupported engine", 1, "runtime_version"),
        ("Error: Cannot find module '/opt/agent/index.js'", 1, "file_not_found"),
        ("sh: agent: not found: cannot find module", 127, "spawn_failed"),
    ],
)
def test_a_program_that_cannot_run_here_says_why(words: str, code: int, reason: str) -> None:
    verdict = classify_exit(exit_code=code, stderr_tail=words)
    assert (verdict.type, verdict.reason, verdict.retryable) == ("agent_crash", reason, False)
    if code == 1:
        assert classify_text(words).reason == reason


@pytest.mark.parametrize(
    ("text", "reason", "retryable"),
    [
        ("The process exited with code 143", "terminated", True),
        ("process exited with exit code: 137", "killed", True),
        ("process exited with code 1", None, False),
        ("process exited with code 130", None, False),
    ],
)
def test_an_exit_code_told_in_prose_is_one(
    text: str, reason: str | None, *, retryable: bool
) -> None:
    verdict = classify_text(text)
    assert (verdict.type, verdict.reason, verdict.retryable) == ("agent_crash", reason, retryable)
    assert exit_code_in("nothing of it") is None
