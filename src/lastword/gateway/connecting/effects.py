"""Effects of the connector: what its shell is asked to do, as values."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class ToEditor(msgspec.Struct, frozen=True):
    """Write the editor this line. Whatever it moves in the connector counts as written."""

    line: bytes


class ToGateway(msgspec.Struct, frozen=True):
    """Send the gateway this frame, over the link that is open now."""

    line: bytes


class Greeted(msgspec.Struct, frozen=True):
    """The link is as the one before was: every session is attached.

    Attributes:
        updates: how many frames of the past have come since it opened.
    """

    updates: int


class NotGreeted(msgspec.Struct, frozen=True):
    """The link is open, and cannot be used: by the HTTP status that says the same."""

    status: int


class Dial(msgspec.Struct, frozen=True):
    """Somebody waits for the gateway: connect, unless that is under way."""


class HangUp(msgspec.Struct, frozen=True):
    """Nobody needs the link any more, until the next `Dial`."""


class Say(msgspec.Struct, frozen=True):
    """Tell whoever reads stderr."""

    line: str


class OwnError(msgspec.Struct, frozen=True):
    """Report to the gateway, when it can be, what it did to a session.

    Attributes:
        word: of `protocol/words.json`.
        session_id: the session's.
    """

    word: str
    session_id: str


ConnectEffect: TypeAlias = (
    ToEditor | ToGateway | Greeted | NotGreeted | Dial | HangUp | Say | OwnError
)
