"""The tables: a row can be found, means one thing, and is not swallowed by another."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify_text, messages, rules, tokens
from lastword.core.classify.text import fold, names, normalise, phrase_in
from lastword.core.failure.taxonomy import ErrorType

ALL_ROWS = [
    row for table in (messages.STRONG, messages.WEAK) for rows in table.values() for row in rows
]


def test_every_type_that_a_provider_can_cause_has_sentences() -> None:
    silent = {ErrorType.UNKNOWN, ErrorType.STDERR_OVERFLOW, ErrorType.AGENT_STALLED}
    transport_types = {row.type for row in rules.ROWS}
    assert {*messages.STRONG, *messages.WEAK, *transport_types} == set(ErrorType) - silent


def test_each_word_means_one_type() -> None:
    seen: dict[str, ErrorType] = {}
    for kind, words in tokens.STRONG.items():
        for word in words:
            assert seen.setdefault(word, kind) is kind, word


def test_a_weak_word_is_never_a_strong_one_of_another_type() -> None:
    strong = {word: kind for kind, words in tokens.STRONG.items() for word in words}
    clashes = [
        word
        for kind, words in tokens.WEAK.items()
        for word in words
        if strong.get(word, kind) is not kind
    ]
    assert clashes == []


def test_each_transport_name_is_in_one_row() -> None:
    seen: set[str] = set()
    for row in (rules.CERTIFICATE, *rules.ROWS):
        assert not row.names & seen
        seen |= row.names


def test_a_row_is_written_as_text_is_compared() -> None:
    for row in {*ALL_ROWS, *messages.QUOTA}:
        assert row == fold(row)
        assert len(row) >= 4 or not row.isascii()


@pytest.mark.parametrize("kind", messages.STRONG)
def test_a_sentence_with_a_row_in_it_is_recognised(kind: ErrorType) -> None:
    for row in messages.STRONG[kind]:
        verdict = classify_text("It said: " + row.replace(" .. ", " xyz "))
        assert verdict.type is kind, (row, verdict.rule)


def test_spelling_does_not_matter() -> None:
    spellings = ["rate_limit_error", "RateLimitError", "RATE-LIMIT", "rateLimit", "a.RateLimit"]
    assert {normalise(spelling) for spelling in spellings[:4]} == {"ratelimit"}
    assert names(["AI_APICallError", "api_call"]) == {"apicall"}


def test_a_gap_in_a_row_is_bounded_and_ends_at_whole_words() -> None:
    rows = ("model .. not found",)
    assert phrase_in("the model x is not found", rows) == rows[0]
    assert phrase_in("the model " + "x" * 200 + " not found", rows) is None
    assert phrase_in("the supermodel x is not found", rows) is None


def test_nested_json_and_typographic_quotes_are_folded() -> None:
    assert fold("It isn\u2019t\n\tHERE") == "it isn't here"
    assert fold(r"{\"a\": \"b\nc\"}") == '{"a": "b c"}'


def test_every_sentence_of_another_language_is_in_the_table_of_its_type_or_reason() -> None:
    for kind, rows in messages.SPOKEN.items():
        assert not set(rows) & set(messages.STRONG[kind])
        assert all(messages.spoken_in(f"x {part} x", kind) for part in rows)
    for reason, rows in rules.SPOKEN.items():
        row = next(row for row in rules.ROWS if row.reason == reason)
        assert set(rows) <= set(row.phrases)
        assert all(part == fold(part) for part in rows)


@pytest.mark.parametrize("row", rules.ROWS, ids=lambda row: row.reason)
def test_a_sentence_of_a_transport_is_recognised_in_any_language(row: rules.TransportRow) -> None:
    for part in rules.SPOKEN.get(row.reason, ()):
        verdict = classify_text(f"x {part} x")
        assert (verdict.type, verdict.retryable) == (row.type, row.retryable), (part, verdict.rule)


def test_a_part_is_found_anywhere_and_the_first_row_counts() -> None:
    rows = ("no more credits", "limit of", "credits", "over .. budget", "a b", "额度")
    for text, row in {
        "sorry, no more credits": "no more credits",
        "xno more creditsx": "no more credits",
        "no more  credits": "credits",
        "unlimited: nolimit offset": "limit of",
        "it went over the whole budgets": "over .. budget",
        "ba b": "a b",
        "您的额度已用完": "额度",
        "": None,
    }.items():
        assert phrase_in(text, rows) == row, text
