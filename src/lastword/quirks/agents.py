"""Agents: what each calls itself, and the JSON-RPC codes to which it alone gives a meaning.

An agent names itself in `agentInfo.name`, spelled as it likes; before that, its command shows which
it is. Tables about single agents use the keys defined here. Types, reasons and origins are given as
words (`core.failure.taxonomy`).
"""

from __future__ import annotations

import msgspec

from lastword.quirks import Quirk

MAX_NAME_CHARS = 96


class AgentRow(Quirk, frozen=True, kw_only=True):
    """An agent's own name and the meaning of its error codes; `name` is its key.

    Attributes:
        part: a part of its own name, in lower-case letters and digits without anything between.
        programs: its programs, scripts and packages, as they are written in commands.
        codes: type, reason, and origin if it is not the type's own, by JSON-RPC code.
        words: type and reason by a name that only this agent gives a failure: that of an exception,
            or of a member that is null.
        sentences: the same by parts of a sentence of its own, all of which must occur: lower case,
            single spaces.
    """

    part: str
    programs: tuple[str, ...] = ()
    codes: dict[int, tuple[str, str | None, str | None]] = msgspec.field(default_factory=dict)
    words: dict[str, tuple[str, str | None]] = msgspec.field(default_factory=dict)
    sentences: dict[tuple[str, ...], tuple[str, str | None]] = msgspec.field(default_factory=dict)


ROWS = (
    AgentRow(
        name="claude",
        part="claude",
        programs=("claude-agent-acp", "claude-code-acp"),
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
        programs=("codex-acp",),
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
        programs=("opencode", "opencode-ai"),
        evidence="`OpenCode` in its answer to `initialize`",
        version="opencode-ai 1.18.33",
    ),
    AgentRow(
        name="gemini",
        part="gemini",
        programs=("gemini", "gemini-cli"),
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
        programs=("qwen", "qwen-code"),
        evidence="`qwen-code`, as its package @qwen-code/qwen-code",
        version="qwen-code 0.24.4",
    ),
    AgentRow(
        name="kimi-code",
        part="kimicode",
        programs=("kimi", "kimi-code", "kimi-cli"),
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
        programs=("vibe-acp", "mistral-vibe"),
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
        programs=("cline",),
        evidence="by the name of its package",
        version="cline 3.0.65",
    ),
    AgentRow(
        name="goose",
        part="goose",
        programs=("goose",),
        evidence="by the name of its command; its source was read, it was not run",
        version="goose at 0086ae654b10",
    ),
    AgentRow(
        name="pi",
        part="piacp",
        programs=("pi-acp",),
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


_PROGRAMS = {program: row.name for row in ROWS for program in row.programs}
_ENDINGS = (".js", ".mjs", ".cjs", ".py", ".sh", ".cmd", ".exe")
_PACKAGES = frozenset({"node_modules", "site-packages"})
MAX_WORDS = 64


def agent_of(command: tuple[str, ...] | list[str], name: str | None = None) -> str | None:
    """Return the key of a known agent, given its command and, once it has said it, its own name.

    It is the same agent by its program, by `npx PACKAGE`, by `python -m MODULE` and by an
    interpreter with a script of its package.
    """
    place = place_in(command)
    return agent_key(name) or (None if place is None else place[0])


def place_in(command: tuple[str, ...] | list[str]) -> tuple[str, int] | None:
    """Return the known agent in a command, and the number of the word that shows it."""
    for number, word in enumerate(command[:MAX_WORDS]):
        for program in _programs_in(word):
            if program in _PROGRAMS:
                return _PROGRAMS[program], number
    return None


def _programs_in(word: str) -> list[str]:
    """Return what a word of a command may name: a program, a script, a package or a module."""
    if word.startswith("-"):
        return []
    parts = word.replace("\\", "/").rstrip("/").lower().split("/")
    programs = [_bare(parts[-1])]
    for parent, part, below in zip(parts, parts[1:], [*parts[2:], ""], strict=False):
        if parent in _PACKAGES:
            programs.append(_bare(below if part.startswith("@") else part))
    return programs


def _bare(part: str) -> str:
    """Return a part of a path without its ending, or a package without its version."""
    stem = next((part.removesuffix(end) for end in _ENDINGS if part.endswith(end)), part)
    return stem.partition("@")[0].partition("==")[0].partition(".")[0].replace("_", "-")
