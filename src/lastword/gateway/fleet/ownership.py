"""Ownership: which sessions of a fleet this holder has.

Owns what the records of a holder's sessions show, their takeovers, and their end here when another
node has them. The holder knows nothing else of the fleet, and does not load it without `--fleet`.
A record says when another node may try to take a session over: once its owner's node has none. It
never says who may write the session's log: the fence of its stream decides that.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState, SessionView, ViewerCount
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import OwnerRecord, SessionRecord, living_owner, node_place
from lastword.gateway.fleet.replicated_log import open_claimed, open_new
from lastword.gateway.fleet.replicator import PAUSE_SECONDS, Replicator, claim
from lastword.gateway.fleet.workspace import workspace_of
from lastword.gateway.log import files
from lastword.gateway.log.files import LogOwnedError, LogOwner
from lastword.outbox.store import now_ms

if TYPE_CHECKING:
    from lastword.gateway.fleet.replica import StreamEnd
    from lastword.gateway.fleet.replicated_log import ReplicatedLog
    from lastword.gateway.fleet.services import FleetServices
    from lastword.gateway.log.store import Log
    from lastword.gateway.settings.values import HolderSettings

DRAIN_SECONDS = 5.0
"""How long the end of a session waits until the fleet has all of its log."""

OPEN_SECONDS = 5.0
"""How long the fleet may take to store a new session."""

CLAIM_SECONDS = 30.0
"""How long a takeover may take, which reads the session's log."""

NOT_STORED = (
    "The fleet's servers do not store this session ({}). What the agent says is shown once they do."
)
UNREACHABLE = (
    "This machine cannot reach the other ones of its fleet. What the agent says is shown once it"
    " can."
)


class Takeover(msgspec.Struct, frozen=True):
    """A session that has come from another machine.

    Attributes:
        has_files: this machine has the session's files, too, so that an agent here can continue.
    """

    has_files: bool


class OwnedSession(Protocol):
    """A session of the holder."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def log(self) -> Log:
        """Its log."""
        ...

    def view(self) -> SessionView:
        """Return the session as the API shows it."""
        ...

    def show_outage(self, line: str, times: int) -> None:
        """Inform its viewers that the fleet's servers are away; `times` counts the calls."""
        ...

    def finish(self) -> None:
        """End its log, and its viewers' links once they have been sent all of it."""
        ...


class OwningHolder(Protocol):
    """The holder."""

    @property
    def settings(self) -> HolderSettings:
        """Its settings."""
        ...

    def fenced(self, session_id: str, term: int, entries: int) -> None:
        """Leave a session that another node has, and end with the agent.

        Args:
            session_id: The session.
            term: The term that was this holder's.
            entries: How many entries of its log the fleet does not have, and will not.
        """
        ...

    def leave_all(self) -> None:
        """Leave every session to whichever node takes it over, and end with the agent."""
        ...


class _Owned:
    """One session of this holder's."""

    def __init__(
        self, log: ReplicatedLog, replicator: Replicator, home: str, workspace: str
    ) -> None:
        self.log = log
        self.replicator = replicator
        self.home = home
        """The node that has its files."""
        self.workspace = workspace
        """That node's name for them."""
        self.session: OwnedSession | None = None

    @property
    def term(self) -> int:
        """The term; 1 for a new session whose claim is not stored yet."""
        return self.replicator.term or 1


