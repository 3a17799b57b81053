"""What failed together is one failure, whatever the order in which it is listed."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest

from lastword.core.classify import classify
from lastword.core.failure.taxonomy import ErrorType


class LimitError(Exception):
    status_code = 429


class KeyRefusedError(Exception):
    status_code = 401


@pytest.mark.parametrize(
    "members", list(permutations([ValueError("odd"), LimitError("slow down")]))
)
def test_a_recognised_failure_decides_the_groups_type(members: tuple[Exception, ...]) -> None:
    assert classify(ExceptionGroup("together", members)).type is ErrorType.RATE_LIMIT


@pytest.mark.parametrize(
    "members", list(permutations([KeyRefusedError("no"), LimitError("slow down")]))
)
def test_the_failure_that_forbids_a_retry_decides(members: tuple[Exception, ...]) -> None:
    verdict = classify(ExceptionGroup("together", members))
    assert (verdict.type, verdict.retryable) == (ErrorType.AUTH, False)


def test_a_cancelled_member_of_a_group_does_not_decide() -> None:
    members = [asyncio.CancelledError(), ExceptionGroup("inner", [LimitError("slow down")])]
    assert classify(BaseExceptionGroup("together", members)).type is ErrorType.RATE_LIMIT


def test_a_group_of_thousands_is_read_up_to_a_bound() -> None:
    deep: BaseException = LimitError("slow down")
    for _ in range(5000):
        deep = ExceptionGroup("deeper", [deep])  # type: ignore[list-item]
    assert classify(deep).type is ErrorType.RATE_LIMIT
    assert classify(ExceptionGroup("wide", [LimitError("slow down")] * 5000)).retryable


def test_a_group_as_the_cause_of_another_failure_is_read() -> None:
    error = RuntimeError("the model call failed")
    error.__cause__ = ExceptionGroup("together", [LimitError("slow down")])
    assert classify(error).type is ErrorType.RATE_LIMIT
