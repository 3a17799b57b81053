"""Where the record is, and how long it is kept.

Paths of the record. Owns the rule that finds the folder, and how a folder is created.

Retention: how long the record is kept, and how large it may become. Owns what is removed from the
store: whole runs, the oldest first, and the beginning of the latest if it fills the store by
itself. `record.run_file` applies the limits to files that nobody has read yet.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.option_values import DAY_SECONDS, seconds_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping


STORE_NAME = "record.db"


VARIABLES = ("LASTWORD_STATE_DIR", "LASTWORD_RECORD_DAYS", "LASTWORD_RECORD_MIB")
"""Environment variables about the record, besides the options of `lastword run`."""


def complaint(variable: str, value: str) -> str | None:
    """Return what is wrong with a variable, as a sentence without its full stop."""
    if variable == "LASTWORD_STATE_DIR":
        path = named_folder(value)
        is_file = os.path.exists(path) and not os.path.isdir(path)
        return f"{variable} cannot be {value!r}: that is not a folder" if is_file else None
    is_days = variable == "LASTWORD_RECORD_DAYS"
    if (days_limit if is_days else limit)(value) is None:
        expected = "a number of days from 0 up, or 12h or 4w" if is_days else "a number from 0 up"
        return f"{variable} cannot be {value!r}: it takes {expected}; the default is in force"
    return None


def days_limit(text: str | None) -> float | None:
    """Return a number of days from the environment, or `None` for what is not a duration."""
    seconds = seconds_of(text or "", unit="d")
    return None if seconds is None else seconds / DAY_SECONDS


def limit(text: str | None) -> float | None:
    """Return a limit from the environment, a number from 0 up, or `None` for anything else."""
    try:
        value = float(text) if text else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def state_folder(environment: Mapping[str, str]) -> str:
    """Return the user's state folder: `LASTWORD_STATE_DIR`, or else XDG's."""
    own = environment.get("LASTWORD_STATE_DIR")
    if own:
        return named_folder(own)
    shared = environment.get("XDG_STATE_HOME")
    if not shared or not os.path.isabs(shared):
        # The XDG specification requires a relative path to be ignored.
        shared = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(shared, "lastword")


def named_folder(text: str) -> str:
    """Return the folder that a user means; editors pass `~` on without expanding it."""
    return absolute(os.path.expanduser(text))


def absolute(path: str) -> str:
    """Return the absolute path, or the path itself if the working directory is gone."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return path


def store_path(folder: str) -> str:
    return os.path.join(folder, STORE_NAME)


def make_folder(folder: str) -> None:
    """Create a folder, and missing ones above it, for their user alone.

    `os.makedirs` applies its mode only to the last one, and leaves the others to the umask, which
    may also withhold rights from the user.
    """
    if not folder or os.path.isdir(folder):
        return
    make_folder(os.path.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, mode=0o700)
        os.chmod(folder, 0o700)


MIB = 1024 * 1024
DAY_MS = 24 * 3600 * 1000
_ENTRIES_AT_ONCE = 10_000
_AT_ONCE = 64
"""Runs that are removed at once: a writer of another process waits no longer than for these."""


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
    while limits.size_bytes > 0:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        if (pages - free) * size <= limits.size_bytes:
            break
        latest = connection.execute("SELECT id FROM runs ORDER BY last_epoch_ms DESC").fetchone()
        if latest is None:  # empty tables take some room as well
            break
        # One by one, so that no more of a few large runs are removed than necessary.
        if _remove(connection, "id <> ?", (latest[0],), 1):
            continue
        # The latest run fills the store by itself, and loses its beginning.
        first = connection.execute(
            "SELECT id FROM entries WHERE run = ? ORDER BY id LIMIT 1 OFFSET ?",
            (latest[0], _ENTRIES_AT_ONCE),
        ).fetchone()
        if first is None:
            break
        connection.execute("DELETE FROM entries WHERE run = ? AND id < ?", (latest[0], first[0]))
        _give_back(connection)


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


def _give_back(connection: sqlite3.Connection) -> None:
    """Shrink the file to its contents."""
    # As a script: `execute` frees a single page and reports no error.
    connection.executescript("PRAGMA incremental_vacuum")
