"""The broker of a played fleet: what it loses, delays and repeats.

Owns the faults between a node and the stream of a session, and the record of its owner, which
expires. What the stream does is that of the replicas in memory.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.gateway.fleet.broker import ANSWER_SECONDS
from lastword.gateway.fleet.errors import FleetError, NotStoredError, OutcomeUnknownError
from lastword.gateway.fleet.replica import EMPTY
from tests.kit.fleet.in_memory import MemoryReplicas
from tests.kit.gateway.played import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.fleet.replica import LogState, ReplicaBatch, StoredBatch, StreamEnd
    from tests.kit.fleet.simulation.referee import FleetReferee


class Clock:
    def __init__(self) -> None:
        self.now = 1.0
        self._acts: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._acts, (self.now + max(0.0, seconds), self._count, act))

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self._acts and self._acts[0][0] <= until:
            self.now, _, act = heapq.heappop(self._acts)
            act()
        self.now = until


LEASE_SECONDS = 15.0
ALL = 10**12


class Lease(msgspec.Struct, frozen=True):
    node: str
    term: int
    until: float


class Broker:
    """One broker, whose answers come over links that fail."""

    def __init__(self, clock: Clock, dice: Callable[[], float], referee: FleetReferee) -> None:
        self.clock = clock
        self.replicas = MemoryReplicas()
        self.are_faults_over = False
        self.cut_until: dict[str, float] = {}
        self.away_until = 0.0
        self.full_until = 0.0
        self._dice = dice
        self._referee = referee
        self._lease: Lease | None = None

    # Faults.

    def _fails(self, chance: float) -> bool:
        return not self.are_faults_over and self._dice() < chance

    def is_cut(self, node: str) -> bool:
        """Whether nothing passes between a node and the broker."""
        return self.cut_until.get(node, 0.0) > self.clock.now

    def _delay(self) -> float:
        if self._fails(0.03):
            return self._dice() * 9.0
        return self._dice() * 0.05

    def lose_tail(self, count: int) -> None:
        before = len(self.replicas.of(SESSION).messages)
        self.replicas.lose(SESSION, min(count, before))
        if before:
            self._referee.lost_tail(self.replicas.of(SESSION).messages)

    # Requests.

    def request(self, node: str, apply: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        """Send a request; its result or its `FleetError` is given once."""
        is_open = True

        def settle(result: Any) -> None:
            nonlocal is_open
            if is_open:
                is_open = False
                answer(result)

        self.clock.later(ANSWER_SECONDS, lambda: settle(OutcomeUnknownError("no answer")))
        if self.is_cut(node) or self._fails(0.02):
            return
        self.clock.later(self._delay(), lambda: self._arrives(node, apply, settle))
        if self._fails(0.02):
            self.clock.later(self._dice() * 3.0, lambda: self._arrives(node, apply, lambda _: None))

    def _arrives(self, node: str, apply: Callable[[], Any], settle: Callable[[Any], None]) -> None:
        if self.clock.now < self.away_until and self._dice() < 0.8:
            return
        if self._fails(0.02):
            result: Any = NotStoredError("another message is under way")
        else:
            try:
                result = apply()
            except FleetError as error:
                result = error
        if self.is_cut(node) or self.clock.now < self.away_until:
            return
        if not self._fails(0.03):
            self.clock.later(self._delay(), lambda: settle(result))

    # The stream.

    def publish(self, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        if self.clock.now < self.full_until:
            raise NotStoredError("the stream is full")
        before = self.end
        end = self.replicas.publish(SESSION, batch, after)
        self._referee.stored(batch, before, end)
        return end

    def claim(self, expected: StreamEnd, node: str) -> StreamEnd:
        end = self.replicas.claim(SESSION, expected, node)
        self._referee.claimed(expected, end)
        return end

    @property
    def end(self) -> StreamEnd:
        return self.replicas.of(SESSION).end

    def read(self) -> tuple[StreamEnd, LogState | None, list[StoredBatch]]:
        """Return what a new owner reads of the stream."""
        return self.end, self.replicas.of(SESSION).state, self.replicas.read(SESSION, 0, ALL)

    def read_end(self) -> StreamEnd:
        """Return the end, at times of a server that does not have the last message yet."""
        messages = self.replicas.of(SESSION).messages
        if not self._fails(0.03):
            return self.end
        return messages[-2].end if len(messages) > 1 else EMPTY

    # The owner's record.

    @property
    def lease(self) -> Lease | None:
        """The record; `None` once it has expired."""
        if self._lease is not None and self._lease.until <= self.clock.now:
            self._lease = None
        return self._lease

    def renew(self, node: str, term: int) -> bool:
        """Create or renew the record of a term; return whether it is this node's."""
        lease = self.lease
        if lease is not None and lease.term > term:
            return False
        lasts = LEASE_SECONDS
        if not self.are_faults_over:
            lasts *= 0.4 + self._dice()
        self._lease = Lease(node, term, self.clock.now + lasts)
        return True

    def expire(self) -> None:
        self._lease = None
