"""A session's log on disk: one SQLite file for each session.

Owns the file: its permissions, settings and epoch, and the handling of a broken file or a disk
that cannot be written. One row holds what was appended in one call, so that a commit costs about
1 µs a frame with a fast agent. The pinned entries are saved at a trim and at the end; what later
rows have pinned is read from these rows. Deleting a log means deleting its file.

The journal mode is WAL with `synchronous=NORMAL`. A process that dies loses nothing that was
committed; a machine that loses power may lose the last commits, so a log that was not closed
cleanly gets a new epoch after a reboot. Checkpoints within a commit take 15 to 22 ms at p99.9
(fsync), so a separate thread makes them.

Batches: log entries that were committed together, kept for reading. Owns the newest batches in
memory, and where a bounded read ends. `sqlite` stores them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections import OrderedDict, deque
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lastword.gateway.log import files
from lastword.gateway.log.entries import OVERHEAD_BYTES, LogEntry, Numbered, Pins
from lastword.gateway.log.store import (
    BATCH_BYTES,
    BATCH_ENTRIES,
    Committed,
    LogUnavailableError,
    new_epoch,
)
from lastword.record.store import make_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lastword.gateway.log.store import Observer


FORMAT = 1
CHECKPOINT_BYTES = 1024 * 1024
"""How large the write-ahead log grows before it is checkpointed."""

WAL_LIMIT_BYTES = 16 * 1024 * 1024
"""Beyond this size, reading from the agent pauses until a checkpoint has caught up."""

RECENT_BATCHES = 8
"""How many batches that were read from the file are kept: viewers that lag together, or whose reads
end within a batch, soon read them again."""

BUSY_SECONDS = 2.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS batches (first INTEGER PRIMARY KEY, last INTEGER NOT NULL,
    until_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, entries BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS pins (name TEXT PRIMARY KEY, seq INTEGER NOT NULL,
    entry BLOB NOT NULL) WITHOUT ROWID""",
)
_encoder = msgspec.msgpack.Encoder()
_entries_of = msgspec.msgpack.Decoder(list[LogEntry])
_entry_of = msgspec.msgpack.Decoder(LogEntry)


