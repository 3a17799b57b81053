"""What says more: a process's own words, a plan's, a status; and what a guess may not advise."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.classify import classify, classify_rpc_error, classify_text, own_failure
from lastword.core.classify.evidence import Verdict
from lastword.core.failure.ladder import error_object
from lastword.core.failure.taxonomy import Action, ErrorType
from lastword.core.failure.wording import compose
from tests.kit.rows import every

# --- the end of a process, in words


@pytest.mark.parametrize(
    ("text", "reason", "retryable"),
    [
        ("thread 'main' panicked at src/model.rs:31:9: no api key in the table", "panic", False),
        ('Thread "<unnamed>" panicked with "invalid input" at wit.rs:38:31', "panic", False),
        ("fatal error: concurrent map writes\n\ngoroutine 7 [running]:\nx()", "panic", False),
        ('Exception in thread "model" java.lang.OutOfMemoryError: Java heap space', "oom", True),
        ("Error: EPERM: operation not permitted, spawn '/opt/agent'", "spawn_failed", False),
        ("'agent' is not recognized as an internal or external command,", "spawn_failed", False),
        ("'agent' 不是内部或外部命令", "spawn_failed", False),
        ("a.sh: ligne 3 : 12345 Tué                     node a.js", "killed", True),
        ("a.sh: 第 3 行\uff1a 12345 已杀死               node a.js", "killed", True),
        ("a.sh: line 3: 12345 Segmentation fault      node a.js", "native_crash", True),
        ("zsh: killed     node a.js", "killed", True),
        ("panic(main thread): Illegal instruction at address 0x1", "native_crash", True),
        ("Aborted (core dumped)", "native_crash", True),
    ],
)
def test_a_processs_own_words_outrank_what_prose_may_mean(
    text: str, reason: str, *, retryable: bool
) -> None:
    verdict = classify_text(text)
    assert (verdict.type, verdict.reason, verdict.retryable) == ("agent_crash", reason, retryable)
    assert verdict.rule.startswith("crash:")


def test_a_crash_of_the_providers_is_the_providers() -> None:
    assert classify_text("ollama: goroutine 7 [running]: out of capacity").type != "agent_crash"
    answer = {"http_status": 500, "message": "thread 'main' panicked at src/lib.rs"}
    assert classify(answer).type == "provider_unavailable"


# --- a plan, and a day of the calendar


@pytest.mark.parametrize(
    "text",
    [
        "Your rate limit resets on Jul 19, 2026, 1:42 PM. To continue, upgrade to Plus today.",
        "Rate limit reached, try again on 6 Aug 2026",
        "You're out of Example messages. Your rate limit resets on Friday",
        "You have hit the rate limit of your plan",
    ],
)
def test_a_limit_that_a_plan_or_a_date_ends_is_a_budget(text: str) -> None:
    verdict = classify_text(text)
    assert (verdict.type, verdict.retryable) == ("budget", False)


def test_a_limit_of_a_minute_stays_one() -> None:
    text = "Rate limit reached on tokens per minute (TPM). Upgrade to Pro, resets on Jul 19"
    assert classify_text(text).type == "rate_limit"
    assert classify_text("Rate limit reached. Upgrade to Dev Tier today").type == "rate_limit"


# --- a login


@pytest.mark.parametrize(
    "text", ["Failed to refresh token", "You must be logged in", "Please re-authenticate"]
)
def test_words_of_a_login_outrank_a_400(text: str) -> None:
    assert classify({"http_status": 400, "message": text}).type == "auth"


def test_a_claim_on_a_session_update_is_no_login() -> None:
    text = (
        'Failed to handle session update: Error { code: -32603: Internal error, data: Some("x") }'
    )
    assert classify_text(text).type == "internal"
    assert classify_text("session update failed").type == "unknown"


# --- a status and a code


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "auth"), (402, "budget"), (403, "auth"), (404, "model_not_found"), (429, "rate_limit")],
)
def test_a_status_says_more_than_invalid_request(status: int, kind: str) -> None:
    body = {"error": {"type": "invalid_request_error", "http_status": status, "message": "no"}}
    assert classify(body).type == kind
    assert classify_text(f"[invalid_request_error] http_status: {status}").type == kind


def test_a_server_that_broke_over_an_invalid_request_may_say_so() -> None:
    body = {"error": {"type": "invalid_request_error", "message": "no"}}
    assert classify({"http_status": 500, "body": body}).type == "invalid_request"


def test_a_status_and_a_code_outrank_a_sentence_in_another_language() -> None:
    assert classify({"http_status": 401, "message": "服务器繁忙"}).type == "auth"
    assert classify({"http_status": 503, "message": "未授权"}).type == "provider_unavailable"
    assert classify({"error": {"code": "invalid_api_key", "message": "服务器繁忙"}}).type == "auth"
    assert classify({"http_status": 400, "message": "未授权"}).type == "auth"
    assert classify({"http_status": 429, "message": "余额不足"}).type == "budget"


# --- JSON and JSON-RPC


@pytest.mark.parametrize(
    "text",
    [
        "Expecting value: line 1 column 1 (char 0)",
        "Expecting ',' delimiter: line 1 column 9 (char 8)",
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "Extra data: line 1 column 5 (char 4)",
        "Unterminated string starting at: line 1 column 1 (char 0)",
        "Invalid control character at: line 1 column 3 (char 2)",
        "Invalid \\escape: line 1 column 2 (char 1)",
    ],
)
def test_what_python_says_of_json_is_an_invalid_message(text: str) -> None:
    error = {"code": -32603, "message": "Internal error", "data": {"details": text}}
    for verdict in (classify_text(text), classify_rpc_error(error)):
        assert (verdict.type, verdict.reason) == ("protocol_error", "not_http")


@pytest.mark.parametrize(
    "detail", ["LLM not set", "model config could not be read", "Cannot load LLM settings"]
)
def test_internal_error_is_json_rpcs_own_word_and_no_failure_of_a_model(detail: str) -> None:
    for error in (
        {"code": -32603, "message": "Internal error", "data": {"details": detail}},
        {"code": -32603, "message": f"Internal error: {detail}"},
    ):
        verdict = classify_rpc_error(error)
        assert (verdict.type == "provider_unavailable", verdict.retryable) == (False, False)


# --- waits


def test_a_wait_before_an_agents_own_retry_is_no_servers() -> None:
    assert (
        classify_text("dial tcp: connection refused, retrying in 16s").retry_after_seconds is None
    )
    assert classify_text("429, please wait before retrying in 16s").retry_after_seconds == 16


# --- advice


GUESSES = {
    "concept:key + invalid": True,
    "stderr:concept:key + invalid": True,
    "text:api key": True,
    "message:invalid api key": False,
    "status:401": False,
}


@every(("rule", "withheld"), GUESSES.items())
@every("kind", [ErrorType.AUTH, ErrorType.INVALID_REQUEST])
def test_a_guess_advises_no_login_and_no_change(
    rule: str, kind: ErrorType, *, withheld: bool
) -> None:
    verdict = Verdict(type=kind, rule=rule, retryable=False, reason="login_required", detail="x y")
    error = compose(verdict, phase=None, retry_safety=None)
    assert (error.action is Action.REPORT) is withheld
    assert error.message.endswith("Check the details, and report it if it happens again.") is (
        withheld
    )
    assert error.action in {Action.REPORT, Action.LOGIN, Action.FIX_CONFIGURATION}


@every("kind", ErrorType)
def test_no_type_that_is_guessed_asks_for_more_than_patience(kind: ErrorType) -> None:
    verdict = Verdict(type=kind, rule="concept:x + y", retryable=False, detail="It said so.")
    error = compose(verdict, phase=None, retry_safety=None)
    assert error.action in {Action.REPORT, Action.WAIT, Action.RETRY, Action.RESTART}
    assert "It said so" in error.message


def test_a_common_sentence_still_advises_what_costs_nothing_to_try() -> None:
    verdict = Verdict(type=ErrorType.CONTEXT_OVERFLOW, rule="text:too long", retryable=False)
    assert compose(verdict, phase=None, retry_safety=None).action is Action.SHORTEN
    own = own_failure(ErrorType.AUTH, "login_required")
    assert compose(own, phase=None, retry_safety=None).action is Action.LOGIN


def code_for(verdict: Verdict) -> Any:
    return error_object(compose(verdict, phase=None, retry_safety=None), can_login=True)["code"]


def test_a_guess_starts_no_login_in_the_client() -> None:
    said = Verdict(type=ErrorType.AUTH, rule="message:invalid api key", retryable=False)
    guessed = Verdict(type=ErrorType.AUTH, rule="concept:key + invalid", retryable=False)
    assert (code_for(said), code_for(guessed)) == (-32000, -32603)
