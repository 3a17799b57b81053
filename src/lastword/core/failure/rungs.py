"""Names of the ladder's rungs, today's and earlier ones, accepted wherever a user names a rung.

Owns both tables (`protocol/README.md`, section "The ladder"). It is a separate module that imports
nothing, because the option table needs it before the agent is spawned, when importing the ladder
would cost too much.
"""

from __future__ import annotations

RUNGS = {
    "typed": "to a client that negotiated agent_error",
    "v2": "to a client of protocol version 2; --fallback cannot force it",
    "air": "to a client that advertised JetBrains AIR's sessionFailure",
    "error": "to a client that makes noise about any update",
    "error_with_meta": "to every other client of version 1: the default",
    "result": "by configuration only: to a client that accepts the stop reason error",
    "text": "by configuration only: to a client that shows nothing but text",
}
"""The use of each rung. `core.failure.ladder` has their frames."""

ALIASES = {
    "rpc_error": "error",
    "stop_reason": "error_with_meta",
    "stop_reason_result": "result",
}
"""Names up to version 0.1, and what each is called now."""


def earlier_names(name: str) -> list[str]:
    """Return the earlier names of a rung, if it had any."""
    return [alias for alias, now in ALIASES.items() if now == name]
