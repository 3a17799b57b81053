"""The outbox on disk: reports that have not arrived, and the counts of what became of the others.

Owns the file, its bounds, and that its counts add up: what was ever put into it was sent, waits, is
dead, or was dropped for a reason that is told. Each step is one transaction that is on disk before
the next begins, so that whatever ends a process ends it between two.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lastword.errors import StoreError
from lastword.outbox.report import FailureReport
from lastword.outbox.schedule import is_due
from lastword.record import store as files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lastword.outbox.target import ReportTarget

NAME = "outbox.db"
MAX_REPORTS = 1000
MAX_BYTES = 4 * 1024 * 1024
MAX_AGE_SECONDS = 7 * 24 * 3600.0
MAX_UNWRITTEN = 256
"""Reports that wait in memory for a disk that takes none."""

APPLICATION_ID = 0x4C574F42
"""SQLite's mark of whose file this is: `LWOB`."""

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
DROPPED = ("dropped_full", "dropped_old", "dropped_unwritten", "dropped_damaged")
COUNTS = (TAKEN, SENT, CLEARED, *DROPPED)

_NEXT = """SELECT id, body FROM reports WHERE target = ? AND dead = 0
    ORDER BY tries, id LIMIT 1"""
"""Those that were tried least come first: one that always fails holds no other up."""

_Given = TypeVar("_Given")


class Waiting(msgspec.Struct, frozen=True):
    """A report that is to be sent now.

    Attributes:
        number: of its row.
        report: what it says.
    """

    number: int
    report: FailureReport


class Pace(msgspec.Struct, frozen=True):
    """How the sending to one target goes.

    Attributes:
        place: where it is.
        failures: how often in a row it failed.
        due_epoch_ms: not before then.
        said: why it failed last.
        waiting: reports.
        oldest_epoch_ms: when the oldest of them happened.
    """

    place: str
    failures: int
    due_epoch_ms: int
    said: str
    waiting: int
    oldest_epoch_ms: int


class Status(msgspec.Struct, frozen=True):
    """How the outbox is.

    Attributes:
        waiting: reports that will be tried again.
        dead: reports that were refused for good.
        bytes: of both.
        counts: what became of the others, by `COUNTS`.
        targets: where the waiting ones go.
        dead_letters: the last of the refused: where to, why, and what.
    """

    waiting: int
    dead: int
    bytes: int
    counts: dict[str, int]
    targets: list[Pace]
    dead_letters: list[tuple[str, str, FailureReport]]


