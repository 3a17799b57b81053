"""A session's log as its holder writes it, and as it is read without one.

The log that a session writes: a store on disk, and memory where the disk can take no more.

The log of a session without a holder, read from its file. Owns reading that file. Nothing is
written, not even beside it. A file that was closed cleanly is opened as immutable, since SQLite
would otherwise leave companion files, whose dates decide when a log is old enough to be deleted
(`Holders.forget_old`); if it does change, it is read again. Everything here blocks, so it runs in a
thread.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from lastword.gateway.log.files import JOURNAL
from lastword.gateway.log.sqlite import BUSY_SECONDS, FORMAT, SqliteLog, pins_in, read_batches
from lastword.gateway.log.store import (
    BATCH_BYTES,
    BATCH_ENTRIES,
    Log,
    LogUnavailableError,
    MemoryLog,
    new_epoch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.log.entries import LogEntry, Numbered, Pins
    from lastword.gateway.log.sqlite import Batch
    from lastword.gateway.log.store import Observer


class DiskLog(Log, Protocol):
    """A log on disk, as a replicated log needs it too."""

    @property
    def facts(self) -> dict[str, str]:
        """The stored facts."""
        ...

    def renew_epoch(self) -> None:
        """Continue under another epoch."""
        ...


class LastingLog:
    """A log on disk that continues in memory if the disk can take no more.

    The numbers continue in a new epoch: a viewer that returns after this process has ended must
    not mistake another entry for one it knew.
    """

    def __init__(self, disk: DiskLog) -> None:
        self._disk = disk
        self._memory: MemoryLog | None = None
        self._has_left_disk = False
        """Whether the file's entries were dropped, which a full disk cannot record."""
        self.observers: list[Observer] = disk.observers
        self.reason: str = disk.reason

    def _leave_disk(self) -> MemoryLog:
        """Continue in memory, with all pinned entries."""
        self._memory = MemoryLog(
            first=self._disk.head + 1, pins=self._disk.pins, observers=self.observers
        )
        return self._memory

    @property
    def epoch(self) -> str:
        return self._disk.epoch if self._memory is None else self._memory.epoch

    @property
    def head(self) -> int:
        return self._disk.head if self._memory is None else self._memory.head

    @property
    def first(self) -> int:
        if self._memory is None:
            return self._disk.first
        is_on_disk = not self._has_left_disk and self._disk.first <= self._disk.head
        return self._disk.first if is_on_disk else self._memory.first

    @property
    def size_bytes(self) -> int:
        on_disk = 0 if self._has_left_disk else self._disk.size_bytes
        return on_disk + (self._memory.size_bytes if self._memory is not None else 0)

    @property
    def written_bytes(self) -> int:
        in_memory = 0 if self._memory is None else self._memory.written_bytes
        return self._disk.written_bytes + in_memory

    @property
    def is_behind(self) -> bool:
        return self._memory is None and self._disk.is_behind

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Commit entries, to memory where the disk refuses them."""
        if self._memory is None:
            try:
                return self._disk.append(entries)
            except LogUnavailableError:
                return self._leave_disk().append(entries)
        return self._memory.append(entries)

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        bounds = {"max_entries": max_entries, "max_bytes": max_bytes}
        if after < self._disk.head and not self._has_left_disk:
            try:
                entries = self._disk.read(after, **bounds)
            except LogUnavailableError:
                if self._memory is None:
                    self._leave_disk()
                self._has_left_disk = True
            else:
                if entries:
                    return entries
        return self._memory.read(after, **bounds) if self._memory is not None else []

    def trim(self, *, limit_bytes: int) -> int:
        if self._memory is None:
            try:
                return self._disk.trim(limit_bytes=limit_bytes)
            except LogUnavailableError:
                return 0  # a full disk cannot even delete; `append` will then use memory
        gone = 0
        on_disk = 0 if self._has_left_disk else self._disk.size_bytes
        if on_disk and on_disk + self._memory.size_bytes > limit_bytes:
            gone = self._disk.head - self._disk.first + 1
            self._has_left_disk = True
        return gone + self._memory.trim(limit_bytes=limit_bytes)

    @property
    def pins(self) -> Pins:
        return self._disk.pins if self._memory is None else self._memory.pins

    def remember(self, name: str, value: str) -> None:
        """Store a fact about the session on disk, where a later process looks for it."""
        self._disk.remember(name, value)

    def remembered(self, name: str) -> str:
        return self._disk.remembered(name)

    @property
    def facts(self) -> dict[str, str]:
        return self._disk.facts

    def renew_epoch(self) -> None:
        if self._memory is not None:
            self._memory.epoch = new_epoch()
            return
        try:
            self._disk.renew_epoch()
        except LogUnavailableError:
            self._leave_disk()

    def finish(self) -> None:
        self._disk.finish()

    def close(self) -> None:
        self._disk.close()


def session_log(path: str) -> LastingLog:
    """Open the log of a session on disk, creating it if needed.

    Raises:
        LogUnavailableError: It cannot be used or replaced.
    """
    return LastingLog(SqliteLog(path))


_Read = TypeVar("_Read")
TRIES = 3


class StoredLog:
    """A log's file at one moment."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("BEGIN")  # all that is read is of one moment
        self.facts: dict[str, str] = dict(db.execute("SELECT name, value FROM facts"))
        if self.facts.get("format") != str(FORMAT):
            raise sqlite3.DatabaseError("the log was written by another version")
        self.epoch: str = self.facts["epoch"]
        first, last, last_ms = db.execute(
            "SELECT min(first), max(last), coalesce(max(until_ms), 0) FROM batches"
        ).fetchone()
        self.last_ms: int = last_ms
        self.head: int = last if last is not None else int(self.facts.get("trimmed", "0"))
        self.first: int = first if first is not None else self.head + 1
        self._pins: Pins | None = None
        self._recent: OrderedDict[int, Batch] = OrderedDict()

    def remembered(self, name: str) -> str:
        return self.facts.get(f"session.{name}", "")

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        return read_batches(
            self._db, after, max_entries=max_entries, max_bytes=max_bytes, recent=self._recent
        )

    @property
    def pins(self) -> Pins:
        if self._pins is None:
            self._pins, _ = pins_in(self._db, int(self.facts.get("pinned", self.head)))
        return self._pins


def reading(path: str, read: Callable[[StoredLog], _Read]) -> _Read:
    """Open a log's file for reading.

    Raises:
        FileNotFoundError: There is none.
        LogUnavailableError: It cannot be read.
    """
    for attempt in range(1, TRIES + 1):
        before = _state_of(path)
        how = "mode=ro&immutable=1" if before[1] is None else "mode=ro"
        try:
            db = sqlite3.connect(f"file:{quote(path)}?{how}", uri=True, timeout=BUSY_SECONDS)
            with contextlib.closing(db):
                result = read(StoredLog(db))
        except (sqlite3.Error, msgspec.MsgspecError, KeyError, ValueError) as error:
            os.stat(path)  # it may have been deleted just now
            if attempt == TRIES:
                raise LogUnavailableError("the session's log cannot be read") from error
            continue
        if before[1] is not None or _state_of(path) == before:
            return result
    raise LogUnavailableError("the session's log is being written")


def _state_of(path: str) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Return the date and size of the file and of its write-ahead log."""
    with contextlib.suppress(FileNotFoundError):
        return _date_of(path), _date_of(path + JOURNAL)
    return _date_of(path), None


def _date_of(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size
