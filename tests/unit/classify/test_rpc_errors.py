"""JSON-RPC errors of real agents, and of hostile ones."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify_rpc_error, classify_text
from tests.kit.rows import every

INTERNAL = -32603


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
def test_ordinary_log_lines_are_not_evidence(log: str) -> None:
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
def test_every_rpc_error_gets_a_verdict(error: object) -> None:
    verdict = classify_rpc_error(error)
    assert not verdict.retryable
    assert verdict.retry_after_seconds is None
