"""A session's log that is replicated: entries count as committed once the fleet has them.

Owns how far a local log is replicated, and the pins as of there. Entries are written to the local
log at once and published from it; until the store has them, they are beyond `head` and are not
read, and the observers are not called. `replicator` publishes.

It also owns which local file a takeover continues. If the file is of the stream's last writer, it
is continued, with whatever it has beyond the stream. Otherwise it is replaced by the stream's
content, under the same epoch, and set aside if it has entries that the stream lacks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lastword.errors import StoreError
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.replica import BATCH_BYTES, BATCH_ENTRIES, LogState, ReplicaBatch
from lastword.gateway.log import files
from lastword.gateway.log.entries import Pins
from lastword.gateway.log.session_log import reading, session_log
from lastword.gateway.log.sqlite import LogCopy, write_copy
from lastword.gateway.log.store import Committed, LogUnavailableError, new_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lastword.gateway.fleet.replica import StoredBatch, StreamEnd
    from lastword.gateway.fleet.replicator import Replicator
    from lastword.gateway.fleet.streams import Streams
    from lastword.gateway.log.entries import LogEntry, Numbered
    from lastword.gateway.log.session_log import DiskLog, StoredLog
    from lastword.gateway.log.store import Observer, ReadableLog

TERM = "term"
"""The fact of a local file: the term in which it was last written."""

READ_BYTES = 4 * 1024 * 1024
READ_SECONDS = 10.0
"""How long the servers that answer reads may lack the end of a stream."""

LOOK_SECONDS = 0.1

BEHIND_BYTES = 16 * 1024 * 1024
"""How much may be written and not replicated before reading from the agent pauses."""


class _LocalFile(msgspec.Struct, frozen=True):
    """What a local file is compared by."""

    epoch: str
    term: str
    head: int


class _Written(NamedTuple):
    """Entries that are written and not replicated."""

    first: int
    entries: Sequence[LogEntry]
    size: int
    began: float
    epoch: str

    @property
    def last(self) -> int:
        return self.first + len(self.entries) - 1


class ReplicatedLog:
    """A log whose entries count once they are replicated."""

    def __init__(self, local: DiskLog, publisher: Replicator, head: int, pins: Pins) -> None:
        """Replicate a local log.

        Args:
            local: The log on this machine's disk.
            publisher: Publishes it.
            head: The last entry that is replicated.
            pins: The pinned entries as of then.
        """
        self._local = local
        self._publisher = publisher
        self.head: int = head
        """The last replicated entry's number."""
        self.pins: Pins = pins
        """The pinned entries as of then."""
        self._facts = local.facts
        self.epoch: str = local.epoch
        """The numbering of what is replicated."""
        self._written: deque[_Written] = deque()
        self._waiting_bytes = 0
        self.observers: list[Observer] = []
        self.reason: str = local.reason
        after = head
        while numbered := local.read(after):
            entries = [entry for _, entry in numbered]
            self._wait_for(numbered[0].seq, entries, sum([entry.size for entry in entries]))
            after = numbered[-1].seq
        publisher.begin(self, local.head)

    def _wait_for(self, first: int, entries: Sequence[LogEntry], size: int) -> None:
        began, epoch = time.perf_counter(), self._local.epoch
        self._written.append(_Written(first, entries, size, began, epoch))
        self._waiting_bytes += size

    @property
    def first(self) -> int:
        """The oldest kept entry's number."""
        return min(self._local.first, self.head + 1)

    @property
    def size_bytes(self) -> int:
        """The size of the replicated entries that are kept."""
        return max(self._local.size_bytes - self._waiting_bytes, 0)

    @property
    def written_bytes(self) -> int:
        """The size of the entries that were replicated since it was opened."""
        return self._local.written_bytes - self._waiting_bytes

    @property
    def waiting_entries(self) -> int:
        """How many entries are written and not replicated."""
        return self._written[-1].last - self.head if self._written else 0

    @property
    def is_behind(self) -> bool:
        """Whether reading from the agent should pause."""
        return self._waiting_bytes > BEHIND_BYTES or self._local.is_behind

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Write entries, which are committed once they are replicated."""
        if not entries:
            return self._written[-1].last if self._written else self.head
        before = self._local.written_bytes
        last = self._local.append(entries)
        first = last - len(entries) + 1
        self._wait_for(first, entries, self._local.written_bytes - before)
        self._publisher.committed(last)
        return last

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """Return the oldest replicated entries after a number."""
        if after >= self.head:
            return []
        entries = self._local.read(after, max_entries=max_entries, max_bytes=max_bytes)
        if entries and entries[-1].seq > self.head:
            return [each for each in entries if each.seq <= self.head]
        return entries

    def trim(self, *, limit_bytes: int) -> int:
        """Drop the oldest replicated entries, here and in the replica."""
        limit_bytes += self._waiting_bytes
        gone = self._local.trim(limit_bytes=limit_bytes)
        if gone:
            self._publisher.trimmed(self.first)
        return gone

    def remember(self, name: str, value: str) -> None:
        """Store a fact, here and with the replica."""
        if self._facts.get(name) != value:
            self._facts[name] = value
            self._publisher.state_changed()
        self._local.remember(name, value)

    def remembered(self, name: str) -> str:
        """Return a stored fact."""
        return self._facts.get(name, "")

    def finish(self) -> None:
        """Write and publish nothing more."""
        self._publisher.stop()
        self._local.finish()

    def close(self) -> None:
        """Finish, and read no more."""
        self._publisher.stop()
        self._local.close()

    # What is published.

    def batch(self, after: int, up_to: int, *, with_state: bool) -> ReplicaBatch:
        """Return the next batch after an entry.

        Raises:
            FleetError: The local log cannot be read.
        """
        entries: list[LogEntry] = []
        first = after + 1
        if up_to > after:
            read = self._local.read(after, max_entries=BATCH_ENTRIES, max_bytes=BATCH_BYTES)
            if not read:
                raise FleetError("the session's log on this machine's disk cannot be read")
            first = read[0].seq
            entries = [
                entry for at, (seq, entry) in enumerate(read, first) if at == seq and seq <= up_to
            ]
        state = self.state if with_state else None
        return ReplicaBatch(self._local.epoch, first, entries, state)

    @property
    def state(self) -> LogState:
        """What is needed beside the entries, as of the last replicated one."""
        facts = {name: value for name, value in self._facts.items() if name != TERM}
        return LogState(self._local.epoch, self.head, facts, self.pins.items())

    def replicated(self, last: int) -> None:
        """Note that entries up to a number are replicated, and call the observers."""
        ready: list[_Written] = []
        while self._written and self._written[0].first <= last:
            written = self._written.popleft()
            if written.last > last:
                count = last + 1 - written.first
                start, rest = written.entries[:count], written.entries[count:]
                size = sum([entry.size for entry in start])
                self._written.appendleft(
                    written._replace(first=last + 1, entries=rest, size=written.size - size)
                )
                written = written._replace(entries=start, size=size)
            self._waiting_bytes -= written.size
            ready.append(written)
        if not ready:
            return
        self.head, self.epoch = ready[-1].last, ready[-1].epoch
        entries = ready[0].entries
        if len(ready) > 1:
            entries = [*chain.from_iterable([each.entries for each in ready])]
        self.pins.note_all(ready[0].first, entries)
        if self.observers:
            size = sum([each.size for each in ready])
            committed = Committed(entries, size, time.perf_counter() - ready[0].began)
            for observer in self.observers:
                observer(committed)

    def begin_term(self, term: int) -> None:
        """Note that the session is this node's, in this term."""
        with contextlib.suppress(LogUnavailableError):  # a full disk: it is not continued later
            self._local.remember(TERM, str(term))

    def renew_epoch(self) -> None:
        """Continue in another epoch, since readers know this one's numbers with other entries."""
        self._local.renew_epoch()
        self.epoch = self._local.epoch
        self._written = deque(each._replace(epoch=self.epoch) for each in self._written)


