"""Sessions at other nodes of a fleet: their logs, viewers' links to them, and takeovers.

Owns where a session without a holder is read: from this node's file, if the session's files are
here, else from its replica. Owns the link to a holder of another node, and the reading of it.

A takeover is due when a session's owner is lost in the middle of a turn, so that the turn does not
end in silence: the session's own node starts another holder at once; if that node is lost too,
another one does, and reports what was lost. The session's stream decides which of several nodes
succeeds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.errors import LastwordError, StoreError
from lastword.gateway import wire
from lastword.gateway.api.requests import NoSessionError
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.api.views import SessionDetails
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.node_link import BLOCK, FRAME, control_of
from lastword.gateway.fleet.replica import EMPTY
from lastword.gateway.fleet.replica_pages import replica_page, replica_view
from lastword.gateway.front.directory import MAX_ENDED, SessionSource
from lastword.gateway.front.holders import StartError
from lastword.gateway.front.upstream import SessionFrames, Upstream
from lastword.gateway.viewing.render import events_of, place_facts
from lastword.platform.identity import roll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.api.requests import EventQuery
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.node_link import NodeLink
    from lastword.gateway.fleet.records import OwnerRecord, SessionRecord
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.upstream import Item
    from lastword.gateway.holder.connection import Introduction
    from lastword.gateway.viewing.render import LogPlace


MAX_LOST = 100
"""Sessions without an owner whose replicas are read for a list."""


class FleetSource(SessionSource):
    """The sessions of a fleet, and their logs."""

    def __init__(self, holders: Holders, directory: Directory, node: FleetNode) -> None:
        """Find the sessions of this directory, and the logs of these holders."""
        super().__init__(holders, directory)
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
            if name not in names and (record.session not in views or record.node != self._node.name)
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
        if (
            record is None
            or record.node == self._node.name
            or self._directory.live(session_id) is not None
        ):
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
        if record is None or record.node == self._node.name:
            return await super()._stored_page(session_id, query, wait_seconds)
        try:
            page = await replica_page(self._node.services.replicas, session_id, query, wait_seconds)
        except FleetError as error:
            raise StoreError("the fleet's servers do not answer") from error
        if page is None:
            raise NoSessionError
        return page

    def _with_node(self, view: SessionView) -> SessionView:
        """Return a session's view with the node that has its files."""
        record = self._node.sessions.get(wire.name_of(view.id))
        if record is None or view.node is not msgspec.UNSET:
            return view
        return msgspec.structs.replace(view, node=record.node)

    async def _view_in_replica(self, record: SessionRecord) -> SessionView | None:
        """Return a session whose owner is lost; `None` if its replica cannot be read."""
        key = (record.session, record.term)
        view = self._lost.get(key)
        if view is None:
            replicas, session_id = self._node.services.replicas, record.session
            try:
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
            except (FleetError, StoreError):
                return None
            self._node.services.note_shown(wire.name_of(session_id), view)
            view = msgspec.structs.replace(view, node=record.node)
        self._lost[key] = view
        while len(self._lost) > MAX_LOST:
            self._lost.popitem(last=False)
        return view


def _ended(record: SessionRecord) -> SessionView:
    assert record.ended is not None  # noqa: S101 - for the type checker
    return msgspec.structs.replace(record.ended, node=record.node)


MAX_UNSENT_BYTES = 1024 * 1024
"""The most that is written to a holder that does not read; more waits in the delivery."""