def boot_id() -> str:
    """Return the id of this boot of the machine; empty if the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class LogCopy(NamedTuple):
    """What a log's file is written from.

    Attributes:
        epoch: the log's epoch.
        last: the number of its last entry, whether that is among the batches or not.
        facts: the remembered facts.
        batches: entries with the number of the first, without a gap between.
        pins: the pinned entries as of the last entry.
    """

    epoch: str
    last: int
    facts: dict[str, str]
    batches: Sequence[tuple[int, Sequence[LogEntry]]]
    pins: Pins


class SqliteLog:
    """A log in a file, whose only writer is this process."""

    def __init__(self, path: str) -> None:
        """Open a log, creating it if needed. A broken file is set aside, not deleted.

        Raises:
            LogUnavailableError: It cannot be used or replaced.
        """
        self.path = path
        self.reason: str = ""
        """Why it has a new epoch; empty if it continues under the one it had."""
        self.observers: list[Observer] = []
        self._is_finished = False
        try:
            self._open()
        except (sqlite3.Error, msgspec.MsgspecError, ValueError) as error:
            # An error without a code is about the contents; a full disk's has one.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                raise LogUnavailableError(f"{path} cannot be used ({error})") from error
            facts = _facts_in(files.set_aside(path))
            try:
                self._open()
                self._remember(**facts)
            except sqlite3.Error as still:
                raise LogUnavailableError(f"{path} cannot be used ({still})") from still
            self.reason = "damaged"
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            raise LogUnavailableError(f"{path} cannot be written ({reason})") from error

    def _open(self) -> None:
        make_private(self.path)
        self._db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise
        self._checkpoints = _Checkpoints(self.path)

    def _prepare(self) -> None:
        db = self._db
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        for table in _TABLES:
            db.execute(table)
        facts = dict(db.execute("SELECT name, value FROM facts"))
        if facts.get("format", str(FORMAT)) != str(FORMAT):
            raise LogUnavailableError(f"{self.path} was written by another version; move it away")
        if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("database disk image is malformed")
        first, last, size = db.execute(
            "SELECT min(first), max(last), total(bytes) FROM batches"
        ).fetchone()
        self.head: int = last if last is not None else int(facts.get("trimmed", "0"))
        self.first: int = first if first is not None else self.head + 1
        pinned = facts.get("pinned", str(self.head))
        boot, inode = boot_id(), _inode_of(self.path)
        if "epoch" not in facts:
            self.reason = "new"
        elif facts.get("inode") != inode:
            self.reason = "restored"
        elif facts.get("clean") != "1" and facts.get("boot") != boot:
            self.reason = "rebooted"  # while it was written: the last commits may be lost
        else:
            self.reason = ""
        self.epoch: str = new_epoch() if self.reason else facts["epoch"]
        own = {"format": str(FORMAT), "epoch": self.epoch, "boot": boot, "inode": inode}
        self._remember(**own, clean="0", pinned=pinned)
        self._tail = Tail()
        self._recent: OrderedDict[int, Batch] = OrderedDict()
        """Batches that were read from the file last, by their first number."""
        self.size_bytes: int = int(size)
        self.written_bytes: int = self.size_bytes
        self.pins: Pins
        self.pins, self._unsaved = pins_in(db, int(pinned))

    def _remember(self, **facts: str) -> None:
        self._db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def remember(self, name: str, value: str) -> None:
        """Store a fact about the session beside its entries.

        Raises:
            LogUnavailableError: It is not stored.
        """
        try:
            self._remember(**{f"session.{name}": value})
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error

    def remembered(self, name: str) -> str:
        """Return a stored fact; empty if there is none.

        Raises:
            LogUnavailableError: The file cannot be read.
        """
        key = (f"session.{name}",)
        try:
            row = self._db.execute("SELECT value FROM facts WHERE name=?", key).fetchone()
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error
        return row[0] if row else ""

    @property
    def facts(self) -> dict[str, str]:
        """The stored facts.

        Raises:
            LogUnavailableError: The file cannot be read.
        """
        try:
            rows = self._db.execute("SELECT name, value FROM facts WHERE name LIKE 'session.%'")
            return {name.removeprefix("session."): value for name, value in rows}
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error

    def renew_epoch(self) -> None:
        """Continue under another epoch: the numbers mean other entries elsewhere.

        Raises:
            LogUnavailableError: It is not stored.
        """
        epoch = new_epoch()
        try:
            self._remember(epoch=epoch)
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error
        self.epoch = epoch

    @property
    def is_behind(self) -> bool:
        """Return whether so much awaits a checkpoint that reading from the agent should pause."""
        return self._checkpoints.waiting_bytes > WAL_LIMIT_BYTES

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Commit entries.

        Raises:
            LogUnavailableError: They are not committed; the disk is full, or can be written no
                more.
        """
        if not entries:
            return self.head
        began = time.perf_counter()
        first = self.head + 1
        batch = Batch.of(first, entries)
        size = batch.size
        last = self.head + len(entries)
        row = (first, last, entries[-1].at_ms, size, _encoder.encode(entries))
        try:
            self._db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error
        self._unsaved.update(self.pins.note_all(first, entries))
        self.head = last
        self.size_bytes += size
        self.written_bytes += size
        self._checkpoints.written(size)
        self._tail.add(batch)
        if self.observers:
            committed = Committed(entries, size, time.perf_counter() - began)
            for observer in self.observers:
                observer(committed)
        return last

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """Return the oldest entries after a number; a batch that cannot be read counts as missing.

        Raises:
            LogUnavailableError: The file cannot be read.
        """
        recent = self._tail.after(after)
        if recent is not None:
            return read_whole(recent, after, max_entries, max_bytes)
        bounds = {"max_entries": max_entries, "max_bytes": max_bytes}
        try:
            return read_batches(self._db, after, **bounds, recent=self._recent)
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error

    def _save_pins(self) -> None:
        """Write what the entries since the last call have pinned."""
        changes = self._unsaved.items()
        pinned = [(key, each.seq, _encoder.encode(each.entry)) for key, each in changes if each]
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("DELETE FROM pins WHERE name=?", [(key,) for key, _ in changes])
            self._db.executemany("INSERT INTO pins VALUES (?, ?, ?)", pinned)
            self._remember(pinned=str(self.head))
        self._unsaved.clear()

    def trim(self, *, limit_bytes: int) -> int:
        """Drop the oldest entries in whole batches; the newest batch stays.

        Raises:
            LogUnavailableError: The disk is full, or can be written no more.
        """
        first, gone_bytes = self.first, 0
        try:
            self._save_pins()
            rows = self._db.execute("SELECT last, bytes FROM batches ORDER BY first")
            with contextlib.closing(rows):
                for last, size in rows:
                    if last >= self.head or self.size_bytes - gone_bytes <= limit_bytes:
                        break
                    gone_bytes += size
                    first = last + 1
            gone = first - self.first
            if gone:
                self._db.execute("DELETE FROM batches WHERE first < ?", (first,))
        except sqlite3.Error as error:
            raise LogUnavailableError(str(error)) from error
        if gone:
            self.first = first
            self._tail.forget_before(first)
            self.size_bytes -= gone_bytes
            self._checkpoints.written(gone_bytes // 16)
        return gone

    def finish(self) -> None:
        """Write nothing more: from here on, another process may write the file."""
        if self._is_finished:
            return
        self._is_finished = True
        self._checkpoints.close()
        with contextlib.suppress(sqlite3.Error):
            self._save_pins()
        with contextlib.suppress(sqlite3.Error):
            self._remember(clean="1")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file cleanly."""
        self.finish()
        self._db.close()


def write_copy(path: str, copy: LogCopy) -> None:
    """Write a log's file with what another store has of it, in place of one that is there.

    Raises:
        LogUnavailableError: It cannot be written.
    """
    made = f"{path}.copy"
    files.delete(made)
    try:
        make_private(made)
        with contextlib.closing(sqlite3.connect(made, isolation_level=None)) as db:
            db.execute("BEGIN")
            for table in _TABLES:
                db.execute(table)
            facts = {"format": str(FORMAT), "epoch": copy.epoch, "boot": boot_id(), "clean": "1"}
            facts |= {"inode": _inode_of(made), "trimmed": str(copy.last)}
            facts |= {f"session.{name}": value for name, value in copy.facts.items()}
            db.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
            for first, entries in copy.batches:
                last, size = first + len(entries) - 1, Batch.of(first, entries).size
                row = (first, last, entries[-1].at_ms, size, _encoder.encode(entries))
                db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?)", row)
            pins = [(name, seq, _encoder.encode(entry)) for name, (seq, entry) in copy.pins.items()]
            db.executemany("INSERT INTO pins VALUES (?, ?, ?)", pins)
            db.execute("COMMIT")
        for companion in reversed(files.COMPANIONS[1:]):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + companion)
        os.replace(made, path)
    except (sqlite3.Error, OSError) as error:
        files.delete(made)
        raise LogUnavailableError(f"{path} cannot be written ({error})") from error


def _facts_in(path: str) -> dict[str, str]:
    """Return the session's facts in a damaged file, as far as they can be read."""
    rows = "SELECT name, value FROM facts WHERE name LIKE 'session.%'"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema=ON")  # a file that was cut is read, too
        return dict(db.execute(rows))
    return {}


def _inode_of(path: str) -> str:
    status = os.stat(path)
    return f"{status.st_dev}:{status.st_ino}"


def read_batches(
    db: sqlite3.Connection,
    after: int,
    *,
    max_entries: int,
    max_bytes: int,
    recent: OrderedDict[int, Batch],
) -> list[Numbered]:
    """Return the oldest entries after a number in a log's file.

    A batch that cannot be read counts as missing. Those in `recent` are not read again.
    """
    rows = db.execute(
        "SELECT first, entries FROM batches WHERE first >="
        " coalesce((SELECT max(first) FROM batches WHERE first <= ?), 0) AND last > ?"
        " ORDER BY first",
        (after + 1, after),
    )
    with contextlib.closing(rows):
        return read_whole(_decoded(rows, recent), after, max_entries, max_bytes)


def _decoded(rows: Iterable[tuple[int, bytes]], recent: OrderedDict[int, Batch]) -> Iterator[Batch]:
    """Decode the batches of rows; stop at the first unreadable one after a readable one."""
    is_any = False
    for first, blob in rows:
        batch = recent.get(first)
        if batch is None:
            try:
                entries = _entries_of.decode(blob)
            except msgspec.MsgspecError:
                if is_any:
                    return
                continue
            batch = Batch.of(first, entries)
            if batch.size <= BATCH_BYTES:
                recent[first] = batch
            if len(recent) > RECENT_BATCHES:
                recent.popitem(last=False)
        is_any = True
        yield batch


def pins_in(db: sqlite3.Connection, saved: int) -> tuple[Pins, dict[str, Numbered | None]]:
    """Return the pinned entries of a log's file, and what has changed in them since this entry."""
    rows = db.execute("SELECT name, seq, entry FROM pins ORDER BY seq")
    pins = Pins((name, Numbered(seq, _entry_of.decode(entry))) for name, seq, entry in rows)
    changes: dict[str, Numbered | None] = {}
    query = "SELECT first, entries FROM batches WHERE first > ? ORDER BY first"
    for first, blob in db.execute(query, (saved,)):
        with contextlib.suppress(msgspec.MsgspecError):  # it counts as missing
            changes.update(pins.note_all(first, _entries_of.decode(blob)))
    return pins, changes


class _Checkpoints:
    """The thread that moves commits from the write-ahead log into the file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.waiting_bytes: int = 0
        """Approximately how much waits for a checkpoint."""
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def written(self, size: int) -> None:
        """Note that this many bytes were committed."""
        with self._lock:
            self.waiting_bytes += size
            if self.waiting_bytes > CHECKPOINT_BYTES:
                self._due.set()
        if self._thread is None and self._due.is_set():
            self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        db = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        with contextlib.closing(db):
            while self._due.wait() and not self._closed:
                self._due.clear()
                before = self.waiting_bytes
                try:
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                except sqlite3.Error:  # the writer notices a full disk itself
                    time.sleep(1.0)
                with self._lock:
                    # What came meanwhile is not in it. Nobody may write until it is: a session
                    # whose log is behind has its agent wait.
                    self.waiting_bytes -= before
                    if self.waiting_bytes > CHECKPOINT_BYTES:
                        self._due.set()

    def close(self) -> None:
        self._closed = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()


TAIL_BYTES = 128 * 1024
"""How much of a log's end is kept in memory: viewers that keep up read what was just committed."""

STRIDE = 128
"""Reads end at about a multiple of this many entries, wherever they began."""


class Batch(NamedTuple):
    """Entries that were committed together, and their size in bytes."""

    entries: list[Numbered]
    size: int

    @classmethod
    def of(cls, first: int, entries: Sequence[LogEntry]) -> Batch:
        """Return a batch of entries numbered from `first`."""
        numbered = list(map(Numbered, range(first, first + len(entries)), entries))
        return cls(numbered, _size(numbered))

    def after(self, seq: int) -> Batch:
        """Return its entries after a number."""
        first = self.entries[0].seq
        if first > seq:
            return self
        rest = self.entries[seq + 1 - first :]
        return Batch(rest, _size(rest))


class Tail:
    """The newest batches of a log in memory, for readers that keep up."""

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._bytes = 0

    def add(self, batch: Batch) -> None:
        """Add a batch, and drop the oldest ones."""
        self._batches.append(batch)
        self._bytes += batch.size
        while self._bytes > TAIL_BYTES and len(self._batches) > 1:
            self._bytes -= self._batches.popleft().size

    def forget_before(self, first: int) -> None:
        """Drop the batches that end before a number."""
        while self._batches and self._batches[0].entries[-1].seq < first:
            self._bytes -= self._batches.popleft().size

    def after(self, after: int) -> Iterator[Batch] | None:
        """Return the batches from the one with the next entry on; `None` if it is not here."""
        if not self._batches or after + 1 < self._batches[0].entries[0].seq:
            return None
        newest_first = takewhile(lambda each: each.entries[-1].seq > after, reversed(self._batches))
        return reversed(list(newest_first))


def _size(entries: list[Numbered]) -> int:
    return sum([len(entry.frame) for _, entry in entries]) + OVERHEAD_BYTES * len(entries)


def read_whole(
    batches: Iterable[Batch], after: int, max_entries: int, max_bytes: int
) -> list[Numbered]:
    """Return the next entries of these batches within bounds, in whole batches if possible.

    It ends with the batch in which the next stride ends, so that viewers which lag by different
    amounts come to read the same.
    """
    entries_read: list[Numbered] = []
    size = 0
    for batch in batches:
        entries, more = batch.after(after)
        size += more
        if size <= max_bytes and len(entries_read) + len(entries) <= max_entries:
            entries_read += entries
            if entries_read[-1].seq // STRIDE > (entries_read[0].seq - 1) // STRIDE:
                break
        elif entries_read:
            break
        else:  # a part of the batch, but at least one entry
            size = 0
            for count, (_, entry) in enumerate(entries[:max_entries]):
                size += entry.size
                if count and size > max_bytes:
                    return entries[:count]
            return entries[:max_entries]
    return entries_read
