"""This gateway as a node of a fleet: its record, and what it knows of the other nodes.

Owns the front's connection to the fleet's servers, this node's lease, the copies of the records of
nodes and sessions, and the links to other nodes. While no server answers, the copies stay as they
were: sessions here and holders elsewhere continue.

A node's record is its lease: while it is renewed, no other node takes over the node's sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import secrets
import socket
import sys
import time
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakSet

import msgspec

from lastword._version import __version__
from lastword.gateway import wire
from lastword.gateway.fleet.buckets import Mirror
from lastword.gateway.fleet.errors import (
    FencedError,
    FleetError,
    NotStoredError,
    OutcomeUnknownError,
)
from lastword.gateway.fleet.key import LINKS, TOKENS, FleetKey
from lastword.gateway.fleet.node_link import NodeLinks
from lastword.gateway.fleet.owned_records import ANSWER_SECONDS
from lastword.gateway.fleet.ownership import Ownership
from lastword.gateway.fleet.records import (
    LEASE_SECONDS,
    RENEW_SECONDS,
    NodeRecord,
    living_owner,
)
from lastword.gateway.fleet.services import FleetServices, forget_old
from lastword.gateway.fleet.start import prepare
from lastword.gateway.fleet.status import store_settings
from lastword.gateway.fleet.workspace import workspace_of
from lastword.gateway.front.fleet_shared import FleetLinks, FleetOpenings, FleetPush
from lastword.gateway.front.folders import push_folder_of
from lastword.gateway.front.tokens import Keeper
from lastword.gateway.quality import metrics
from lastword.platform.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.gateway.fleet.node_link import Serve
    from lastword.gateway.fleet.records import OwnerRecord, SessionRecord
    from lastword.gateway.holder.process import Holder
    from lastword.gateway.settings.values import FleetSettings, GatewaySettings

    OwnerListener: TypeAlias = Callable[[str, OwnerRecord | None, OwnerRecord | None], None]
    """Takes the name of a session's file, its owner until then, and the one that it has now."""

START_SECONDS = 10.0
"""How long a start waits for the records of the others."""

NAME_LOOKS = 20
NAME_LOOK_SECONDS = 1.0
"""How often, and at which interval, a node waits for the end of another record of its name."""

SETTLE_SECONDS = LEASE_SECONDS * 2 / 3
"""How long after connecting a node takes over no sessions."""

INSTANCE = "fleet-instance"
"""The file in the run folder by which a node knows the record of the program before it."""

STREAMS_EVERY_SECONDS = 15.0
"""How often the servers' streams are checked; setting up the servers again deletes them."""

AGAIN_SECONDS = 0.25
"""How long after a failure the record is renewed again."""

SPARE_SECONDS = LEASE_SECONDS / 6
"""How long before its end a record that is not renewed has holders act (`node_expiring`)."""

COMPLAIN_EVERY_SECONDS = 60.0
FORGET_EVERY_SECONDS = 3600.0


