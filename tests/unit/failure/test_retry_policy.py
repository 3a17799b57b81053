"""The policy of retries, which the guard and `lastword run --retry` share."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.classify import classify_text
from lastword.core.failure.payload import MAX_DETAIL_BYTES
from lastword.core.failure.retry_policy import (
    CAPACITY,
    RETRY_COST,
    SUCCESS_RETURNS,
    TIMEOUT_COST,
    Failed,
    FailedAttempt,
    RetryBounds,
    RetryBucket,
    next_wait,
    requested_wait_seconds,
    with_attempts,
)
from lastword.core.failure.taxonomy import AgentError, ErrorType
from lastword.core.protocol import jsonrpc
from tests.kit.rows import every

NOW = 1_790_000_000.0
HOURS = RetryBounds(tries=3, max_wait_seconds=8 * 3600.0, sits_out=True)


def failed(kind: ErrorType = ErrorType.RATE_LIMIT, **known: Any) -> Failed:
    return Failed(type=kind, **{"retryable": True, **known})


def wait(
    failure: Failed, bounds: RetryBounds, *, failures: int = 1, roll: float = 0.0
) -> float | None:
    return next_wait(failure, [1] * failures, bounds, epoch_seconds=NOW, roll=roll)


def at(seconds: float) -> int:
    return int((NOW + seconds) * 1000)


def test_the_next_attempt_is_assumed_to_make_as_many_requests_as_the_longest() -> None:
    bounds = RetryBounds(tries=6)
    assert next_wait(failed(), [3], bounds, epoch_seconds=NOW, roll=0) is not None
    assert next_wait(failed(), [1, 3], bounds, epoch_seconds=NOW, roll=0) is None
    assert wait(failed(), bounds, failures=5) is not None
    assert wait(failed(), bounds, failures=6) is None


@given(
    asked=st.integers(0, 7200),
    most=st.floats(0, 3600),
    first=st.floats(0, 300),
    roll=st.floats(0, 1),
    failures=st.integers(1, 4),
)
def test_a_wait_is_never_shorter_than_requested_and_never_started_if_too_long(
    asked: int, most: float, first: float, roll: float, failures: int
) -> None:
    bounds = RetryBounds(tries=9, max_wait_seconds=most, first_wait_seconds=first)
    waited = wait(failed(retry_after_seconds=asked), bounds, failures=failures, roll=roll)
    if asked > most:
        assert waited is None
    else:
        assert waited is not None
        assert asked <= waited <= min(asked + min(1, first), most)


@pytest.mark.parametrize(
    ("first", "failures", "longest"),
    [(1, 1, 1), (1, 2, 2), (1, 3, 4), (1, 9, 256), (1, 30, 300), (8, 3, 32), (1, 5000, 300)],
)
def test_the_longest_wait_doubles_up_to_five_minutes_without_a_servers_wait(
    first: float, failures: int, longest: float
) -> None:
    bounds = RetryBounds(
        tries=9999, max_wait_seconds=math.inf, first_wait_seconds=first, sits_out=True
    )
    assert wait(failed(), bounds, failures=failures, roll=1) == longest
    assert wait(failed(), bounds, failures=failures, roll=0) == 0


def test_a_future_reset_counts_as_a_servers_wait_and_a_past_one_does_not() -> None:
    assert requested_wait_seconds(failed(reset_at_epoch_ms=at(90)), NOW) == 90
    assert requested_wait_seconds(failed(reset_at_epoch_ms=at(-90)), NOW) is None
    assert requested_wait_seconds(failed(reset_at_epoch_ms=at(90), retry_after_seconds=5), NOW) == 5


def test_a_reset_cannot_be_waited_for_without_a_clock() -> None:
    limited = failed(reset_at_epoch_ms=at(90))
    for most in (300.0, math.inf):
        bounds = RetryBounds(tries=9, max_wait_seconds=most, sits_out=True)
        assert next_wait(limited, [1], bounds, epoch_seconds=None, roll=0) is None


@every(
    ("failure", "waited"),
    [
        (failed(retryable=False, retry_after_seconds=5400), 5400),
        (failed(reset_at_epoch_ms=at(5400)), 5400),
        (failed(ErrorType.PROVIDER_UNAVAILABLE, retryable=False, retry_after_seconds=301), 301),
        (failed(ErrorType.BUDGET, retryable=False, reset_at_epoch_ms=at(7200)), 7200),
        (failed(ErrorType.BUDGET, retryable=False, retry_after_seconds=20), 20),
        # Nobody knows how long, or nothing but time is wrong.
        (failed(ErrorType.BUDGET, retryable=False), None),
        (failed(ErrorType.BUDGET, retryable=False, reset_at_epoch_ms=at(-1)), None),
        (failed(retryable=False, retry_after_seconds=20), None),
        (failed(retryable=False, refused=True, retry_after_seconds=5400), None),
        (failed(ErrorType.AUTH, retryable=False, retry_after_seconds=5400), None),
        # Over what the user allows.
        (failed(retryable=False, retry_after_seconds=9 * 3600), None),
    ],
)
def test_a_window_with_a_known_end_is_waited_for_if_only_its_length_forbids_a_retry(
    failure: Failed, waited: float | None
) -> None:
    assert wait(failure, HOURS) == waited


def test_only_retryable_failures_are_waited_for_without_sitting_out() -> None:
    bounds = RetryBounds(tries=3, max_wait_seconds=math.inf)
    assert wait(failed(retryable=False, retry_after_seconds=5400), bounds) is None


def test_a_success_returns_what_the_last_retry_cost_and_then_little_at_a_time() -> None:
    bucket = RetryBucket()
    while bucket.spend(ErrorType.TIMEOUT):
        pass
    assert bucket.tokens == CAPACITY % TIMEOUT_COST
    for returned in (TIMEOUT_COST, SUCCESS_RETURNS, SUCCESS_RETURNS):
        before = bucket.tokens
        bucket.succeed()
        assert bucket.tokens == before + returned
    assert bucket.spend(ErrorType.RATE_LIMIT)
    assert bucket.tokens == before + SUCCESS_RETURNS - RETRY_COST
    for _ in range(CAPACITY):
        bucket.succeed()
    assert bucket.tokens == CAPACITY
    assert not RetryBucket(RETRY_COST).spend(ErrorType.NETWORK), "it costs as much as a timeout"


def test_a_long_text_makes_room_for_the_first_and_the_last_attempts() -> None:
    tried = [FailedAttempt(classify_text("429 Too Many Requests"), tries=n) for n in range(1, 31)]
    long = AgentError(
        type=ErrorType.RATE_LIMIT, message="So.", retryable=True, detail={"text": "x" * 9999}
    )
    detail = with_attempts(long, tuple(tried)).detail
    assert detail is not None
    assert len(jsonrpc.dumps(detail)) <= MAX_DETAIL_BYTES
    assert detail["text"].endswith("x...")
    assert [each.get("tries", 1) for each in detail["attempts"]] == [*range(1, 6), *range(26, 31)]
    short = msgspec.structs.replace(long, detail={"text": "x"})
    assert (with_attempts(short, tuple(tried)).detail or {})["text"] == "x"
