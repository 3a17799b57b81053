"""The crosswalk from our types to others' words: complete, and what the code itself does."""

from __future__ import annotations

import json
from typing import Any

from lastword import classify
from lastword.core.failure.ladder import CATEGORIES
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType
from tests.kit.places import ROOT
from tests.kit.rows import every

PROTOCOL = ROOT / "protocol"
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


CODES = [
    (row["type"], provider, code)
    for row in ROWS
    for provider, codes in row["providers"].items()
    for code in codes
]


def test_every_type_has_one_row_with_its_defaults() -> None:
    assert [row["type"] for row in ROWS] == list(ErrorType)
    for row in ROWS:
        defaults = DEFAULTS[ErrorType(row["type"])]
        assert (row["retryable"], row["action"]) == (defaults.retryable, defaults.action)
        assert row["grpc"] in GRPC


def test_the_air_categories_and_telemetry_use_these_words() -> None:
    for row in ROWS:
        assert row["air"] == CATEGORIES[ErrorType(row["type"])]
        assert row["otel"] == row["type"]


@every(("kind", "provider", "code"), CODES)
def test_a_providers_code_is_read_as_its_type(kind: str, provider: str, code: str) -> None:
    assert classify(answer_of(provider, code)).type == kind


@every(("kind", "status"), [(row["type"], status) for row in ROWS for status in row["http"]])
def test_a_bare_status_is_read_as_its_type(kind: str, status: int) -> None:
    assert classify({"http_status": status}).type == kind


def table() -> str:
    """Return the rows as the proposal for the protocol has them."""
    lines = []
    for row in ROWS:
        codes = [f"`{code}`" for codes in row["providers"].values() for code in codes]
        cells = [
            f"`{row['type']}`",
            "yes" if row["retryable"] else "no",
            ", ".join(map(str, row["http"])),
            ", ".join(codes),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_proposal_has_the_same_table() -> None:
    text = (PROTOCOL / "rfd" / "turn-failures.md").read_text()
    inner = text.partition("<!-- the crosswalk -->\n")[2].partition("\n<!-- /the crosswalk -->")[0]
    assert inner.split("\n", 2)[2] == table()
