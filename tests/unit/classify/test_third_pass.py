"""What says more: a process's own words, a plan's, a status; and what a guess may not advise."""

from __future__ import annotations

from typing import Any

from lastword.core.classify import own_failure
from lastword.core.classify.evidence import Verdict
from lastword.core.failure.ladder import error_object
from lastword.core.failure.taxonomy import Action, ErrorType
from lastword.core.failure.wording import compose
from tests.kit.rows import every

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
def test_a_guessed_type_advises_nothing_beyond_patience(kind: ErrorType) -> None:
    verdict = Verdict(type=kind, rule="concept:x + y", retryable=False, detail="It said so.")
    error = compose(verdict, phase=None, retry_safety=None)
    assert error.action in {Action.REPORT, Action.WAIT, Action.RETRY, Action.RESTART}
    assert "It said so" in error.message


def test_a_common_sentence_still_gets_advice_that_costs_nothing() -> None:
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
