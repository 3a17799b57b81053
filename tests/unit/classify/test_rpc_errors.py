"""JSON-RPC errors of real agents, and of hostile ones."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.classify import classify_rpc_error, classify_text
from tests.kit.rows import every

INTERNAL = -32603


@every(
    ("error", "kind", "retryable"),
    [
        # opencode: the class in `errorName` says nothing but for ContextOverflowError
        ({"code": INTERNAL, "message": "Internal error: Bad Gateway",
         "data": {"service": "session", "errorName": "APIError"}}, "provider_unavailable", True),
        ({"code": INTERNAL, "message": "Internal error: Connection reset by server",
         "data": {"service": "session", "errorName": "APIError"}}, "network", True),
        ({"code": INTERNAL, "message": "Internal error: Session too large to compact",
         "data": {"service": "session", "errorName": "ContextOverflowError"}}, "context_overflow",
         False),
        ({"code": INTERNAL, "message": "Internal error: something", "data": {"service": "session",
         "errorName": "UnknownError"}}, "unknown", False),
        ({"code": INTERNAL, "message": "Internal error", "data": {"errorName": "APIError",
         "statusCode": 503, "isRetryable": False, "responseHeaders": {"Retry-After": "9"}}},
         "provider_unavailable", False),
        # claude-agent-acp: its kind for a lost connection is "server_error"
        ({"code": INTERNAL,
         "message": "Internal error: API Error: Connection to the API was lost (ECONNRESET)",
         "data": {"errorKind": "server_error"}}, "network", True),
        ({"code": INTERNAL,
         "message": "Internal error: API Error: 502 Bad Gateway. Try again in a moment.",
         "data": {"errorKind": "server_error"}}, "provider_unavailable", True),
        ({"code": INTERNAL,
         "message": "Internal error: Prompt is too long · ~208310 tokens (limit 200000)",
         "data": {"errorKind": "invalid_request"}}, "context_overflow", False),
        ({"code": INTERNAL, "message": "x", "data": {"errorKind": "account_on_hold"}}, "budget", 0),
        ({"code": -32000, "message": "Authentication required"}, "auth", False),
        # gemini, qwen: the HTTP status is the code
        ({"code": 429, "message": "Too many"}, "rate_limit", True),
        ({"code": 402, "message": "no"}, "budget", False),
        ({"code": INTERNAL, "message": "Internal error", "data": {"details": "503 busy"}},
         "provider_unavailable", True),
        # codex-acp in both spellings
        (
            {
                "code": INTERNAL,
                "message": "Internal error",
                "data": {
                    "message": "gone",
                    "codex_error_info": {
                        "response_too_many_failed_attempts": {"http_status_code": 429}
                    },
                },
            },
            "rate_limit",
            True,
        ),
        ({"code": INTERNAL, "message": "no",
         "data": {"codexErrorInfo": {"responseStreamDisconnected": {}}}}, "network", True),
        *(
            (
                {
                    "code": INTERNAL,
                    "message": "Reconnecting... 5/5",
                    "data": {"additionalDetails": words, "codexErrorInfo": {name: {}}},
                },
                kind,
                True,
            )
            for name in ("responseStreamDisconnected", "response_stream_connection_failed",
                         "httpConnectionFailed")
            for words, kind in (
                ("We’re currently experiencing high demand.", "provider_unavailable"),  # noqa: RUF001
                ("request timed out", "timeout"),
                ("error sending request for url", "network"),
            )
        ),
        ({"code": INTERNAL, "message": "no", "data": {"codexErrorInfo": "usageLimitExceeded"}},
         "budget", False),
        # streams that ended too early, in the words of Google's package and of copilot
        ({"code": 500, "message": "Incomplete JSON segment at the end"}, "network", True),
        ({"code": INTERNAL, "message": "Failed to get response; retried 5 times. Last error: "
         "Failed to finalize the stream: missing finish_reason for choice 0"}, "network", True),
        # Google's, under the status of a rate limit
        ({"code": 429, "message": "Your prepayment credits are depleted. RESOURCE_EXHAUSTED"},
         "budget", False),
        # mistral-vibe
        ({"code": -31001, "message": "no"}, "rate_limit", True),
        ({"code": -31002, "message": "Invalid API key"}, "auth", False),
        ({"code": -31002, "message": "no such file"}, "invalid_request", False),
        # goose
        ({"code": INTERNAL, "message": "no", "data": {"reason": "credits_exhausted"}}, "budget", 0),
        ({"code": INTERNAL, "message": "Internal error", "data": "stream ended"}, "network", True),
        # the protocol's own
        ({"code": -32800, "message": "Request cancelled"}, "cancelled", False),
        ({"code": -32601, "message": "Method not found"}, "invalid_request", False),
        ({"code": -32700, "message": "Parse error"}, "protocol_error", False),
        ({"code": INTERNAL, "message": "Internal error"}, "internal", False),
        ({"code": INTERNAL, "message": "it broke"}, "unknown", False),
        ({"code": INTERNAL, "message": "Internal error", "data": {"code": "INTERNAL"}},
         "internal", False),
    ],
)  # fmt: skip
def test_an_agents_error_gets_the_type_of_its_cause(
    error: dict[str, Any], kind: str, *, retryable: bool
) -> None:
    verdict = classify_rpc_error(error)
    assert (verdict.type, verdict.retryable) == (kind, bool(retryable)), verdict.rule


def test_an_error_that_says_nothing_is_read_off_stderr() -> None:
    verdict = classify_rpc_error(
        {"code": INTERNAL, "message": "Internal error"},
        stderr_tail="starting\nERROR 429 Too Many Requests, try again in 20s\n",
    )
    assert (verdict.type, verdict.retry_after_seconds) == ("rate_limit", 20)
    assert verdict.rule.startswith("stderr:")


def test_an_error_that_speaks_for_itself_needs_no_stderr() -> None:
    verdict = classify_rpc_error(
        {"code": 401, "message": "no"}, stderr_tail="ERROR 429 Too Many Requests"
    )
    assert verdict.type == "auth"


@pytest.mark.parametrize(
    "log",
    [
        "rate_limits: none\nlogin ok, quota refreshed\n",
        "DeprecationWarning: auth.jose is deprecated, it will be removed\n",
        "[session/create] phase=models durationMs=1\n",
        "",
    ],
)
def test_ordinary_log_lines_are_no_evidence(log: str) -> None:
    assert classify_text("", stderr_tail=log).type == "unknown"


def test_the_codes_of_one_agent_mean_nothing_from_another() -> None:
    error = {"code": -31001, "message": "no"}
    assert classify_rpc_error(error, agent="@zed-industries/codex-acp").type == "unknown"
    assert classify_rpc_error(error, agent="Mistral Vibe").type == "rate_limit"


@every(
    "error",
    [
        None, 7, "boom", [], [1, [2]], {}, {"code": None}, {"code": "x", "message": 3},
        {"code": 1e400, "message": {"a": 1}}, {"code": True, "data": [None]},
        {"code": -32603, "message": None, "data": {"details": {"details": {}}}},
        {"code": 10**400, "message": "x"}, {"message": "\ud800", "data": {"\ud800": "\ud800"}},
        {"code": float("nan"), "data": {"retry_after": float("inf"), "status": float("nan")}},
        {1: 2, None: 3},
    ],
)  # fmt: skip
def test_whatever_an_agent_sends_gives_a_verdict(error: object) -> None:
    verdict = classify_rpc_error(error)
    assert not verdict.retryable
    assert verdict.retry_after_seconds is None
