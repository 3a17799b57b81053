"""Effects: what the core asks its shell to do, as frozen values, in the order to be carried out.

Owns the vocabulary between core and shells, and the interpretation of effects at the ends of a
link. What an end does with a frame, an entry or an order is up to its shell.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.failure.ladder import CancelledEnding, Ending
    from lastword.core.protocol.jsonrpc import Frame, Malformed
    from lastword.core.timeline.entry import Entry


class Side(Enum):
    """An end of the link."""

    CLIENT = "client"
    AGENT = "agent"

    @property
    def other(self) -> Side:
        return Side.AGENT if self is Side.CLIENT else Side.CLIENT


CLIENT, AGENT = Side.CLIENT, Side.AGENT
"""For code that runs for every frame: an enum's member costs 0.5 µs on Python 3.11."""


class PastLine(msgspec.Struct, frozen=True):
    """A line from an earlier process, for one that takes over the link.

    Attributes:
        side: who sent it.
        line: the line.
        at: when, on the monotonic clock.
        turn: the number of the turn that it begins; 0 for none.
    """

    side: Side
    line: bytes
    at: float
    turn: int = 0


class PastRestarts(msgspec.Struct, frozen=True):
    """What a process that takes over a link must know about its agent's restarts.

    Attributes:
        generation: how many agents there have been before this one.
        requests: how many requests have been given another id.
        origins: the client's ids for open requests of the agent, and the agent's own.
        stale: sessions of an earlier agent that this one has not been asked to restore.
        lost: those that cannot be restored.
    """

    generation: int
    requests: int
    origins: list[tuple[bytes, bytes]]
    stale: list[str]
    lost: list[str]


class Forward(msgspec.Struct, frozen=True):
    """Pass the frame on to the other side as the very bytes that arrived."""


class Send(msgspec.Struct, frozen=True):
    """Send these bytes, a frame without its line end: ours, or one held back until now."""

    to: Side
    frame: bytes


class Answer(msgspec.Struct, frozen=True):
    """Send these bytes, which answer the request with this id (JSON text) from that side."""

    to: Side
    request_id: bytes
    frame: bytes


class End(msgspec.Struct, frozen=True):
    """We end a turn in this way. The frames for this link's client follow.

    A shell with other clients makes their frames with `core.failure.ladder.frames_for`.
    """

    ending: Ending | CancelledEnding


class Drop(msgspec.Struct, frozen=True):
    """Hold the frame back. `reason` is a low-cardinality word for the record."""

    reason: str


class Kill(msgspec.Struct, frozen=True):
    """End the agent's process, since it does not work.

    Attributes:
        unsent: prompts that waited for it, for the next agent. `core.restart` removes them, so that
            a shell never gets any.
    """

    unsent: tuple[Frame, ...] = ()


class Restart(msgspec.Struct, frozen=True):
    """Start a new agent, then call `agent_started`, or `receive_eof` if it cannot be started."""


class Spend(msgspec.Struct, frozen=True):
    """The session has cost more, which counts towards the user's limit.

    The shell adds it to its sums, and reports them with `receive_spending`.

    Attributes:
        session_id: the session.
        currency: the ISO 4217 code.
        added: the amount since the last of these effects.
        stated: the sum that the agent stated now, and the sum of all that the session has cost.
    """

    session_id: str
    currency: str
    added: float
    stated: tuple[float, float]


class Record(msgspec.Struct, frozen=True):
    """Record an event."""

    entry: Entry


Effect: TypeAlias = Forward | Send | Answer | End | Drop | Kill | Restart | Spend | Record

FORWARD = Forward()


def forwarded_as(effects: list[Effect], sent: Effect) -> list[Effect]:
    """Return effects with `sent` in place of `Forward`, for a frame that did not just arrive."""
    return [sent if effect is FORWARD else effect for effect in effects]


# --- the ends of a link, where effects are carried out --------------------------------------------

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
        """Send a frame that the core made or had held back."""
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
            ended: Receives how we ended a turn, for a shell with other clients.
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
