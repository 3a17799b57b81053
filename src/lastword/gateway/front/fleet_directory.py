"""The sessions of a fleet, as the front of one node finds them.

Owns the choice between this node and the others: a session is where its owner is; without one, at
its home, the node that has its files; and if that node is lost, here. A new session goes to a node
whose root contains its folder. Holders of other nodes are reached over a node link, and this node
answers the requests that come over the links of others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from lastword.core.protocol.acp import object_of
from lastword.gateway import wire
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.node_link import read_control
from lastword.gateway.fleet.records import parts_of, place_of
from lastword.gateway.front.fleet_sessions import FleetSource, RemoteUpstream, Takeovers
from lastword.gateway.front.holders import FleetAwayError, StartError
from lastword.gateway.holder import connection
from lastword.gateway.holder.connection import Introduction
from lastword.gateway.holder.remote import RemoteViewer
from lastword.gateway.viewing import access

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.node_link import NodeLink
    from lastword.gateway.fleet.records import NodeRecord, OwnerRecord
    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.upstream import Upstream
    from lastword.gateway.holder.process import Holder

HOLDER_SECONDS = 30.0
"""How long a node may take to start the holder of a session, on a machine that is busy."""

SETTLE_SECONDS = 25.0
"""How long a request waits for a session whose node does not answer: its lease ends within 15 s,
and then another node takes it over."""

PARTING_SECONDS = 2.0
"""How long a holder may take to send its last frames when its session has no owner any more."""

LOOK_SECONDS = 0.25
AGAIN_SECONDS = 2.0
"""How long after a holder could not be started, which is said on stderr, another one is."""

ANSWER_SECONDS = 10.0
"""How long a holder may take beyond the wait that was requested."""

MAX_PLACES = 4
"""How many holders of other nodes are asked for their agent's answer to `initialize`."""

MAX_UNREACHABLE = 1024

MAX_NODES = 3
"""How many nodes are asked for one new session."""


class NodeSilentError(StartError):
    """The node with a session does not answer, and its lease has not ended yet."""

    def __init__(self) -> None:
        super().__init__(access.node_silent())


