"""An error by its form: what is one, and the honest answers that speak of errors and are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tests.kit
from lastword.core.classify.prose import MAX_WORDS_CHARS, error_by_form
from lastword.core.failure.signs import (
    MAX_PROSE_CHARS,
    may_be_error_by_form,
    may_request_error_text,
)
from tests.kit.honest_answers import equal_answers, honest_answers
from tests.kit.rows import every

ERRORS = [
    json.loads(line)
    for line in Path(tests.kit.__file__)
    .with_name("error_texts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
TOLD = [(row["type"], row["text"]) for row in ERRORS if row["form"] == "told"]
BARE = [(row["type"], row["text"]) for row in ERRORS if row["form"] == "bare"]


def _found(rows: list[tuple[str, str]], *, spoken_for: bool = False) -> int:
    """How many are found; of those, none by another type than its own."""
    verdicts = [(kind, error_by_form(text, spoken_for=spoken_for)) for kind, text in rows]
    assert [(kind, found) for kind, found in verdicts if found and found.type != kind] == []
    return sum(found is not None for _, found in verdicts)


def test_no_honest_answer_has_the_form_of_an_error_that_happened() -> None:
    answers = [honest.answer for honest in honest_answers()]
    assert len(answers) >= 1000
    assert [answer for answer in answers if error_by_form(answer)] == []


def test_an_error_that_was_asked_for_is_told_from_one_that_happened_by_the_prompt_alone() -> None:
    equal = equal_answers()
    assert any(error_by_form(honest.answer) for honest in equal)
    assert [honest.prompt for honest in equal if not may_request_error_text(honest.prompt)] == []


def test_an_error_that_tells_of_itself_is_found_without_another_word() -> None:
    assert len(TOLD) >= 60
    assert _found(TOLD) >= 0.95 * len(TOLD)


def test_a_bare_form_is_an_error_only_where_the_turn_speaks_for_one() -> None:
    assert (_found(BARE), _found(BARE, spoken_for=True)) == (0, len(BARE))


def test_whatever_is_an_error_by_its_form_passes_the_cheap_question() -> None:
    texts = [text for _, text in (*TOLD, *BARE)]
    texts += [honest.answer for honest in (*honest_answers(), *equal_answers())]
    taken = [text for text in texts if error_by_form(text, spoken_for=True)]
    assert [text for text in taken if not may_be_error_by_form(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done: the parser reads the header first.",
        "I've mended the client: a 429 is now retried.",
        "The parser " + "reads the header and then the body " * 40,
        "Error: 429 " + "and so on " * 120,
        "Error: 429 {" + "x" * MAX_PROSE_CHARS,
        "Reads the header, then the body.",
    ],
)
def test_a_healthy_turn_is_told_without_the_classifier(text: str) -> None:
    assert not may_be_error_by_form(text)


@pytest.mark.parametrize("prompt", ["Add dark mode.", "What does this repository do?", "go on"])
def test_a_prompt_may_have_nothing_to_do_with_errors(prompt: str) -> None:
    assert not may_request_error_text(prompt)


def test_a_prompt_too_long_to_read_may_ask_for_anything() -> None:
    assert may_request_error_text("Add dark mode. " * 2000)


@every(
    "text",
    [
        "",
        "Error: 429 Too Many Requests, please wait. " + "x" * MAX_WORDS_CHARS,
        "Error: 429 {" + "x" * MAX_PROSE_CHARS + "}",
        "Error: 429 Too Many Requests\n" + "at once\n" * 9,
        # A bug of a program, a crash, a text that names nothing.
        "KeyError: 'rate_limit', please retry",
        "Error: it broke, please try again",
        "Error code: 11202, Error: AppIdQpsOverFlowError",
        # A call, but nobody's of a model.
        "Upload failed: 413 Payload Too Large, the limit is 10 MB.",
        # A number that is no status, or counts.
        "404 files changed, please look at https://example.com/pull/7",
        "503 Of the 600 were skipped, please retry",
        # A sentence without a status, a failure, a call.
        "Request to the model was sent, please wait 20 s",
        "Request to the model returned 401 at 12:03.",
        "Nothing (401) failed here, please wait 20 s",
    ],
)
def test_what_is_no_error_by_its_form_is_none(text: str) -> None:
    assert error_by_form(text) is None


@every(
    ("text", "kind"),
    [
        ("\u274c API Error: Connection error, the API at 10.0.0.1 is gone", "network"),
        ("API Error: Unable to connect to API: read ECONNRESET, after 3 attempts", "network"),
        ("LLM call error: ReadTimeout: Connection to the model failed after 3 attempts", "timeout"),
        ('{"error": {"type": "overloaded_error"}}', None),
        ('[{"error": {"code": 503, "message": "The model is overloaded."}}]', None),
        ("500\n    at generate (cli.js:11:65501)", None),
        ("Error: API error: LLM error: model error: Too many requests, please wait", "rate_limit"),
        ("429 429 status code (no body)", "rate_limit"),
        ("429 Rate limit reached for requests", "rate_limit"),
        ("RESOURCE_EXHAUSTED: Quota exceeded, please retry in 20 s", "rate_limit"),
    ],
)
def test_what_tells_of_one_failure_is_told_from_what_names_a_kind(
    text: str, kind: str | None
) -> None:
    verdict = error_by_form(text)
    assert (verdict and verdict.type) == kind
