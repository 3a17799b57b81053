"""One short name for an agent, whatever it calls itself.

An agent names itself by `agentInfo.name`, spelled as it likes ("@zed-industries/codex-acp",
"Kimi Code CLI").
"""

from __future__ import annotations

from lastword.core.classify.text import normalise

_KEYS = (
    ("claude", "claude"),
    ("codex", "codex"),
    ("opencode", "opencode"),
    ("gemini", "gemini"),
    ("qwen", "qwen"),
    ("kimicode", "kimi-code"),
    ("kimi", "kimi"),
    ("vibe", "vibe"),
    ("cline", "cline"),
    ("goose", "goose"),
    ("piacp", "pi"),
)


def agent_key(name: str | None) -> str | None:
    """The short name of a known agent out of the name it gave itself."""
    if not name:
        return None
    bare = normalise(name)
    return next((key for part, key in _KEYS if part in bare), None)
