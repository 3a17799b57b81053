"""Streams as the newest packages really hand them on: whole, cut by a clean end, and failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.interop.exceptions.provider_run import reported_by

pytestmark = pytest.mark.matrix

WHOLE = {
    *("openai chat", "openai chat-usage-cut", "openai chat-tool", "openai chat-two"),
    *("openai helper", "openai sync", "openai responses", "openai responses-incomplete"),
    *("groq chat", "anthropic", "anthropic-tool", "anthropic helper", "google", "google-blocked"),
    *("mistral chat", "mistral chat-call", "ollama"),
}
"""Cases whose terminal event came, though the chunk of usage or `[DONE]` may be missing."""

CUT = {
    **dict.fromkeys(("openai chat-cut", "openai chat-tool-cut", "openai chat-two-cut"), "openai"),
    **dict.fromkeys(("openai helper-cut", "openai sync-cut", "openai responses-cut"), "openai"),
    **dict.fromkeys(("openai chat-empty", "groq chat-cut"), "openai"),
    **dict.fromkeys(("anthropic-cut", "anthropic-tool-cut", "anthropic-empty"), "anthropic"),
    "anthropic helper-cut": "anthropic",
    "google-cut": "gemini",
    "google-empty": "google.genai",
    **dict.fromkeys(("mistral chat-cut", "mistral chat-call-cut"), "mistral"),
    **dict.fromkeys(("ollama-cut", "ollama-empty"), "ollama"),
}
"""Case -> the dialect that the truncation is told of."""

FAILED = {
    "openai responses-failed": ("rate_limit", True),
    "openai responses-error": ("provider_unavailable", True),
}
"""Failures that the package hands on as an item -> type, and whether a retry can help."""

NAMELESS = {"openai chat-reason", "mistral chat-reason"}
"""The same, where all that is said is the finish reason `error`."""

RAISED = {"openai chat-failed", "google-error", "ollama-error"}
"""Failures that the package raises by itself."""


@pytest.fixture(scope="module")
def read() -> dict[str, dict[str, Any]]:
    """What came of each stream, by case."""
    return reported_by("stream_cases")


def test_every_stream_is_whole_or_cut_or_failed(read: dict[str, dict[str, Any]]) -> None:
    assert sorted(read) == sorted(WHOLE | set(CUT) | set(FAILED) | NAMELESS | RAISED)


@pytest.mark.parametrize("case", sorted(WHOLE))
def test_a_whole_stream_passes_with_every_item(case: str, read: dict[str, dict[str, Any]]) -> None:
    line = read[case]
    assert "watch" not in line, line
    assert line["watch_items"] == line["package_items"] > 0


@pytest.mark.parametrize("case", CUT)
def test_no_package_notices_that_a_stream_was_cut_by_a_clean_end(
    case: str, read: dict[str, dict[str, Any]]
) -> None:
    assert "package" not in read[case]


@pytest.mark.parametrize("case", CUT)
def test_a_cut_stream_passes_every_item_and_is_told_of_as_a_lost_connection(
    case: str, read: dict[str, dict[str, Any]]
) -> None:
    line = read[case]
    assert line["watch_items"] == line["package_items"]
    assert (line["watch"], line["dialect"]) == ("StreamTruncatedError", CUT[case])
    assert (line["type"], line["retryable"]) == ("network", True)
    assert line["reason"] == "truncated_stream"


@pytest.mark.parametrize("case", FAILED)
def test_a_failure_that_is_an_item_is_raised_instead_of_passed_on(
    case: str, read: dict[str, dict[str, Any]]
) -> None:
    line = read[case]
    assert "package" not in line
    assert line["watch_items"] == line["package_items"] - 1
    assert (line["watch"], line["type"], line["retryable"]) == ("StreamFailedError", *FAILED[case])
    assert "insufficient_quota" not in json.dumps(line["body"]), "what the event repeats"


@pytest.mark.parametrize("case", sorted(NAMELESS))
def test_a_finish_reason_of_error_is_a_failure_though_it_says_no_more(
    case: str, read: dict[str, dict[str, Any]]
) -> None:
    line = read[case]
    assert (line["watch"], line["watch_items"]) == ("StreamFailedError", line["package_items"] - 1)
    assert line["body"] == {"finish_reason": "error"}


@pytest.mark.parametrize("case", sorted(RAISED))
def test_what_a_package_raises_passes_unchanged(case: str, read: dict[str, dict[str, Any]]) -> None:
    line = read[case]
    assert line["watch"] == line["package"]
    assert line["type"] == "provider_unavailable"
