"""The store's tables, and the migration of older stores.

Owns every statement that creates or changes a table. A version of the schema, once released, is
never edited: a change is a further step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x4C574F52
"""SQLite's mark of whose file this is: `LWOR`."""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # A run whose row was removed while it was idle must not find another run under its id.
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            door TEXT NOT NULL,
            program TEXT NOT NULL,
            lastword_version TEXT NOT NULL,
            python_version TEXT NOT NULL,
            platform TEXT NOT NULL,
            pid INTEGER NOT NULL,
            started_epoch_ms INTEGER NOT NULL,
            last_epoch_ms INTEGER NOT NULL,
            ended INTEGER NOT NULL DEFAULT 0,
            client TEXT,
            client_version TEXT,
            agent TEXT,
            agent_version TEXT,
            lost_entries INTEGER NOT NULL DEFAULT 0
        )""",
        """CREATE TABLE entries (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            level TEXT NOT NULL,
            at_epoch_ms INTEGER NOT NULL,
            at_seconds REAL NOT NULL,
            session_id TEXT,
            turn INTEGER,
            request_id TEXT,
            facts TEXT NOT NULL
        )""",
        "CREATE INDEX entries_by_run ON entries (run, session_id, turn)",
        # Failures outside turns: few, and looked for in all runs at once.
        """CREATE INDEX entries_failed ON entries (at_epoch_ms)
            WHERE level = 'error' AND turn IS NULL""",
        """CREATE TABLE turns (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            turn INTEGER NOT NULL,
            session_id TEXT NOT NULL,
            started_epoch_ms INTEGER NOT NULL,
            started_seconds REAL NOT NULL,
            ended_seconds REAL,
            first_output_seconds REAL,
            outcome TEXT NOT NULL DEFAULT 'open',
            type TEXT,
            reason TEXT,
            phase TEXT,
            by TEXT,
            stop_reason TEXT,
            incident_id TEXT,
            tools INTEGER NOT NULL DEFAULT 0,
            retries INTEGER NOT NULL DEFAULT 0,
            wait_seconds REAL NOT NULL DEFAULT 0,
            dropped INTEGER NOT NULL DEFAULT 0,
            UNIQUE (run, turn)
        )""",
        "CREATE INDEX turns_by_time ON turns (started_epoch_ms)",
        "CREATE INDEX turns_by_session ON turns (session_id, started_epoch_ms)",
    ),
)
"""The statements that turn version N into N+1; an empty store is version 0."""

VERSION = len(STEPS)

FILES = "CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, read_bytes INTEGER NOT NULL)"
"""How much of each run's file has been brought in. Older versions need not know it: no step."""


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Create the tables, or migrate those of an older version, in one transaction.

    Raises:
        StoreError: a newer lastword created the store, or it is not a store of ours.
        sqlite3.Error: it cannot be read or written.
    """
    if version_of(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while we waited.
        for step in STEPS[version_of(connection) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the schema in a store; 0 for an empty file.

    Raises:
        StoreError: as `bring_up_to_date`.
        sqlite3.Error: as `bring_up_to_date`.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner != APPLICATION_ID and (tables or version):
        raise StoreError("it is a database of something else; name another folder")
    if version > VERSION:
        raise StoreError(
            f"a newer lastword made it (schema {version}, known here is {VERSION}); update lastword"
        )
    return int(version)