class FleetNode:
    """One node, from its front's point of view.

    Attributes:
        settings: the fleet's settings, with what holders need of this front.
        services: the connection to the fleet, with what is behind it.
        keeper: makes and reads the tokens of the fleet.
        node_links: the links to other nodes.
        links: the links to the page.
        openings: the nodes that have requests for new sessions.
        push: browsers' subscriptions to notifications.
        owners: the owners that live, by their sessions' file names.
    """

    def __init__(self, settings: GatewaySettings, run_folder: str, *, goes_on: bool) -> None:
        """Read the key; nothing is connected yet.

        Args:
            settings: The gateway's settings.
            run_folder: The folder in which the gateway is found.
            goes_on: This program continues another one's agents, and is the same instance.

        Raises:
            FleetError: The key cannot be used.
        """
        fleet = settings.holder.fleet
        assert fleet is not None  # noqa: S101 - for the type checker
        self._instance_path = os.path.join(run_folder, INSTANCE)
        self._earlier = _read(self._instance_path)
        instance = self._earlier if goes_on and self._earlier else secrets.token_hex(16)
        self.settings: FleetSettings = msgspec.structs.replace(fleet, instance=instance)
        key = FleetKey.at(fleet.key_file)
        store_settings(run_folder, self.settings)
        self.keeper: Keeper = Keeper(key.derived(TOKENS))
        self._workspace = workspace_of(fleet.workspace, settings.holder.root)
        self._limit = settings.sessions
        self._root = settings.holder.root
        self.services: FleetServices = FleetServices(self.settings, key, f"lastword {self.name}")
        self._broker, self._records = self.services.broker, self.services.records
        self.node_links: NodeLinks = NodeLinks(self._broker, key.derived(LINKS), self.name)
        self._node_records = self.services.nodes
        folder = push_folder_of(settings.holder.state_folder, in_fleet=True)
        self.push: FleetPush = FleetPush(folder, key.derived("push"), self.services)
        self.links: FleetLinks = FleetLinks(folder, self.keeper, self.name, self.services)
        self.openings: FleetOpenings = FleetOpenings(self.services)
        self._nodes = Mirror(self._node_records)
        self._sessions = Mirror(self.services.sessions)
        self._sessions.listen(self.services.note_session)
        self._sessions.listen(self._note_owner)
        self._nodes.listen(self._note_node)
        self._instances = {self.name: self._earlier}
        """By name of the node, the instance whose sessions it has."""
        self.owners: dict[str, OwnerRecord] = {}
        self._owner_listeners: list[OwnerListener] = []
        self._log_age_seconds = settings.log_age_seconds
        self._started_ms = time.time_ns() // 1_000_000
        self._ownerships: WeakSet[Ownership] = WeakSet()
        """Those of its holders."""
        self._tasks: list[asyncio.Task[None]] = []
        self._follows = False
        """The mirrors run."""
        self._host = ""
        self._revision = 0
        self._expiry: asyncio.TimerHandle | None = None
        self._renewed_at = -math.inf
        self._connected_at = 0.0
        self._is_served = True
        """The servers can serve the fleet."""
        self._back_at = -math.inf
        """When the last outage ended."""
        self._stirred = asyncio.Event()
        """Set on each connection: this node's record may have ended meanwhile."""

    @property
    def name(self) -> str:
        """Return this node's name."""
        return self.settings.node

    def ownership(self, holder: Holder) -> Ownership:
        """Return the ownership of a holder's sessions."""
        ownership = Ownership(self.services, holder)
        self._ownerships.add(ownership)
        return ownership

    def listen_to_owners(self, listener: OwnerListener) -> None:
        """Call a function when a session's owner is new, changes, or has ended."""
        self._owner_listeners.append(listener)

    def _note_owner(self, name: str, record: SessionRecord | None) -> None:
        before, owner = self.owners.get(name), living_owner(record, self._instances)
        if owner is not None:
            self.owners[name] = owner
        elif before is not None:
            del self.owners[name]
        else:
            return
        for listener in self._owner_listeners:
            listener(name, before, owner)

    def _note_node(self, node: str, record: NodeRecord | None) -> None:
        if node != self.name:
            self._note_instance(node, record.instance if record is not None else "")

    def _note_instance(self, node: str, instance: str) -> None:
        if instance == self._instances.get(node, ""):
            return
        self._instances[node] = instance
        for name, session in self.sessions.items():
            if session.owner is not None and session.owner.node == node:
                self._note_owner(name, session)

    async def start(self, serve: Serve, used: Callable[[], int], *, waits: bool) -> None:
        """Join the fleet.

        Args:
            serve: Serves a link that another node opens.
            used: Returns how many agents run here.
            waits: Wait until it is joined; otherwise try in the background until that succeeds.

        Raises:
            FleetError: It cannot be joined.
        """
        self._used = used
        self._serve = serve
        self._host = socket.gethostname() or "localhost"
        if waits:
            await self._join()
            self._tasks.append(asyncio.create_task(self._renew()))
        else:
            self._tasks.append(asyncio.create_task(self._join_later()))
        self._tasks.append(asyncio.create_task(self._forget_old()))

    async def _join(self) -> None:
        await self._broker.open()
        self._connected_at = time.monotonic()
        self._broker.ignore(self._connection_changed)  # of an earlier attempt
        self._broker.listen(self._connection_changed)
        await prepare(self._broker, self._records, self.settings.replicas)
        mirrors = (self._nodes, self._sessions)
        if not self._follows:  # unless an earlier attempt got as far as this
            self._follows = True
            runs = (self._nodes.run, self._sessions.run, self.services.owned.run)
            self._tasks += [asyncio.create_task(run()) for run in runs]
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.gather(*(each.complete() for each in mirrors))
        except TimeoutError:
            raise FleetError("the NATS servers do not send the fleet's records") from None
        for other in self._nodes.records.values():
            if other.node != self.name and other.wire < wire.OLDEST:
                # It would take this node's sessions for lost.
                raise FleetError(
                    f"the node {other.node} runs lastword {other.version}, which this version "
                    "cannot talk to: stop every gateway of the fleet before you upgrade the first"
                )
        await self._register()
        try:
            write_whole(self._instance_path, self.settings.instance.encode())
        except OSError as error:
            raise FleetError(f"{self._instance_path} cannot be used") from error
        self._note_instance(self.name, self.settings.instance)  # and the earlier one's are lost
        await self.node_links.start(self._serve)
        self._tasks.append(asyncio.create_task(self.push.run()))
        self._tasks.append(asyncio.create_task(self.links.run()))
        self._tasks.append(asyncio.create_task(self._keep_streams()))

    async def _join_later(self) -> None:
        quiet_until = 0.0
        while True:
            try:
                await self._join()
                break
            except FleetError as error:
                if time.monotonic() >= quiet_until:
                    quiet_until = time.monotonic() + COMPLAIN_EVERY_SECONDS
                    sys.stderr.write(f"lastword: {error}\n")
                await asyncio.sleep(RENEW_SECONDS)
        await self._renew()

    async def close(self, *, stays: bool) -> None:
        """Leave the fleet; the record stays until it expires, or is deleted."""
        await self.node_links.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._expiry is not None:
            self._expiry.cancel()
        self._host = ""
        with contextlib.suppress(FleetError):
            if stays:
                await self._node_records.renew(self.name, self.record, self._revision)
            else:
                await self._node_records.delete(self.name, self._revision)
        await self._broker.close()

    # This node's record.

    @property
    def record(self) -> NodeRecord:
        """Return this node as the others see it."""
        return NodeRecord(
            node=self.name,
            instance=self.settings.instance,
            host=self._host,
            roots=[self._root],
            workspace=self._workspace,
            slots=self._limit,
            used=self._used(),
            version=__version__,
            wire=wire.VERSION,
            started_epoch_ms=self._started_ms,
        )

    async def _register(self) -> None:
        """Make this node's record, or renew that of the program before this one.

        Raises:
            FleetError: Another node has this name, or no server answers.
        """
        revision = None
        until = time.monotonic() + START_SECONDS
        for _ in range(NAME_LOOKS):
            other = None
            try:
                with contextlib.suppress(FencedError):
                    await self._write(None)
                    return
                stored = await self._node_records.read(self.name)
                if stored is not None:
                    is_own = stored.record.instance in {self.settings.instance, self._earlier}
                    if is_own or not stored.record.host:
                        await self._write(stored.revision)
                        return
                    other = stored
            except FencedError:
                pass  # the record has just changed
            except (NotStoredError, OutcomeUnknownError):  # as while a leader is elected
                if time.monotonic() >= until:
                    raise
            if other is not None:
                if revision not in {None, other.revision}:  # it renews its record, so it runs
                    raise FleetError(
                        f"the fleet has another node {other.record.node}, on {other.record.host}: "
                        "give this one another name with --fleet-node"
                    )
                revision = other.revision
            await asyncio.sleep(NAME_LOOK_SECONDS)
        raise FleetError(f"the record of node {self.name} cannot be written")

    async def _write(self, replaces: int | None) -> None:
        """Write the record: a new one, or in place of this revision.

        Raises:
            FencedError: There is another record.
            FleetError: It is not stored, or it is not known whether it is.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if replaces is None:
            self._revision = await self._node_records.create(self.name, self.record)
        else:
            self._revision = await self._node_records.renew(self.name, self.record, replaces)
        if self._expiry is not None:
            self._expiry.cancel()
        self._renewed_at = now
        self._expiry = loop.call_at(now + LEASE_SECONDS - SPARE_SECONDS, self._expires_soon)

    @property
    def is_renewed(self) -> bool:
        """Whether the servers have just renewed the record, as they do while they serve."""
        now = asyncio.get_running_loop().time()
        return now - self._renewed_at < RENEW_SECONDS + ANSWER_SECONDS

    def _expires_soon(self) -> None:
        for ownership in self._ownerships:
            ownership.node_expiring()

    async def _renew(self) -> None:
        """Renew the record while the gateway runs."""
        quiet_until, pause = 0.0, RENEW_SECONDS
        while True:
            self._stirred.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stirred.wait()
            pause = RENEW_SECONDS
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._write(self._revision)
            except FencedError:
                try:
                    await self._register()
                except FleetError as error:
                    pause = AGAIN_SECONDS
                    if time.monotonic() >= quiet_until:
                        quiet_until = time.monotonic() + COMPLAIN_EVERY_SECONDS
                        sys.stderr.write(f"lastword: {error}\n")
            except (FleetError, TimeoutError):
                pause = AGAIN_SECONDS  # the connection comes back by itself

    async def _keep_streams(self) -> None:
        """Set up again what the servers lost; report why they do not serve the fleet."""
        quiet_until = 0.0
        while True:
            await asyncio.sleep(STREAMS_EVERY_SECONDS)
            failure = ""
            if self.is_connected:
                try:
                    await prepare(self._broker, self._records, self.settings.replicas)
                    self._is_served = True
                except FleetError as error:
                    self._is_served = not self.is_connected  # an outage is another state
                    failure = str(error)
            if not self.is_connected:
                failure = self._broker.failure
            if failure and time.monotonic() >= quiet_until:
                quiet_until = time.monotonic() + COMPLAIN_EVERY_SECONDS
                sys.stderr.write(f"lastword: {failure}\n")

    # The others.

    @property
    def is_settled(self) -> bool:
        """Return whether the others have had time to come back since the connection was made.

        After an outage of all servers every record has expired, although its node is well.
        """
        return self.is_connected and time.monotonic() - self._connected_at > SETTLE_SECONDS

    @property
    def knows_nodes(self) -> bool:
        """Return whether the others have had time to come back since the last outage."""
        return self.is_connected and time.monotonic() - self._back_at > SETTLE_SECONDS

    def _connection_changed(self, is_connected: bool) -> None:  # noqa: FBT001 - as it is called
        self._back_at = time.monotonic()
        if is_connected:
            self._connected_at = self._back_at
            self._stirred.set()
            sys.stderr.write(f"lastword: connected to the fleet again, at {self._broker.server}\n")
        else:
            sys.stderr.write("lastword: no server of the fleet answers; trying to connect again\n")

    @property
    def is_connected(self) -> bool:
        """Return whether a server of the fleet answers."""
        return self._broker.is_connected

    @property
    def nodes(self) -> Mapping[str, NodeRecord]:
        """Return the nodes by name, with this one, whose record may have expired in an outage."""
        return {**self._nodes.records, self.name: self.record}

    @property
    def sessions(self) -> Mapping[str, SessionRecord]:
        """Return the sessions, by file name."""
        return self._sessions.records

    async def session(self, session_id: str) -> SessionRecord | None:
        """Return a session; ask a server for one that is not known here yet."""
        name = wire.name_of(session_id)
        record = self.sessions.get(name)
        if record is None:
            with contextlib.suppress(FleetError):
                stored = await self.services.sessions.read(name)
                record = stored.record if stored is not None else None
        return record

    async def owner(self, session_id: str) -> OwnerRecord | None:
        """Return a session's owner, as the servers have it now."""
        with contextlib.suppress(FleetError):
            stored = await self.services.sessions.read(wire.name_of(session_id))
            return living_owner(stored.record if stored is not None else None, self._instances)
        return None

    async def _forget_old(self) -> None:
        """Delete, from time to time, what the fleet keeps of sessions that ended long ago.

        Each node does so for its own sessions, and for those of nodes that are lost.
        """
        while True:
            before = time.time() - self._log_age_seconds
            nodes = self.nodes
            sessions = {
                name: record
                for name, record in self.sessions.items()
                if record.node == self.name or record.node not in nodes
            }
            await self.push.forget_ended()
            with contextlib.suppress(FleetError):
                replicas, records = self.services.replicas, self.services.sessions
                await forget_old(replicas, records, sessions, self.owners, before)
            await asyncio.sleep(FORGET_EVERY_SECONDS)

    def gauges(self) -> dict[str, float]:
        """Return the fleet's gauges."""
        return {
            metrics.FLEET_CONNECTED.key(): float(self.is_connected and self._is_served),
            metrics.FLEET_NODES.key(): sum(bool(each.host) for each in self.nodes.values()),
            metrics.FLEET_SESSIONS.key(): len(self.owners),
            metrics.FLEET_NOT_REPLICATED.key(): sum(each.behind for each in self._ownerships),
            metrics.FLEET_INVALID.key(): self._records.invalid,
        }


def _read(path: str) -> str:
    """Return what a file has, or an empty string.

    Raises:
        FleetError: It cannot be read.
    """
    try:
        with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise FleetError(f"{path} cannot be used") from error
    return ""
