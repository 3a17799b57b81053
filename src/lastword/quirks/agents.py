"""Agents: what each calls itself, and the JSON-RPC codes to which it alone gives a meaning.

An agent names itself in `agentInfo.name`, spelled as it likes. Tables about single agents use the
keys defined here. Types, reasons and origins are given as words (`core.failure.taxonomy`).
"""

from __future__ import annotations

import msgspec

from lastword.quirks import Quirk

MAX_NAME_CHARS = 96


class AgentRow(Quirk, frozen=True, kw_only=True):
    """An agent's own name and the meaning of its error codes; `name` is its key.

    Attributes:
        part: a part of its own name, in lower-case letters and digits without anything between.
        codes: type, reason, and origin if it is not the type's own, by JSON-RPC code.
        words: type and reason by a name that only this agent gives a failure: that of an exception,
            or of a member that is null.
        sentences: the same by parts of a sentence of its own, all of which must occur: lower case,
            single spaces.
    """

    part: str
    codes: dict[int, tuple[str, str | None, str | None]] = msgspec.field(default_factory=dict)
    words: dict[str, tuple[str, str | None]] = msgspec.field(default_factory=dict)
    sentences: dict[tuple[str, ...], tuple[str, str | None]] = msgspec.field(default_factory=dict)


ROWS = (
    AgentRow(
        name="claude",
        part="claude",
        words={"error_status: null": ("network", "connection_failed")},
        evidence=(
            "`@agentclientprotocol/claude-agent-acp`, once `@zed-industries/claude-code-acp`; "
            "`api_retry` of its SDK has `error_status` null where no answer came"
        ),
        version="claude-agent-acp 0.100.0",
    ),
    AgentRow(
        name="codex",
        part="codex",
        sentences={("the model produced an error.",): ("provider_unavailable", None)},
        evidence=(
            "`@agentclientprotocol/codex-acp`, and Zed's `@zed-industries/codex-acp`; the sentence "
            "stands for an answer that the model broke off"
        ),
        version="codex-acp 2.6.0, Zed's codex-acp 0.16.0",
    ),
    AgentRow(
        name="opencode",
        part="opencode",
        evidence="`OpenCode` in its answer to `initialize`",
        version="opencode-ai 1.18.33",
    ),
    AgentRow(
        name="gemini",
        part="gemini",
        sentences={
            ("error when talking to gemini api", "terminated"): ("network", "connection_lost"),
        },
        evidence=(
            "`gemini-cli`, as its package @google/gemini-cli; undici's `terminated` behind its own "
            "sentence, with a report's path between them"
        ),
        version="gemini-cli 0.61.0",
    ),
    AgentRow(
        name="qwen",
        part="qwen",
        evidence="`qwen-code`, as its package @qwen-code/qwen-code",
        version="qwen-code 0.24.4",
    ),
    AgentRow(
        name="kimi-code",
        part="kimicode",
        words={"APIEmptyResponseError": ("protocol_error", "empty_response")},
        evidence="`@moonshot-ai/kimi-code`; kimi-cli says `Kimi Code CLI` and comes here, too",
        version="kimi-code 2.1.0, kimi-cli 1.15.0",
    ),
    AgentRow(
        name="kimi",
        part="kimi",
        evidence="kimi-cli, by the name of its package; looked for after kimi-code",
        version="kimi-cli 1.15.0",
    ),
    AgentRow(
        name="vibe",
        part="vibe",
        words={"IncompleteProviderStream": ("network", "truncated_stream")},
        sentences={("stream chunk improperly formatted.",): ("protocol_error", "not_http")},
        codes={
            -31001: ("rate_limit", None, None),
            -31002: ("invalid_request", "agent_configuration", "agent"),
            -31003: ("context_overflow", "conversation_limit", "agent"),
            -31004: ("context_overflow", None, None),
            -31005: ("content_filter", "refusal", None),
            -31006: ("context_overflow", "compaction_failed", "agent"),
            -31007: ("invalid_request", "image_invalid", "client"),
            -31008: ("invalid_request", "image_unsupported", None),
        },
        evidence=(
            "`@mistralai/mistral-vibe` in its answer to `initialize`; -31001, -31002 and "
            "the sentence, for a page in place of an answer, in runs; the rest in "
            "vibe/acp/exceptions.py (mistralai/mistral-vibe at 343cbd49165a)"
        ),
        version="mistral-vibe 3.0.2",
    ),
    AgentRow(
        name="cline",
        part="cline",
        evidence="by the name of its package",
        version="cline 3.0.65",
    ),
    AgentRow(
        name="goose",
        part="goose",
        evidence="by the name of its command; its source was read, it was not run",
        version="goose at 0086ae654b10",
    ),
    AgentRow(
        name="pi",
        part="piacp",
        evidence="`pi-acp`, as its package; `pi` alone is part of too many names",
        version="pi-acp 0.0.34",
    ),
)
"""In this order: the first whose part is in the name."""


def agent_key(name: str | None) -> str | None:
    """Return the key of a known agent, given the name that it calls itself."""
    if not name:
        return None
    lower = name[:MAX_NAME_CHARS].lower()
    bare = "".join(char for char in lower if char.isascii() and char.isalnum())
    return next((row.name for row in ROWS if row.part in bare), None)
