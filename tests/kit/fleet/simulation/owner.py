"""A process of a played fleet that owns a session, or tries to.

Owns the way from a stream to a session that serves: reading, claiming, the file, the hub; then
carries out what the hub and the replication want. A process that is stopped does nothing of it
until it goes on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from lastword.core.protocol import jsonrpc
from lastword.gateway.fleet.errors import FencedError, FleetError, NotStoredError
from lastword.gateway.fleet.replica import StreamEnd
from lastword.gateway.fleet.replicated_log import (
    TERM,
    ReplicatedLog,
    _continues,
    _copy_of,
    _LocalFile,
    pins_at,
)
from lastword.gateway.fleet.replication import (
    Claim,
    Fenced,
    NewEpoch,
    Publish,
    ReadEnd,
    Replication,
    Visible,
)
from lastword.gateway.log.entries import Pins
from lastword.gateway.log.store import MemoryLog
from tests.kit.gateway.played import CRASH, PlayedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.fleet.replica import LogState, StoredBatch
    from lastword.gateway.fleet.replication import Effect
    from lastword.gateway.fleet.replicator import Replicator
    from lastword.gateway.log.store import Committed
    from lastword.gateway.viewing.reader import Attachment
    from tests.kit.fleet.simulation.world import FleetWorld, Node


class LocalFile(MemoryLog):
    """A log's file: its entries, and the term in which it was written last."""

    def __init__(self, epochs: Callable[[], str], epoch: str = "", first: int = 1) -> None:
        super().__init__(epoch=epoch or epochs(), first=first)
        self._epochs = epochs
        self.is_damaged = False

    @property
    def facts(self) -> dict[str, str]:
        return dict(self._facts)

    def renew_epoch(self) -> None:
        self.epoch = self._epochs()


def file_of(
    inherited: StreamEnd,
    state: LogState | None,
    batches: Sequence[StoredBatch],
    epochs: Callable[[], str],
) -> LocalFile:
    if not inherited.sequence:
        return LocalFile(epochs)
    copy = _copy_of(inherited, state, batches)
    first = copy.batches[0][0] if copy.batches else copy.last + 1
    file = LocalFile(epochs, copy.epoch, first)
    for _, entries in copy.batches:
        file.append(entries)
    file.pins = Pins(copy.pins.items())
    for name, value in copy.facts.items():
        file.remember(name, value)
    return file


RENEW_SECONDS = 5.0


