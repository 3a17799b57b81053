"""A session's holder and an attached viewer, as the session knows them.

A session's holder, as the session knows it. Owns the few members by which a session reaches the
agent, the settings and the counts of its holder.

An attached viewer, as its session knows it. Owns the few functions by which a session reaches the
connections of its viewers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.gateway.fleet.ownership import Ownership
    from lastword.gateway.holder.agent_process import HeldAgent, OwnRequests
    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.holder.quality import HolderQuality
    from lastword.gateway.holder.recording import HolderRecord, SessionNotices
    from lastword.gateway.holder.session import HeldSession
    from lastword.gateway.log.files import LogOwner
    from lastword.gateway.log.store import OpenLog
    from lastword.gateway.settings.values import HolderSettings
    from lastword.gateway.viewing.reader import Attachment


class SessionHolder(Protocol):
    """What a session needs of its holder."""

    settings: HolderSettings
    open_log: OpenLog
    """Opens the log at a path."""

    agent: HeldAgent
    conversation: OwnRequests
    """The holder's own requests to the agent."""
    initialized: dict[str, Any]
    """The agent's answer to `initialize`."""
    record: HolderRecord
    """The record of events."""
    opened: list[HeldSession]
    """All sessions that it has opened, whose files are closed at its end."""
    quality: HolderQuality
    notices: SessionNotices | None
    """What notifications are made from; `None` if there are none."""
    fleet: Ownership | None
    """The ownership of sessions in a fleet; `None` without one."""

    @property
    def owner(self) -> LogOwner:
        """The process as the owner of its logs."""
        ...

    @property
    def can_close(self) -> bool:
        """Whether the agent can close a session on request."""
        ...

    def close_session(
        self, session: HeldSession, word: str, effects: Iterable[HubEffect] = ()
    ) -> None:
        """End a session, after these effects."""
        ...

    def leave_all(self) -> None:
        """Leave every session as it is to whoever takes it over, and end with the agent."""
        ...

    def stir(self) -> None:
        """Note that something has happened, which may have begun or ended a timeout."""
        ...


class AttachedViewer(Protocol):
    """What a session needs of a viewer that is attached to it."""

    attachment: Attachment
    """Its position, and what it has received."""

    def send(self, *frames: bytes) -> None:
        """Write what did not come from the log."""
        ...

    def wake(self) -> None:
        """Note that the log may have grown."""
        ...

    def finish(self, code: int, reason: str) -> None:
        """End once everything in the log has been sent: the session is over."""
        ...

    def shut(self, code: int, reason: str) -> None:
        """Close the viewer's socket."""
        ...

    def stop(self, code: int, cause: str) -> None:
        """Stop sending: the viewer has gone, or is to go elsewhere."""
        ...
