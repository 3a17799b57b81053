"""A node's connection to its fleet, with the buckets and streams behind it.

Owns how they are put together, and the removal of sessions that ended long ago. The front and all
holders of a node use the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.key import REPLICAS
from lastword.gateway.fleet.owned_records import OwnedRecords
from lastword.gateway.fleet.records import (
    LEASE_SECONDS,
    NODES,
    SESSIONS,
    NodeRecord,
    Records,
    SessionRecord,
)
from lastword.gateway.fleet.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.key import FleetKey
    from lastword.gateway.fleet.records import RecordT
    from lastword.gateway.settings.values import FleetSettings


class FleetServices:
    """A node's connection to its fleet.

    Attributes:
        broker: the connection.
        records: reads and writes records.
        nodes: the fleet's nodes.
        sessions: its sessions' records, which last.
        owned: the records of this node's own sessions.
        replicas: the replicas of sessions' logs.
        shown: by a session's name and an epoch of its log, the last entry that its record, or this
            node's list, has shown as committed: it is still known here if the servers lose it.
    """

    def __init__(self, settings: FleetSettings, key: FleetKey, name: str) -> None:
        """Put them together; nothing is connected yet.

        Args:
            settings: The fleet's.
            key: The fleet's key.
            name: What the servers call this process in their reports.
        """
        self.broker: Broker = Broker(settings, name)
        self.records: Records = Records(key)
        self.nodes: Bucket[NodeRecord] = Bucket(
            self.broker, NODES, NodeRecord, self.records, LEASE_SECONDS, replaces_invalid=True
        )
        self.sessions: Bucket[SessionRecord] = Bucket(
            self.broker, SESSIONS, SessionRecord, self.records, replaces_invalid=True
        )
        self.owned: OwnedRecords = OwnedRecords(self.sessions, settings.instance)
        self.replicas: Streams = Streams(self.broker, key.derived(REPLICAS))
        self.shown: dict[str, dict[str, int]] = {}

    def bucket(self, name: str, form: type[RecordT], seconds: float = 0.0) -> Bucket[RecordT]:
        """Return another bucket, whose records expire after this time unless it is 0."""
        return Bucket(self.broker, name, form, self.records, seconds)

    def note_shown(self, name: str, view: SessionView) -> None:
        """Note how far a session's log is shown to go."""
        epochs = self.shown.setdefault(name, {})
        epochs[view.epoch] = max(view.head, epochs.get(view.epoch, 0))

    def note_session(self, name: str, record: SessionRecord | None) -> None:
        """Note the end of a session's log as its record shows it; forget it with the record."""
        self.owned.noted(name, record)
        if record is None:
            self.shown.pop(name, None)
        elif record.owner is not None:
            self.note_shown(name, record.owner.view)


async def forget_old(
    replicas: Streams,
    records: Bucket[SessionRecord],
    sessions: Mapping[str, SessionRecord],
    owned: Container[str],
    before: float,
) -> int:
    """Drop the replicas and the records of sessions without an owner that are old.

    A session's record is deleted last, so that what fails is repeated the next time.

    Args:
        replicas: The replicas.
        records: The bucket of the sessions' records.
        sessions: The sessions to look at, by the names of their files.
        owned: The names of those that have an owner.
        before: Drop what was last written before this time, in seconds since 1970 UTC.

    Returns:
        How many were dropped.

    Raises:
        FleetError: The fleet cannot be reached.
    """
    gone = 0
    for name, record in [*sessions.items()]:
        if name in owned:
            continue
        if record.ended is not None and record.ended.since_epoch_ms >= before * 1000:
            continue
        at = await replicas.changed_at(name)
        if at is None or at < before:
            await replicas.forget(name)
            await records.delete(name)
            gone += 1
    return gone
