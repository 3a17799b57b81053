"""What to show: words, one button, a countdown, and who may press Retry."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.client import describe, read_error
from lastword.core.failure.sentences import BUTTONS, TITLES
from lastword.core.failure.taxonomy import DEFAULTS, Action, AgentError, ErrorType, RetrySafety
from tests.kit.rows import every

NOW = 1_790_000_000.0


def error(error_type: ErrorType = ErrorType.RATE_LIMIT, **members: Any) -> AgentError:
    known = {"message": "It failed. Try again.", "retryable": DEFAULTS[error_type].retryable}
    return AgentError(type=error_type, **(known | members))


@every("error_type", ErrorType)
def test_every_type_has_words_and_a_button_without_further_facts(
    error_type: ErrorType,
) -> None:
    shown = describe(error(error_type), now=NOW)
    assert shown.title == TITLES[error_type]
    assert shown.sentence == "It failed. Try again."
    assert shown.button == BUTTONS[shown.action]
    assert (shown.wait_seconds, shown.countdown, shown.details) == (None, "", "")
    assert shown.can_retry is DEFAULTS[error_type].retryable
    assert shown.needs_confirmation is shown.can_retry
    assert not shown.automatic


def test_the_countdown_moves_with_the_clock_that_is_given_in() -> None:
    limited = error(retry_after_seconds=20, retry_safety=RetrySafety.AUTO)
    told = [describe(limited, now=NOW + s, received=NOW) for s in (0, 1.5, 2, 19.9, 20, 500)]
    assert [shown.wait_seconds for shown in told] == [20, 19, 18, 1, 0, 0]
    assert told[2].countdown == "retry in 18 s"
    assert told[-1].countdown == ""
    assert all(shown.automatic and shown.can_retry for shown in told)
    assert describe(limited, now=NOW).countdown == "retry in 20 s"
    assert describe(limited) == describe(limited, now=NOW), "it came now"
    assert describe(limited, received=0).wait_seconds == 0, "by the clock it came long ago"
    assert describe(limited, now=NOW - 3600, received=NOW).wait_seconds == 20, "a clock set back"
    used_up = error(ErrorType.BUDGET, reset_at_epoch_ms=int(NOW * 1000) + 11_400_000)
    shown = describe(used_up, now=NOW)
    assert (shown.countdown, shown.can_retry) == ("resets in 3 h 10 min", False)
    # A machine waits five minutes at most.
    patient = error(retry_after_seconds=301, retry_safety=RetrySafety.AUTO)
    assert not describe(patient, now=NOW).automatic
    assert not describe(patient, now=NOW + 400, received=NOW).automatic


@pytest.mark.parametrize("safety", [RetrySafety.NEVER, RetrySafety.AUTO])
def test_a_limit_that_has_reset_can_be_retried_by_hand(safety: RetrySafety) -> None:
    long = error(retryable=False, retry_after_seconds=600, retry_safety=safety)
    before, after = (describe(long, now=NOW + s, received=NOW) for s in (10, 600))
    assert (before.can_retry, before.countdown) == (False, "resets in 9 min 50 s")
    assert (after.can_retry, after.needs_confirmation, after.automatic) == (True, True, False)
    broken = error(ErrorType.INTERNAL, retry_after_seconds=1)
    assert not describe(broken, now=NOW + 9, received=NOW).can_retry


@pytest.mark.parametrize(
    ("safety", "retryable", "can_retry", "confirm", "automatic"),
    [
        (RetrySafety.AUTO, True, True, False, True),
        (RetrySafety.OFFER_CONTINUE, True, True, False, False),
        (RetrySafety.ASK, True, True, True, False),
        (RetrySafety.NEVER, True, False, False, False),
        (None, True, True, True, False),
        (RetrySafety.AUTO, False, False, False, False),
        (RetrySafety.NEVER, False, False, False, False),
    ],
)
def test_retry_buttons_depend_on_safety(
    safety: RetrySafety | None, retryable: bool, can_retry: bool, confirm: bool, automatic: bool
) -> None:
    shown = describe(error(retryable=retryable, retry_safety=safety), now=NOW)
    assert shown.can_retry is can_retry
    assert shown.needs_confirmation is confirm
    assert shown.automatic is automatic


@pytest.mark.parametrize(
    ("safety", "action"),
    [
        (RetrySafety.AUTO, Action.WAIT),
        (RetrySafety.OFFER_CONTINUE, Action.CONTINUE),
        (RetrySafety.ASK, Action.CONFIRM_RETRY),
        (None, Action.WAIT),
    ],
)
def test_a_missing_action_follows_from_the_known_facts(
    safety: RetrySafety | None, action: Action
) -> None:
    assert describe(error(retry_safety=safety), now=NOW).action is action
    crash = error(ErrorType.AGENT_CRASH, retry_safety=safety)
    assert describe(crash, now=NOW).action is Action.RESTART
    assert describe(error(retry_safety=safety, action=Action.LOGIN), now=NOW).action is Action.LOGIN


def test_a_failure_without_words_is_described_by_its_type() -> None:
    told = read_error({"sessionUpdate": "agent_error", "error": {"type": "auth"}})
    assert told is not None
    shown = describe(told, now=NOW)
    assert shown.sentence.startswith("The model provider refused the login or API key.")
    assert shown.sentence.endswith("Log in again or check the API key.")
    assert len(describe(error(message="x" * 900), now=NOW).sentence) == 500


def test_texts_are_plain_and_a_cut_is_marked() -> None:
    said = "one\ntwo\u202e\x1b[31m" + "x" * 9000
    shown = describe(error(message="a [link](b)\nc `d`", detail={"text": said}), now=NOW)
    assert shown.sentence == "a (link)(b) c d"
    assert shown.details.startswith("one\ntwo")
    assert shown.details.endswith("…")
    assert len(shown.details) == 4096
    assert all(char.isprintable() or char == "\n" for char in shown.details)
    assert describe(error(detail={"text": 7}), now=NOW).details == ""


@given(
    st.builds(
        error,
        st.sampled_from(ErrorType),
        message=st.text(),
        retryable=st.booleans(),
        retry_after_seconds=st.none() | st.integers(0, 2**53),
        reset_at_epoch_ms=st.none() | st.integers(0, 2**53),
        retry_safety=st.none() | st.sampled_from(RetrySafety),
        action=st.none() | st.sampled_from(Action),
        detail=st.none() | st.dictionaries(st.just("text"), st.text() | st.integers()),
    ),
    st.floats(0, 1e11),
    st.floats(0, 1e11) | st.none(),
)
def test_any_failure_has_something_to_show_and_is_retried_only_where_safe(
    failure: AgentError, now: float, received: float | None
) -> None:
    shown = describe(failure, now=now, received=received)
    assert shown.title
    assert 0 < len(shown.sentence) <= 500
    assert shown.sentence.isprintable()
    assert shown.wait_seconds is None or shown.wait_seconds >= 0
    allowed = failure.retryable and failure.retry_safety is RetrySafety.AUTO
    assert not shown.automatic or (allowed and shown.can_retry and not shown.needs_confirmation)