class RemoteUpstream(Upstream):
    """A link to a holder at another node."""

    def __init__(self, place: str, link: NodeLink) -> None:
        super().__init__(place)
        self._link = link
        self._items = self._read()

    @classmethod
    async def open(
        cls, place: str, holder: str, introduction: Introduction, link: NodeLink
    ) -> RemoteUpstream:
        """Wait for the holder's welcome, which comes once its agent has started.

        Args:
            place: Where the holder is.
            holder: Its name there.
            introduction: Who the viewer is.
            link: A new link to that node.

        Raises:
            OSError: The holder is not running, or the link was lost.
        """
        upstream = cls(place, link)
        try:
            link.control(wire.HELLO, holder=holder, **msgspec.to_builtins(introduction))
            welcome = await anext(upstream._items, None)
        except BaseException:  # cancelled if the viewer leaves while its agent starts
            link.close()
            raise
        if not isinstance(welcome, wire.Control):
            link.close()
            raise ConnectionResetError("the agent's holder has ended")
        upstream.welcome = welcome.facts
        return upstream

    def items(self) -> AsyncIterator[Item]:
        """Yield what the holder sends, in its order, until it ends."""
        return self._items

    async def _read(self) -> AsyncIterator[Item]:
        while items := await self._link.read():
            lines: list[bytes] = []
            for kind, item in items:
                if kind == FRAME:
                    lines.append(item)
                    continue
                if lines:
                    yield lines
                    lines = []
                if kind == BLOCK:
                    yield item
                    continue
                word, facts = control_of(item)
                if word == wire.EVENTS:
                    yield SessionFrames(str(facts.get("session")), events_of(facts))
                else:
                    yield wire.Control(word, facts)
            if lines:
                yield lines

    @property
    def is_silent(self) -> bool:
        """Return whether it was closed because it did not answer."""
        return self._link.is_silent

    @property
    def is_closing(self) -> bool:
        """Return whether it takes no more frames."""
        return self._link.is_closing

    @property
    def is_ready(self) -> bool:
        """Return whether it takes a frame at once."""
        return not self.is_closing and self._link.unsent_bytes < MAX_UNSENT_BYTES

    async def ready(self) -> None:
        """Wait until it takes more.

        Raises:
            OSError: It has ended.
        """
        await self._link.drain(MAX_UNSENT_BYTES - 1)

    def send(self, frame: Frame) -> None:
        """Send a frame that has been checked."""
        self._link.lines([frame.line])

    def answer_first(self) -> None:
        """Have the next attach answered before the past is sent."""
        self._link.control(wire.ANSWER_FIRST)

    def resume(self, session_id: str, number: int, place: LogPlace) -> None:
        """Have a session sent from here on."""
        facts = place_facts(place)
        self._link.control(wire.RESUME, session=session_id, number=number, **facts)

    def close(self) -> None:
        """Disconnect; what it has sent is still read."""
        self._link.close()

    def leave(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""
        if self.task is not None:
            self.task.cancel()
        self._link.control(wire.LEAVE, code=code, cause=cause)
        self._link.close()


OPEN = frozenset({SessionState.RUNNING, SessionState.WAITING_FOR_ANSWER})

TRIES = 30
OWN_TRIES = 4
"""The first attempts are left to the session's own node, whose holder may hang."""

SHORTEST_SECONDS, SPREAD_SECONDS = 1.5, 1.0
"""How long another node's front waits before each attempt, in which a node whose record has ended
while the servers were busy renews it, and the most that it adds at random, so that not all begin at
once."""


class Takeovers:
    """The sessions that were open when their owner was lost."""

    def __init__(self, node: FleetNode, directory: Directory) -> None:
        self._node = node
        self._directory = directory
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def note(self, name: str, last: OwnerRecord | None, owner: OwnerRecord | None) -> None:
        """Note a session's last owner, and that it has another one, or none any more."""
        if last is not None and owner is None and name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._restore(last))
            task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def _restore(self, last: OwnerRecord) -> None:
        """Have a session restored by its own node, or here if that node is lost."""
        name = wire.name_of(last.view.id)
        is_elsewhere = last.node != self._node.name
        for tries in range(TRIES):
            if is_elsewhere:
                await asyncio.sleep(SHORTEST_SECONDS + roll() * SPREAD_SECONDS)
            record = await self._node.session(last.view.id)
            if name in self._node.owners or (record is not None and record.ended is not None):
                return
            if is_elsewhere and not self._node.is_settled:
                continue  # it comes back
            if is_elsewhere and last.node in self._node.nodes and tries < OWN_TRIES:
                continue  # it does so itself, or its record ends soon
            with contextlib.suppress(StartError, LastwordError, OSError):
                if await self._was_open(last):
                    client = await self._client_of(last.view.id)
                    await self._directory.of_session(last.view.id, client)
                return
            await asyncio.sleep(SHORTEST_SECONDS)

    async def _client_of(self, session_id: str) -> dict[str, Any]:
        """Return the client that a session was opened for; empty if it is unknown."""
        with contextlib.suppress(FleetError):
            state = await self._node.services.replicas.state(session_id)
            if state is not None:
                return object_of(jsonrpc.loads(state.facts.get("client", "").encode()))
        return {}

    async def _was_open(self, last: OwnerRecord) -> bool:
        """Return whether a turn was open, or entries that viewers were shown are lost.

        The record says whether a turn was open, unless the log has later entries.

        Raises:
            FleetError: The log cannot be read now.
            LogUnavailableError: The same.
        """
        replicas, session_id = self._node.services.replicas, last.view.id
        end = await replicas.last(session_id)
        shown = self._node.services.shown.get(wire.name_of(session_id), {})
        heads = [shown.get(end.epoch, 0)] if end.epoch else shown.values()
        if end.last < max(heads, default=0):
            return True  # the next owner informs its viewers
        if end.last == last.view.head:
            return last.view.state in OPEN
        view = await replica_view(replicas, end, SessionDetails(id=session_id))
        return view.state in OPEN

    def close(self) -> None:
        """Leave takeovers to the other nodes."""
        for task in self._tasks.values():
            task.cancel()
