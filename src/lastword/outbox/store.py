"""The outbox on disk: reports that have not arrived, and counts of the others.

Owns the file, its tables and bounds, the handling of a damaged one, and the sum of its counts:
every report was sent, is waiting, was refused, or was dropped for a stated reason. Each step is one
transaction that is on disk before the next one begins, so a process can die only between two
steps.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

import msgspec

from lastword.errors import StoreError
from lastword.outbox.post import is_due
from lastword.outbox.report import FailureReport
from lastword.platform.files import CREATE, lock, unlock
from lastword.platform.pipes import close
from lastword.record import store as files
from lastword.record.paths import make_folder
from lastword.record.thread import gate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lastword.outbox.report import ReportTarget


MAX_REPORTS = 1000
MAX_BYTES = 4 * 1024 * 1024
MAX_AGE_SECONDS = 7 * 24 * 3600.0
APPLICATION_ID = 0x4C574F42
"""The application's id in SQLite's file header: `LWOB`."""

VERSION = 1
_TABLES = (
    """CREATE TABLE reports (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        report_id TEXT NOT NULL UNIQUE,
        target TEXT NOT NULL,
        place TEXT NOT NULL,
        at_epoch_ms INTEGER NOT NULL,
        body BLOB NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        dead INTEGER NOT NULL DEFAULT 0,
        said TEXT NOT NULL DEFAULT ''
    )""",
    """CREATE TABLE targets (
        target TEXT PRIMARY KEY,
        failures INTEGER NOT NULL DEFAULT 0,
        due_epoch_ms INTEGER NOT NULL DEFAULT 0,
        said TEXT NOT NULL DEFAULT ''
    )""",
    "CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
)

TAKEN = "taken"
SENT = "sent"
CLEARED = "cleared"
WITHDRAWN = "withdrawn"
REFUSED = "refused"
"""All that were ever refused; a refused report is counted again when it is cleared or dropped."""
DROPPED = ("dropped_full", "dropped_old", "dropped_unwritten", "dropped_damaged")
COUNTS = (TAKEN, SENT, CLEARED, REFUSED, *DROPPED)

NEXT = """SELECT id, body FROM reports WHERE target = ? AND dead = 0
    ORDER BY tries, id LIMIT 1"""
"""Those with the fewest attempts come first, so that one that always fails delays no others."""


class OutboxItem(Protocol):
    """An item of an outbox: a struct that is written as JSON."""

    @property
    def report_id(self) -> str:
        """Its id, the same in each attempt to send it."""
        ...

    @property
    def at_epoch_ms(self) -> int:
        """When it happened, in milliseconds since 1970 UTC."""
        ...


Item = TypeVar("Item", bound=OutboxItem)


class Pace(msgspec.Struct, frozen=True):
    """The state of sending to one target.

    Attributes:
        target: identifies the target.
        place: the target's place.
        failures: the number of failures in a row.
        due_epoch_ms: the earliest time of the next attempt.
        reason: why the last attempt failed.
        waiting: the number of waiting reports.
        oldest_epoch_ms: when the oldest of them happened.
    """

    target: str
    place: str
    failures: int
    due_epoch_ms: int
    reason: str = msgspec.field(name="said")
    waiting: int
    oldest_epoch_ms: int


class Status(msgspec.Struct, Generic[Item], frozen=True):
    """The state of the outbox.

    Attributes:
        waiting: the number of reports that will be tried again.
        dead: the number of reports that were refused for good.
        bytes: the size of both.
        counts: the outcomes of the others, by `COUNTS`.
        targets: the targets of the waiting ones.
        dead_letters: the last refused reports: where to, why, and the report.
    """

    waiting: int
    dead: int
    bytes: int
    counts: dict[str, int]
    targets: list[Pace]
    dead_letters: list[tuple[str, str, Item]]


def prepare(db: sqlite3.Connection, path: str) -> None:
    """Create the tables if needed.

    Raises:
        StoreError: It is another program's database, or that of a newer lastword.
    """
    # Count the tables first: the transaction that creates them also sets the application id.
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == VERSION and owner == APPLICATION_ID:
        return
    if owner != APPLICATION_ID and tables:
        raise StoreError(f"{path} is a database of something else; name another folder")
    if version > VERSION:
        raise StoreError(f"{path} was made by a newer lastword; update lastword")
    db.execute("BEGIN IMMEDIATE")
    # Another process may have made it while we waited.
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in _TABLES:
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def insert(db: sqlite3.Connection, report: OutboxItem, target: ReportTarget) -> None:
    """Add a report, once."""
    made = db.execute(
        "INSERT OR IGNORE INTO reports (report_id, target, place, at_epoch_ms, body)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            *(report.report_id, target.key, target.place, report.at_epoch_ms),
            msgspec.json.encode(report),
        ),
    ).rowcount
    add_to(db, TAKEN, made)


def redirect(db: sqlite3.Connection, key: str, target: ReportTarget) -> int:
    """Give the waiting reports of one target to another, as if never tried; return how many."""
    return db.execute(
        "UPDATE reports SET target = ?, place = ?, tries = 0 WHERE target = ? AND dead = 0",
        (target.key, target.place, key),
    ).rowcount


def arrived(db: sqlite3.Connection, report_ids: Iterable[str]) -> None:
    """Remove reports that have arrived, by their ids: a file may have been replaced meanwhile."""
    for each in report_ids:
        gone = db.execute("DELETE FROM reports WHERE report_id = ?", (each,)).rowcount
        add_to(db, SENT, gone)


def withdraw(db: sqlite3.Connection, report_id: str) -> None:
    """Remove what waits with this id, and count it."""
    gone = db.execute("DELETE FROM reports WHERE report_id = ? AND dead = 0", (report_id,)).rowcount
    add_to(db, WITHDRAWN, gone)


def keep_within(db: sqlite3.Connection, now: int, max_age_seconds: float) -> None:
    """Drop what is too old, and the oldest if there is too much, refused reports first."""
    oldest = now - int(max_age_seconds * 1000)
    gone = db.execute("DELETE FROM reports WHERE at_epoch_ms < ?", (oldest,)).rowcount
    add_to(db, "dropped_old", gone)
    number, size = db.execute(
        "SELECT count(*), coalesce(sum(length(body)), 0) FROM reports"
    ).fetchone()
    if number <= MAX_REPORTS and size <= MAX_BYTES:
        return
    gone = 0
    for row, length in db.execute(
        "SELECT id, length(body) FROM reports ORDER BY dead DESC, id"
    ).fetchall():
        if number - gone <= MAX_REPORTS and size <= MAX_BYTES:
            break
        db.execute("DELETE FROM reports WHERE id = ?", (row,))
        gone += 1
        size -= length
    add_to(db, "dropped_full", gone)


def add_to(db: sqlite3.Connection, name: str, more: int) -> None:
    if more:
        db.execute(
            "INSERT INTO counts (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            (name, more),
        )


def due_at(db: sqlite3.Connection, key: str) -> int:
    """Return when to try a target next, in milliseconds since 1970 UTC."""
    row = db.execute("SELECT due_epoch_ms FROM targets WHERE target = ?", (key,)).fetchone()
    return int(row[0]) if row else 0


def set_pace(
    db: sqlite3.Connection, target: ReportTarget, failures: int, due_epoch_ms: int, reason: str
) -> None:
    """Store the state of sending to a target."""
    db.execute(
        "INSERT OR REPLACE INTO targets (target, failures, due_epoch_ms, said) VALUES (?, ?, ?, ?)",
        (target.key, failures, due_epoch_ms, reason),
    )


MAX_SHOWN_LETTERS = 20


NAME = "outbox.db"
ALL = "all"
"""Every address; an address itself has a scheme."""

MAX_UNWRITTEN = 256
"""Reports that wait in memory for a disk that cannot be written."""

_Given = TypeVar("_Given")


class ItemOutbox(Generic[Item]):
    """The outbox of one folder, which several processes of the user may have open.

    Attributes:
        NAME: the file's name.
        ITEM: the class of its items.
        MAX_AGE_SECONDS: how long an item waits.
    """

    NAME: ClassVar[str]
    ITEM: ClassVar[type[OutboxItem]]
    MAX_AGE_SECONDS: ClassVar[float]

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path: str = os.path.join(folder, self.NAME)
        self._lock = threading.Lock()
        self._unwritten: deque[tuple[Item, ReportTarget]] = deque()
        self._lost = 0
        self._withdrawn: deque[str] = deque(maxlen=MAX_UNWRITTEN)
        self._done: set[str] = set()
        """Reports that have arrived but could not be deleted from a full disk."""

    # Reports that arrive.

    def add(self, reports: Sequence[Item], target: ReportTarget) -> bool:
        """Add reports, and what could not be stored before; return whether all is stored."""
        with self._lock:
            self._unwritten += [
                (report, target) for report in reports if report.report_id not in self._withdrawn
            ]
            waiting, lost, done = list(self._unwritten), self._lost, frozenset(self._done)
            if not (waiting or lost or done):
                return True

            def put(db: sqlite3.Connection) -> None:
                arrived(db, done)
                if lost:
                    add_to(db, TAKEN, lost)
                    add_to(db, "dropped_unwritten", lost)
                for report, its_target in waiting:
                    insert(db, report, its_target)
                keep_within(db, now_ms(), self.MAX_AGE_SECONDS)

            try:
                self._transact(put)
            except StoreError:
                while len(self._unwritten) > MAX_UNWRITTEN:
                    self._unwritten.popleft()
                    self._lost += 1
                return False
            self._unwritten.clear()
            self._lost = 0
            self._done -= done
            return True

    @property
    def is_stored(self) -> bool:
        """Return whether none of the reports waits in memory."""
        return not self._unwritten

    # Reports to send.

    def next_report(self, target: ReportTarget) -> Item | None:
        """Return the report to send now, its attempt counted; `None` if none is due.

        Raises:
            StoreError: The outbox cannot be written, so nothing may be sent.
        """
        now, done = now_ms(), frozenset(self._done)

        def due(db: sqlite3.Connection) -> Item | None:
            keep_within(db, now, self.MAX_AGE_SECONDS)
            arrived(db, done)
            if not is_due(due_at(db, target.key), now):
                return None
            while (row := db.execute(NEXT, (target.key,)).fetchone()) is not None:
                number, body = row
                report = self._decoded(body)
                if report is not None:
                    db.execute("UPDATE reports SET tries = tries + 1 WHERE id = ?", (number,))
                    return report
                db.execute("DELETE FROM reports WHERE id = ?", (number,))
                add_to(db, "dropped_damaged", 1)
            return None

        report = self._transact(due)
        self._done -= done
        return report

    def due_epoch_ms(self, target: ReportTarget) -> int | None:
        """Return when the next report is to be sent; `None` if none is waiting.

        Raises:
            StoreError: The outbox cannot be read.
        """

        def due(db: sqlite3.Connection) -> int | None:
            waits = "SELECT 1 FROM reports WHERE target = ? AND dead = 0 LIMIT 1"
            if db.execute(waits, (target.key,)).fetchone() is None:
                return None
            return due_at(db, target.key)

        return self._transact(due)

    def delivered(self, report: Item, target: ReportTarget) -> None:
        """Note that a report has arrived.

        Raises:
            StoreError: That cannot be stored; this process will not send the report again.
        """
        self._done.add(report.report_id)

        def done(db: sqlite3.Connection) -> None:
            arrived(db, [report.report_id])
            set_pace(db, target, 0, 0, "")

        self._transact(done)
        self._done.discard(report.report_id)

    def refused(self, report: Item, target: ReportTarget, reason: str) -> None:
        """Note that a report will never be accepted.

        Raises:
            StoreError: That cannot be stored.
        """

        def dead(db: sqlite3.Connection) -> None:
            died = "UPDATE reports SET dead = 1, said = ? WHERE report_id = ? AND dead = 0"
            gone = db.execute(died, (reason, report.report_id)).rowcount
            add_to(db, REFUSED, gone)
            set_pace(db, target, 0, 0, "")

        self._transact(dead)

    def failed(self, target: ReportTarget, reason: str, wait: Callable[[int], float]) -> None:
        """Note a failed attempt; `wait` returns the seconds to the next one.

        Raises:
            StoreError: That cannot be stored.
        """

        def later(db: sqlite3.Connection) -> None:
            row = db.execute(
                "SELECT failures FROM targets WHERE target = ?", (target.key,)
            ).fetchone()
            failures = (row[0] if row else 0) + 1
            set_pace(db, target, failures, now_ms() + int(wait(failures) * 1000), reason)

        self._transact(later)

    def redirect(self, place: str, target: ReportTarget) -> tuple[int, bool]:
        """Give reports that wait for another address to a target.

        Args:
            place: The address, as `Pace.place`, or `ALL` for every other one.
            target: Where they are to go.

        Returns:
            How many there were, and whether others stay because a process is sending them now.

        Raises:
            StoreError: It cannot be used.
        """
        others = [
            pace.target
            for pace in self.status().targets
            if pace.target != target.key and place in {pace.place, ALL}
        ]
        moved, is_busy = 0, False
        for key in others:
            with self._as_sender(key) as is_ours:
                if is_ours:
                    moved += self._transact(partial(redirect, key=key, target=target))
                else:
                    is_busy = True
        return moved, is_busy

    def as_sender(self, target: ReportTarget) -> contextlib.AbstractContextManager[bool]:
        """Become the one process that sends to a target; return whether this process is.

        Raises:
            StoreError: The folder cannot be written.
        """
        return self._as_sender(target.key)

    @contextlib.contextmanager
    def _as_sender(self, key: str) -> Iterator[bool]:
        number = _lock_file(os.path.join(self.folder, f"outbox-{key}.lock"))
        try:
            try:
                lock(number, wait=False)
            except OSError:
                yield False
            else:
                _locked.add(number)
                try:
                    yield True
                finally:
                    _locked.discard(number)
                    # A process that was forked just before has the lock as well.
                    unlock(number)
        finally:
            os.close(number)

    # Status and commands.

    def _decoded(self, body: object) -> Item | None:
        """Return the item in a row; `None` if it cannot be read."""
        try:
            item = msgspec.json.decode(body, type=self.ITEM) if isinstance(body, bytes) else None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return item  # type: ignore[return-value]

    def status(self) -> Status[Item]:
        """Return its status.

        Raises:
            StoreError: It cannot be used.
        """
        now = now_ms()

        def read(db: sqlite3.Connection) -> Status[Item]:
            keep_within(db, now, self.MAX_AGE_SECONDS)
            waiting, dead, size = db.execute(
                "SELECT coalesce(sum(dead = 0), 0), coalesce(sum(dead), 0),"
                " coalesce(sum(length(body)), 0) FROM reports"
            ).fetchone()
            counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
            counts.update(db.execute("SELECT name, value FROM counts"))
            paces = db.execute(
                "SELECT r.target, place, failures, due_epoch_ms, t.said, count(*), min(at_epoch_ms)"
                " FROM reports r LEFT JOIN targets t USING (target) WHERE dead = 0"
                " GROUP BY r.target"
            )
            targets = [
                Pace(key, place, failures or 0, due or 0, reason or "", number, oldest)
                for key, place, failures, due, reason, number, oldest in paces
            ]
            refused = db.execute(
                "SELECT place, said, body FROM reports WHERE dead = 1 ORDER BY id DESC LIMIT ?",
                (MAX_SHOWN_LETTERS,),
            )
            letters = [
                (place, reason, report)
                for place, reason, body in refused
                if (report := self._decoded(body)) is not None
            ]
            return Status(waiting, dead, size, counts, targets, letters)

        return self._transact(read)

    def clear_dead(self) -> int:
        """Remove the refused reports; return how many there were.

        Raises:
            StoreError: It cannot be used.
        """

        def clear(db: sqlite3.Connection) -> int:
            gone = db.execute("DELETE FROM reports WHERE dead = 1").rowcount
            add_to(db, CLEARED, gone)
            return gone

        return self._transact(clear)

    def withdraw(self, report_id: str) -> None:
        """Remove an item that waits and is no longer true.

        Raises:
            StoreError: It cannot be used.
        """
        with self._lock:
            self._withdrawn.append(report_id)
            self._unwritten = deque(
                each for each in self._unwritten if each[0].report_id != report_id
            )
        if os.path.exists(self.path):
            self._transact(lambda db: withdraw(db, report_id))

    def hurry(self, target: ReportTarget) -> None:
        """Make waiting reports due at once.

        Raises:
            StoreError: It cannot be used.
        """
        self._transact(lambda db: set_pace(db, target, 0, 0, ""))

    def _transact(self, work: Callable[[sqlite3.Connection], _Given]) -> _Given:
        """Run one transaction on its own connection: the file may have been replaced."""
        for last in (False, True):
            try:
                with gate.use(), self._opened() as db:
                    db.execute("BEGIN IMMEDIATE")
                    given = work(db)
                    db.execute("COMMIT")
                    return given
            except (sqlite3.Error, UnicodeDecodeError) as error:
                failure = files.as_sqlite(error)
                if last or not files.is_broken(failure):
                    why = files.reason_of(failure)
                    raise StoreError(f"{self.path} cannot be used: {why}") from failure
                with gate.use():
                    self._set_aside()
        raise AssertionError  # the second attempt returns or raises

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            make_folder(self.folder)
            files.make_private(self.path)
        except OSError as error:
            why = (error.strerror or "failed").lower()
            raise StoreError(f"{self.path} cannot be written ({why})") from error
        connection = sqlite3.connect(self.path, timeout=files.BUSY_SECONDS, isolation_level=None)
        try:
            # A rollback journal: no file stays beside it, and what is committed is on the disk.
            connection.execute("PRAGMA synchronous = FULL")
            prepare(connection, self.path)
            yield connection
        finally:
            connection.close()

    def _set_aside(self) -> None:
        """Start a new file if this one is damaged, in only one of the processes that notice it."""
        number = _lock_file(f"{self.path}.lock")
        try:
            lock(number)
            try:
                with self._opened() as db:
                    result = db.execute("PRAGMA integrity_check").fetchone()
                    is_damaged = bool(result[0] != "ok")
            except sqlite3.Error as error:
                is_damaged = files.is_broken(error)
            if not is_damaged:
                return
            files.set_aside(self.path, files.file_of(self.path))
            with self._opened() as db:
                # The number of reports in it is unknown.
                add_to(db, TAKEN, 1)
                add_to(db, "dropped_damaged", 1)
        finally:
            os.close(number)


class Outbox(ItemOutbox[FailureReport]):
    """The outbox of reports."""

    NAME: ClassVar[str] = NAME
    ITEM: ClassVar[type[OutboxItem]] = FailureReport
    MAX_AGE_SECONDS: ClassVar[float] = MAX_AGE_SECONDS


def _lock_file(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | CREATE, 0o600)
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be written ({why})") from error


_locked: set[int] = set()
"""The descriptors that hold a sender's lock."""


def _close_inherited() -> None:
    """Close these in a forked child, which would keep the locks if its parent were killed."""
    for number in _locked:
        close(number)
    _locked.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_close_inherited)


def now_ms() -> int:
    """Return the time of day, in milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000
