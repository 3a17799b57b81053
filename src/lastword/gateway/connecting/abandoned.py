"""Turns that were ended for the editor while the agent may still be working on them.

Owns the list of these turns. The outcome of each is reported once, as a notice, since its prompt
already has an answer. The decision to end a turn is made in `core`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway.connecting import failures

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame

MAX_TURNS = 256
"""Turns whose outcome is still told; the oldest are forgotten."""


class AbandonedTurns:
    """The abandoned turns of one editor, by the number of the prompt."""

    def __init__(self) -> None:
        self._session_of: dict[int, str] = {}

    def add(self, number: int, session_id: str) -> None:
        """Add a turn, by its prompt's number."""
        self._session_of[number] = session_id
        while len(self._session_of) > MAX_TURNS:
            del self._session_of[next(iter(self._session_of))]

    def answered(self, number: int, frame: Frame) -> bytes | None:
        """Return the notice for the editor when the prompt is answered after all."""
        result = object_of(jsonrpc.loads(frame.message.result))
        failure = object_of(result.get("_meta")).get("agent_error") or failures.failure_in(
            jsonrpc.loads(frame.message.error)
        )
        return self.ended(number, stop_reason=result.get("stopReason"), failure=failure)

    def ended(self, number: int, *, stop_reason: object, failure: object) -> bytes | None:
        """Return the notice for the editor when the turn ends; `None` if it is not one of these."""
        session_id = self._session_of.pop(number, None)
        if session_id is None:
            return None
        return failures.outcome(session_id, stop_reason=stop_reason, failure=failure)
