"""The user's own rows: what they match, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.classify import classify, gather, own_rows
from lastword.core.classify.own_rows import OwnRow
from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = (
    OwnRow(name="by-words", type=ErrorType.BUDGET, words=frozenset({"acmepoints", "acmegone"})),
    OwnRow(
        name="by-text",
        type=ErrorType.AUTH,
        messages=("no desk .. here",),
        words=frozenset({"nodesk"}),
        unless=("tomorrow",),
        retryable=False,
    ),
    OwnRow(name="text-alone", type=ErrorType.TIMEOUT, messages=("left the building",)),
)


@pytest.fixture(autouse=True)
def used() -> Iterator[None]:
    own_rows.use(ROWS)
    yield
    own_rows.use(())


@pytest.mark.parametrize(
    ("error", "rule", "match"),
    [
        ({"code": "ACME_POINTS", "type": "acme_gone"}, "config:by-words", "acmegone"),
        ("no desk of yours here", "config:by-text", "no desk .. here"),
        (type("NoDeskError", (Exception,), {})("x"), "config:by-text", "nodesk"),
        ("it has left the building", "config:text-alone", "left the building"),
        ({"code": "no_desk", "message": "come tomorrow"}, None, None),
    ],
)
def test_a_row_matches_by_a_word_or_a_part_of_the_message(
    error: object, rule: str | None, match: str | None
) -> None:
    verdict = classify(error)
    assert (verdict.rule if verdict.rule.startswith("config:") else None) == rule
    name = (rule or "config:by-text").partition(":")[2]
    assert own_rows.match_of(name, gather.from_any(error)) == match


def test_a_row_that_is_not_in_use_matches_nothing() -> None:
    assert own_rows.match_of("other", gather.from_any("no desk is here")) is None
    own_rows.use(())
    assert not classify("no desk of yours here").rule.startswith("config:")


def test_a_processs_end_and_a_cancel_come_before_the_users_rows() -> None:
    assert classify({"process": {"exit_code": 137}, "message": "no desk is here"}).rule != (
        "config:by-text"
    )
    cancelled = classify(
        {"jsonrpc": "2.0", "error": {"code": -32800, "message": "no desk is here"}}
    )
    assert cancelled.type is ErrorType.CANCELLED
