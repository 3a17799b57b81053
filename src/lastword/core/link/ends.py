"""The ends of a link, where its effects are carried out in order.

Owns the interpretation of effects. What an end does with a frame, an entry or an order is up to
its shell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lastword.core.link.effects import (
    CLIENT,
    Answer,
    Drop,
    End,
    Forward,
    Kill,
    Record,
    Restart,
    Send,
    Spend,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.failure.ladder import CancelledEnding, Ending
    from lastword.core.link.effects import Effect, Side
    from lastword.core.protocol.jsonrpc import Frame, Malformed
    from lastword.core.timeline.entry import Entry

Order: TypeAlias = Kill | Restart | Spend
"""What the core asks for about the agent's process, or about the user's spending limit."""


def _ignore(_: object) -> None:
    """Do nothing, for a shell that has no use for the value."""


class FrameSink:
    """A peer to which frames are written: one function takes each line, without its line end."""

    __slots__ = ("write",)

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write: Callable[[bytes], object] = write

    def forward(self, frame: Frame | Malformed) -> None:
        """Pass on what the other peer sent, unchanged."""
        self.write(frame.line)

    def send(self, line: bytes) -> None:
        """Send a frame of the core's, or one that it had held back."""
        self.write(line)

    def answer(self, request_id: bytes, line: bytes) -> None:  # noqa: ARG002 - some do look at it
        """Answer a request from this peer; the id is JSON text."""
        self.write(line)


class Ends:
    """The four ends of a link: its client, its agent, its record, and orders for its process."""

    __slots__ = ("_agent", "_client", "_dropped", "_ended", "_order", "_record")

    def __init__(  # noqa: PLR0913 - six options is our own limit
        self,
        *,
        client: FrameSink,
        agent: FrameSink,
        record: Callable[[Entry], object],
        order: Callable[[Order], object],
        dropped: Callable[[str], object] = _ignore,
        ended: Callable[[Ending | CancelledEnding], object] = _ignore,
    ) -> None:
        """Connect the ends.

        Args:
            client: Receives frames for the client.
            agent: Receives frames for the agent.
            record: Receives entries of the timeline.
            order: Receives what to do about the agent's process.
            dropped: Receives the reason why a frame was held back, which is also recorded.
            ended: Receives how we ended a turn, for a shell that tells other clients.
        """
        self._client = client
        self._agent = agent
        self._record = record
        self._order = order
        self._dropped = dropped
        self._ended = ended

    def carry_out(
        self,
        effects: list[Effect],
        side: Side | None = None,
        frame: Frame | Malformed | None = None,
    ) -> None:
        """Carry out effects of the core, in their order.

        Args:
            effects: What the core returned.
            side: The side that the frame they concern came from, if they concern one.
            frame: That frame.
        """
        for effect in effects:
            if isinstance(effect, Forward):
                if frame is not None:
                    (self._agent if side is CLIENT else self._client).forward(frame)
            elif isinstance(effect, Record):
                self._record(effect.entry)
            elif isinstance(effect, Send):
                (self._client if effect.to is CLIENT else self._agent).send(effect.frame)
            elif isinstance(effect, Answer):
                sink = self._client if effect.to is CLIENT else self._agent
                sink.answer(effect.request_id, effect.frame)
            elif isinstance(effect, Drop):
                self._dropped(effect.reason)
            elif isinstance(effect, End):
                self._ended(effect.ending)
            else:
                self._order(effect)
