"""Signs of a failure, as agents give them on the wire beside their answer to a prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.kit.wire import Wire, chunk, prompted, update

NAMED_PROSE = "Selected model is at capacity. Please try again."
VAGUE_PROSE = "Unexpected status of the unheard-of kind"

AIR_NAMED = {"id": "f", "revision": 1, "severity": "error", "title": "Connection was reset"}
AIR = {"jetbrains": {"air": {"sessionFailure": AIR_NAMED | {"category": "connection"}}}}
SYSTEM_ERROR = {"codex": {"threadStatus": {"type": "systemError"}}}
TOLD = {"type": "budget", "message": "It is used up.", "retryable": False}

Happening = Callable[[Wire], None]


def margin(meta: dict[str, Any]) -> Happening:
    return lambda wire: wire.agent(update(sessionUpdate="session_info_update", _meta=meta))


def announce(wire: Wire) -> None:
    """The agent says in the contract's words what failed."""
    wire.agent(update(sessionUpdate="agent_error", stopReason="error", error=TOLD))


def flood(wire: Wire) -> None:
    """More on stderr than the limit of `in_turn`: we stop the turn."""
    wire.stderr(b"." * 1001)


SIGNS: dict[str, tuple[tuple[str | None, Happening], ...]] = {
    "announced": (("budget", announce),),
    "margin": ((None, margin(SYSTEM_ERROR)), ("network", margin(AIR))),
    "prose": (
        (None, lambda wire: wire.agent(chunk(VAGUE_PROSE))),
        ("provider_unavailable", lambda wire: wire.agent(chunk(NAMED_PROSE))),
    ),
    "stderr": (
        (None, lambda wire: wire.stderr(b"it went wrong, error\n")),
        ("model_not_found", lambda wire: wire.stderr(b"ERROR model_not_found\n")),
    ),
}
"""What can come before the end, with the type that it names, if it names one."""

NOTHING: tuple[str | None, Happening] = (None, lambda _wire: None)


def in_turn(**options: Any) -> Wire:
    """A link with codex, whose prose is known, and a prompt under way."""
    return prompted(name="codex-acp", stderr_limit_bytes=1000, **options)
