"""Replicas in memory, for what is played without a broker.

Owns the same fence as the store on JetStream. `MemoryReplicas` is without time, for simulations;
`MemoryReplicaStore` gives it the store's functions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway.fleet.errors import FencedError
from lastword.gateway.fleet.replica import (
    BATCH_BYTES,
    BUCKET_ENTRIES,
    EMPTY,
    StoredBatch,
    StreamEnd,
)
from lastword.gateway.fleet.streams import Streams

if TYPE_CHECKING:
    from lastword.gateway.fleet.replica import LogState, ReplicaBatch


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
    def __init__(self, replicas: MemoryReplicas | None = None) -> None:
        self.replicas: MemoryReplicas = replicas or MemoryReplicas()
        self._grown = asyncio.Condition()

    async def last(self, session_id: str) -> StreamEnd:
        return self.replicas.of(session_id).end

    async def claim(self, session_id: str, expected: StreamEnd, node: str) -> StreamEnd:
        return self.replicas.claim(session_id, expected, node)

    async def publish(self, session_id: str, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        """Store a batch, in other objects than those that came."""
        end = self.replicas.publish(session_id, _copied(batch), after)
        async with self._grown:
            self._grown.notify_all()
        return end

    async def read(
        self, session_id: str, after: int, *, max_bytes: int = BATCH_BYTES
    ) -> list[StoredBatch]:
        return self.replicas.read(session_id, after, max_bytes)

    async def state(self, session_id: str) -> LogState | None:
        return self.replicas.of(session_id).state

    async def trim(self, session_id: str, before: int) -> None:
        self.replicas.trim(session_id, before)

    async def forget(self, session_id: str) -> None:
        self.replicas.forget(session_id)

    async def wait(self, session_id: str, after: int, seconds: float) -> bool:
        stream = self.replicas.of(session_id)
        try:
            async with asyncio.timeout(seconds), self._grown:
                await self._grown.wait_for(lambda: stream.end.last > after)
        except TimeoutError:
            return False
        return True


def _copied(batch: ReplicaBatch) -> ReplicaBatch:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(batch), type=type(batch))