class Outbox:
    """The outbox of one folder; every process of the user's may have it open."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, NAME)
        self._lock = threading.Lock()
        self._unwritten: deque[tuple[FailureReport, ReportTarget]] = deque()
        self._lost = 0
        self._done: set[int] = set()
        """Rows that are over, and that a full disk would not let go of."""

    # What comes in.

    def add(self, reports: Sequence[FailureReport], target: ReportTarget) -> bool:
        """Put reports in, and those that could not be put in before; gives whether all are in."""
        with self._lock:
            self._unwritten += [(report, target) for report in reports]
            if not (self._unwritten or self._lost) or self._write():
                return True
            while len(self._unwritten) > MAX_UNWRITTEN:
                self._unwritten.popleft()
                self._lost += 1
            return False

    def _write(self) -> bool:
        kept, lost = list(self._unwritten), self._lost

        def put(db: sqlite3.Connection) -> None:
            if lost:
                _count(db, TAKEN, lost)
                _count(db, "dropped_unwritten", lost)
            for report, target in kept:
                _put(db, report, target)
            _keep_within(db, now_ms())

        try:
            self._transact(put)
        except StoreError:
            return False
        self._unwritten.clear()
        self._lost = 0
        return True

    # What goes out.

    def take(self, target: ReportTarget) -> Waiting | None:
        """The report that is to be sent there now, its try counted; `None` where none is due.

        Raises:
            StoreError: The outbox cannot be written, so that nothing may be sent.
        """
        now = now_ms()

        def take(db: sqlite3.Connection) -> Waiting | None:
            _keep_within(db, now)
            for number in self._done:
                gone = db.execute("DELETE FROM reports WHERE id = ?", (number,)).rowcount
                _count(db, SENT, gone)
            if not is_due(_due(db, target.key), now):
                return None
            while (found := db.execute(_NEXT, (target.key,)).fetchone()) is not None:
                number, body = found
                report = _decoded(body)
                if report is not None:
                    db.execute("UPDATE reports SET tries = tries + 1 WHERE id = ?", (number,))
                    return Waiting(number, report)
                db.execute("DELETE FROM reports WHERE id = ?", (number,))
                _count(db, "dropped_damaged", 1)
            return None

        found = self._transact(take)
        self._done.clear()
        return found

    def due_epoch_ms(self, target: ReportTarget) -> int | None:
        """When the next report is to be sent there; `None` where none waits.

        Raises:
            StoreError: The outbox cannot be read.
        """

        def due(db: sqlite3.Connection) -> int | None:
            waits = "SELECT 1 FROM reports WHERE target = ? AND dead = 0 LIMIT 1"
            if db.execute(waits, (target.key,)).fetchone() is None:
                return None
            return _due(db, target.key)

        return self._transact(due)

    def delivered(self, number: int, target: ReportTarget) -> None:
        """It has arrived.

        Raises:
            StoreError: That cannot be written down; this process will not send it again.
        """
        self._done.add(number)

        def done(db: sqlite3.Connection) -> None:
            gone = db.execute("DELETE FROM reports WHERE id = ?", (number,)).rowcount
            _count(db, SENT, gone)
            _set_pace(db, target, 0, 0, "")

        self._transact(done)
        self._done.discard(number)

    def refused(self, number: int, target: ReportTarget, said: str) -> None:
        """It will never be taken.

        Raises:
            StoreError: That cannot be written down.
        """

        def dead(db: sqlite3.Connection) -> None:
            db.execute("UPDATE reports SET dead = 1, said = ? WHERE id = ?", (said, number))
            _set_pace(db, target, 0, 0, "")

        self._transact(dead)

    def failed(self, target: ReportTarget, said: str, wait: Callable[[int], float]) -> None:
        """It could not be sent; `wait` gives the seconds to the next try after so many failures.

        Raises:
            StoreError: That cannot be written down.
        """

        def later(db: sqlite3.Connection) -> None:
            row = db.execute(
                "SELECT failures FROM targets WHERE target = ?", (target.key,)
            ).fetchone()
            failures = (row[0] if row else 0) + 1
            _set_pace(db, target, failures, now_ms() + int(wait(failures) * 1000), said)

        self._transact(later)

    @contextlib.contextmanager
    def as_sender(self, target: ReportTarget) -> Iterator[bool]:
        """Be the one process that sends to a target; gives whether it is this one.

        Raises:
            StoreError: The folder cannot be written.
        """
        number = _lock_file(os.path.join(self.folder, f"outbox-{target.key}.lock"))
        try:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True
        finally:
            os.close(number)

    # What is asked.

    def status(self) -> Status:
        """How it is.

        Raises:
            StoreError: It cannot be used.
        """
        now = now_ms()
        return self._transact(lambda db: _status(db, now))

    def clear_dead(self) -> int:
        """Forget the dead letters; gives how many there were.

        Raises:
            StoreError: It cannot be used.
        """

        def clear(db: sqlite3.Connection) -> int:
            gone = db.execute("DELETE FROM reports WHERE dead = 1").rowcount
            _count(db, CLEARED, gone)
            return gone

        return self._transact(clear)

    def hurry(self, target: ReportTarget) -> None:
        """Let what waits be tried at once.

        Raises:
            StoreError: It cannot be used.
        """
        self._transact(lambda db: _set_pace(db, target, 0, 0, ""))

    def _transact(self, work: Callable[[sqlite3.Connection], _Given]) -> _Given:
        """One transaction on a connection of its own: the file may be another by now."""
        for last in (False, True):
            try:
                with self._opened() as db:
                    db.execute("BEGIN IMMEDIATE")
                    given = work(db)
                    db.execute("COMMIT")
                    return given
            except (sqlite3.Error, UnicodeDecodeError) as error:
                said = files.as_sqlite(error)
                if last or not files.is_broken(said):
                    why = files.reason_of(said)
                    raise StoreError(f"{self.path} cannot be used: {why}") from said
                self._set_aside()
        raise AssertionError  # the second attempt gives or raises

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            files.make_folder(self.folder)
            files.make_private(self.path)
        except OSError as error:
            why = (error.strerror or "failed").lower()
            raise StoreError(f"{self.path} cannot be written ({why})") from error
        connection = sqlite3.connect(self.path, timeout=files.BUSY_SECONDS, isolation_level=None)
        try:
            # A rollback journal: no file stays beside it, and what is committed is on the disk.
            connection.execute("PRAGMA synchronous = FULL")
            _prepare(connection, self.path)
            yield connection
        finally:
            connection.close()

    def _set_aside(self) -> None:
        """Begin anew where the file is damaged, once among all processes that see it."""
        number = _lock_file(f"{self.path}.lock")
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            if not self._is_damaged():
                return
            files.set_aside(self.path)
            with self._opened() as db:
                # How many reports were in it nobody can tell any more.
                _count(db, TAKEN, 1)
                _count(db, "dropped_damaged", 1)
        finally:
            os.close(number)

    def _is_damaged(self) -> bool:
        try:
            with self._opened() as db:
                found = db.execute("PRAGMA integrity_check").fetchone()
                return bool(found[0] != "ok")
        except sqlite3.Error as error:
            return files.is_broken(error)


def _lock_file(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be written ({why})") from error


def _prepare(db: sqlite3.Connection, path: str) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    if version == VERSION and owner == APPLICATION_ID:
        return
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
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


def _put(db: sqlite3.Connection, report: FailureReport, target: ReportTarget) -> None:
    made = db.execute(
        "INSERT OR IGNORE INTO reports (report_id, target, place, at_epoch_ms, body)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            *(report.report_id, target.key, target.place, report.at_epoch_ms),
            msgspec.json.encode(report),
        ),
    ).rowcount
    _count(db, TAKEN, made)


def _keep_within(db: sqlite3.Connection, now: int) -> None:
    """Let go of what is too old, and of the oldest where there is too much: dead letters first."""
    oldest = now - int(MAX_AGE_SECONDS * 1000)
    gone = db.execute("DELETE FROM reports WHERE at_epoch_ms < ?", (oldest,)).rowcount
    _count(db, "dropped_old", gone)
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
    _count(db, "dropped_full", gone)


def _count(db: sqlite3.Connection, name: str, more: int) -> None:
    if more:
        db.execute(
            "INSERT INTO counts (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            (name, more),
        )


def _due(db: sqlite3.Connection, key: str) -> int:
    row = db.execute("SELECT due_epoch_ms FROM targets WHERE target = ?", (key,)).fetchone()
    return int(row[0]) if row else 0


def _set_pace(
    db: sqlite3.Connection, target: ReportTarget, failures: int, due_epoch_ms: int, said: str
) -> None:
    db.execute(
        "INSERT OR REPLACE INTO targets (target, failures, due_epoch_ms, said) VALUES (?, ?, ?, ?)",
        (target.key, failures, due_epoch_ms, said),
    )


MAX_SHOWN_LETTERS = 20


def _status(db: sqlite3.Connection, now: int) -> Status:
    _keep_within(db, now)
    waiting, dead, size = db.execute(
        "SELECT coalesce(sum(dead = 0), 0), coalesce(sum(dead), 0),"
        " coalesce(sum(length(body)), 0) FROM reports"
    ).fetchone()
    counts = dict.fromkeys(COUNTS, 0) | dict(db.execute("SELECT name, value FROM counts"))
    targets = [
        Pace(place, failures or 0, due or 0, said or "", number, oldest)
        for place, failures, due, said, number, oldest in db.execute(
            "SELECT place, failures, due_epoch_ms, t.said, count(*), min(at_epoch_ms)"
            " FROM reports r LEFT JOIN targets t USING (target) WHERE dead = 0 GROUP BY r.target"
        )
    ]
    letters = [
        (place, said, report)
        for place, said, body in db.execute(
            "SELECT place, said, body FROM reports WHERE dead = 1 ORDER BY id DESC LIMIT ?",
            (MAX_SHOWN_LETTERS,),
        )
        if (report := _decoded(body)) is not None
    ]
    return Status(waiting, dead, size, counts, targets, letters)


def _decoded(body: object) -> FailureReport | None:
    """The report of a row; `None` for one that cannot be read."""
    try:
        return msgspec.json.decode(body, type=FailureReport) if isinstance(body, bytes) else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def now_ms() -> int:
    """The time of day, in milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000
