"""The local file of a session that is taken over: the one that is there, or one from its stream.

Owns the choice. A file that its stream's last writer has left is continued, with whatever it has
beyond the stream. Any other is replaced by one with what the stream has, under the same epoch, and
set aside if it has something that the stream has not.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from lastword.errors import StoreError
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.log import files
from lastword.gateway.log.entries import Pins
from lastword.gateway.log.session_log import reading
from lastword.gateway.log.sqlite import LogCopy, write_copy
from lastword.gateway.log.store import BATCH_ENTRIES, new_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lastword.gateway.fleet.replica import LogState, StoredBatch, StreamEnd
    from lastword.gateway.fleet.streams import Streams
    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.log.session_log import StoredLog
    from lastword.gateway.log.store import ReadableLog

TERM = "term"
"""The fact of a local file: the term in which it was last written."""

READ_BYTES = 4 * 1024 * 1024
READ_SECONDS = 10.0
"""How long the end of a stream may be missing at the servers that answer reads."""

LOOK_SECONDS = 0.1


class _LocalFile(msgspec.Struct, frozen=True):
    """What is compared of a local file."""

    epoch: str
    term: str
    head: int


async def make_local_copy(
    store: Streams, session_id: str, path: str, inherited: StreamEnd, node: str
) -> str:
    """Have a local file ready that continues a session's stream; return where the old one is.

    Args:
        store: The replicas.
        session_id: The session.
        path: The file's path. The caller has its lock.
        inherited: The stream's end that this node's claim followed.
        node: This node.

    Returns:
        The path under which a file was set aside whose end is not in the stream, or an empty
        string.

    Raises:
        FleetError: The stream cannot be read.
        LogUnavailableError: The file cannot be written.
    """
    local = await asyncio.to_thread(_look_into, path)
    if local is not None and _continues(local, inherited, node):
        return ""
    if not inherited.sequence and local is None:
        return ""  # a new session, whose file is made when it is opened
    state = await store.state(session_id)
    batches = await _all_batches(store, session_id, inherited.last)
    term = local.term if local is not None else ""
    return await asyncio.to_thread(_replace, path, term, _copy_of(inherited, state, batches))


def _replace(path: str, term: str, copy: LogCopy) -> str:
    """Write a file in place of one that may be there; return where that was put."""
    aside = ""
    if os.path.exists(path) and not _is_part_of(path, copy):
        aside = files.set_aside(path, f"fenced-{term}" if term else "")
    write_copy(path, copy)
    return aside


def _is_part_of(path: str, copy: LogCopy) -> bool:
    """Return whether a file has nothing that a copy has not, but for what that has dropped."""
    first = copy.batches[0][0] if copy.batches else copy.last + 1
    entries = [entry for _, some in copy.batches for entry in some]

    def read(log: StoredLog) -> bool:
        after = 0
        while numbered := log.read(after):
            for seq, entry in numbered:
                if seq > copy.last or (seq >= first and entries[seq - first] != entry):
                    return False
            after = numbered[-1].seq
        return True

    try:
        return reading(path, read)
    except (OSError, StoreError):
        return False


def _look_into(path: str) -> _LocalFile | None:
    """Return what a file says of itself; `None` if there is none, or it cannot be read."""

    def read(log: StoredLog) -> _LocalFile:
        return _LocalFile(log.epoch, log.remembered(TERM), log.head)

    try:
        return reading(path, read)
    except (OSError, StoreError):
        return None


def _continues(local: _LocalFile, inherited: StreamEnd, node: str) -> bool:
    """Return whether a local file has all of the stream, and nothing else before its end."""
    if not inherited.sequence:
        return True  # the broker has lost all that the file has
    is_last_writers = local.term == str(inherited.term) and inherited.node == node
    return is_last_writers and local.epoch == inherited.epoch and local.head >= inherited.last


async def _all_batches(store: Streams, session_id: str, last: int) -> list[StoredBatch]:
    """Return the batches of a stream up to an entry.

    Raises:
        FleetError: It cannot be read to that entry.
    """
    batches: list[StoredBatch] = []
    until = asyncio.get_running_loop().time() + READ_SECONDS
    after = 0
    while after < last:
        more = await store.read(session_id, after, max_bytes=READ_BYTES)
        batches += more
        if more:
            after = more[-1].end.last
        elif asyncio.get_running_loop().time() > until:
            raise FleetError(f"the session's stream ends with {after} and not with {last}")
        else:
            await asyncio.sleep(LOOK_SECONDS)
    return batches


def ascending(batches: Iterable[StoredBatch]) -> Iterator[StoredBatch]:
    """Return batches without those that come after one of a later term.

    The fence refuses these; that none counts does not depend on it.
    """
    term = 0
    for batch in batches:
        if batch.end.term >= term:
            term = batch.end.term
            yield batch


def joined(batches: Sequence[StoredBatch]) -> list[tuple[int, list[LogEntry]]]:
    """Return the entries of a stream's batches, each with its first number, without a gap.

    A batch that begins before the end of those before it replaces them from there on. What stands
    before a gap is left out: a log only ever misses entries at its beginning.
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
    """Return the pinned entries as of an entry of a log, which may have more."""
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
    """Return the pinned entries as of an entry, from an older state and what came behind it."""
    noted, pinned = (state.last, state.pins) if state is not None else (0, [])
    pins = Pins([(name, numbered) for name, numbered in pinned if numbered.seq <= last])
    for first, some in entries:
        rest = some[max(0, noted + 1 - first) :]
        pins.note_all(first + len(some) - len(rest), rest)
    return pins
