"""The outbox's tables: the rows, their limits, and the counts.

Owns the SQL statements, which run within the caller's transaction. `outbox.store` owns the
transactions and the handling of a damaged file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

from lastword.errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

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
"""All that were ever refused: each is dead, and counted again when it is cleared or dropped."""
DROPPED = ("dropped_full", "dropped_old", "dropped_unwritten", "dropped_damaged")
COUNTS = (TAKEN, SENT, CLEARED, REFUSED, *DROPPED)

NEXT = """SELECT id, body FROM reports WHERE target = ? AND dead = 0
    ORDER BY tries, id LIMIT 1"""
"""The least tried come first, so that one that always fails does not delay the others."""


class OutboxItem(Protocol):
    """What waits in an outbox: a struct that is written as JSON."""

    @property
    def report_id(self) -> str:
        """The same however often it is sent."""
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


def put(db: sqlite3.Connection, report: OutboxItem, target: ReportTarget) -> None:
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


def status_of(
    db: sqlite3.Connection,
    now: int,
    max_age_seconds: float,
    decode: Callable[[object], Item | None],
) -> Status[Item]:
    keep_within(db, now, max_age_seconds)
    waiting, dead, size = db.execute(
        "SELECT coalesce(sum(dead = 0), 0), coalesce(sum(dead), 0),"
        " coalesce(sum(length(body)), 0) FROM reports"
    ).fetchone()
    counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
    counts.update(db.execute("SELECT name, value FROM counts"))
    targets = [
        Pace(key, place, failures or 0, due or 0, reason or "", number, oldest)
        for key, place, failures, due, reason, number, oldest in db.execute(
            "SELECT r.target, place, failures, due_epoch_ms, t.said, count(*), min(at_epoch_ms)"
            " FROM reports r LEFT JOIN targets t USING (target) WHERE dead = 0 GROUP BY r.target"
        )
    ]
    letters = [
        (place, reason, report)
        for place, reason, body in db.execute(
            "SELECT place, said, body FROM reports WHERE dead = 1 ORDER BY id DESC LIMIT ?",
            (MAX_SHOWN_LETTERS,),
        )
        if (report := decode(body)) is not None
    ]
    return Status(waiting, dead, size, counts, targets, letters)


def decoded(body: object, item: type[Item]) -> Item | None:
    """Return what is in a row; `None` if it cannot be read."""
    try:
        return msgspec.json.decode(body, type=item) if isinstance(body, bytes) else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
