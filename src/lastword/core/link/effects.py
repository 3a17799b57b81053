"""Effects: what the core asks its shell to do, as frozen values, in the order of their doing.

Owns the vocabulary between core and shells. Carrying an effect out is the shell's part.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from lastword.core.failure.ladder import CancelledEnding, Ending
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.core.timeline.entry import Entry


class Side(Enum):
    """An end of the link."""

    CLIENT = "client"
    AGENT = "agent"

    @property
    def other(self) -> Side:
        """The opposite end."""
        return Side.AGENT if self is Side.CLIENT else Side.CLIENT


CLIENT, AGENT = Side.CLIENT, Side.AGENT
"""For paths that every frame takes: an enum's member costs 0.5 µs on Python 3.11."""


class Forward(msgspec.Struct, frozen=True):
    """Pass the frame on to the other side as the very bytes it came in."""


class Send(msgspec.Struct, frozen=True):
    """Send these bytes (a frame without its line end): one of ours, or one held back until now."""

    to: Side
    frame: bytes


class Answer(msgspec.Struct, frozen=True):
    """Send these bytes; they answer the request with this id (JSON text) of that side's."""

    to: Side
    request_id: bytes
    frame: bytes


class End(msgspec.Struct, frozen=True):
    """A turn ends so, by us. The frames that tell this link's client follow.

    Whoever shows the session to others too tells each by `core.failure.ladder.frames_for`.
    """

    ending: Ending | CancelledEnding


class Drop(msgspec.Struct, frozen=True):
    """Keep the frame back. `reason` is a low-cardinality word for the record."""

    reason: str


class Kill(msgspec.Struct, frozen=True):
    """End the agent's process: it does not serve.

    Attributes:
        unsent: prompts that waited for it, for the agent that follows. `core.restart` takes them:
            no shell sees any.
    """

    unsent: tuple[Frame, ...] = ()


class Restart(msgspec.Struct, frozen=True):
    """Start the agent anew, and say `agent_started`; where it cannot be, say `receive_eof`."""


class Record(msgspec.Struct, frozen=True):
    """Something worth remembering happened."""

    entry: Entry


Effect: TypeAlias = Forward | Send | Answer | End | Drop | Kill | Restart | Record

FORWARD = Forward()


def forwarded_as(effects: list[Effect], sent: Effect) -> list[Effect]:
    """The effects of a frame that is not the one which came just now: `sent` is how it passes."""
    return [sent if effect is FORWARD else effect for effect in effects]
