"""What the core asks its shell to do, as frozen values, in the order in which they are to be done.

Owns the vocabulary between core and shells. Carrying an effect out is the shell's part.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from lastword.core.timeline import Entry


class Side(Enum):
    """An end of the link."""

    CLIENT = "client"
    AGENT = "agent"

    @property
    def other(self) -> Side:
        """The opposite end."""
        return Side.AGENT if self is Side.CLIENT else Side.CLIENT


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


class Drop(msgspec.Struct, frozen=True):
    """Keep the frame back. `reason` is a low-cardinality word for the record."""

    reason: str


class Kill(msgspec.Struct, frozen=True):
    """End the agent's process: it does not serve."""


class Restart(msgspec.Struct, frozen=True):
    """Start the agent anew, and say `agent_started`; where it cannot be, say `receive_eof`."""


class Record(msgspec.Struct, frozen=True):
    """Something worth remembering happened."""

    entry: Entry


Effect: TypeAlias = Forward | Send | Answer | Drop | Kill | Restart | Record

FORWARD = Forward()
