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


@pytest.mark.no_cover
def test_an_honest_answer_in_the_form_of_an_error_was_always_asked_for() -> None:
    honest = [*honest_answers(), *equal_answers()]
    errors = [each for each in honest if error_by_form(each.answer)]
    assert len(honest) >= 1900
    assert 0 < len(errors) < 0.1 * len(honest)
    assert [e for e in errors if not may_request_error_text(e.prompt, e.answer)] == []


def test_a_self_contained_error_is_recognised_without_another_word() -> None:
    assert len(TOLD) >= 60
    assert _found(TOLD) >= 0.95 * len(TOLD)


def test_every_form_is_an_error_if_the_turn_supports_it() -> None:
    assert _found(BARE, spoken_for=True) == len(BARE)


@every(
    "text",
    ["401 Unauthorized", "503 Service Unavailable", "ECONNRESET", "429", "openai.RateLimitError"],
)
def test_a_bare_status_or_name_is_an_error_only_if_the_turn_supports_it(text: str) -> None:
    assert error_by_form(text) is None
    assert error_by_form(text, spoken_for=True) is not None


FOR_MORE = "For more information, pass `verbose: true` in the second argument to fetch()"


@every(
    ("text", "kind"),
    [
        ('HTTP 400: {"code":100001,"msg":"provider api key not configured"}', "auth"),
        ('API error 401: {"message": "Invalid key"}', "auth"),
        ("500 synthetic failure of the provider\nsynthetic failure", "provider_unavailable"),
        ("Network error: Could not connect to llm.corp.example", "network"),
        ("Your credit balance is too low. Please go to Plans & Billing.", "budget"),
        ("You have hit your usage limit. Visit https://a.example or try again at 3 PM.", "budget"),
        ("Prompt is too long", "context_overflow"),
        ("Rate limit exceeded. Please try again later.", "rate_limit"),
        ("API Error: 529 Overloaded. This is a server-side issue.", "provider_unavailable"),
        ("Unable to connect. Is the computer able to access the url?", "network"),
        (f"The socket connection was closed unexpectedly. {FOR_MORE}", "network"),
        ("The model returned an empty response. Please resend your message.", "protocol_error"),
        # A report of one failure, with what only such a report has.
        ("\u274c API Error: Connection error, the API at 10.0.0.1 is gone", "network"),
        ("API Error: Unable to connect to API: read ECONNRESET, after 3 attempts", "network"),
        ("LLM call error: ReadTimeout: Connection to the model failed after 3 attempts", "timeout"),
        ('{"error": {"type": "overloaded_error"}}', "provider_unavailable"),
        ("Error: API error: LLM error: model error: Too many requests, please wait", "rate_limit"),
        ("429 429 status code (no body)", "rate_limit"),
        ("RESOURCE_EXHAUSTED: Quota exceeded, please retry in 20 s", "rate_limit"),
    ],
)
def test_a_sentence_that_only_a_failed_call_writes_is_an_error_by_itself(
    text: str, kind: str
) -> None:
    assert may_be_error_by_form(text)
    found = error_by_form(text)
    assert found is not None
    assert found.type == kind


@every(
    "text",
    [
        # Sentences about a failure.
        "Rate limit reached at 12:03, according to the log; 3 retries followed.",
        "Unable to connect. Is the computer able to access the url? Your proxy is not set.",
        "Was there a typo in the url or port?",
        "Please check your plan and billing details on the settings page.",
        "Login failed: 401 Unauthorized, the password is wrong.",
        # Nothing, or more than an error has.
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
        # A sentence without a status, a failure, a call.
        "Request to the model was sent, please wait 20 s",
        "Nothing (401) failed here, please wait 20 s",
        # The name of a kind of failure.
        '[{"error": {"code": 503, "message": "The model is overloaded."}}]',
        "500\n    at generate (cli.js:11:65501)",
    ],
)
def test_a_sentence_about_a_failure_is_not_an_error(text: str) -> None:
    assert error_by_form(text) is None


def test_every_error_by_form_passes_the_cheap_check_which_most_answers_do_not() -> None:
    honest = [honest.answer for honest in (*honest_answers(), *equal_answers())]
    texts = [*(text for _, text in (*TOLD, *BARE)), *honest]
    taken = [text for text in texts if error_by_form(text, spoken_for=True)]
    assert [text for text in taken if not may_be_error_by_form(text)] == []
    for text in (
        "",
        "I've mended the client: a 429 is now retried.",
        "The parser " + "reads the header and then the body " * 40,
        "Error: 429 " + "and so on " * 120,
        "Error: 429 {" + "x" * MAX_PROSE_CHARS,
    ):
        assert not may_be_error_by_form(text), text


ERROR = "Credit balance is too low"


@every(
    "prompt",
    [
        "Add dark mode.",
        "go on",
        "Can you fix the error in the login page?",
        "Add a timeout option to the command line.",
        "Handle messages from the queue in order.",
        "Run it. Give me its output.",
        "Return 404 when the user does not exist.",
        "Bitte f\u00fcge ein Limit von 50 Zeilen hinzu.",
    ],
)
def test_a_prompt_about_work_does_not_ask_for_an_errors_text(prompt: str) -> None:
    assert not may_request_error_text(prompt, ERROR)
    assert not may_request_error_text(f"{prompt}\n" * 400, ERROR)


@every(
    ("prompt", "answer"),
    [
        ("Why does my curl fail?", ERROR),
        ("Print the error of line 7", ERROR),
        ("Which status do they send", ERROR),
        ("\u0447\u0442\u043e \u0437\u0430 \u043e\u0448\u0438\u0431\u043a\u0430", ERROR),
        ("Welche Fehlermeldung kommt", ERROR),
        ("Translate it into German.", ERROR),
        ("Say it again, word for word.", ERROR),
        ("Put 'credit balance is too low' on the banner.", ERROR),
        ("I see ECONNRESET in the terminal.", "ECONNRESET: the peer went away"),
        ("It ends with 429.", "429: too many requests"),
    ],
)
def test_a_prompt_that_asks_for_an_errors_text_is_recognised(prompt: str, answer: str) -> None:
    assert may_request_error_text(prompt, answer)
