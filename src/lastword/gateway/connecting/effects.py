"""Effects of the connector: what its shell is asked to do, as values."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class ToEditor(msgspec.Struct, frozen=True):
    """Write this line to the editor. The connector counts it as written."""

    line: bytes


class ToGateway(msgspec.Struct, frozen=True):
    """Send this frame to the gateway, over the open link."""

    line: bytes


class Greeted(msgspec.Struct, frozen=True):
    """The link is ready: every session is attached again.

    Attributes:
        updates: the number of past frames that came since it opened.
    """

    updates: int


class NotGreeted(msgspec.Struct, frozen=True):
    """The link is open but cannot be used, for the reason that this HTTP status gives."""

    status: int


class Dial(msgspec.Struct, frozen=True):
    """Connect, unless that is under way: somebody is waiting for the gateway."""


class HangUp(msgspec.Struct, frozen=True):
    """Close the link, which nobody needs until the next `Dial`."""


class Say(msgspec.Struct, frozen=True):
    """Print a line on stderr."""

    line: str


class OwnError(msgspec.Struct, frozen=True):
    """Report to the gateway, once that is possible, an error that affected a session.

    Attributes:
        word: one of `protocol/words.json`.
        session_id: the session's id.
    """

    word: str
    session_id: str


ConnectEffect: TypeAlias = (
    ToEditor | ToGateway | Greeted | NotGreeted | Dial | HangUp | Say | OwnError
)
