"""Retention: how long the record is kept, and how large it may become.

Owns what goes: whole runs, the oldest first; of the one that is being written its beginning, if
it fills the store by itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from lastword.record.paths import limit

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

MIB = 1024 * 1024
DAY_MS = 24 * 3600 * 1000
_ENTRIES_AT_ONCE = 10_000
_AT_ONCE = 64
"""Runs that go at once, so that another process's writer waits no longer than for these."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept.

    Attributes:
        days: how old a run may become, from its last entry; 0 is for ever.
        size_bytes: how large the store may become; 0 is without a limit.
    """

    days: float = 30.0
    size_bytes: int = 256 * 1024 * 1024


def limits_of(environment: Mapping[str, str]) -> Limits:
    """The limits as the environment has them: `LASTWORD_RECORD_DAYS`, `LASTWORD_RECORD_MIB`.

    A value that is no number from 0 up is taken as absent: no session fails for it.
    """
    days = limit(environment.get("LASTWORD_RECORD_DAYS"))
    mib = limit(environment.get("LASTWORD_RECORD_MIB"))
    default = Limits()
    return Limits(
        days=default.days if days is None else days,
        size_bytes=default.size_bytes if mib is None else int(mib * MIB),
    )


def keep_within(connection: sqlite3.Connection, limits: Limits, own_run: int) -> None:
    """Remove what is over the limits.

    Raises:
        sqlite3.Error: the store cannot be read or written.
    """
    if limits.days > 0:
        before = time.time() * 1000 - limits.days * DAY_MS
        while _remove(connection, "last_epoch_ms < ? AND id <> ?", (before, own_run), _AT_ONCE):
            continue
    if limits.size_bytes <= 0:
        return
    while _size_bytes(connection) > limits.size_bytes:
        # One by one: of a few large runs no more may go than have to.
        if not (_remove(connection, "id <> ?", (own_run,), 1) or _shorten(connection, own_run)):
            break


def _remove(
    connection: sqlite3.Connection, which: str, values: tuple[float, ...], at_once: int
) -> int:
    """Remove some of these runs, the oldest; gives how many."""
    removed = connection.execute(
        "DELETE FROM runs WHERE id IN"  # noqa: S608 - `which` is one of two texts above
        f" (SELECT id FROM runs WHERE {which} ORDER BY last_epoch_ms LIMIT ?)",
        (*values, at_once),
    ).rowcount
    if removed:
        _give_back(connection)
    return removed


def _shorten(connection: sqlite3.Connection, run: int) -> int:
    """Remove the beginning of a run that fills the store by itself; gives how many entries."""
    found = connection.execute(
        "SELECT id FROM entries WHERE run = ? ORDER BY id LIMIT 1 OFFSET ?", (run, _ENTRIES_AT_ONCE)
    ).fetchone()
    if found is None:
        return 0
    removed = connection.execute("DELETE FROM entries WHERE run = ? AND id < ?", (run, found[0]))
    _give_back(connection)
    return removed.rowcount


def _give_back(connection: sqlite3.Connection) -> None:
    """Make the file as small as what is in it."""
    # As a script: `execute` gives back a single page, and says nothing of the rest.
    connection.executescript("PRAGMA incremental_vacuum")


def _size_bytes(connection: sqlite3.Connection) -> int:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)
