"""Model calls through the providers' own packages: what they raise, try again and break off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.kit.provider.dialects import ENCODERS, ProviderDialect
from lastword.kit.provider.server import ProviderFailure, ProviderScenario
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from tests.interop.providers.conftest import Case
    from tests.kit.client import Frame

ANSWER = "The answer from the fake model is 42."
HEALTHY, LIMITED = ProviderScenario.HEALTHY, ProviderScenario.RATE_LIMITED
SOON = ProviderFailure(502, b"{}", headers={"retry-after-ms": "1"})
"""A failure after which the providers' packages try again at once, rather than in half a second."""

FINAL = ProviderFailure(502, b"{}", headers={"x-should-retry": "false"})


def test_a_limited_call_succeeds_after_the_servers_wait(case: Case) -> None:
    turn = case.turn(LIMITED, HEALTHY)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == ANSWER
    first, second = case.provider.asked_at
    assert second - first >= 1.0
    (retry,) = turn.of_kind("agent_retry")
    assert (retry["attempt"], retry["max_attempts"]) == (2, 6)
    assert retry["wait_seconds"] in (1, 2)
    error = retry["error"]
    assert (error["type"], error["retryable"], error["http_status"]) == ("rate_limit", True, 429)
    assert error["retry_after_seconds"] == 1


@pytest.mark.parametrize(
    ("attempts", "max_retries", "made"), [(6, None, 6), (5, None, 3), (4, 1, 4), (3, 0, 3)]
)
def test_a_packages_own_tries_count_among_the_attempts(
    case: Case, attempts: int, max_retries: int | None, made: int
) -> None:
    turn = case.turn(SOON, attempts=attempts, max_retries=max_retries)
    assert len(case.provider.asked_at) == made
    error = turn.error
    assert (error["type"], error["attempts"]) == ("provider_unavailable", made)
    assert f"It was tried {made} times." in error["message"]
    told = error["detail"]["attempts"]
    assert sum(attempt.get("tries", 1) for attempt in told) == made
    assert {(attempt["type"], attempt["http_status"]) for attempt in told} == {
        ("provider_unavailable", 502)
    }
    retries = turn.of_kind("agent_retry")
    assert len(retries) == len(told) - 1
    assert all(retry["attempt"] <= retry["max_attempts"] == attempts for retry in retries)


@pytest.mark.parametrize(
    ("step", "error_type"),
    [(FINAL, "provider_unavailable"), (ProviderScenario.UNAUTHORIZED, "auth")],
    ids=["told not to", "login"],
)
def test_a_failure_that_a_retry_cannot_fix_is_not_retried(
    case: Case, step: ProviderFailure | ProviderScenario, error_type: str
) -> None:
    error = case.turn(step).error
    assert len(case.provider.asked_at) == 1
    assert (error["type"], error["retryable"]) == (error_type, False)
    assert "tried" not in error["message"]


def truncated(case: Case, events: int) -> ProviderFailure:
    """Return a stream that ends, by its first events, without its terminal one."""
    begun = list(ENCODERS[ProviderDialect(case.package)].text("m"))[:events]
    return ProviderFailure(200, b"".join(begun), "text/event-stream")


@pytest.mark.parametrize("how", ["cut", "truncated"])
def test_a_call_that_broke_off_after_text_offers_to_continue(case: Case, how: str) -> None:
    turn = case.turn(ProviderScenario.CUT if how == "cut" else truncated(case, 99))
    assert (len(case.provider.asked_at), turn.text) == (1, ANSWER)
    error = turn.error
    assert (error["type"], error["retryable"]) == ("network", True)
    assert (error["phase"], error["retry_safety"]) == ("mid_output", "offer_continue")


def test_a_call_that_broke_off_before_its_output_is_retried(case: Case) -> None:
    turn = case.turn(ProviderScenario.CUT_BEFORE_TEXT, truncated(case, 1), HEALTHY)
    assert (len(case.provider.asked_at), turn.text) == (3, ANSWER)


def is_retry(frame: Frame) -> bool:
    update = frame.get("params", {}).get("update", {})
    return bool(update.get("sessionUpdate") == "agent_retry")


@pytest.mark.parametrize("during", ["wait", "model call"])
def test_a_cancel_ends_what_the_turn_waits_for_and_no_other_call_begins(
    case: Case, during: str
) -> None:
    case.provider.script(LIMITED if during == "wait" else ProviderScenario.HANG)
    case.provider.retry_after_seconds = 3 * int(FUSE_SECONDS)
    client, since, calls = case.client, len(case.client.frames), len(case.provider.calls)
    prompt = client.prompt(case.plan())
    if during == "wait":
        client.expect(is_retry, since=since)
    assert case.provider.wait_for_calls(calls + 1, FUSE_SECONDS)
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert len(case.provider.asked_at) == 1
