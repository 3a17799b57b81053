"""How many requests are really made, and what a client is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.providers.model_provider import DOWN, Step
from tests.kit.client import RETRY, TYPED

if TYPE_CHECKING:
    from tests.interop.providers.cases import Case

SOON = Step("bad_gateway", {"retry-after": "", "retry-after-ms": "1"})
"""A failure after which the providers' packages try again at once, rather than in half a second."""

SHORT: dict[str, Any] = {"first_wait_seconds": 0.01}


@pytest.mark.parametrize(
    ("attempts", "max_retries", "made"),
    [(3, None, 3), (6, None, 6), (5, None, 3), (4, 1, 4), (1, 0, 1), (3, 0, 3)],
)
def test_a_packages_own_tries_count_among_the_attempts(
    case: Case, attempts: int, max_retries: int | None, made: int
) -> None:
    case.script(SOON)
    turn = case.turn(RETRY, retry=SHORT | {"attempts": attempts}, max_retries=max_retries)
    assert case.made == made
    error = turn.error
    assert (error["type"], error["attempts"]) == ("provider_unavailable", made)
    assert (f"It was tried {made} times." in error["message"]) == (made > 1)
    told = error["detail"]["attempts"]
    assert sum(attempt.get("tries", 1) for attempt in told) == made
    assert all(attempt["type"] == "provider_unavailable" for attempt in told)
    assert all(attempt["http_status"] == 502 for attempt in told)
    assert [attempt.get("waited_seconds") is None for attempt in told[-1:]] == [True]
    assert all(attempt["waited_seconds"] >= 0 for attempt in told[:-1])
    retries = turn.of_kind("agent_retry")
    assert len(retries) == len(told) - 1
    assert all(retry["attempt"] <= retry["max_attempts"] == attempts for retry in retries)


def test_two_simultaneous_calls_count_their_attempts_separately(case: Case) -> None:
    failing, mending = f"{case.model} failing", f"{case.model} mending"
    case.provider.script(failing, DOWN, DOWN, Step("unauthorized"))
    case.provider.script(mending, Step("drop"), Step("drop"), Step("hang"))
    error = case.turn(TYPED, models=[failing, mending]).error
    assert len(case.provider.requests(failing)) == 3
    assert (error["type"], error["attempts"]) == ("auth", 3)
    types = [attempt["type"] for attempt in error["detail"]["attempts"]]
    assert types == ["provider_unavailable", "provider_unavailable", "auth"]