def open_new(path: str, publisher: Replicator) -> ReplicatedLog:
    """Open the log of a new session while it is being claimed.

    Raises:
        LogUnavailableError: It cannot be used.
    """
    local = session_log(path)
    return ReplicatedLog(local, publisher, local.head, Pins())


async def open_claimed(path: str, publisher: Replicator, shown: Mapping[str, int]) -> ReplicatedLog:
    """Open the log of a session that this node has claimed.

    If the servers have lost entries that they had acknowledged, and this machine lacks them too,
    the log continues in another epoch, since viewers know its numbers with other entries.

    Args:
        path: Its local file, which may not exist. The caller has its lock.
        publisher: Publishes it, after the claim.
        shown: For each epoch of the log, the last entry that is known to have been committed.

    Raises:
        FencedError: Another node has claimed it since.
        FleetError: Its stream cannot be read.
        LogUnavailableError: Its file cannot be written.
    """
    assert publisher.claimed is not None  # noqa: S101 - for the type checker
    store, session_id, (inherited, _) = publisher.store, publisher.session_id, publisher.claimed
    await _make_local_copy(store, session_id, path, inherited, publisher.node)
    local = session_log(path)
    with contextlib.ExitStack() as undo:
        undo.callback(local.close)
        undo.callback(publisher.stop)
        if local.head < shown.get(local.epoch, 0):
            local.renew_epoch()
            local.reason = "lost"
        pins = Pins(local.pins.items())
        if 0 < inherited.last < local.head:  # the local log is beyond the stream's end
            pins = pins_at(local, await store.state(session_id), inherited.last)
        log = ReplicatedLog(local, publisher, min(inherited.last, local.head), pins)
        if not await publisher.settled():
            raise FencedError("another node has the session")
        undo.pop_all()
    return log


