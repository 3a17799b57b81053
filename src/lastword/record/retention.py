"""Retention: how long the record is kept, and how large it may become.

Owns what is removed from the store: whole runs, the oldest first, and the beginning of the latest
if it fills the store by itself. `record.run_file` applies the limits to what nobody has read yet.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from lastword.record.paths import days_limit, limit

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

MIB = 1024 * 1024
DAY_MS = 24 * 3600 * 1000
_ENTRIES_AT_ONCE = 10_000
_AT_ONCE = 64
"""Runs that go at once, so that another process's writer waits no longer than for these."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of the record.

    Attributes:
        days: how old a run may become, counted from its last entry; 0 means forever.
        size_bytes: how large the store may become; 0 means no limit.
    """

    days: float = 30.0
    size_bytes: int = 256 * 1024 * 1024


def limits_of(environment: Mapping[str, str]) -> Limits:
    """Read the limits `LASTWORD_RECORD_DAYS` and `LASTWORD_RECORD_MIB` from the environment.

    A value that cannot be used counts as absent: no session fails for it.
    """
    days = days_limit(environment.get("LASTWORD_RECORD_DAYS"))
    mib = limit(environment.get("LASTWORD_RECORD_MIB"))
    default = Limits()
    return Limits(
        days=default.days if days is None else days,
        size_bytes=default.size_bytes if mib is None else int(mib * MIB),
    )


def keep_within(connection: sqlite3.Connection, limits: Limits) -> None:
    """Remove what is over the limits.

    Raises:
        sqlite3.Error: the store cannot be read or written.
    """
    if limits.days > 0:
        before = time.time() * 1000 - limits.days * DAY_MS
        while _remove(connection, "last_epoch_ms < ?", (before,), _AT_ONCE):
            continue
    if limits.size_bytes <= 0:
        return
    while _size_bytes(connection) > limits.size_bytes:
        latest = connection.execute("SELECT id FROM runs ORDER BY last_epoch_ms DESC").fetchone()
        if latest is None:  # empty tables take some room as well
            break
        # One by one, so that no more of a few large runs are removed than necessary.
        if not (_remove(connection, "id <> ?", (latest[0],), 1) or _shorten(connection, latest[0])):
            break


def _remove(
    connection: sqlite3.Connection, which: str, values: tuple[float, ...], at_once: int
) -> int:
    """Remove some of these runs, the oldest first; return how many."""
    removed = connection.execute(
        "DELETE FROM runs WHERE id IN"  # noqa: S608 - `which` is one of two texts above
        f" (SELECT id FROM runs WHERE {which} ORDER BY last_epoch_ms LIMIT ?)",
        (*values, at_once),
    ).rowcount
    if removed:
        _give_back(connection)
    return removed


def _shorten(connection: sqlite3.Connection, run: int) -> int:
    """Remove the beginning of a run that fills the store by itself; return how many entries."""
    first = connection.execute(
        "SELECT id FROM entries WHERE run = ? ORDER BY id LIMIT 1 OFFSET ?", (run, _ENTRIES_AT_ONCE)
    ).fetchone()
    if first is None:
        return 0
    removed = connection.execute("DELETE FROM entries WHERE run = ? AND id < ?", (run, first[0]))
    _give_back(connection)
    return removed.rowcount


def _give_back(connection: sqlite3.Connection) -> None:
    """Shrink the file to its contents."""
    # As a script: `execute` frees a single page, and says nothing about the rest.
    connection.executescript("PRAGMA incremental_vacuum")


def _size_bytes(connection: sqlite3.Connection) -> int:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)
