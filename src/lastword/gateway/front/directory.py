"""The directory of the sessions that a front serves: where each is, and where new ones begin.

Owns the interface alone. `Holders` is the directory of one machine's sessions. A place is where
a holder is reached, as text that only a directory reads: its name here, or where it
listens for other nodes of a fleet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.gateway.front.upstream import Upstream
    from lastword.gateway.holder.connection import Introduction
    from lastword.outbox.own_reports import OwnReports


class Directory(Protocol):
    """Finds sessions, and holders for new ones; has them started where there are none."""

    @property
    def reports(self) -> OwnReports:
        """Return the reports of what fails here."""
        ...

    def live(self, session_id: str) -> str | None:
        """Return the place of the holder that has this session."""
        ...

    async def exists(self, session_id: str) -> bool:
        """Return whether this session, or its log, exists."""
        ...

    async def of_session(self, session_id: str, client: Mapping[str, Any]) -> str | None:
        """Return the place of a session's holder; start a new holder if that has died.

        Raises:
            StartError: It could not be started, or another gateway has the session.
        """
        ...

    async def spare(self, client: Mapping[str, Any]) -> str:
        """Return the place of an agent without a session, initialized or about to be.

        Raises:
            StartError: It could not be started.
        """
        ...

    async def opener(self, key: str, client: Mapping[str, Any], *, cwd: str, is_new: bool) -> str:
        """Return the place of the holder for a `session/new`: the same one if it is sent again.

        Args:
            key: The viewer and its request's id.
            client: The client for which an agent is started, if there is no spare.
            cwd: The folder in which the session is to work.
            is_new: The viewer cannot have sent anything earlier.

        Raises:
            StartError: It could not be started.
        """
        ...

    def places(self) -> list[str]:
        """Return the places of running holders: all those of this machine."""
        ...

    async def statuses(self) -> list[dict[str, Any]]:
        """Return the status of every holder that answers."""
        ...

    def log_path(self, session_id: str) -> str:
        """Return the path of a session's log."""
        ...

    def logs(self) -> list[tuple[str, str]]:
        """Return all logs: the names of the sessions, and their paths."""
        ...

    async def open(self, place: str, introduction: Introduction) -> Upstream:
        """Connect a viewer to a holder, and wait until its agent has started.

        Raises:
            OSError: It has ended, or cannot be reached.
            StartError: It does not answer.
        """
        ...

    async def request(self, place: str, word: str, facts: dict[str, Any]) -> dict[str, Any] | None:
        """Ask a holder one of `answering.ANSWERED`; `None` if it has ended, or knows no answer."""
        ...

    async def greeting(self, place: str) -> dict[str, Any]:
        """Return a holder's agent's answer to `initialize`; empty if it has failed or ended."""
        ...

    async def answers(self, place: str) -> bool:
        """Return whether a holder is at this place."""
        ...
