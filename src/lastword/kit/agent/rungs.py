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


def listed() -> list[dict[str, Any]]:
    """Return each rung with the frames of the example, in order; the prompt's id is 2."""
    rows = []
    for rung in Rung:
        is_v2 = rung is Rung.V2
        dialect = acp.V2 if is_v2 else acp.V1
        client = ClientProfile(dialect=dialect, typed=rung in {Rung.TYPED, Rung.V2})
        # In version 2 the prompt was answered when the agent accepted it.
        ending = Ending(error=EXAMPLE, session_id="s1", prompts=() if is_v2 else (b"2",))
        sent = ladder.frames_for(ending, rung=rung, client=client, dialect=dialect)
        frames = [json.loads(outgoing.frame) for outgoing in sent]
        rows.append({"rung": rung.value, "when": RUNGS[rung], "frames": frames})
    return rows
