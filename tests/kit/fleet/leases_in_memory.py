"""Buckets in memory, and owners' records, for what is played without a broker."""

from __future__ import annotations

import asyncio

from lastword.gateway.api.shapes import SessionState, SessionView, ViewerCount
from lastword.gateway.fleet.buckets import Bucket, StoredRecord
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import OwnerRecord, RecordT


class MemoryBucket(Bucket[RecordT]):
    """A bucket, whose records expire when the test says so."""

    def __init__(self) -> None:
        self.stored: dict[str, StoredRecord[RecordT]] = {}
        self.is_away = False
        self.written = 0
        """How often something was stored; the last revision."""
        self.changed = asyncio.Event()
        """Set when something is stored, or could not be reached."""

    def _reach(self) -> None:
        if self.is_away:
            self.changed.set()
            raise FleetError("there is no connection to a NATS server")

    def _store(self, name: str, record: RecordT) -> int:
        self.written += 1
        self.stored[name] = StoredRecord(record, self.written)
        self.changed.set()
        return self.written

    def expire(self, name: str) -> None:
        self.stored.pop(name, None)

    async def read(self, name: str) -> StoredRecord[RecordT] | None:
        self._reach()
        return self.stored.get(name)

    async def create(self, name: str, record: RecordT) -> int:
        self._reach()
        if name in self.stored:
            raise FencedError("there is one")
        return self._store(name, record)

    async def renew(self, name: str, record: RecordT, revision: int) -> int:
        self._reach()
        if name not in self.stored or self.stored[name].revision != revision:
            raise FencedError("it has another revision")
        return self._store(name, record)

    async def put(self, name: str, record: RecordT) -> int:
        self._reach()
        return self._store(name, record)

    async def delete(self, name: str, revision: int = 0) -> None:
        self._reach()
        if revision and (name not in self.stored or self.stored[name].revision != revision):
            raise FencedError("it has another revision")
        self.stored.pop(name, None)


def owner(node: str, term: int = 1, **view: object) -> OwnerRecord:
    """Return the record of a session's owner; `view` changes what it shows."""
    shown = {
        "id": "s",
        "state": SessionState.IDLE,
        "since_epoch_ms": 0,
        "agent": None,
        "viewers": ViewerCount(),
        "questions": 0,
        "epoch": "e",
        "head": 0,
        "first": 1,
        "last_failure": None,
    }
    return OwnerRecord(
        session="s",
        node=node,
        term=term,
        holder="h",
        cwd="/work",
        workspace="",
        view=SessionView(**(shown | view)),  # type: ignore[arg-type]
    )
