"""The sessions of a fleet, for those who read them and their logs.

Owns where a session without a holder is read: from this node's file, if it is the session's home,
else from what the fleet keeps of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.front.session_source import MAX_ENDED, NoSessionError, SessionSource

if TYPE_CHECKING:
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.records import SessionRecord
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.fleet_node import FleetNode


class FleetSource(SessionSource):
    """The sessions of a fleet."""

    def __init__(self, directory: Directory, node: FleetNode) -> None:
        """Find the sessions of this directory."""
        super().__init__(directory)
        self._node = node

    async def ended(self, live: set[str]) -> tuple[list[SessionView], int]:
        """Return the latest of the sessions without a holder, and how many more there are."""
        here, more = await super().ended(live)
        names = {wire.name_of(session_id) for session_id in live}
        views = {view.id: self._at_home(view) for view in here}
        for name, record in self._node.sessions.items():
            if name not in names and record.ended is not None:
                views[record.session] = _ended(record)
        latest = sorted(views.values(), key=lambda view: -view.since_epoch_ms)
        return latest[:MAX_ENDED], more + max(0, len(latest) - MAX_ENDED)

    async def one(self, session_id: str) -> SessionView:
        """Return one session.

        Raises:
            NoSessionError: There is no such session.
            StoreError: Its log cannot be read.
        """
        record = await self._node.session(session_id)
        try:
            return self._at_home(await super().one(session_id))
        except (NoSessionError, StoreError):
            if record is None or record.ended is None:
                raise
            return _ended(record)

    def _at_home(self, view: SessionView) -> SessionView:
        """Return a session of this node's logs with the node that has it."""
        record = self._node.sessions.get(wire.name_of(view.id))
        if record is None:
            return view
        return msgspec.structs.replace(view, node=record.node)


def _ended(record: SessionRecord) -> SessionView:
    assert record.ended is not None  # noqa: S101 - for the type checker
    return msgspec.structs.replace(record.ended, node=record.node)
