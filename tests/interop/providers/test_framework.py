"""A framework between the agent and its provider's package: what fails below it arrives typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.providers.model_provider import DOWN, HEALTHY, Step
from tests.kit.client import TYPED

if TYPE_CHECKING:
    from tests.interop.providers.cases import Case

SOON = Step("bad_gateway", {"retry-after": "", "retry-after-ms": "1"})
ANSWER = "The answer from the fake model is 42."


@pytest.mark.parametrize(("attempts", "made"), [(3, 3), (6, 6)])
def test_the_tries_of_the_package_below_count_among_the_attempts(
    framework: Case, attempts: int, made: int
) -> None:
    framework.script(SOON)
    retry = {"attempts": attempts, "first_wait_seconds": 0.01}
    error = framework.turn(TYPED, retry=retry, max_retries=None).error
    assert framework.made == made
    assert (error["type"], error["attempts"]) == ("provider_unavailable", made)


@pytest.mark.parametrize("step", [DOWN, Step("drop"), Step("cut_at_once")], ids=lambda s: s.kind)
def test_a_call_that_failed_before_its_output_is_tried_again(framework: Case, step: Step) -> None:
    framework.script(step, HEALTHY)
    turn = framework.turn(TYPED)
    assert framework.made == 2
    assert (turn.answer["result"], turn.text) == ({"stopReason": "end_turn"}, ANSWER)


def test_a_call_that_broke_off_after_text_is_left_to_the_user_to_continue(framework: Case) -> None:
    framework.script(Step("cut"))
    turn = framework.turn(TYPED)
    assert framework.made == 1
    error = turn.error
    assert (error["type"], error["phase"], error["action"]) == ("network", "mid_output", "continue")


@pytest.mark.parametrize(
    ("kind", "error_type"), [("unauthorized", "auth"), ("context_overflow", "context_overflow")]
)
def test_what_another_try_cannot_mend_is_not_tried_again(
    framework: Case, kind: str, error_type: str
) -> None:
    framework.script(Step(kind))
    error = framework.turn(TYPED).error
    assert framework.made == 1
    assert (error["type"], error["retryable"]) == (error_type, False)
