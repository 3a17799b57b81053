"""The crosswalk from our types to others' words: complete, and what the code itself does."""

from __future__ import annotations

import json
from typing import Any

from lastword import classify
from lastword.core.failure.ladder import CATEGORIES
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType
from tests.kit.places import PROTOCOL
from tests.kit.rows import every

ROWS: list[dict[str, Any]] = json.loads((PROTOCOL / "crosswalk.json").read_text())["types"]
GRPC = {
    *("CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
    *("ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
    *("ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
    "UNAUTHENTICATED",
}


def answer_of(provider: str, code: str) -> dict[str, Any]:
    """Return a provider's body of an error with this code, and a message that says nothing."""
    return {
        "anthropic": {"type": "error", "error": {"type": code, "message": "It failed."}},
        "bedrock": {"__type": code, "message": "It failed."},
        "google": {"error": {"status": code, "message": "It failed."}},
        "openai": {"error": {"code": code, "message": "It failed.", "type": None}},
    }[provider]


ANSWERS = [
    (row["type"], answer_of(provider, code))
    for row in ROWS
    for provider, codes in row["providers"].items()
    for code in codes
] + [(row["type"], {"http_status": status}) for row in ROWS for status in row["http"]]


def test_every_type_has_one_row_with_its_defaults_and_the_words_of_others() -> None:
    assert [row["type"] for row in ROWS] == list(ErrorType)
    for row in ROWS:
        kind = ErrorType(row["type"])
        defaults = DEFAULTS[kind]
        assert (row["retryable"], row["action"]) == (defaults.retryable, defaults.action)
        assert row["grpc"] in GRPC
        assert (row["air"], row["otel"]) == (CATEGORIES[kind], kind)


@every(("kind", "answer"), ANSWERS)
def test_a_providers_code_and_a_bare_status_are_read_as_their_type(kind: str, answer: Any) -> None:
    assert classify(answer).type == kind


def test_the_proposal_has_the_same_table() -> None:
    lines = []
    for row in ROWS:
        codes = ", ".join(f"`{code}`" for codes in row["providers"].values() for code in codes)
        statuses = ", ".join(map(str, row["http"]))
        retryable = "yes" if row["retryable"] else "no"
        lines.append(f"| `{row['type']}` | {retryable} | {statuses} | {codes} |")
    text = (PROTOCOL / "rfd" / "turn-failures.md").read_text()
    inner = text.partition("<!-- the crosswalk -->\n")[2].partition("\n<!-- /the crosswalk -->")[0]
    assert inner.split("\n")[2:] == lines
