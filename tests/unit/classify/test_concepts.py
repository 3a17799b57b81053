"""Words that no table has: parts of machine-readable ones, and two plain ones close together."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify, classify_text, tokens
from lastword.core.classify.concepts import CONCEPTS
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.growth import costs_its_length
from tests.kit.rows import every


@every(
    ("text", "kind"),
    [
        ("This thread no longer fits the window", ErrorType.CONTEXT_OVERFLOW),
        ("The reply was withheld under our policy", ErrorType.CONTENT_FILTER),
        ("Your monthly allotment is consumed", ErrorType.BUDGET),
        ("This deployment was retired last week", ErrorType.MODEL_NOT_FOUND),
        ("The password you gave is wrong", ErrorType.AUTH),
        ("The agent quit", ErrorType.AGENT_CRASH),
        ("The provider did not answer", ErrorType.TIMEOUT),
        ("The tunnel was interrupted", ErrorType.NETWORK),
        ("Your calls are too frequent", ErrorType.RATE_LIMIT),
        ("The backend went down", ErrorType.PROVIDER_UNAVAILABLE),
        ("The cat sat on the mat", ErrorType.UNKNOWN),
        ("The frequency is known. " + "x " * 60 + "Too high", ErrorType.UNKNOWN),
    ],
)
def test_a_thing_beside_what_befell_it_names_the_failure(text: str, kind: ErrorType) -> None:
    assert classify_text(text).type is kind


def test_a_process_that_ended_by_itself_is_not_retried_on_a_guess() -> None:
    assert not classify_text("The agent quit").retryable
    assert classify_text("The agent quit unexpectedly").retryable


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("token_quota_reached", 403, ErrorType.BUDGET),
        ("censorship_blocked", 451, ErrorType.CONTENT_FILTER),
        ("AuthFailure.SecretIdNotFound", None, ErrorType.AUTH),
        ("LimitExceeded", None, ErrorType.RATE_LIMIT),
        ("file_size_limit_exceeded", 400, ErrorType.INVALID_REQUEST),
        ("extra_forbidden", 422, ErrorType.INVALID_REQUEST),
    ],
)
def test_a_word_that_no_list_has_counts_by_a_part_of_it(
    code: str, status: int | None, kind: ErrorType
) -> None:
    assert classify({"http_status": status, "body": {"code": code}}).type is kind


def test_the_tables_are_in_the_spelling_that_they_are_compared_in() -> None:
    for parts in tokens.PARTS.values():
        assert all(part.isalnum() and part == part.lower() for part in parts)
    for concept in CONCEPTS:
        for block in (concept.things, concept.happenings, concept.unless):
            assert block == block.lower()
            assert "  " not in block


@every("unit", ["model ", "request ", "connection server ", "token invalid ", "a"])
def test_a_megabyte_of_such_words_costs_its_length_and_not_its_square(unit: str) -> None:
    assert costs_its_length(classify_text, unit * (1_000_000 // len(unit)))