class FleetDirectory:
    """Finds the sessions of a fleet, and holders for new ones on any of its nodes.

    Attributes:
        node: this node, with its copies of the fleet's records.
        source: reads the sessions and their logs.
    """

    def __init__(self, own: Holders, node: FleetNode) -> None:
        """Find sessions here and at the nodes that this one knows.

        Args:
            own: The holders of this node.
            node: This node.
        """
        self._own = own
        self.node: FleetNode = node
        self.source: FleetSource = FleetSource(own, self, node)
        self._takeovers = Takeovers(node, self)
        self._unreachable: set[str] = set()
        """Places that could not be reached the last time."""
        self._links: WeakKeyDictionary[NodeLink, str] = WeakKeyDictionary()
        """The links to holders of other nodes, with their places."""
        node.listen_to_owners(self._owner_changed)
        node.listen_to_owners(self._takeovers.note)

    async def join(self, *, waits: bool) -> None:
        """Join the fleet, at once or as soon as that is possible.

        Raises:
            FleetError: It cannot be joined.
        """
        await self.node.start(self.serve, self._own.count_busy, waits=waits)

    async def leave(self, *, goes_on: bool) -> None:
        """Leave the fleet; where the program is replaced, the node's record stays for its time."""
        self._takeovers.close()
        await self.node.close(stays=goes_on)

    # Sessions.

    @property
    def has_room(self) -> bool:
        """Return whether an agent can be started to greet a viewer: another node's will do."""
        return True

    def live(self, session_id: str) -> str | None:
        """Return the place of the holder that has this session."""
        return self._elsewhere(session_id) or self._own.live(session_id)

    def _elsewhere(self, session_id: str) -> str | None:
        """Return the place of a session's holder on another node."""
        owner = self.node.owners.get(wire.name_of(session_id))
        if owner is None or owner.node == self.node.name:
            return None
        return place_of(owner)

    async def exists(self, session_id: str) -> bool:
        """Return whether this session, or its log, exists."""
        if self.live(session_id) is not None or await self._own.exists(session_id):
            return True
        return await self.node.session(session_id) is not None

    async def of_session(self, session_id: str, client: Mapping[str, Any]) -> str | None:
        """Return the place of a session's holder; have a new one started if it died.

        If its node or the servers do not answer, this waits until they do or another node has the
        session: a viewer that is refused meanwhile would not learn how the turn ended.

        Raises:
            StartError: It could not be started, or they do not answer in time.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + SETTLE_SECONDS
        while True:
            pause = LOOK_SECONDS
            try:
                return await self._find(session_id, client)
            except (NodeSilentError, FleetAwayError) as error:
                if loop.time() > until:
                    raise
                if isinstance(error, FleetAwayError):
                    pause = AGAIN_SECONDS
            await asyncio.sleep(pause)

    async def _find(self, session_id: str, client: Mapping[str, Any]) -> str | None:
        """Return the place of a session's holder, as the fleet is now.

        Raises:
            NodeSilentError: Its node does not answer.
            StartError: It could not be started.
        """
        place = self._elsewhere(session_id)
        if place is not None and place not in self._unreachable:
            return place
        record = await self.node.session(session_id)
        if record is None:
            return await self._own.of_session(session_id, client)
        owner = self.node.owners.get(wire.name_of(session_id))
        home = record.node if owner is None else owner.node
        if home == self.node.name:
            return await self._restore_here(session_id, client)
        node = self.node.nodes.get(home)
        if node is None:
            if not self.node.is_settled:
                raise NodeSilentError  # it comes back
            # The session's node is lost: another with its files continues it, or this one.
            node = self.node.record
            if record.workspace and record.workspace != node.workspace:
                for other in self.node.nodes.values():
                    if other.workspace == record.workspace and other.host:
                        node = other
                        break
        if node.node == self.node.name:
            return await self._restore_here(session_id, client)
        facts = {"session": session_id, "client": client}
        try:
            return await self._request(node, wire.OF_SESSION, facts, HOLDER_SECONDS)
        except StartError as error:
            if not error.is_silent or place is not None:
                raise
            return await self._restore_here(session_id, client)  # its holder hangs

    async def _restore_here(self, session_id: str, client: Mapping[str, Any]) -> str | None:
        """Return the place of a session's holder, started here unless another node was quicker.

        Raises:
            StartError: It could not be started.
        """
        try:
            return await self._own.of_session(session_id, client, has_record=True)
        except FleetAwayError:
            raise
        except StartError:
            owner = await self.node.owner(session_id)
            if owner is None or owner.node == self.node.name:
                raise
            return place_of(owner)

    # Holders for new sessions.

    async def spare(self, client: Mapping[str, Any]) -> str:
        """Return the place of an agent without a session: here, or elsewhere if there is no room.

        If none can be started, as while no server answers, return that of an agent with a session,
        which can answer `initialize` as well.

        Raises:
            StartError: There is none.
        """
        failure = StartError(access.fleet_away())
        if self.node.is_connected:
            try:
                return await self._own.spare(client)
            except StartError as error:
                failure = error
            for node in self._by_room(lambda node: node.node != self.node.name):
                with contextlib.suppress(StartError):
                    return await self._request_place(node, wire.SPARE, {"client": client})
        for place in self.places():
            if await self.answers(place):
                return place
        raise failure

    async def _request_place(self, node: NodeRecord, word: str, facts: dict[str, Any]) -> str:
        """Return the place of a holder for a new session on another node.

        Raises:
            StartError: It has none, or does not answer.
        """
        place = await self._request(node, word, facts, HOLDER_SECONDS)
        if place is None:
            raise NodeSilentError
        return place

    async def opener(self, key: str, client: Mapping[str, Any], *, cwd: str, is_new: bool) -> str:
        """Return the place of the holder for a `session/new`: the same one if it is sent again.

        Args:
            key: The viewer and its request's id.
            client: The client for which an agent is started, if there is no spare.
            cwd: The folder in which the session is to work.
            is_new: The viewer cannot have sent anything earlier.

        Raises:
            StartError: No node has such a folder, or a place for another agent.
        """
        opening = OpeningRequest(key, dict(client), cwd)
        if not is_new:
            try:
                earlier = await self.node.openings.node_of(key)
            except FleetError:
                raise StartError(access.fleet_away()) from None
            if earlier in self.node.nodes:
                return await self._open_at(self.node.nodes[earlier], opening, is_new=False)
        for node in self._candidates(cwd)[:MAX_NODES]:
            try:
                place = await self._open_at(node, opening, is_new=is_new)
            except StartError:
                continue
            first = await self.node.openings.note(key, node.node, self.node.nodes)
            if first == node.node:
                return place
            return await self._open_at(self.node.nodes[first], opening, is_new=False)
        raise StartError(access.no_free_node())

    def _candidates(self, cwd: str) -> list[NodeRecord]:
        """Return the nodes that can open a session in a folder, the first choice first.

        Raises:
            StartError: No known node has the folder.
        """
        # Links lead elsewhere on other nodes, so they are resolved only for this one.
        real, named = os.path.normpath(os.path.realpath(cwd)), os.path.normpath(cwd)

        def has_folder(node: NodeRecord) -> bool:
            folder = real if node.node == self.node.name else named
            return any(
                not root or folder == root or folder.startswith(root.rstrip("/") + "/")
                for root in node.roots
            )

        if not any(map(has_folder, self.node.nodes.values())):
            if self.node.knows_nodes:
                raise StartError(access.outside_root("cwd", ""))
            raise StartError(access.fleet_away())
        return self._by_room(has_folder)

    def _by_room(self, suits: Callable[[NodeRecord], bool]) -> list[NodeRecord]:
        """Return the nodes with room, first the freer of two at random; this one if equal."""
        nodes = [each for each in self.node.nodes.values() if _room(each) > 0 and suits(each)]
        random.shuffle(nodes)
        first = sorted(nodes[:2], key=lambda each: (-_room(each), each.node != self.node.name))
        return first + nodes[2:]

    async def _open_at(self, node: NodeRecord, opening: OpeningRequest, *, is_new: bool) -> str:
        """Return the place of the holder on a node that opens a session.

        Raises:
            StartError: It has none, or does not answer.
        """
        if node.node == self.node.name:
            return await self._own.opener(
                opening.key, opening.client, cwd=opening.cwd, is_new=is_new
            )
        facts = msgspec.to_builtins(opening) | {"new": is_new}
        return await self._request_place(node, wire.OPENER, facts)

    async def _request(
        self, node: NodeRecord, word: str, facts: dict[str, Any], seconds: float
    ) -> str | None:
        """Request a holder from another node's front; return its place, `None` if there is none.

        Raises:
            StartError: The node refuses, or does not answer.
        """
        answer = await self.node.node_links.request(node.node, word, facts, seconds)
        if answer is None:
            raise NodeSilentError
        if isinstance(answer.get("error"), dict):
            raise StartError(answer["error"], is_silent=answer.get("silent") is True)
        place = answer.get(wire.PLACE)
        if not isinstance(place, str):
            return None
        self._unreachable.discard(place)
        return place

    # Requests of other nodes.

    async def serve(self, link: NodeLink) -> None:
        """Answer another node's request, or serve its viewer until the viewer leaves.

        Raises:
            OSError: The link was lost.
            ValueError: The request is malformed.
        """
        word, facts = await read_control(link)
        holder = self._own.holder(str(facts.pop("holder", "")))
        if word == wire.HELLO:
            if holder is not None and not holder.is_over:
                await RemoteViewer(holder, link).run(facts)
            return
        link.control(word, **await self._answer_to(word, facts, holder))

    async def _answer_to(
        self, word: str, facts: dict[str, Any], holder: Holder | None
    ) -> dict[str, Any]:
        if holder is not None and word == wire.STATUS:
            return {}
        if holder is not None and word in connection.ANSWERED:
            return await connection.ANSWERED[word](holder.sessions, facts)
        client = object_of(facts.get("client"))
        place: str | None
        try:
            if word == wire.OF_SESSION:
                place = await self._restore_here(str(facts.get("session")), client)
            elif word == wire.OPENER:
                opening = msgspec.convert(facts, OpeningRequest)
                place = await self._open_here(opening, is_new=facts.get("new") is True)
            elif word == wire.SPARE:
                place = await self._own.spare(client)
            else:
                return {wire.UNKNOWN: True}
        except StartError as error:
            return {"error": error.error, "silent": error.is_silent}
        if place is None or parts_of(place) is not None:
            return {wire.PLACE: place}
        started = self._own.holder(place)
        if started is None or started.fleet is None:
            return {"error": access.holder_silent(), "silent": True}
        return {wire.PLACE: started.fleet.place}  # as other nodes reach it

    async def _open_here(self, opening: OpeningRequest, *, is_new: bool) -> str:
        """Return the holder for a request of another front, which waits `HOLDER_SECONDS` for it.

        Raises:
            StartError: There is none in time.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + HOLDER_SECONDS
        if is_new:
            await self._own.spare(opening.client)  # the opener takes it without another wait
        if loop.time() > until:
            raise NodeSilentError
        return await self._own.opener(opening.key, opening.client, cwd=opening.cwd, is_new=is_new)

    # Holders.

    def views(self) -> list[SessionView]:
        """Return the sessions that have a holder, here or elsewhere, with their nodes."""
        here = [(self.node.name, view) for view in self._own.views()]
        owners = [each for each in self.node.owners.values() if each.node != self.node.name]
        elsewhere = [(owner.node, owner.view) for owner in owners]
        return [msgspec.structs.replace(view, node=node) for node, view in here + elsewhere]

    def places(self) -> list[str]:
        """Return the places of running holders: those here, or some elsewhere if there are none."""
        places = {place_of(owner): None for owner in self.node.owners.values()}
        return self._own.places() or [*places][:MAX_PLACES]

    async def open(self, place: str, introduction: Introduction) -> Upstream:
        """Connect a viewer to a holder, and wait until its agent has started.

        Raises:
            OSError: It has ended, or cannot be reached.
            StartError: It does not answer.
        """
        parts = parts_of(place)
        if parts is None:
            return await self._own.open(place, introduction)
        try:
            link = await self.node.node_links.open(parts[0])
            self._links[link] = place
            upstream = await RemoteUpstream.open(place, parts[1], introduction, link)
        except OSError:
            self._note(place, is_reached=False)
            raise
        self._note(place, is_reached=True)
        return upstream

    async def request(self, place: str, word: str, facts: dict[str, Any]) -> dict[str, Any] | None:
        """Ask a holder one of `connection.ANSWERED`; `None` if it has ended, or knows no answer."""
        parts = parts_of(place)
        if parts is None:
            return await self._own.request(place, word, facts)
        seconds = facts.get("wait_seconds", 0.0) + ANSWER_SECONDS
        facts = facts | {"holder": parts[1]}
        return await self.node.node_links.request(parts[0], word, facts, seconds)

    async def greeting(self, place: str) -> dict[str, Any]:
        """Return a holder's agent's answer to `initialize`; empty if it has failed or ended."""
        if parts_of(place) is None:
            return await self._own.greeting(place)
        with contextlib.suppress(OSError, StartError):
            upstream = await self.open(place, Introduction())
            upstream.leave(1000, cause="left")
            if not upstream.welcome.get("failed"):
                return object_of(upstream.welcome.get("initialize"))
        return {}

    def _note(self, place: str, *, is_reached: bool) -> None:
        """Note whether a holder of another node was reached."""
        self._unreachable.discard(place)
        if not is_reached:
            if len(self._unreachable) >= MAX_UNREACHABLE:
                self._unreachable.clear()  # most of these holders ended long ago
            self._unreachable.add(place)

    def _owner_changed(self, _: str, before: OwnerRecord | None, owner: OwnerRecord | None) -> None:
        """Disconnect from a session's former place, unless its holder ends the connection itself.

        A node that has lost the servers may still be reachable. It holds back the agent's output,
        so its viewers would wait while others are shown how the turn ended.
        """
        if before is not None and (owner is None or place_of(owner) != place_of(before)):
            parts = partial(self._part_from, place_of(before))
            asyncio.get_running_loop().call_later(PARTING_SECONDS, parts)

    def _part_from(self, place: str) -> None:
        if place not in map(place_of, self.node.owners.values()):
            for link in [each for each, at in self._links.items() if at == place]:
                link.end()

    async def answers(self, place: str) -> bool:
        """Return whether a holder is running at this place."""
        if parts_of(place) is None:
            return await self._own.answers(place)
        is_reached = await self.request(place, wire.STATUS, {}) is not None
        self._note(place, is_reached=is_reached)
        return is_reached


class OpeningRequest(msgspec.Struct, frozen=True):
    """A request for a new session.

    Attributes:
        key: the viewer and its request's id.
        client: the client for which an agent is started.
        cwd: the folder in which the session is to work.
    """

    key: str
    client: dict[str, Any]
    cwd: str


def _room(node: NodeRecord) -> int:
    """Return how many more agents a node takes."""
    return node.slots - node.used if node.host else 0
