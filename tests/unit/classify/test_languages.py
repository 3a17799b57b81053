"""Failures told in eight languages, by two words that stand close together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.classify.concepts import (
    in_other_alphabet,
    language_pairs,
    read_latin,
    read_other_alphabet,
)
from lastword.core.classify.text import fold
from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from lastword.core.classify.concepts import Concept

LANGUAGES = (
    *("chinese", "french", "german", "japanese", "korean", "portuguese", "russian", "spanish"),
)
TABLES = {name: language_pairs(name) for name in LANGUAGES}


@pytest.mark.parametrize("name", TABLES)
def test_a_language_has_words_for_every_failure_that_a_text_may_name(name: str) -> None:
    unsaid = {
        *(ErrorType.UNKNOWN, ErrorType.CANCELLED, ErrorType.AGENT_STALLED),
        *(ErrorType.STDERR_OVERFLOW, ErrorType.INTERNAL),
    }
    assert {concept.type for concept in TABLES[name]} == set(ErrorType) - unsaid


@pytest.mark.parametrize("name", TABLES)
def test_a_languages_words_are_written_in_the_form_that_is_compared(name: str) -> None:
    def words(concept: Concept) -> str:
        return f"{concept.things}, {concept.happenings}, {concept.unless}"

    for concept in TABLES[name]:
        assert words(concept) == words(concept).lower().replace("\u0451", "\u0435")
        if name in {"french", "german", "portuguese", "spanish"}:
            assert words(concept).isascii()


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


def test_a_japanese_text_is_recognised_without_kana() -> None:
    assert read_other_alphabet("認証失敗") == (ErrorType.AUTH, "japanese: 認証 + 失敗")
    assert read_other_alphabet("天気") is None
    assert read_other_alphabet("weather") is None


def test_a_latin_text_is_in_the_language_of_its_commonest_words() -> None:
    assert read_latin("el saldo de su cuenta se ha agotado") == (
        ErrorType.BUDGET,
        "spanish: saldo + agot",
    )
    assert read_latin("saldo insuficiente") is not None
    assert read_latin("the session expired") is None
    assert read_latin("das ist ein text") is None


def test_an_accented_letter_is_enough_to_try_a_language() -> None:
    assert read_latin("número máximo de tokens excedido") is not None
    assert read_latin("größe: nachricht zu groß") is not None