class Ownership:
    """The ownership of one holder's sessions."""

    def __init__(self, services: FleetServices, holder: OwningHolder) -> None:
        """Begin without a session.

        Raises:
            FleetError: The file that shows which nodes share their files cannot be used.
        """
        settings = holder.settings
        assert settings.fleet is not None  # noqa: S101 - for the type checker
        self._services = services
        self._holder = holder
        self._node = settings.fleet.node
        self._workspace = workspace_of(settings.fleet.workspace, settings.root)
        self._instance = settings.fleet.instance
        self._goes_on_without = settings.fleet.on_loss == "local"
        self._replicators: dict[str, Replicator] = {}
        """By the ids of sessions, including those that are being taken over or are ending."""
        self._owned: dict[str, _Owned] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def place(self) -> str:
        """Where fronts of other nodes find this holder."""
        return node_place(self._node, self._holder.settings.name)

    @property
    def behind(self) -> int:
        """How many entries of its sessions the fleet does not have."""
        return sum(each.replicator.behind for each in self._owned.values())

    async def start(self, session_id: str) -> Takeover | None:
        """Connect, and take over a session unless its id is empty.

        Returns:
            The takeover; `None` if the last owner was on this machine.

        Raises:
            LogOwnedError: Another node has the session.
            FleetError: The fleet cannot be used.
            StoreError: The session's log cannot be used here.
        """
        await self._services.broker.open()
        self._services.broker.listen(self._connection_changed)
        return await self._claim(session_id) if session_id else None

    async def reclaim(self, session_id: str, until: float) -> None:
        """Take over a session whose agent runs on here, from before this program was replaced.

        Args:
            session_id: The session.
            until: When to give up servers that do not answer, by the event loop's clock.

        Raises:
            LogOwnedError: Another node has the session.
            FleetError: The fleet cannot be used.
            StoreError: The session's log cannot be used here.
        """
        while True:
            try:
                await self._claim(session_id)
            except FleetError:
                if asyncio.get_running_loop().time() >= until:
                    raise
            else:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    # Taking over.

    async def _claim(self, session_id: str) -> Takeover | None:
        name = wire.name_of(session_id)
        stored = await self._services.sessions.read(name)
        before = SessionRecord(
            session=session_id, node=self._node, term=0, cwd="", workspace=self._workspace
        )
        if stored is not None:
            before = stored.record
        owner = before.owner
        if owner is not None and owner.node != self._node:
            node = await self._services.nodes.read(owner.node)
            instances = {} if node is None else {owner.node: node.record.instance}
            if living_owner(before, instances) is not None:
                raise LogOwnedError(LogOwner())
        inherited = await self._services.replicas.last(session_id)
        is_moved = inherited.node not in {"", self._node}
        shares_files = bool(self._workspace) and before.workspace == self._workspace
        has_files = before.node == self._node or shares_files
        home, workspace = before.node, before.workspace
        if has_files:
            home, workspace = self._node, self._workspace
        view = before.ended or (owner.view if owner is not None else None)
        if view is None:
            view = SessionView(
                id=session_id,
                state=SessionState.LOST,
                since_epoch_ms=now_ms(),
                agent=None,
                viewers=ViewerCount(),
                questions=0,
                epoch="",
                head=0,
                first=1,
                last_failure=None,
                cwd=before.cwd,
            )
        record = msgspec.structs.replace(
            before,
            node=home,
            term=inherited.term + 1,
            workspace=workspace,
            owner=self._owner(view),
        )
        records, revision = self._services.owned, stored.revision if stored is not None else 0
        lost = partial(self.fenced, session_id)
        try:
            async with asyncio.timeout(CLAIM_SECONDS):
                # Before the claim, so that only one of several nodes claims the session.
                await records.acquire(name, lambda: record, lost, revision)
                claimed = await claim(self._services.replicas, session_id, inherited, self._node)
                path = files.path_in(self._holder.settings.log_folder, name)
                replicator = self._replicator(session_id, (inherited, claimed))
                shown = self._services.shown.get(name, {})
                log = await open_claimed(path, replicator, shown)
        except FencedError as error:
            await records.release(name, before)
            raise LogOwnedError(LogOwner()) from error
        except (FleetError, TimeoutError) as error:
            await records.release(name, before)
            raise FleetError("the session cannot be taken over now") from error
        self._owned[session_id] = _Owned(log, replicator, home, workspace)
        return Takeover(has_files) if is_moved else None

    def _replicator(
        self, session_id: str, claimed: tuple[StreamEnd, StreamEnd] | None = None
    ) -> Replicator:
        replicator = self._replicators[session_id] = Replicator(
            self._services.replicas,
            session_id,
            self._node,
            self,
            claimed=claimed,
            goes_on_without=self._goes_on_without,
        )
        return replicator

    # The holder's sessions.

    def open_log(self, session_id: str, path: str) -> Log:
        """Return the log of a session that was taken over, or of a new one.

        Raises:
            LogUnavailableError: It cannot be used.
        """
        owned = self._owned.get(session_id)
        if owned is None:
            replicator = self._replicator(session_id)
            owned = _Owned(open_new(path, replicator), replicator, self._node, self._workspace)
            self._owned[session_id] = owned
        return owned.log

    async def opened(self, session: OwnedSession) -> None:
        """Store a session in the fleet, before anything of it is shown.

        Raises:
            FleetError: It is not stored.
        """
        name, owned = wire.name_of(session.id), self._owned[session.id]
        owned.session = session

        def record() -> SessionRecord:
            view = session.view()
            return self._session_record(owned, view, self._owner(view, owned.log.waiting_entries))

        records, lost = self._services.owned, partial(self.fenced, session.id)
        session.log.observers.append(lambda _: records.changed(name))
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                if not records.show(name, record):
                    await records.acquire(name, record, lost)
                is_stored = await owned.replicator.settled()  # a viewer is answered behind that
        except TimeoutError:
            raise FleetError("the fleet does not answer, or has no room") from None
        if not is_stored:
            raise FencedError("another node has a session of this id")

    def ended(self, session: OwnedSession) -> None:
        """Give up a session that has ended; it is finished once the fleet has all of its log."""
        task = asyncio.create_task(self._end(session, self._owned.pop(session.id)))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, session: OwnedSession, owned: _Owned) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await owned.replicator.settled()
        view = session.view()
        session.finish()
        self._replicators.pop(session.id, None)
        record = self._session_record(owned, view, None)
        await self._services.owned.release(wire.name_of(session.id), record, ended=view)

    async def settle(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait for a while until the fleet has all of every log; return whether it has."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                settled = [await each.replicator.settled() for each in [*self._owned.values()]]
                return all(settled)
        return False

    async def close(self, *, goes_on: bool = False) -> None:
        """Give up the sessions, unless the agent `goes_on`, and wait for those that end."""
        names = [wire.name_of(session_id) for session_id in self._owned]
        if goes_on:
            for name in names:
                self._services.owned.forget(name)
        else:
            # At once: the next holder of such a session may be about to own it.
            await asyncio.gather(*map(self._services.owned.release, names))
        if self._ending:
            await asyncio.wait(self._ending)
        self._services.broker.ignore(self._connection_changed)

    def _owner(self, view: SessionView, not_replicated: int = 0) -> OwnerRecord:
        return OwnerRecord(
            node=self._node,
            instance=self._instance,
            holder=self._holder.settings.name,
            view=view,
            not_replicated=not_replicated,
        )

    @staticmethod
    def _session_record(
        owned: _Owned, view: SessionView, owner: OwnerRecord | None
    ) -> SessionRecord:
        return SessionRecord(
            session=view.id,
            node=owned.home,
            term=owned.term,
            cwd=view.cwd or "",
            workspace=owned.workspace,
            owner=owner,
        )

    # Events.

    def _connection_changed(self, is_connected: bool) -> None:  # noqa: FBT001 - as it is called
        for replicator in [*self._replicators.values()]:
            if is_connected:
                replicator.connected()
            else:
                replicator.disconnected()

    def stalled(self, session_id: str, reason: str, times: int) -> None:
        """Inform a session's viewers that nothing of it is replicated."""
        owned = self._owned.get(session_id)
        if owned is not None and owned.session is not None:
            line = NOT_STORED.format(reason) if reason else UNREACHABLE
            owned.session.show_outage(line, times)

    def fenced(self, session_id: str) -> None:
        """Leave a session that another node has."""
        owned = self._owned.pop(session_id, None)
        self._replicators.pop(session_id, None)
        self._services.owned.forget(wire.name_of(session_id))
        if owned is not None:
            self._holder.fenced(session_id, owned.term, owned.log.waiting_entries)

    def node_expiring(self) -> None:
        """End the agent if another node could soon start a second one in the same files."""
        if self._workspace:
            self._holder.leave_all()