async def _make_local_copy(
    store: Streams, session_id: str, path: str, inherited: StreamEnd, node: str
) -> None:
    """Have a local file ready that continues a stream from the end that the claim followed.

    Raises:
        FleetError: The stream cannot be read.
        LogUnavailableError: The file cannot be written.
    """
    local: _LocalFile | None = None
    with contextlib.suppress(OSError, StoreError):  # there is none, or it is damaged
        local = await asyncio.to_thread(
            reading, path, lambda log: _LocalFile(log.epoch, log.remembered(TERM), log.head)
        )
    if not inherited.sequence and local is None:
        return  # a new session, whose file is made when it is opened
    if local is not None and _continues(local, inherited, node):
        return
    state = await store.state(session_id)
    batches: list[StoredBatch] = []
    until = asyncio.get_running_loop().time() + READ_SECONDS
    after = 0
    while after < inherited.last:
        more = await store.read(session_id, after, max_bytes=READ_BYTES)
        batches += more
        if more:
            after = more[-1].end.last
        elif asyncio.get_running_loop().time() > until:
            raise FleetError(
                f"the session's stream ends with {after} and not with {inherited.last}"
            )
        else:
            await asyncio.sleep(LOOK_SECONDS)
    copy, term = _copy_of(inherited, state, batches), local.term if local is not None else ""
    await asyncio.to_thread(_replace, path, term, copy)


def _continues(local: _LocalFile, inherited: StreamEnd, node: str) -> bool:
    """Return whether a local file has all of the stream, and nothing else before its end."""
    if not inherited.sequence:
        return True  # the broker has lost all that the file has
    is_last_writers = local.term == str(inherited.term) and inherited.node == node
    return is_last_writers and local.epoch == inherited.epoch and local.head >= inherited.last


def _replace(path: str, term: str, copy: LogCopy) -> None:
    """Write a file in place of one that may exist.

    That one is set aside if it has entries that the copy lacks and the stream has not dropped.
    """
    first = copy.batches[0][0] if copy.batches else copy.last + 1
    entries = [entry for _, some in copy.batches for entry in some]

    def is_in_copy(log: StoredLog) -> bool:
        after = 0
        while numbered := log.read(after):
            for seq, entry in numbered:
                if seq > copy.last or (seq >= first and entries[seq - first] != entry):
                    return False
            after = numbered[-1].seq
        return True

    if os.path.exists(path):
        try:
            has_more = not reading(path, is_in_copy)
        except (OSError, StoreError):
            has_more = True
        if has_more:
            files.set_aside(path, f"fenced-{term}" if term else "")
    write_copy(path, copy)


def ascending(batches: Iterable[StoredBatch]) -> Iterator[StoredBatch]:
    """Return batches without those that follow one of a later term.

    The fence refuses them; that they do not count does not depend on it.
    """
    term = 0
    for batch in batches:
        if batch.end.term >= term:
            term = batch.end.term
            yield batch


def joined(batches: Sequence[StoredBatch]) -> list[tuple[int, list[LogEntry]]]:
    """Return the entries of a stream's batches without a gap, with their first numbers.

    A batch that begins before the end of the earlier ones replaces them from there on. Entries
    before a gap are left out: a log only ever lacks entries at its beginning.
    """
    parts: list[tuple[int, list[LogEntry]]] = []
    for batch in ascending(batches):
        while parts and parts[-1][0] >= batch.first:
            parts.pop()
        if parts:
            first, entries = parts[-1]
            if first + len(entries) < batch.first:
                parts.clear()
            else:
                parts[-1] = (first, entries[: batch.first - first])
        parts.append((batch.first, batch.entries))
    return parts


def _copy_of(
    inherited: StreamEnd, state: LogState | None, batches: Sequence[StoredBatch]
) -> LogCopy:
    """Return a session's log as its stream has it, with the pins as of its end."""
    entries = joined(batches)
    pins = _pins_of(state, inherited.last, entries)
    facts = dict(state.facts) if state is not None else {}
    epoch = inherited.epoch or (state.epoch if state is not None else "") or new_epoch()
    return LogCopy(epoch, inherited.last, facts, entries, pins)


def pins_at(log: ReadableLog, state: LogState | None, last: int) -> Pins:
    """Return the pinned entries as of an entry of a log, which may continue after it."""
    after = state.last if state is not None else 0
    entries: list[tuple[int, list[LogEntry]]] = []
    while after < last:
        numbered = log.read(after, max_entries=min(BATCH_ENTRIES, last - after))
        if not numbered:
            break
        entries.append((numbered[0].seq, [entry for _, entry in numbered]))
        after = numbered[-1].seq
    return _pins_of(state, last, entries)


def _pins_of(
    state: LogState | None, last: int, entries: Sequence[tuple[int, Sequence[LogEntry]]]
) -> Pins:
    """Return the pinned entries as of an entry, from an older state and the entries after it."""
    noted, pinned = (state.last, state.pins) if state is not None else (0, [])
    pins = Pins([(name, numbered) for name, numbered in pinned if numbered.seq <= last])
    for first, some in entries:
        rest = some[max(0, noted + 1 - first) :]
        pins.note_all(first + len(some) - len(rest), rest)
    return pins
