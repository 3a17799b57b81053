"""The replicated logs of one holder: of a session that it claims, and of new ones.

Owns opening them over one connection, and passing on what becomes of that.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from lastword.gateway.fleet.errors import FencedError
from lastword.gateway.fleet.local_copy import make_local_copy, pins_at
from lastword.gateway.fleet.replicated_log import ReplicatedLog
from lastword.gateway.fleet.replicator import Replicator
from lastword.gateway.log.entries import Pins
from lastword.gateway.log.session_log import session_log

if TYPE_CHECKING:
    from lastword.gateway.fleet.replica import StreamEnd
    from lastword.gateway.fleet.replicator import ReplicationListener
    from lastword.gateway.fleet.streams import Streams
    from lastword.gateway.log.session_log import DiskLog


class ClaimedLog(NamedTuple):
    """The log of a session that this node has claimed.

    Attributes:
        log: the log; all that it has is replicated.
        aside: where a local file was put whose end is not in the stream; empty for none.
    """

    log: ReplicatedLog
    aside: str


class Replicas:
    """The replicated logs of one holder."""

    def __init__(
        self,
        store: Streams,
        node: str,
        listener: ReplicationListener,
        *,
        goes_on_without: bool = False,
    ) -> None:
        """Open none yet.

        Args:
            store: The replicas.
            node: This node.
            listener: Who learns what becomes of their replication.
            goes_on_without: Entries count as replicated while nothing can be.
        """
        self._store = store
        self._node = node
        self._listener = listener
        self._goes_on_without = goes_on_without
        self._replicators: dict[str, Replicator] = {}

    def open_new(self, session_id: str, path: str) -> ReplicatedLog:
        """Open the log of a new session, which is claimed meanwhile.

        Raises:
            LogUnavailableError: It cannot be used.
        """
        local = session_log(path)
        return ReplicatedLog(local, self._replicator(session_id), local.head, Pins())

    async def open_claimed(
        self, session_id: str, path: str, inherited: StreamEnd, claimed: StreamEnd
    ) -> ClaimedLog:
        """Open the log of a session that this node has claimed.

        Args:
            session_id: The session.
            path: Its local file, whether that is there or not. The caller has its lock.
            inherited: The stream's end before the claim.
            claimed: The stream's end that the claim gave.

        Raises:
            FencedError: Another node has claimed it since.
            FleetError: Its stream cannot be read.
            LogUnavailableError: Its file cannot be written.
        """
        aside = await make_local_copy(self._store, session_id, path, inherited, self._node)
        local = session_log(path)
        with contextlib.ExitStack() as undo:
            undo.callback(local.close)
            pins = await self._pins_of(session_id, local, inherited)
            publisher = self._replicator(session_id, (inherited, claimed))
            undo.callback(publisher.stop)
            log = ReplicatedLog(local, publisher, min(inherited.last, local.head), pins)
            if not await publisher.settled():
                raise FencedError("another node has the session")
            undo.pop_all()
        return ClaimedLog(log, aside)

    async def _pins_of(self, session_id: str, local: DiskLog, inherited: StreamEnd) -> Pins:
        """Return the pinned entries as of the stream's end, beyond which the local log may be."""
        if not 0 < inherited.last < local.head:
            return Pins(local.pins.items())
        return pins_at(local, await self._store.state(session_id), inherited.last)

    def _replicator(
        self, session_id: str, claimed: tuple[StreamEnd, StreamEnd] | None = None
    ) -> Replicator:
        replicator = Replicator(
            self._store,
            session_id,
            self._node,
            self._listener,
            claimed=claimed,
            goes_on_without=self._goes_on_without,
        )
        self._replicators[session_id] = replicator
        return replicator

    def of(self, session_id: str) -> Replicator:
        """Return what publishes a session's log."""
        return self._replicators[session_id]

    def connected(self) -> None:
        """Take in that there is a connection to the broker again."""
        for replicator in self._replicators.values():
            replicator.connected()

    def disconnected(self) -> None:
        """Take in that the connection to the broker is lost."""
        for replicator in self._replicators.values():
            replicator.disconnected()
