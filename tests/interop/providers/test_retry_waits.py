"""Model calls that are tried again after a wait, through the providers' own packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.providers.model_provider import DOWN, HEALTHY, Step
from tests.kit.client import NOTICES, PLAIN, RETRY, TYPED, Frame

if TYPE_CHECKING:
    from tests.interop.providers.cases import Case

ANSWER = "The answer from the fake model is 42."
LIMITED = Step("rate_limited", retry_after_seconds=1)


def test_a_limited_call_succeeds_after_the_servers_wait(case: Case) -> None:
    case.script(LIMITED, HEALTHY)
    turn = case.turn(RETRY)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == ANSWER
    first, second = case.provider.requests(case.model)
    assert second.at - first.at >= 1.0
    (retry,) = turn.of_kind("agent_retry")
    assert (retry["attempt"], retry["max_attempts"]) == (2, 6)
    assert retry["wait_seconds"] in (1, 2)
    assert retry["error"]["type"] == "rate_limit"
    assert retry["error"]["retry_after_seconds"] == 1
    assert retry["error"]["retryable"] is True
    assert retry["error"]["http_status"] == 429


@pytest.mark.parametrize(
    ("capabilities", "kind"), [(NOTICES, "notice"), (TYPED, None), (PLAIN, None)]
)
def test_a_wait_is_shown_only_to_clients_that_can_show_it(
    case: Case, capabilities: Frame, kind: str | None
) -> None:
    case.script(DOWN, HEALTHY)
    turn = case.turn(capabilities)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    shown = [update for update in turn.updates if update["sessionUpdate"] != "agent_message_chunk"]
    assert [update["sessionUpdate"] for update in shown] == ([kind] if kind else [])
    if kind:
        assert shown[0]["severity"] == "warning"
        assert shown[0]["title"] == (
            "The model provider is not available at the moment. "
            "Trying again in 1 second (attempt 2 of 6)."
        )


@pytest.mark.parametrize(
    ("step", "error_type"),
    [
        (Step("bad_gateway", {"x-should-retry": "false"}), "provider_unavailable"),
        (Step("unauthorized"), "auth"),
        (Step("context_overflow"), "context_overflow"),
    ],
    ids=["told not to", "login", "too long"],
)
def test_a_failure_that_a_retry_cannot_fix_is_not_retried(
    case: Case, step: Step, error_type: str
) -> None:
    case.script(step)
    error = case.turn(TYPED).error
    assert case.made == 1
    assert (error["type"], error["retryable"]) == (error_type, False)
    assert "tried" not in error["message"]


@pytest.mark.parametrize("kind", ["cut", "truncated"])
def test_a_call_that_broke_off_after_text_offers_to_continue(case: Case, kind: str) -> None:
    case.script(Step(kind))
    turn = case.turn(TYPED)
    assert (case.made, turn.text) == (1, ANSWER)
    error = turn.error
    assert (error["type"], error["retryable"]) == ("network", True)
    assert (error["phase"], error["retry_safety"]) == ("mid_output", "offer_continue")


def test_a_call_that_broke_off_before_its_output_is_retried(case: Case) -> None:
    case.script(Step("drop"), Step("cut_at_once"), HEALTHY)
    turn = case.turn(TYPED)
    assert (case.made, turn.text) == (3, ANSWER)
