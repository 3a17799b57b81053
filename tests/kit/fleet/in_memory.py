"""A fleet's broker in memory: replicas of logs, buckets, owners' records, and who publishes a log.

Owns the same fence as the store on JetStream. `MemoryReplicas` is without time, for simulations;
`MemoryReplicaStore` gives it the store's functions, which fail as a test says.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway.api.shapes import SessionState, SessionView, ViewerCount
from lastword.gateway.fleet.buckets import Bucket, StoredRecord
from lastword.gateway.fleet.errors import FencedError, FleetError, OutcomeUnknownError
from lastword.gateway.fleet.records import OwnerRecord, RecordT, SessionRecord
from lastword.gateway.fleet.replica import (
    BATCH_BYTES,
    BUCKET_ENTRIES,
    EMPTY,
    StoredBatch,
    StreamEnd,
)
from lastword.gateway.fleet.replicator import Replicator
from lastword.gateway.fleet.streams import Streams
from lastword.gateway.wire import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.fleet.replica import LogState, ReplicaBatch
    from lastword.gateway.fleet.replicated_log import ReplicatedLog


class MemoryStream:
    """One session's stream: its messages in order, and its state."""

    def __init__(self) -> None:
        self.messages: list[StoredBatch] = []
        self.state: LogState | None = None

    @property
    def end(self) -> StreamEnd:
        return self.messages[-1].end if self.messages else EMPTY


