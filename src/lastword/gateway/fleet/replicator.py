"""The replicator: claims one session and publishes its log, as `replication` decides.

Owns the requests that are under way and the clock. Who may claim a session, and when, is
`ownership`'s. There is no task while nothing is published.
Batches are read from the local log when they are published, so that what waits is not copied.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from lastword.gateway.fleet.errors import FencedError, FleetError, NotStoredError, RefusedError
from lastword.gateway.fleet.replica import BUCKET_ENTRIES, EMPTY
from lastword.gateway.fleet.replication import (
    Claim,
    Fenced,
    NewEpoch,
    Publish,
    ReadEnd,
    Replication,
    Stalled,
    Visible,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from lastword.gateway.fleet.replica import StreamEnd
    from lastword.gateway.fleet.replicated_log import ReplicatedLog
    from lastword.gateway.fleet.replication import Effect
    from lastword.gateway.fleet.streams import Streams


PAUSE_SECONDS = 0.5
"""How long after a failure a claim is tried again."""


class ReplicationListener(Protocol):
    """What is called when the replication of a session stalls or ends."""

    def stalled(self, session_id: str, reason: str, times: int) -> None:
        """Nothing has been replicated for some seconds; the reason may be empty."""
        ...

    def fenced(self, session_id: str) -> None:
        """Another node has the session; nothing of it is published any more."""
        ...


class Replicator:
    """The publication of one session's log.

    Attributes:
        store: the replicas.
        session_id: the session.
        node: this node.
        claimed: the stream's end before and after the claim; `None` for a new session, which is
            still to be claimed.
    """

    def __init__(  # noqa: PLR0913 - its parts
        self,
        store: Streams,
        session_id: str,
        node: str,
        listener: ReplicationListener,
        *,
        claimed: tuple[StreamEnd, StreamEnd] | None = None,
        goes_on_without: bool = False,
    ) -> None:
        """Prepare it.

        Args:
            store: The replicas.
            session_id: The session.
            node: This node.
            listener: Called when nothing is replicated, and when another node has the session.
            claimed: As the attribute.
            goes_on_without: Entries count as replicated while nothing can be (`Replication`).
        """
        self.store: Streams = store
        self.session_id: str = session_id
        self.node: str = node
        self._listener = listener
        self.claimed: tuple[StreamEnd, StreamEnd] | None = claimed
        self._goes_on_without = goes_on_without
        self._machine: Replication | None = None
        self._log: ReplicatedLog | None = None
        self._committed = 0
        self._state_last = 0
        """The entry up to which the stored state is complete."""
        self._dropped = 0
        """The bucket up to which the replica has been trimmed, exclusively."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._settled = asyncio.Event()
        self._is_over = False

    @property
    def term(self) -> int:
        """The session's term; 0 before it is claimed."""
        return self._machine.end.term if self._machine is not None else 0

    @property
    def behind(self) -> int:
        """How many entries the fleet does not have."""
        return self._machine.behind if self._machine is not None else self._committed

    # The log.

    def begin(self, log: ReplicatedLog, committed: int) -> None:
        """Begin to publish a log, which has entries up to a number."""
        self._log, self._committed = log, committed
        if self.claimed is not None:
            self._start(*self.claimed)
        else:
            self._spawn(self._claim())

    async def _claim(self) -> None:
        while True:
            try:
                claimed = await claim(self.store, self.session_id, EMPTY, self.node)
            except FencedError:
                self._fenced()
                return
            except Exception:  # noqa: BLE001 - nothing would ever be published
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                self._start(EMPTY, claimed)
                return

    def _start(self, inherited: StreamEnd, claimed: StreamEnd) -> None:
        if self._log is None:
            return
        self._log.begin_term(claimed.term)
        now = self._now
        self._machine = Replication(
            claimed,
            inherited,
            committed=self._committed,
            now=now,
            goes_on_without=self._goes_on_without,
        )
        self._carry_out(self._machine.begin(now))

    def committed(self, last: int) -> None:
        """Note that entries up to a number are in the local log."""
        self._committed = last
        if not self._is_over:
            self._settled.clear()
        if self._machine is not None:
            self._carry_out(self._machine.committed(last, self._now))

    def state_changed(self) -> None:
        """Note that a remembered fact has changed."""
        if not self._is_over:
            self._settled.clear()
        if self._machine is not None:
            self._carry_out(self._machine.state_changed(self._now))

    def trimmed(self, first: int) -> None:
        """Note that the local log now begins with this number."""
        bucket = min(first, self._state_last + 1) // BUCKET_ENTRIES
        if bucket > self._dropped and not self._is_over:
            self._dropped = bucket
            self._spawn(self._trim(bucket * BUCKET_ENTRIES))

    async def _trim(self, before: int) -> None:
        with contextlib.suppress(FleetError):  # the next time drops this too
            await self.store.trim(self.session_id, before)

    async def settled(self) -> bool:
        """Wait until everything is replicated; return `False` if it never will be."""
        await self._settled.wait()
        return not self._is_over

    def stop(self) -> None:
        """Publish nothing more."""
        self._is_over = True
        self._settled.set()
        for task in self._tasks:
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()

    # The connection.

    def connected(self) -> None:
        """Note that there is a connection to the broker again."""
        if self._machine is not None:
            self._carry_out(self._machine.connected())

    def disconnected(self) -> None:
        """Note that the connection to the broker is lost."""
        if self._machine is not None:
            self._carry_out(self._machine.disconnected(self._now))

    # What the machine decides.

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _carry_out(self, effects: list[Effect]) -> None:
        machine, log = self._machine, self._log
        if self._is_over or machine is None or log is None:
            return
        for effect in effects:  # begun later, whatever the observers of an entry do
            match effect:
                case Publish():
                    self._spawn(self._write(machine, partial(self._publish, effect, log)))
                case Claim(end=end):
                    claim = partial(self.store.claim, self.session_id, end, self.node)
                    self._spawn(self._write(machine, claim))
                case ReadEnd():
                    self._spawn(self._read_end(machine))
        for effect in effects:
            match effect:
                case Visible(last=last):
                    log.replicated(last)
                case NewEpoch():
                    log.renew_epoch()
                case Stalled(reason=reason, times=times):
                    self._listener.stalled(self.session_id, reason, times)
                case Fenced():
                    self._fenced()
        if self._is_over:
            return
        if machine.is_settled:
            self._settled.set()
        due = machine.next_timeout()
        # A timer that is too early does no harm.
        if due is None or (self._timer is not None and self._timer.when() <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due, self._time_out)

    def _fenced(self) -> None:
        self._is_over = True
        self._settled.set()
        self._listener.fenced(self.session_id)

    def _time_out(self) -> None:
        self._timer = None
        if self._machine is not None:
            self._carry_out(self._machine.handle_timeout(self._now))

    async def _publish(self, effect: Publish, log: ReplicatedLog) -> StreamEnd:
        batch = log.batch(effect.after, effect.up_to, with_state=effect.with_state)
        if effect.keeps_epoch:
            batch = replace(batch, epoch=effect.end.epoch)
        end = await self.store.publish(self.session_id, batch, effect.end)
        if batch.state is not None:
            self._state_last = batch.state.last
        return end

    async def _write(self, machine: Replication, write: Callable[[], Awaitable[StreamEnd]]) -> None:
        try:
            end = await write()
        except FencedError:
            effects = machine.refused(self._now)
        except NotStoredError as error:
            reason = str(error) if isinstance(error, RefusedError) else ""
            effects = machine.refused(self._now, reason)
        except Exception:  # noqa: BLE001 - without an outcome nothing would ever be published again
            effects = machine.unknown(self._now)
        else:
            effects = machine.stored(end, self._now)
        self._carry_out(effects)

    async def _read_end(self, machine: Replication) -> None:
        try:
            end = await self.store.last(self.session_id)
        except Exception:  # noqa: BLE001 - as above
            effects = machine.read_failed(self._now)
        else:
            effects = machine.end_read(end, self._now)
        self._carry_out(effects)


async def claim(store: Streams, session_id: str, inherited: StreamEnd, node: str) -> StreamEnd:
    """Claim a session after an end of its stream; return the stream's new end.

    It is tried for as long as the store cannot be reached. An earlier try that was stored without
    an answer counts.

    Raises:
        FencedError: Another node has the session, or has written to it since.
    """
    while True:
        try:
            return await store.claim(session_id, inherited, node)
        except FencedError:
            end = await stream_end(store, session_id)
            if (end.term, end.node, end.last) == (inherited.term + 1, node, inherited.last):
                return end
            if end != inherited:
                raise
        except FleetError:
            pass
        await asyncio.sleep(PAUSE_SECONDS)


async def stream_end(store: Streams, session_id: str) -> StreamEnd:
    """Return the end of a session's stream, once the store can be reached."""
    while True:
        try:
            return await store.last(session_id)
        except FleetError:
            await asyncio.sleep(PAUSE_SECONDS)
