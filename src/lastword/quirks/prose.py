"""Error prose: how a turn's only message begins if it is nothing but an error.

Such a turn claims success. `core.failure.signs` decides which turns to check, and
`core.classify.agents` what the error is.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class ErrorProse(Quirk, frozen=True, kw_only=True):
    """The errors of one agent; `name` is its key (`quirks.agents`).

    Attributes:
        openings: how they begin: lower case, single spaces, straight quotes.
    """

    openings: tuple[str, ...]


ROWS = (
    ErrorProse(
        name="codex",
        openings=(
            "stream disconnected before completion",
            "exceeded retry limit, last status",
            "unexpected status ",
            "you've hit your usage limit",
            "quota exceeded.",
            "codex ran out of room",
            "we're currently experiencing high demand",
            "selected model is at capacity",
            "your access token could not be refreshed",
            "missing environment variable",
            "connection failed: ",
            "error sending request for url",
            "your workspace is out of credits",
        ),
        evidence=(
            "the messages of `CodexErr` (codex-rs/protocol/src/error.rs, openai/codex at "
            "098a47fd3627); in runs they were the turn's text, before `end_turn`"
        ),
        version="codex-acp 2.6.0",
    ),
    ErrorProse(
        name="goose",
        openings=("ran into this error: ", "authentication error: ", "credits exhausted"),
        evidence=(
            "its source alone: crates/goose/src/agents/agent.rs says an error as the assistant's "
            "text, which begins so or as the provider's error does"
        ),
        version="goose at 0086ae654b10",
    ),
    ErrorProse(
        name="claude",
        openings=("api error: ", "api error (", "credit balance is too low", "prompt is too long"),
        evidence="runs: the chunk that claude sends just before its answer has the same text",
        version="claude-agent-acp 0.100.0",
    ),
    ErrorProse(
        name="qwen",
        openings=("[api error: ",),
        evidence="`API_ERROR_PREFIX` (packages/core/src/utils/errorParsing.ts, at 128430de06d4)",
        version="qwen-code 0.24.4",
    ),
    ErrorProse(
        name="gemini",
        openings=("[api error: ",),
        evidence="packages/core/src/utils/errorParsing.ts, which qwen's was taken from",
        version="gemini-cli 0.61.0",
    ),
)

LAST_LINES = (
    *("Error: RetriableError: ", "Error: NonRetriableError: ", "Error: ActionRequiredError: "),
    *(
        f"You've hit your {limit} \u00b7 resets "
        for limit in ("limit", "session limit", "weekly limit", "Opus limit", "Sonnet limit")
    ),
)
"""Beginnings of errors that agents write as the last line of a turn's text, also after work.

The first three are Cursor's, in a chunk of its own behind an empty line, and then `end_turn`
(reports on cursor-agent 2026.08.11 to 2026.09.18). The others are Claude's (claude-agent-acp).
"""

OPENINGS: dict[str, tuple[str, ...]] = {row.name: row.openings for row in ROWS}
"""By the agent's key."""

ALL_OPENINGS = tuple({opening for row in ROWS for opening in row.openings})
