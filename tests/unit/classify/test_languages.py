"""Failures told in eight languages, by two words that stand close together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.classify import classify, classify_text
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
def test_its_words_are_written_as_a_text_is_compared(name: str) -> None:
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


def test_a_japanese_text_may_do_without_its_own_letters() -> None:
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


def test_a_letter_with_an_accent_is_enough_to_look() -> None:
    assert read_latin("número máximo de tokens excedido") is not None
    assert read_latin("größe: nachricht zu groß") is not None


def test_russian_is_written_with_and_without_a_yo() -> None:
    for text in ("Срок действия токена истёк", "Срок действия токена истек"):
        assert classify_text(text).type == "auth"


def test_a_400_gives_way_to_what_no_retry_helps() -> None:
    for text in ("메시지가 너무 깁니다", "Le message est trop long", "Слишком большой текст"):
        body = {"error": {"type": "invalid_request_error", "message": text}}
        assert classify({"http_status": 400, "body": body}).type == "context_overflow"


def test_an_answer_that_cannot_be_parsed_is_one_in_spanish_too() -> None:
    verdict = classify_text("Error de análisis del bloque de mensajes de la API del proveedor")
    assert (verdict.type, verdict.rule.partition(":")[0]) == ("protocol_error", "concept")


def test_a_process_that_ended_is_a_crash_in_any_language() -> None:
    for text in ("프로세스가 종료 코드 137로 종료되었습니다", "Le processus s'est arrêté"):
        assert classify_text(text).type == "agent_crash"


def test_an_exception_of_a_language_stays_one_whatever_it_says() -> None:
    record = {"exception_class": "builtins.RuntimeError", "message": "서버에 문제"}
    assert classify(record).type == "internal"
