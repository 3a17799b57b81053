"""The sessions of a fleet, for those who read them and their logs.

Owns where a session without a holder is read: from this node's file, if the session's files are
here, else from its replica.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.api.views import SessionDetails
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.replica import EMPTY
from lastword.gateway.fleet.replica_pages import replica_page, replica_view
from lastword.gateway.front.directory import MAX_ENDED, NoSessionError, SessionSource

if TYPE_CHECKING:
    from lastword.gateway.api.requests import EventQuery
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.records import SessionRecord
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.fleet_node import FleetNode

MAX_LOST = 100
"""Sessions without an owner whose replicas are read for a list."""


class FleetSource(SessionSource):
    """The sessions of a fleet."""

    def __init__(self, directory: Directory, node: FleetNode) -> None:
        """Find the sessions of this directory."""
        super().__init__(directory)
        self._node = node
        self._lost: OrderedDict[tuple[str, int], SessionView] = OrderedDict()
        """Views of sessions without an owner, by the session and its last term."""

    async def ended(self, live: set[str]) -> tuple[list[SessionView], int]:
        """Return the latest of the sessions without a holder, and how many more there are."""
        here, more = await super().ended(live)
        views = {view.id: self._with_node(view) for view in here}
        names = {wire.name_of(session_id) for session_id in live}
        elsewhere = [
            record
            for name, record in self._node.sessions.items()
            if name not in names and (record.session not in views or not self._is_here(record))
        ]
        lost = [record for record in elsewhere if record.ended is None][-MAX_LOST:]
        read = await asyncio.gather(*(self._view_in_replica(record) for record in lost))
        ended = [_ended(record) for record in elsewhere if record.ended is not None]
        views |= {view.id: view for view in (*read, *ended) if view is not None}
        latest = sorted(views.values(), key=lambda view: -view.since_epoch_ms)
        return latest[:MAX_ENDED], more + max(0, len(latest) - MAX_ENDED)

    async def one(self, session_id: str) -> SessionView:
        """Return one session.

        Raises:
            NoSessionError: There is no such session.
            StoreError: Its log cannot be read.
        """
        record = await self._node.session(session_id)
        if record is None or self._is_here(record) or self._directory.live(session_id) is not None:
            return self._with_node(await super().one(session_id))
        if record.ended is not None:
            return _ended(record)
        view = await self._view_in_replica(record)
        if view is None:
            raise StoreError("the fleet's copy of the session cannot be read")
        return view

    async def _stored_page(
        self, session_id: str, query: EventQuery, wait_seconds: float
    ) -> dict[str, Any]:
        record = await self._node.session(session_id)
        if record is None or self._is_here(record):
            return await super()._stored_page(session_id, query, wait_seconds)
        try:
            page = await replica_page(self._node.replicas, session_id, query, wait_seconds)
        except FleetError as error:
            raise StoreError("the fleet's servers do not answer") from error
        if page is None:
            raise NoSessionError
        return page

    def _is_here(self, record: SessionRecord) -> bool:
        return record.node == self._node.name

    def _with_node(self, view: SessionView) -> SessionView:
        """Return a session with the node that has its files."""
        record = self._node.sessions.get(wire.name_of(view.id))
        if record is None or view.node is not msgspec.UNSET:
            return view
        return msgspec.structs.replace(view, node=record.node)

    async def _view_in_replica(self, record: SessionRecord) -> SessionView | None:
        """Return a session whose owner has gone; `None` if its replica cannot be read."""
        key = (record.session, record.term)
        view = self._lost.get(key)
        if view is None:
            try:
                view = await self._read_view(record)
            except (FleetError, StoreError):
                return None
        if view is not None:
            self._lost[key] = view
            while len(self._lost) > MAX_LOST:
                self._lost.popitem(last=False)
        return view

    async def _read_view(self, record: SessionRecord) -> SessionView | None:
        replicas, session_id = self._node.replicas, record.session
        end = await replicas.last(session_id)
        state = await replicas.state(session_id)
        if end == EMPTY:
            return None
        at = await replicas.changed_at(wire.name_of(session_id))
        agent = state.facts.get("agent", "") if state is not None else ""
        details = SessionDetails(
            id=session_id,
            agent=object_of(jsonrpc.loads(agent.encode())),
            cwd=record.cwd,
            lost_ms=int((at or 0.0) * 1000) or 1,
        )
        view = await replica_view(replicas, end, details)
        return msgspec.structs.replace(view, node=record.node)


def _ended(record: SessionRecord) -> SessionView:
    assert record.ended is not None  # noqa: S101 - for the type checker
    return msgspec.structs.replace(record.ended, node=record.node)
