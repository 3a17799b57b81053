"""The one writer of a run: batches of entries into the store, whatever the disk does.

Owns what is kept while the store cannot be written, and when old records are removed. It may wait
for the disk, so it works in a process or a thread of its own (`record.process`, `record.thread`).
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from lastword.core.timeline.entry import Kind
from lastword.errors import StoreError
from lastword.record import retention, store, turns
from lastword.record.forks import gate
from lastword.record.run import storable

if TYPE_CHECKING:
    from lastword.record.run import Row, Run

MAX_PENDING = 10_000
"""Entries that wait for a store that cannot be written; beyond it the oldest are lost and
counted."""

RETRY_SECONDS = 5.0

TIDY_SECONDS = 3600.0
"""How often a long run looks at the limits again."""


class Writer:
    """Writes one run's entries."""

    def __init__(self, path: str, run: Run, limits: retention.Limits | None = None) -> None:
        self._path = path
        self._run = run
        self._limits = limits or retention.Limits()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._row_id = 0
        self._pending: list[Row] = []
        self._lost = 0
        self._not_before = 0.0
        self._tidied_at = -TIDY_SECONDS
        self.problem: str | None = None
        """Why nothing can be written at the moment."""
        gate.close_before_forks(self)

    def write(self, rows: list[Row]) -> None:
        """Write these entries, and those that could not be written before."""
        self._pending += rows
        if len(self._pending) > MAX_PENDING:
            self._lost += len(self._pending) - MAX_PENDING
            del self._pending[:-MAX_PENDING]
        if self._pending and time.monotonic() >= self._not_before:
            with gate.use():
                self._attempt()

    @property
    def is_behind(self) -> bool:
        """Return whether entries wait for a store that could not be written."""
        return bool(self._pending)

    def close(self, *, ended: bool = True) -> None:
        """Write what is left, mark the run as ended if it said so, and close the store."""
        self._not_before = 0.0
        with gate.use():
            self._attempt(ended=ended)
            self.rest()

    @property
    def is_at_rest(self) -> bool:
        """Return whether the store is closed."""
        return self._connection is None

    def rest(self) -> None:
        """Close the store until there is more to write."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):  # it is gone either way
                connection.close()

    def _attempt(self, *, ended: bool = False) -> None:
        # A second time if a damaged store was set aside: a new one begins.
        for _ in range(2):
            try:
                self._commit(ended=ended)
            except StoreError as error:
                self.problem = str(error)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if self._failed(store.as_sqlite(error)):
                    continue
            else:
                self.problem = None
                return
            self._not_before = time.monotonic() + RETRY_SECONDS
            return

    def _failed(self, error: sqlite3.Error) -> bool:
        """Close the store; return whether another was put in its place."""
        self.problem = store.reason_of(error)
        if self.is_at_rest:
            return False
        self.rest()
        if not store.is_broken(error):
            return False
        try:
            store.set_aside(self._path, self._file)
        except StoreError as refused:
            self.problem = str(refused)
            return False
        return True

    def _commit(self, *, ended: bool) -> None:
        connection = self._opened()
        connection.execute("BEGIN IMMEDIATE")
        try:
            for row in self._pending:
                self._insert(connection, *_encoded(row))
            last = self._pending[-1].at_epoch_ms if self._pending else None
            connection.execute(
                # A gateway's holder and its `lastword run` write into one run.
                "UPDATE runs SET last_epoch_ms = max(coalesce(?, 0), last_epoch_ms),"
                " ended = max(ended, ?),"
                " lost_entries = lost_entries + ? WHERE id = ?",
                (last, int(ended), self._lost, self._row_id),
            )
        except BaseException:
            connection.rollback()
            raise
        connection.commit()
        # Set here, even if the cleaning up fails: nothing must be written twice.
        self._pending.clear()
        self._lost = 0
        now = time.monotonic()
        if now - self._tidied_at > TIDY_SECONDS:
            self._tidied_at = now
            retention.keep_within(connection, self._limits, self._row_id)

    def _insert(self, connection: sqlite3.Connection, row: Row, facts: str) -> None:
        connection.execute(
            "INSERT INTO entries (run, kind, level, at_epoch_ms, at_seconds, session_id, turn,"
            " request_id, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._row_id,
                row.kind,
                row.level,
                row.at_epoch_ms,
                row.at_seconds,
                row.session_id,
                row.turn,
                row.request_id,
                facts,
            ),
        )
        turns.note(connection, self._row_id, row)
        if row.kind in (Kind.CLIENT_ATTACHED, Kind.AGENT_READY):
            side = "client" if row.kind == Kind.CLIENT_ATTACHED else "agent"
            connection.execute(
                f"UPDATE runs SET {side} = ?, {side}_version = ? WHERE id = ?",  # noqa: S608
                (row.facts.get("name"), row.facts.get("version"), self._row_id),
            )

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None:
            if store.file_of(self._path) == self._file:
                return self._connection
            # It was deleted or moved away, or another process has set it aside: nobody would read
            # what is written into it. SQLite leaves the file that took its place alone.
            self.rest()
        connection, self._file = store.open_for_writing(self._path)
        self._connection = connection
        self._row_id = _enter(connection, self._run)
        return connection


def _enter(connection: sqlite3.Connection, run: Run) -> int:
    """Return the run's row, creating it at first."""
    members = msgspec.structs.asdict(run)
    names = ", ".join([*members, "last_epoch_ms"])
    marks = ", ".join(f":{name}" for name in [*members, "started_epoch_ms"])
    connection.execute(f"INSERT OR IGNORE INTO runs ({names}) VALUES ({marks})", members)  # noqa: S608
    row = connection.execute("SELECT id FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()
    return int(row[0])


def _encoded(row: Row) -> tuple[Row, str]:
    """Return a row that SQLite accepts, and its facts as JSON."""
    try:
        for identifier in (row.session_id, row.request_id):
            if identifier is not None:
                identifier.encode()
        return row, msgspec.json.encode(row.facts).decode()
    except UnicodeEncodeError:
        row = storable(row)
        return row, msgspec.json.encode(row.facts).decode()
