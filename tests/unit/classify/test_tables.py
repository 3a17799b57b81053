"""The tables, in every language: a row is found, means one thing, and is swallowed by no other."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify_text, messages, rules, tokens
from lastword.core.classify.concepts import (
    CONCEPTS,
    in_other_alphabet,
    language_pairs,
    read_latin,
    read_other_alphabet,
)
from lastword.core.classify.gather import MAX_WORDS, identifiers
from lastword.core.classify.text import fold, names, normalise, phrase_in
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.growth import costs_its_length
from tests.kit.rows import every

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


def test_spelling_quotes_and_nested_json_are_folded() -> None:
    spellings = ["rate_limit_error", "RateLimitError", "RATE-LIMIT", "rateLimit"]
    assert {normalise(spelling) for spelling in spellings} == {"ratelimit"}
    assert names(["AI_APICallError", "api_call"]) == {"apicall"}
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
        # A gap is bounded, and begins and ends at whole words.
        "it went over the whole budgets": "over .. budget",
        "over " + "x" * 200 + " budget": None,
        "over " * 80 + "x" * 200 + " budget": None,
        "moreover the budget": None,
        "over and out": None,
        "budget only": None,
        "ba b": "a b",
        "您的额度已用完": "额度",
        "": None,
    }.items():
        assert phrase_in(text, rows) == row, text


def test_only_the_first_of_many_names_in_a_text_count() -> None:
    assert len(identifiers(" ".join(f"some_name_{number}" for number in range(500)))) == MAX_WORDS


# --- words close together


def test_the_words_of_concepts_are_in_the_spelling_that_they_are_compared_in() -> None:
    for parts in tokens.PARTS.values():
        assert all(part.isalnum() and part == part.lower() for part in parts)
    for concept in CONCEPTS:
        for block in (concept.things, concept.happenings, concept.unless):
            assert block == block.lower()
            assert "  " not in block


@every("unit", ["model ", "request ", "connection server ", "token invalid ", "a"])
def test_a_megabyte_of_such_words_is_classified_in_linear_time(unit: str) -> None:
    assert costs_its_length(classify_text, unit * (1_000_000 // len(unit)))


LANGUAGES = (
    *("chinese", "french", "german", "japanese", "korean", "portuguese", "russian", "spanish"),
)
UNSAID = {
    *(ErrorType.UNKNOWN, ErrorType.CANCELLED, ErrorType.AGENT_STALLED),
    *(ErrorType.STDERR_OVERFLOW, ErrorType.INTERNAL),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_has_words_for_every_failure_in_the_form_that_is_compared(name: str) -> None:
    table = language_pairs(name)
    assert {concept.type for concept in table} == set(ErrorType) - UNSAID
    for concept in table:
        words = f"{concept.things}, {concept.happenings}, {concept.unless}"
        assert words == words.lower().replace("\u0451", "\u0435")
        if name in {"french", "german", "portuguese", "spanish"}:
            assert words.isascii()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("모델 없음", "korean"),
        ("サーバーエラー", "japanese"),
        ("认证失败", "chinese"),
        ("Ошибка", "russian"),
        ("Fehler \u2026", None),
        ("error", None),
    ],
)
def test_the_alphabet_names_the_language(text: str, language: str | None) -> None:
    assert in_other_alphabet(fold(text)) == language


def test_a_text_in_another_alphabet_is_recognised_and_japanese_without_kana() -> None:
    assert read_other_alphabet("認証失敗") == (ErrorType.AUTH, "japanese: 認証 + 失敗")
    assert read_other_alphabet("天気") is None
    assert read_other_alphabet("weather") is None


def test_a_latin_text_is_in_the_language_of_its_commonest_words_or_of_its_accents() -> None:
    assert read_latin("el saldo de su cuenta se ha agotado") == (
        ErrorType.BUDGET,
        "spanish: saldo + agot",
    )
    assert read_latin("saldo insuficiente") is not None
    assert read_latin("the session expired") is None
    assert read_latin("das ist ein text") is None
    assert read_latin("número máximo de tokens excedido") is not None
    assert read_latin("größe: nachricht zu groß") is not None
