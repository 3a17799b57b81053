"""Ownership: which sessions of a fleet this holder has, and until when.

Owns what a holder asks of the fleet. The holder knows nothing else of it, and does not load it
without `--fleet`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.log.store import Log


class Takeover(msgspec.Struct, frozen=True):
    """A session that has come from another machine.

    Attributes:
        has_files: this machine has the session's files, too, so that an agent here can go on.
    """

    has_files: bool


class OwnedSession(Protocol):
    """What is needed of a session."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def agents_id(self) -> str:
        """Its id towards the agent."""
        ...

    @property
    def log(self) -> Log:
        """Its log."""
        ...

    def view(self) -> SessionView:
        """Return what the API shows of it."""
        ...

    def show_notice(self, title: str) -> None:
        """Send its viewers a notice outside the log."""
        ...

    def finish(self) -> None:
        """End its log, and its viewers' links once they have it all."""
        ...


class Ownership(Protocol):
    """The ownership of one holder's sessions."""

    @property
    def place(self) -> str:
        """Return where fronts of other nodes connect to this holder."""
        ...

    async def start(self, session_id: str) -> Takeover | None:
        """Connect to the fleet, and take over a session unless its id is empty.

        Returns:
            How it was taken over; `None` if its last owner was on this machine.

        Raises:
            LogOwnedError: Another node has the session.
            FleetError: The fleet cannot be used.
        """
        ...

    def open_log(self, session_id: str, path: str) -> Log:
        """Open the log of a session that was taken over, or of a new one.

        Raises:
            LogUnavailableError: It cannot be used.
        """
        ...

    async def opened(self, session: OwnedSession) -> None:
        """Make a session known to the fleet: nothing of it is shown before.

        Raises:
            FleetError: It is not known.
        """
        ...

    def ended(self, session: OwnedSession) -> None:
        """Give up a session that has ended; it is finished once the fleet has all of its log."""
        ...

    async def close(self) -> None:
        """Wait a moment for what the fleet does not have yet, and leave."""
        ...
