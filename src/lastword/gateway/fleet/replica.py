"""A session's replica: the copy of its log that the fleet keeps.

Owns its parts; `streams` stores them. A session's stream is a sequence of messages: batches of
entries, and claims. Each has the term and the node of its writer. A writer names the message that
it expects to be the last one, and is refused if another one is; that fence alone decides who may
write. A claim begins a term, and terms only rise.

A batch that begins at or before the end of the earlier ones replaces them from its first entry on:
its writer's log counts. One that begins beyond their end follows entries that were dropped.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - msgspec reads it

import msgspec

from lastword.gateway.log.entries import LogEntry, Numbered  # noqa: TC001 - msgspec reads them

BATCH_BYTES = 256 * 1024
"""The size of a batch's entries; a single larger entry is its own batch."""

BATCH_ENTRIES = 1024
"""The largest number of entries of a batch."""

BUCKET_ENTRIES = 4096
"""Entries are dropped from a replica in blocks of this many numbers."""

STATE_ENTRIES = 1024
"""The largest number of entries that are replicated without a newer state."""


class StreamEnd(msgspec.Struct, frozen=True):
    """The end of a session's stream, from its last message.

    Attributes:
        sequence: the message's number in the store, which is the fence; 0 for a stream without
            messages.
        term: the term of its writer; 0 before the first claim.
        node: the writer's node.
        epoch: the epoch of the log as of then.
        last: the number of the last entry that is in the stream or was dropped from it.
    """

    sequence: int = 0
    term: int = 0
    node: str = ""
    epoch: str = ""
    last: int = 0


EMPTY = StreamEnd()
"""The end of a stream that has no message."""


class LogState(msgspec.Struct, frozen=True):
    """What is needed beside the entries to rebuild a session's log.

    Attributes:
        epoch: the log's epoch.
        last: the number of the entry up to which the pins are complete.
        facts: the remembered facts (`Log.remember`).
        pins: the pinned entries, with their keys.
    """

    epoch: str
    last: int
    facts: dict[str, str]
    pins: list[tuple[str, Numbered]]


class ReplicaBatch(msgspec.Struct, frozen=True):
    """Entries to be stored in one step, all or none.

    Attributes:
        epoch: the log's epoch.
        first: the number of the first entry; of the next one, if there is none.
        entries: the entries; none if only the state is stored.
        state: the state to be stored with them, as of before them; `None` for none.
    """

    epoch: str
    first: int
    entries: Sequence[LogEntry] = ()
    state: LogState | None = None

    @property
    def last(self) -> int:
        """Return the number of the last entry; `first - 1` without entries."""
        return self.first + len(self.entries) - 1


class StoredBatch(msgspec.Struct, frozen=True):
    """A batch as it was read, with the end of the stream behind it."""

    end: StreamEnd
    first: int
    entries: list[LogEntry]
