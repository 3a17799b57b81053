"""Gateways and fleets that are put together wrongly: the referee has to see each of them.

Owns the mistakes, which are those that were found in programs of this kind.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any
from unittest import mock

from msgspec.structs import replace

from lastword.gateway.fleet.replication import Replication, Visible
from lastword.gateway.holder.hub import Hub
from lastword.gateway.log.entries import MAX_SEQ, LogKind
from lastword.gateway.viewing.reader import joined
from tests.kit.fleet.simulation.broker import Broker
from tests.kit.fleet.simulation.owner import Owner
from tests.kit.gateway import world
from tests.kit.gateway.world import WatchedLog, frames_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from lastword.gateway.fleet.replica import ReplicaBatch, StreamEnd
    from lastword.gateway.fleet.replication import Effect
    from lastword.gateway.log.entries import LogEntry, Numbered
    from lastword.gateway.viewing.reader import Attachment
    from lastword.gateway.viewing.render import Renderer
    from tests.kit.gateway.referee import Referee


class _LateLog(WatchedLog):
    """Gives out entries that are committed with the next ones only.

    What is sent may be lost with the process, and its number be given to something else.
    """

    def __init__(self, referee: Referee) -> None:
        super().__init__(referee)
        self._late: list[LogEntry] = []

    def append(self, entries: Sequence[LogEntry]) -> int:
        if self._late:
            self._referee.committed(self.first, self.head, self._late)
        self._late = list(entries)
        for entry in entries:
            self._entries.append(entry)
            self.size_bytes += entry.size
            self.pins.note(self.head, entry)
        return self.head

    def crash(self) -> None:
        for _ in self._late:
            if self._entries:
                self.size_bytes -= self._entries.pop().size
        self._late = []


class _LivePath:
    """Viewers are fed by a queue beside the log, which they get from the moment they attach."""

    def __init__(self) -> None:
        self._queues: dict[Attachment, deque[Numbered]] = defaultdict(lambda: deque(maxlen=8))
        self._taken: dict[Attachment, int] = {}

    def __call__(self, attachment: Attachment, renderer: Renderer) -> list[bytes]:
        reader, queue = attachment.reader, self._queues[attachment]
        taken = self._taken.setdefault(attachment, attachment.live_from)
        for numbered in reader._log.read(taken, max_entries=10_000):
            queue.append(numbered)  # the oldest falls out of a full one
            self._taken[attachment] = numbered.seq
        frames = []
        if reader.pos < attachment.live_from:
            frames = frames_of(attachment, renderer)
        for numbered in queue:
            frames += renderer._entry(numbered, attachment)
            reader.pos = max(reader.pos, numbered.seq)
        queue.clear()
        return frames


def _end_overtakes(attachment: Attachment, renderer: Renderer) -> list[bytes]:
    """Answers go out at once, before what was said ahead of them."""
    pulled = attachment.reader.pull()
    ends = tuple(each for each in pulled.entries if each.entry.kind is LogKind.END)
    others = tuple(each for each in pulled.entries if each.entry.kind is not LogKind.END)
    first = [frame for end in ends for frame in renderer._frames(end, attachment)]
    rest = type(pulled)(pulled.gap, pulled.pinned, pulled.passed, others)
    return first + renderer.pulled(rest, attachment)


def _joins_the_live(attachment: Attachment, renderer: Renderer) -> list[bytes]:
    """What is said now is joined as the past is."""
    return renderer.pulled(joined(attachment.reader.pull(), MAX_SEQ), attachment)


def _forgets_the_id(*_: Any) -> None:
    """A stream that is cut goes on where the server had stopped, whatever its viewer had last."""


def _shows_before_replicated(self: Replication, last: int, now: float) -> list[Effect]:
    """Entries are visible once they are in the owner's file."""
    return [Visible(last), *_committed(self, last, now)]


def _lease_for_fence(self: Broker, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
    """Whoever believes to have the record may write, whatever the stream's end is."""
    return _publish(self, batch, replace(after, sequence=self.end.sequence))


def _renews_without_expiry(self: Broker, node: str, term: int) -> bool:
    """A renewed record does not expire."""
    before = self.lease
    is_own = _renew(self, node, term)
    is_renewal = before is not None and (before.node, before.term) == (node, term)
    if is_renewal and self._lease is not None:
        self._lease = replace(self._lease, until=float("inf"))
    return is_own


def _resends_unsettled(self: Owner, now: float) -> list[Effect]:
    """What has no outcome is sent again behind whatever is there."""
    assert self.replication is not None
    expected = replace(self.replication.end, sequence=self.broker.end.sequence)
    return self.replication.end_read(expected, now)


def _acknowledged_by_another(self: Replication, end: StreamEnd, now: float) -> list[Effect]:
    """The last message's numbers count, whosever it is."""
    return _end_read(self, replace(end, term=self.end.term, node=self.end.node), now)


def _rebuilds_too_little(self: Broker) -> tuple[Any, ...]:
    """A new owner leaves out the stream's last batch."""
    end, state, batches = _read(self)
    return end, state, batches[:-1]


_committed, _end_read = Replication.committed, Replication.end_read
_publish, _renew, _read = Broker.publish, Broker.renew, Broker.read


def _in_place_of(owner: Any, name: str, other: Any) -> Callable[[], AbstractContextManager[object]]:
    return lambda: mock.patch.object(owner, name, other)


MUTANTS = {
    "send_before_commit": _in_place_of(world, "WatchedLog", _LateLog),
    "live_path": lambda: mock.patch.object(world, "frames_of", _LivePath()),
    "end_overtakes": _in_place_of(world, "frames_of", _end_overtakes),
    "joins_the_live": _in_place_of(world, "frames_of", _joins_the_live),
    "forgets_the_id": _in_place_of(Hub, "go_back", _forgets_the_id),
}
"""What makes a gateway one of them, for a while."""

FLEET_MUTANTS = {
    "shows_before_replicated": _in_place_of(Replication, "committed", _shows_before_replicated),
    "lease_for_fence": _in_place_of(Broker, "publish", _lease_for_fence),
    "renews_without_expiry": _in_place_of(Broker, "renew", _renews_without_expiry),
    "resends_unsettled": _in_place_of(Owner, "unknown", _resends_unsettled),
    "acknowledged_by_another": _in_place_of(Replication, "end_read", _acknowledged_by_another),
    "rebuilds_too_little": _in_place_of(Broker, "read", _rebuilds_too_little),
}
"""The same of fleets."""
