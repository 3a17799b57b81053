"""Earlier names of the rungs: wherever a rung is named by a user, both are taken.

Owns the table of aliases (`protocol/README.md`, section "The ladder"). It is a module of its own,
and imports nothing, because the table of options needs it before the agent is spawned, and the
ladder is too dear then.
"""

from __future__ import annotations

ALIASES = {
    "rpc_error": "error",
    "stop_reason": "error_with_meta",
    "stop_reason_result": "result",
}
"""Names up to version 0.1, and what each is called now."""


def earlier_names(name: str) -> list[str]:
    """Return what a rung was called before, if it was called anything else."""
    return [alias for alias, now in ALIASES.items() if now == name]
