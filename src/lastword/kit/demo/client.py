"""The demo's clients: one turn, as a strict client and as a typed one see it.

A strict client knows the protocol and nothing else. A typed one advertises `agent_error`.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import acp
from lastword.kit.peer import StrictClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.peer import PeerEvent

PATIENCE_SECONDS = 1.5
"""How long a client of the demo waits for a turn's end. Real ones wait for ever."""

START_SECONDS = 6.0
TYPED = {"_meta": {"agent_error": {"version": 1}}}


class SeenTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What a client got out of one turn.

    Attributes:
        answer: the answer to the prompt, `None` when none came.
        typed: the `error` of the typed update, when one came to a client that asked for it.
        text: what the agent had said before.
        frames: every line that came, in order.
        seconds: from the prompt to its answer.
    """

    answer: dict[str, Any] | None
    typed: dict[str, Any] | None
    text: str
    frames: list[str]
    seconds: float


def take_turn(command: Sequence[str], *, typed: bool) -> SeenTurn:
    """Start the command, send one prompt, and see what comes of it."""
    with StrictClient(command, _defaults()) as client:
        client.answer_to(client.initialize(TYPED if typed else {}), START_SECONDS)
        client.answer_to(client.new_session(os.getcwd()), START_SECONDS)
        begin = time.monotonic()
        prompt = client.prompt("demo", "Why does the parser fail?")
        answer = client.answer_to(prompt, PATIENCE_SECONDS)
        if answer is None:
            # As most clients do: the end of the stream answers nothing, so it waits on.
            time.sleep(max(0.0, begin + PATIENCE_SECONDS - time.monotonic()))
        seconds = time.monotonic() - begin
        came = [event for event in client.events if not event.sent]
        return _seen(answer, came[: came.index(answer) + 1] if answer else came, seconds)


def _seen(answer: PeerEvent | None, came: Sequence[PeerEvent], seconds: float) -> SeenTurn:
    typed, said = None, ""
    for event in came:
        if event.kind == acp.V1.error_kind:
            typed = event.update["error"]
        elif event.kind == "agent_message_chunk":
            said += event.update["content"]["text"]
    return SeenTurn(
        answer=answer.frame if answer else None,
        typed=typed,
        text=said,
        frames=[event.raw.decode() for event in came],
        seconds=seconds,
    )


def _defaults() -> dict[str, str]:
    """Return the environment without the user's own options: the demo shows what the defaults do.

    It is in nobody's record, and nobody's dashboard: its failures would be told of as the user's.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LASTWORD_")}
    return kept | {"LASTWORD_NO_RECORD": "1", "OTEL_SDK_DISABLED": "true"}
