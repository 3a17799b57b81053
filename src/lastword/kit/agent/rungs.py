"""One failure on every rung: the frames, made by the core itself.

Owns an example of each rung, for authors of clients. `core.failure.ladder` owns the rungs and
their frames, so a new rung there is shown here automatically.
"""

from __future__ import annotations

import json
from typing import Any

from lastword.core.failure import ladder
from lastword.core.failure.ladder import Ending, Rung
from lastword.core.failure.option_values import RUNGS
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, Origin, Phase, RetrySafety
from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp

EXAMPLE = AgentError(
    type=ErrorType.RATE_LIMIT,
    message="The model provider is limiting requests. Try again in 20 seconds.",
    retryable=True,
    retry_after_seconds=20,
    origin=Origin.PROVIDER,
    phase=Phase.BEFORE_OUTPUT,
    retry_safety=RetrySafety.AUTO,
    action=Action.WAIT,
    http_status=429,
)


def frames(rung: Rung) -> list[dict[str, Any]]:
    """Return the frames of the example on a rung, in order; the prompt's id is 2."""
    is_v2 = rung is Rung.V2
    client = ClientProfile(dialect=acp.V2 if is_v2 else acp.V1, typed=rung in {Rung.TYPED, Rung.V2})
    # In version 2 the prompt was answered when the agent accepted it.
    ending = Ending(error=EXAMPLE, session_id="s1", prompts=() if is_v2 else (b"2",))
    out = ladder.frames_for(ending, rung=rung, client=client, dialect=client.dialect)
    return [json.loads(outgoing.frame) for outgoing in out]


def listed() -> list[dict[str, Any]]:
    return [
        {
            "rung": rung.value,
            "when": RUNGS[rung],
            "frames": frames(rung),
        }
        for rung in Rung
    ]
