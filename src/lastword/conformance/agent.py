"""The scripted agent: a whole ACP agent on `lastword.serve` that plays a scenario on each prompt.

Owns sessions, and the choice of the scenario. Has no model, no key and no network.
"""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.conformance.scenarios import SCENARIOS, unknown
from lastword.core.taxonomy import ErrorType
from lastword.inprocess import settings
from lastword.inprocess.turn import current_turn
from lastword.server import serve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.connection import Options
    from lastword.serving.methods import Handler
    from lastword.serving.peer import Client

WATCHDOG_SECONDS = 2.0
"""A stalled turn is ended after so long, unless the environment has a limit of its own."""

_ASKED_FOR = re.compile(r"(?:^|\s)/scenario[ \t]+(\S+)")


async def play(scenario: str) -> None:
    """Be an agent whose turns are this scenario, until the client closes stdin.

    Args:
        scenario: The name of one; a prompt with `/scenario NAME` in its text plays another.

    Raises:
        KeyError: There is no such scenario.
    """
    default = SCENARIOS[scenario].name
    sessions = iter(range(1, 1 << 31))

    async def new_session(_: Client) -> dict[str, Any]:
        return {"sessionId": f"scripted-{next(sessions)}"}

    methods: dict[str, Handler] = {
        "initialize": initialize,
        "session/new": new_session,
        "session/prompt": functools.partial(take_turn, default=default),
    }
    await serve(methods, options=options(os.environ))


def options(environment: Mapping[str, str]) -> Options:
    """Those of the environment, with a watchdog that nobody has to wait for."""
    chosen = settings.from_environment(environment)
    quick = {
        f"{name}_seconds": WATCHDOG_SECONDS
        for name in ("first_update_timeout", "idle_timeout")
        if not environment.get(f"LASTWORD_{name.upper()}")
    }
    return msgspec.structs.replace(chosen, **quick)


async def initialize(_: Client) -> dict[str, Any]:
    """Say what this is."""
    return {
        "protocolVersion": 1,
        "agentCapabilities": {},
        "agentInfo": {"name": "lastword-agent", "version": __version__},
    }


async def take_turn(client: Client, session_id: str, prompt: object, *, default: str) -> Any:
    """Play the scenario that the prompt names, else the agent's own."""
    asked = _ASKED_FOR.search(_text(prompt))
    name = asked[1] if asked else default
    if name not in SCENARIOS:
        current_turn().fail(
            ErrorType.INVALID_REQUEST,
            f"In the scripted agent {unknown(name)}. `lastword agent --list` names them all.",
        )
    return await SCENARIOS[name].play(client, session_id)


def _text(prompt: object) -> str:
    blocks = prompt if isinstance(prompt, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
