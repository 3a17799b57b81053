"""What is tried again by itself, and what is left to the user, by what had happened before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.providers.model_provider import DOWN, HEALTHY, Step
from tests.kit.client import TYPED

if TYPE_CHECKING:
    from tests.interop.providers.cases import Case

ANSWER = "The answer from the fake model is 42."


THRICE: dict[str, Any] = {"attempts": 3, "first_wait_seconds": 0.01}


@pytest.mark.parametrize("kind", ["drop", "cut_at_once"])
def test_a_call_that_broke_off_before_its_output_is_tried_again(
    case: Case,
    kind: str,
) -> None:
    case.script(Step(kind), Step(kind), HEALTHY)
    turn = case.turn(TYPED, retry=THRICE)
    assert case.made == 3
    assert (turn.answer["result"], turn.text) == ({"stopReason": "end_turn"}, ANSWER)


@pytest.mark.parametrize("kind", ["cut", "truncated"])
def test_a_call_that_broke_off_after_text_is_left_to_the_user_to_continue(
    case: Case,
    kind: str,
) -> None:
    case.script(Step(kind))
    turn = case.turn(TYPED)
    assert case.made == 1
    assert turn.text == ANSWER
    error = turn.error
    assert (error["type"], error["retryable"]) == ("network", True)
    assert (error["phase"], error["retry_safety"]) == ("mid_output", "offer_continue")
    assert error["action"] == "continue"
    assert turn.kinds[-1] == "agent_error"


def test_a_call_that_broke_off_after_text_is_tried_again_where_the_author_asks_for_it(
    case: Case,
) -> None:
    case.script(Step("cut"), HEALTHY)
    retry = {"first_wait_seconds": 0.01, "after_output": True}
    turn = case.turn(TYPED, retry=retry)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == ANSWER * 2


def test_a_call_in_which_a_tool_ran_is_left_to_the_user(case: Case) -> None:
    case.script(DOWN)
    error = case.turn(TYPED, tool="inside").error
    assert case.made == 1
    assert (error["type"], error["retryable"]) == ("provider_unavailable", True)
    assert (error["phase"], error["retry_safety"]) == ("after_tool", "ask")
    assert error["action"] == "confirm_retry"


def test_a_call_in_which_a_tool_ran_is_tried_again_where_the_author_asks_for_it(case: Case) -> None:
    case.script(DOWN, HEALTHY)
    retry = {"first_wait_seconds": 0.01, "after_tools": True}
    turn = case.turn(TYPED, tool="inside", retry=retry)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert case.made == 2


def test_a_tool_before_the_call_does_not_forbid_to_try_the_call_again(case: Case) -> None:
    case.script(DOWN, DOWN, HEALTHY)
    turn = case.turn(TYPED, tool="before", retry=THRICE)
    assert case.made == 3
    assert turn.text == ANSWER


def test_a_tool_before_the_call_makes_the_failed_turn_one_to_ask_about(case: Case) -> None:
    case.script(DOWN)
    error = case.turn(TYPED, tool="before", retry=THRICE).error
    assert case.made == 3
    assert error["attempts"] == 3
    assert (error["phase"], error["retry_safety"]) == ("after_tool", "ask")
    assert error["action"] == "confirm_retry"


@pytest.mark.parametrize("by", ["function", "generator"])
def test_the_decorator_tries_a_call_again(
    case: Case,
    by: str,
) -> None:
    case.script(DOWN, Step("cut_at_once"), HEALTHY)
    turn = case.turn(TYPED, by=by)
    assert case.made == 3
    assert turn.text == ANSWER


def test_a_decorated_generator_that_has_yielded_is_not_tried_again(case: Case) -> None:
    case.script(Step("cut"))
    turn = case.turn(TYPED, by="generator")
    assert case.made == 1
    assert turn.text == ANSWER
    assert turn.error["retry_safety"] == "offer_continue"
