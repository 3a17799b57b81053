"""JSON-RPC errors of real agents and of hostile ones, and what a guess may not advise."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify_rpc_error, classify_text, own_failure
from lastword.core.classify.evidence import Verdict
from lastword.core.failure.ladder import error_object
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType
from lastword.core.failure.wording import compose
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


# --- advice

GUESSES = {
    "concept:key + invalid": True,
    "stderr:concept:key + invalid": True,
    "text:api key": True,
    "message:invalid api key": False,
    "status:401": False,
}


def advised(rule: str, kind: ErrorType = ErrorType.AUTH, reason: str | None = None) -> AgentError:
    verdict = Verdict(type=kind, rule=rule, retryable=False, reason=reason, detail="It said so.")
    return compose(verdict, phase=None, retry_safety=None)


@every(("rule", "withheld"), GUESSES.items())
def test_a_guess_advises_no_login_and_no_change(rule: str, *, withheld: bool) -> None:
    for kind in (ErrorType.AUTH, ErrorType.INVALID_REQUEST):
        error = advised(rule, kind, "login_required")
        assert (error.action is Action.REPORT) is withheld
        report = "Check the details, and report it if it happens again."
        assert error.message.endswith(report) is withheld
        assert error.action in {Action.REPORT, Action.LOGIN, Action.FIX_CONFIGURATION}
    code = error_object(advised(rule), can_login=True)["code"]
    assert code == (-32603 if withheld else -32000), "a guess starts no login in the client"


@every("kind", ErrorType)
def test_a_guessed_type_advises_nothing_beyond_patience(kind: ErrorType) -> None:
    error = advised("concept:x + y", kind)
    assert error.action in {Action.REPORT, Action.WAIT, Action.RETRY, Action.RESTART}
    assert "It said so" in error.message


def test_a_common_sentence_still_gets_advice_that_costs_nothing() -> None:
    assert advised("text:too long", ErrorType.CONTEXT_OVERFLOW).action is Action.SHORTEN
    own = own_failure(ErrorType.AUTH, "login_required")
    assert compose(own, phase=None, retry_safety=None).action is Action.LOGIN