class MemoryReplicas:
    """Streams of sessions; each function is done at once."""

    def __init__(self) -> None:
        self.streams: dict[str, MemoryStream] = {}
        self._sequence = 0

    def of(self, session_id: str) -> MemoryStream:
        return self.streams.setdefault(session_id, MemoryStream())

    def _fenced(self, session_id: str, expected: StreamEnd) -> MemoryStream:
        stream = self.of(session_id)
        if stream.end.sequence != expected.sequence:
            raise FencedError("the stream has another end")
        return stream

    def claim(self, session_id: str, expected: StreamEnd, node: str) -> StreamEnd:
        stream = self._fenced(session_id, expected)
        self._sequence += 1
        end = StreamEnd(self._sequence, expected.term + 1, node, expected.epoch, expected.last)
        stream.messages.append(StoredBatch(end, expected.last + 1, []))
        return end

    def publish(self, session_id: str, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        stream = self._fenced(session_id, after)
        if batch.state is not None:
            stream.state = batch.state
        if not batch.entries:
            return after
        self._sequence += 1
        end = StreamEnd(self._sequence, after.term, after.node, batch.epoch, batch.last)
        stream.messages.append(StoredBatch(end, batch.first, list(batch.entries)))
        return end

    def read(self, session_id: str, after: int, max_bytes: int = BATCH_BYTES) -> list[StoredBatch]:
        """Return the oldest batches with entries after a number."""
        found: list[StoredBatch] = []
        size = 0
        for message in self.of(session_id).messages:
            if not message.entries or message.end.last <= after:
                continue
            size += sum(entry.size for entry in message.entries)
            if found and size > max_bytes:
                break
            found.append(message)
        return found

    def trim(self, session_id: str, before: int) -> None:
        stream = self.of(session_id)
        first = before // BUCKET_ENTRIES * BUCKET_ENTRIES
        stream.messages[:-1] = [each for each in stream.messages[:-1] if each.first >= first]

    def forget(self, session_id: str) -> None:
        self.streams.pop(session_id, None)

    def lose(self, session_id: str, count: int) -> None:
        """Lose the last messages of a stream, as a broker without power does."""
        del self.of(session_id).messages[-count:]


class MemoryReplicaStore(Streams):
    """Replicas in memory whose answers may get lost.

    Attributes:
        faults: what the next writes raise before they are done; `None` for nothing.
        loses_answers: how many of the next writes are done, and raise then.
        unreadable: how many of the next looks at an end fail.
        batches: what was published.
    """

    def __init__(self, replicas: MemoryReplicas | None = None) -> None:
        self.replicas: MemoryReplicas = replicas or MemoryReplicas()
        self.faults: deque[Exception | None] = deque()
        self.loses_answers = 0
        self.unreadable = 0
        self.batches: list[ReplicaBatch] = []
        self._grown = asyncio.Condition()

    async def last(self, session_id: str) -> StreamEnd:
        if self.unreadable:
            self.unreadable -= 1
            raise FleetError("away")
        return self.replicas.of(session_id).end

    def _fail(self) -> None:
        fault = self.faults.popleft() if self.faults else None
        if fault is not None:
            raise fault

    def _lose(self) -> None:
        if self.loses_answers:
            self.loses_answers -= 1
            raise OutcomeUnknownError("lost")

    async def claim(self, session_id: str, expected: StreamEnd, node: str) -> StreamEnd:
        self._fail()
        end = self.replicas.claim(session_id, expected, node)
        self._lose()
        return end

    async def publish(self, session_id: str, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        """Store a batch, in other objects than those that came."""
        self._fail()
        copied = msgspec.msgpack.decode(msgspec.msgpack.encode(batch), type=type(batch))
        end = self.replicas.publish(session_id, copied, after)
        async with self._grown:
            self._grown.notify_all()
        self.batches.append(batch)
        self._lose()
        return end

    async def read(
        self, session_id: str, after: int, *, max_bytes: int = BATCH_BYTES
    ) -> list[StoredBatch]:
        return self.replicas.read(session_id, after, max_bytes)

    async def state(self, session_id: str) -> LogState | None:
        return self.replicas.of(session_id).state

    async def trim(self, session_id: str, before: int) -> None:
        self.replicas.trim(session_id, before)

    async def forget(self, name: str) -> None:
        for session_id in [each for each in self.replicas.streams if name_of(each) == name]:
            self.replicas.forget(session_id)

    async def wait(self, session_id: str, after: int, seconds: float) -> bool:
        stream = self.replicas.of(session_id)
        try:
            async with asyncio.timeout(seconds), self._grown:
                await self._grown.wait_for(lambda: stream.end.last > after)
        except TimeoutError:
            return False
        return True


class Listening:
    def __init__(self) -> None:
        self.stalls: list[str] = []
        self.is_fenced = asyncio.Event()

    def stalled(self, session_id: str, reason: str, times: int) -> None:
        del session_id
        if times == 1:
            self.stalls.append(reason)

    def fenced(self, session_id: str) -> None:
        del session_id
        self.is_fenced.set()


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


def owner(node: str, **view: object) -> OwnerRecord:
    """Return the owner of a session; `view` changes what it shows."""
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
        "cwd": "/work",
    }
    made = SessionView(**(shown | view))  # type: ignore[arg-type]
    return OwnerRecord(node=node, instance=f"of {node}", holder="h", view=made)


def owned(node: str, term: int = 1, **view: object) -> SessionRecord:
    """Return the record of a session that a node owns; `view` changes what its owner shows."""
    return SessionRecord(
        session="s",
        node=node,
        term=term,
        cwd="/work",
        workspace="",
        owner=owner(node, **view),
    )


class LatePublisher(Replicator):
    """What a log asks of its publisher, noted; `later` is given what replicates each commit."""

    def __init__(self, later: Callable[[Callable[[], None]], object]) -> None:
        self._later = later
        self.log: ReplicatedLog | None = None
        self.states = 0
        self.first = 0
        self.is_stopped = False

    def begin(self, log: ReplicatedLog, committed: int) -> None:
        self.log = log
        if committed > log.head:
            self.committed(committed)

    def committed(self, last: int) -> None:
        assert self.log is not None
        self._later(partial(self.log.replicated, last))

    def state_changed(self) -> None:
        self.states += 1

    def trimmed(self, first: int) -> None:
        self.first = first

    def stop(self) -> None:
        self.is_stopped = True
