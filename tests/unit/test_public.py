"""The public surface: its names, what it costs, and what `lastword.classify` promises."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastword
from lastword import Action, ErrorType, Origin, RetrySafety, TurnFacts, classify
from tests.kit.canaries import CANARIES


class LimitError(Exception):
    """A rate limit, as an SDK raises it."""

    status_code = 429

    def __init__(self, wait: str = "20") -> None:
        super().__init__("Too many requests")
        self.response = type("Response", (), {"headers": {"retry-after": wait}})()


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = lastword.nothing_of_the_kind  # type: ignore[attr-defined]


def test_a_failure_is_named_with_its_wait_and_its_words() -> None:
    error = classify(LimitError(), facts=TurnFacts())
    assert (error.type, error.origin, error.action) == (
        ErrorType.RATE_LIMIT,
        Origin.PROVIDER,
        Action.WAIT,
    )
    assert (error.retryable, error.retry_after_seconds, error.http_status) == (True, 20, 429)
    assert error.message == "The model provider is limiting requests. Try again in 20 seconds."
    assert (error.phase, error.retry_safety) == ("before_output", "auto")
    unplaced = classify(LimitError())
    assert (unplaced.phase, unplaced.retry_safety) == (None, "ask")


flags = st.booleans()


@given(
    st.builds(TurnFacts, **dict.fromkeys(TurnFacts.__struct_fields__, flags)),
    flags,
)
def test_a_retry_is_automatic_only_if_nothing_at_all_had_come(
    facts: TurnFacts, retryable: bool
) -> None:
    safety = facts.retry_safety(retryable=retryable)
    quiet = facts in {TurnFacts(), TurnFacts(request_sent=False)}
    assert (safety is RetrySafety.AUTO) == (retryable and quiet)
    assert (safety is RetrySafety.NEVER) == (not retryable)
    if facts.unsafe_tool or facts.tool_running:
        assert safety is not RetrySafety.OFFER_CONTINUE


def test_a_failure_that_a_retry_cannot_help_is_never_retried() -> None:
    for facts in (None, TurnFacts(), TurnFacts(request_sent=False)):
        error = classify(ValueError("invalid api key"), facts=facts)
        assert (error.type, error.retry_safety) == (ErrorType.AUTH, RetrySafety.NEVER)


def test_a_reset_is_stated_in_the_readers_local_time() -> None:
    class UsedUpError(Exception):
        def __init__(self, at: float) -> None:
            super().__init__("usage limit reached")
            self.body = {"error": {"resets_at": int(at)}}

    soon = datetime.now(UTC).timestamp() + 6 * 86_400 + 60
    message = classify(UsedUpError(soon)).message
    assert re.search(r"or try again on \d{1,2} \w+(?: \d{4})? at \d\d:\d\d\.$", message)


def test_the_users_own_redactor_processes_every_text() -> None:
    error = classify(ValueError("Jane did it"), redactor=lambda text: text.replace("Jane", "X"))
    assert "Jane" not in str(error)
    assert "X did it" in str(error)
    dropped = classify(ValueError("Jane did it"), redactor=lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    assert "Jane" not in str(dropped)


def test_text_bytes_bodies_and_nothing_are_errors_too() -> None:
    assert classify("429 Too Many Requests").type is ErrorType.RATE_LIMIT
    assert classify(b'{"error": {"code": "insufficient_quota"}}').type is ErrorType.BUDGET
    assert classify({"code": -32000, "message": "x"}).type is ErrorType.AUTH
    assert classify(None).type is ErrorType.UNKNOWN
    assert CANARIES["openai"] not in str(classify(CANARIES["openai"]))
