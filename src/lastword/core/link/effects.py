"""Effects: what the core asks its shell to do, as frozen values, in the order to be carried out.

Owns the vocabulary between core and shells. The shell carries the effects out.
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
    """We end a turn in this way. The frames that tell this link's client follow.

    A shell that shows the session to others tells each of them by `core.failure.ladder.frames_for`.
    """

    ending: Ending | CancelledEnding


class Drop(msgspec.Struct, frozen=True):
    """Hold the frame back. `reason` is a low-cardinality word for the record."""

    reason: str


class Kill(msgspec.Struct, frozen=True):
    """End the agent's process, since it does not work.

    Attributes:
        unsent: prompts that waited for it, for the next agent. `core.restart` takes them; no shell
            ever sees any.
    """

    unsent: tuple[Frame, ...] = ()


class Restart(msgspec.Struct, frozen=True):
    """Start a new agent, then call `agent_started`, or `receive_eof` if it cannot be started."""


class Spend(msgspec.Struct, frozen=True):
    """The session has cost more, which counts for the user's limit.

    The shell adds it to what it remembers, and reports the sums with `receive_spending`.

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
    """Something worth remembering happened."""

    entry: Entry


Effect: TypeAlias = Forward | Send | Answer | End | Drop | Kill | Restart | Spend | Record

FORWARD = Forward()


def forwarded_as(effects: list[Effect], sent: Effect) -> list[Effect]:
    """Return the effects of a frame other than the one that just arrived, passed on as `sent`."""
    return [sent if effect is FORWARD else effect for effect in effects]
