"""The ends of a link: where its effects are carried out, in order.

Owns the one reading of what the core asks for. What an end does with a frame, an entry or an order
is its shell's part.
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
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.failure.ladder import CancelledEnding, Ending
    from lastword.core.link.effects import Effect, Side
    from lastword.core.protocol.jsonrpc import Frame, Malformed
    from lastword.core.timeline.entry import Entry

Order: TypeAlias = Kill | Restart
"""What the core asks for about the agent's process."""


def _ignore(_: object) -> None:
    """A shell that has no use for it."""


class FrameSink:
    """A peer, as far as it is written to: lines without their ends go to one function."""

    __slots__ = ("write",)

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write: Callable[[bytes], object] = write

    def forward(self, frame: Frame | Malformed) -> None:
        """Pass on what the other peer sent, as it came."""
        self.write(frame.line)

    def send(self, line: bytes) -> None:
        """Send a frame of the core's, or one that it had held back."""
        self.write(line)

    def answer(self, request_id: bytes, line: bytes) -> None:  # noqa: ARG002 - some do look at it
        """Answer a request of this peer's; the id is JSON text."""
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
        """Connect them.

        Args:
            client: What goes to the client.
            agent: What goes to the agent.
            record: Takes entries of the timeline.
            order: Takes what is to be done about the agent's process.
            dropped: Takes the reason for which a frame was kept back; the record has it too.
            ended: Takes how a turn was ended by us, for whoever tells other clients of it.
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
        """Do what the core asks for, in its order.

        Args:
            effects: What the core gave.
            side: Where the frame that they are about came from, if they are about one.
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
