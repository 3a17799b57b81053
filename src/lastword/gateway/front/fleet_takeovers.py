"""Takeovers: sessions whose owner has gone in the middle of a turn.

Owns that such a turn does not end in silence: the session's own node starts another holder at once;
if that node has gone too, another does, which then says what was lost. Which of several nodes
succeeds is decided by the session's stream.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.errors import LastwordError
from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.api.views import SessionDetails
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.replica_pages import replica_view
from lastword.gateway.front.holders import StartError
from lastword.platform.identity import roll

if TYPE_CHECKING:
    from lastword.gateway.fleet.records import OwnerRecord
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.fleet_node import FleetNode

OPEN = frozenset({SessionState.RUNNING, SessionState.WAITING_FOR_ANSWER})

TRIES = 30
OWN_TRIES = 4
"""The first of them are left to the session's own node, whose holder may hang."""

SHORTEST_SECONDS, SPREAD_SECONDS = 0.5, 1.0
"""How long another node's front waits before each try: so that not all begin at once, up to this
much longer, at random."""


class Takeovers:
    """The sessions that were open when their owner went."""

    def __init__(self, node: FleetNode, directory: Directory) -> None:
        self._node = node
        self._directory = directory
        self._last: dict[str, OwnerRecord] = {}
        """The owners as they were last seen."""
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def note(self, name: str, owner: OwnerRecord | None) -> None:
        """Note that a session has an owner, or has none any more."""
        if owner is not None:
            self._last[name] = owner
            return
        last = self._last.pop(name, None)
        if last is not None and name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._restore(last))
            task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def _restore(self, last: OwnerRecord) -> None:
        """Have a session started again by its own node, or here if that has gone."""
        name = wire.name_of(last.session)
        for tries in range(TRIES):
            if last.node != self._node.name:
                await asyncio.sleep(SHORTEST_SECONDS + roll() * SPREAD_SECONDS)
            record = await self._node.session(last.session)
            if name in self._node.owners or (record is not None and record.ended is not None):
                return
            is_elsewhere = last.node != self._node.name
            if is_elsewhere and not self._node.is_settled:
                continue  # it comes back
            if is_elsewhere and last.node in self._node.nodes and tries < OWN_TRIES:
                continue  # it does so itself, or its record ends soon
            with contextlib.suppress(StartError, LastwordError, OSError):
                if not await self._was_open(last):
                    return
                client = await self._client_of(last)
                await self._directory.of_session(last.session, client)
                return
            await asyncio.sleep(SHORTEST_SECONDS)

    async def _was_open(self, last: OwnerRecord) -> bool:
        """Return whether a turn was open, or what was shown of it is lost.

        The turn is as the lease showed it, unless the log goes on behind that.

        Raises:
            FleetError: The log cannot be read now.
            LogUnavailableError: The same.
        """
        replicas, session_id = self._node.replicas, last.session
        end = await replicas.last(session_id)
        if end.epoch in {"", last.view.epoch} and end.last < last.view.head:
            return True  # whoever has seen it is informed by the next owner
        if end.last == last.view.head:
            return last.view.state in OPEN
        view = await replica_view(replicas, end, SessionDetails(id=session_id))
        return view.state in OPEN

    async def _client_of(self, owner: OwnerRecord) -> dict[str, Any]:
        """Return the client for which a session was opened, as far as that is known."""
        with contextlib.suppress(FleetError):
            state = await self._node.replicas.state(owner.session)
            if state is not None:
                return object_of(jsonrpc.loads(state.facts.get("client", "").encode()))
        return {}

    def close(self) -> None:
        """Leave it to others."""
        for task in self._tasks.values():
            task.cancel()
