"""Earlier names of the rungs, accepted wherever a user names a rung.

Owns the table of aliases (`protocol/README.md`, section "The ladder"). It is a separate module that
imports nothing, because the option table needs it before the agent is spawned, when importing the
ladder would cost too much.
"""

from __future__ import annotations

ALIASES = {
    "rpc_error": "error",
    "stop_reason": "error_with_meta",
    "stop_reason_result": "result",
}
"""Names up to version 0.1, and what each is called now."""


def earlier_names(name: str) -> list[str]:
    """Return the earlier names of a rung, if it had any."""
    return [alias for alias, now in ALIASES.items() if now == name]