class Owner(PlayedSession):
    def __init__(self, world: FleetWorld, node: Node) -> None:
        super().__init__()
        self.world = world
        self.node = node
        self.broker = world.broker
        self.is_over = False
        self.stopped_until = 0.0
        self._waiting: list[Callable[[], None]] = []
        self.replication: Replication | None = None
        self.log: ReplicatedLog | None = None
        self._has_begun = False
        self._read_end()

    @property
    def serves(self) -> bool:
        """Whether it has its session, and does something."""
        return self._has_begun and not self.is_over and not self.is_stopped

    @property
    def is_stopped(self) -> bool:
        return self.stopped_until > self.world.clock.now

    @property
    def term(self) -> int:
        return self.replication.end.term if self.replication else 0

    # The process.

    def does(self, act: Callable[[], None]) -> None:
        """Do something, once the process goes on if it is stopped; never if it is over."""
        if self.is_over:
            return
        if self.is_stopped:
            self._waiting.append(act)
        else:
            act()

    def suspend(self, seconds: float) -> None:
        self.stopped_until = self.world.clock.now + seconds
        self.world.clock.later(seconds + 0.001, self._goes_on)

    def _goes_on(self) -> None:
        if self.is_stopped:
            return
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            self.does(act)

    def die(self) -> None:
        self.is_over = True
        self.world.ended(self)

    def _request(self, apply: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        self.broker.request(self.node.name, apply, partial(self._has_answer, answer))

    def _has_answer(self, answer: Callable[[Any], None], result: Any) -> None:
        self.does(partial(answer, result))

    # From the stream to a session.

    def _read_end(self) -> None:
        self._request(self.broker.read, self._has_read)

    def _has_read(self, result: Any) -> None:
        if isinstance(result, FleetError):
            self.die()
            return
        self._claim(*result)

    def _claim(
        self, inherited: StreamEnd, state: LogState | None, batches: list[StoredBatch]
    ) -> None:
        def claimed(result: Any) -> None:
            if isinstance(result, FencedError | NotStoredError):
                self.die()
            elif isinstance(result, FleetError):
                self._request(lambda: self.broker.end, settled)
            else:
                self._begin(inherited, state, result, batches)

        def settled(result: Any) -> None:
            own = (inherited.term + 1, self.node.name, inherited.last)
            if isinstance(result, StreamEnd) and own == (result.term, result.node, result.last):
                self._begin(inherited, state, result, batches)
            else:
                self.die()

        self._request(lambda: self.broker.claim(inherited, self.node.name), claimed)

    def _begin(
        self,
        inherited: StreamEnd,
        state: LogState | None,
        claimed: StreamEnd,
        batches: list[StoredBatch],
    ) -> None:
        file = self.node.file
        if file is None or file.is_damaged or not self._continues(file, inherited):
            file = file_of(inherited, state, batches, self.world.epoch)
            self.node.file = file
        head = min(claimed.last, file.head)
        has_all = head == file.head
        pins = Pins(file.pins.items()) if has_all else pins_at(file, state, head)
        file.remember(TERM, str(claimed.term))
        self.replication = Replication(
            claimed,
            inherited,
            committed=file.head,
            now=self.world.clock.now,
            goes_on_without=self.world.goes_on_without,
        )
        self.log = ReplicatedLog(file, cast("Replicator", self), head, pins)
        self.log.observers.append(self._has_committed)
        self.do(self.replication.begin(self.world.clock.now))
        self._renew()

    def _continues(self, file: LocalFile, inherited: StreamEnd) -> bool:
        local = _LocalFile(file.epoch, file.remembered(TERM), file.head)
        return _continues(local, inherited, self.node.name)

    def _serve(self) -> None:
        """All of the file is replicated: the session goes on with a new agent."""
        assert self.log is not None
        self._has_begun = True
        self.serve(self.log, unattended_seconds=50.0)
        self.carry_out(self.hub.lost_agent(CRASH, self.world.clock.now_ms))

    def to_agent(self, frame: dict[str, Any]) -> None:
        if frame.get("method") == "session/prompt":
            self.world.referee.reached_agent(frame["params"]["tag"], self.node.name)

    def to_viewer(self, attachment: Attachment, lines: list[bytes]) -> None:
        for seat in self.world.seats:
            if seat.attachment is attachment:
                seat.wire += map(jsonrpc.loads, lines)

    # What publishes the log.

    def begin(self, log: ReplicatedLog, committed: int) -> None:
        """Begin to publish it: `_begin` does."""

    def committed(self, last: int) -> None:
        """Note that entries up to a number are in the file."""
        assert self.replication is not None
        self.do(self.replication.committed(last, self.world.clock.now))

    def state_changed(self) -> None:
        assert self.replication is not None
        self.do(self.replication.state_changed(self.world.clock.now))

    def trimmed(self, first: int) -> None:
        """Trim nothing."""

    def stop(self) -> None:
        """Publish nothing more."""

    # The replication's effects.

    def do(self, effects: list[Effect]) -> None:
        assert self.log is not None
        for effect in effects:
            match effect:
                case Publish():
                    self._publish(self.log, effect)
                case Claim(end=end):
                    claim = partial(self.broker.claim, end, self.node.name)
                    self._request(claim, self._was_written)
                case ReadEnd():
                    self._request(self.broker.read_end, self._end_was_read)
                case Visible(last=last):
                    self.log.replicated(last)
                case NewEpoch():
                    self.log.renew_epoch()
                    self.world.shut_viewers(self)
                case Fenced():
                    self._fenced()
        replication = self.replication
        if not self._has_begun and replication is not None and replication.is_settled:
            self._serve()
        self._arm()

    def _publish(self, log: ReplicatedLog, effect: Publish) -> None:
        up_to = min(effect.up_to, effect.after + 1 + self.world.draw(8))
        batch = log.batch(effect.after, up_to, with_state=effect.with_state)
        if effect.keeps_epoch:
            batch = replace(batch, epoch=effect.end.epoch)
        self._request(partial(self.broker.publish, batch, effect.end), self._was_written)

    def _arm(self) -> None:
        due = self.replication.next_timeout() if self.replication else None
        if due is not None:
            self.world.clock.later(due - self.world.clock.now, partial(self.does, self._times_out))

    def _times_out(self) -> None:
        now = self.world.clock.now
        if self.replication is not None and (self.replication.next_timeout() or now + 1) <= now:
            self.do(self.replication.handle_timeout(now))

    def _was_written(self, result: Any) -> None:
        assert self.replication is not None
        now = self.world.clock.now
        if isinstance(result, FencedError):
            self.do(self.replication.refused(now))
        elif isinstance(result, NotStoredError):
            self.do(self.replication.refused(now, str(result)))
        elif isinstance(result, FleetError):
            self.do(self.unknown(now))
        else:
            self.do(self.replication.stored(result, now))

    def unknown(self, now: float) -> list[Effect]:
        """What has no outcome was sent."""
        assert self.replication is not None
        return self.replication.unknown(now)

    def _end_was_read(self, result: Any) -> None:
        assert self.replication is not None
        now = self.world.clock.now
        if isinstance(result, FleetError):
            self.do(self.replication.read_failed(now))
        else:
            self.do(self.replication.end_read(result, now))

    def _has_committed(self, commit: Committed) -> None:
        """Entries are visible: what waited for them is sent."""
        assert self.log is not None
        assert self.replication is not None
        first = self.log.head - len(commit.entries) + 1
        is_without = self.replication.is_without
        self.world.referee.visible(self.node.name, first, commit.entries, is_without)
        if self._has_begun and not self.effects.is_writing:
            self.effects.send_waiting()

    def _fenced(self) -> None:
        """Another has the session: end, and inform the other of what was visible here."""
        assert self.replication is not None
        self.world.note_divergence(self, self.replication.visible)
        self.node.file = None  # set aside
        self.die()

    # The record.

    def _renew(self) -> None:
        if self.is_over or self.replication is None:
            return
        apply = partial(self.broker.renew, self.node.name, self.term)
        self._request(apply, self._was_renewed)
        self.world.clock.later(RENEW_SECONDS, partial(self.does, self._renew))

    def _was_renewed(self, result: Any) -> None:
        """Another's record is a hint alone: the stream says whose the session is."""
        assert self.replication is not None
        if result is False:
            self.do(self.replication.connected())
