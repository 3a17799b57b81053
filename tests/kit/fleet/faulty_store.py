"""A store of replicas that fails as a test says, and whoever listens to what becomes of it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from lastword.gateway.fleet.errors import FleetError, OutcomeUnknownError
from tests.kit.fleet.replica_in_memory import MemoryReplicaStore

if TYPE_CHECKING:
    from lastword.gateway.fleet.replica import ReplicaBatch, StreamEnd
    from lastword.gateway.fleet.replication import Fenced


class FaultyStore(MemoryReplicaStore):
    """Replicas in memory whose answers get lost.

    Attributes:
        faults: what the next writes raise before they are done; `None` for nothing.
        loses_answers: how many of the next writes are done, and raise then.
        unreadable: how many of the next looks at an end fail.
        batches: what was published.
    """

    def __init__(self) -> None:
        super().__init__()
        self.faults: deque[Exception | None] = deque()
        self.loses_answers = 0
        self.unreadable = 0
        self.batches: list[ReplicaBatch] = []

    async def last(self, session_id: str) -> StreamEnd:
        if self.unreadable:
            self.unreadable -= 1
            raise FleetError("away")
        return await super().last(session_id)

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
        end = await super().claim(session_id, expected, node)
        self._lose()
        return end

    async def publish(self, session_id: str, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        self._fail()
        end = await super().publish(session_id, batch, after)
        self.batches.append(batch)
        self._lose()
        return end


class Listening:
    def __init__(self) -> None:
        self.stalls: list[str] = []
        self.fences: list[Fenced] = []
        self.is_fenced = asyncio.Event()

    def stalled(self, session_id: str, reason: str, times: int) -> None:
        del session_id
        if times == 1:
            self.stalls.append(reason)

    def fenced(self, session_id: str, fenced: Fenced) -> None:
        del session_id
        self.fences.append(fenced)
        self.is_fenced.set()
