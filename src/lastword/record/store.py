"""The store on disk: its tables, its opening for writing or reading, and its faults.

Owns the file (its permissions, its settings, and the handling of a damaged one), every statement
that creates or changes a table, and the migration of older stores. A version of the schema, once
released, is never edited: a change is a further step.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from lastword.errors import StoreError
from lastword.platform import files
from lastword.record.paths import absolute, make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# --- the tables

APPLICATION_ID = 0x4C574F52
"""SQLite's mark of the program that a file belongs to: `LWOR`."""

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
"""How much of each run's file has been brought in. It is not a step, since older versions need not
know it."""


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
    # Count the tables first: the transaction that creates them also sets the application id.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if owner != APPLICATION_ID and (tables or version):
        raise StoreError("it is a database of something else; name another folder")
    if version > VERSION:
        raise StoreError(
            f"a newer lastword made it (schema {version}; this one knows {VERSION}); "
            "update lastword"
        )
    return int(version)


# --- the file

File: TypeAlias = tuple[int, int]
"""A file's identity, whatever its name: its device and its inode."""

BUSY_SECONDS = 2.0
"""How long to wait while another process has locked the store."""

NOTHING_YET = "nothing has been recorded in it yet; if there were turns, is the disk full?"
"""Why an empty record cannot be shown."""

_BROKEN = ("malformed", "not a database", "corrupt", "encrypted")
_COMPANIONS = ("", "-wal", "-shm")

_creating = threading.Lock()
"""Locked until a new file is closed."""


def open_for_writing(path: str) -> tuple[sqlite3.Connection, File | None]:
    """Open the store, creating it if needed; a damaged one is set aside, not deleted.

    Returns:
        The connection, and the identity of its file.

    Raises:
        StoreError: it cannot be used.
    """
    file = file_of(path)
    try:
        return _made(path)
    except StoreError as error:
        if not isinstance(error.__cause__, sqlite3.DatabaseError) or not is_broken(error.__cause__):
            raise
    set_aside(path, file)
    return _made(path)


def _made(path: str) -> tuple[sqlite3.Connection, File | None]:
    folder = os.path.dirname(path)
    try:
        make_folder(folder)
        with _locked(folder, shared=True):
            if os.path.exists(path) and os.path.getsize(path):
                return _private(path)
        # SQLite does not wait for a change to WAL: one process creates the store, the others wait.
        with _locked(folder, shared=False):
            return _private(path)
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be written ({why})") from error


def _private(path: str) -> tuple[sqlite3.Connection, File | None]:
    # SQLite would create a file that others can read; those beside it get the same mode.
    make_private(path)
    return _opened(path, _for_writing), file_of(path)


@contextmanager
def _locked(folder: str, *, shared: bool) -> Iterator[None]:
    """Lock a folder: a store is created and set aside while nobody opens it."""
    number = files.open_folder_lock(folder)
    try:
        with suppress(OSError):  # a disk without such locks
            files.lock(number, shared=shared)
        yield
    finally:
        os.close(number)


def make_private(path: str) -> None:
    """Create a database if needed, and withdraw everybody else's access to it.

    An existing file is never opened: closing it would release every lock that SQLite holds on it
    elsewhere in this process (sqlite.org, "How To Corrupt An SQLite Database File", 2.2).

    Raises:
        OSError: it cannot be created, or is not a file.
    """
    try:
        target = os.path.realpath(path)  # a link may lead to where there is no file yet
    except OSError:  # Windows, for a path that is longer than its own functions accept
        target = path
    with _creating, suppress(FileExistsError):
        number = os.open(target, os.O_RDWR | os.O_EXCL | files.CREATE, 0o600)
        with suppress(OSError):  # a disk without modes
            files.restrict(number)  # whatever the umask
        os.close(number)
    for suffix in _COMPANIONS:
        # Another user's file is theirs to share: use it as far as possible.
        with suppress(FileNotFoundError, PermissionError):
            mode = os.stat(path + suffix).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path + suffix)
            if stat.S_IMODE(mode) & ~0o600:
                os.chmod(path + suffix, 0o600)


def open_for_reading(path: str) -> sqlite3.Connection:
    """Open the store to read it.

    Raises:
        StoreError: there is none, or it cannot be used.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        folder = os.path.dirname(absolute(path))
        while folder and not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if not folder:
            why = "the working directory is gone; give the folder's full path"
        elif not os.path.isdir(folder):
            why = f"{folder} is not a folder; move it away, or name another"
        elif not os.access(folder, os.W_OK | os.X_OK):  # a read-only one disturbs no turn
            why = f"{folder} cannot be written; check its permissions"
        else:
            raise StoreError(
                f"there is no record at {path} yet; it begins with the first prompt through "
                "`lastword run -- AGENT`"
            ) from None
        raise StoreError(f"there is no record at {path} and none can be kept: {why}") from None
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be read ({why})") from error
    return _opened(path, _for_reading)


def set_aside_before(path: str) -> list[str]:
    """Return the damaged stores that were set aside here, the oldest first."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    return sorted(
        os.path.join(folder, each)
        for each in names
        if each.startswith(f"{name}.broken-") and not each.endswith(_COMPANIONS[1:])
    )


def as_sqlite(error: sqlite3.Error | UnicodeDecodeError) -> sqlite3.Error:
    """Return SQLite's error on a damaged store; Python cannot decode one that quotes the damage."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.DatabaseError("malformed")


def file_of(path: str) -> File | None:
    """Return the identity of the file there now, or `None` if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_broken(error: sqlite3.Error) -> bool:
    """Return whether the file itself is damaged, rather than busy or out of reach."""
    return any(word in str(error) for word in _BROKEN)


def set_aside(path: str, file: File | None) -> None:
    """Rename a damaged store, so that a new one can begin.

    Args:
        path: the path of the store.
        file: the damaged file, as `file_of` returned it; a different one there stays, since another
            process has set the damaged one aside.

    Raises:
        StoreError: it cannot be renamed.
    """
    aside = f"{path}.broken-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        with _locked(os.path.dirname(path), shared=False):
            for companion in _COMPANIONS if file_of(path) == file else ():
                if os.path.exists(path + companion):
                    os.replace(path + companion, aside + companion)
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} is damaged and cannot be set aside ({why})") from error


def _opened(path: str, prepare: Callable[[str], sqlite3.Connection]) -> sqlite3.Connection:
    try:
        return prepare(path)
    except StoreError as error:
        raise StoreError(f"{path} cannot be used: {error}") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raised = as_sqlite(error)
        raise StoreError(f"{path} cannot be used: {reason_of(raised)}") from raised


def reason_of(error: sqlite3.Error) -> str:
    """Return SQLite's complaint, and what to do."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return "another process holds it; try again"
    if is_broken(error):
        return "it is damaged; once another session is recorded, a new one takes its place"
    if "readonly" in text or "unable to open" in text:
        return "it cannot be opened; check its folder's permissions"
    if "full" in text:
        return "the disk is full"
    return text


def _for_writing(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # a fork has it closed, in between
    )
    try:
        if version_of(connection) == 0:
            # Only an empty file accepts this setting.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may cost the last entries, never the store.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        bring_up_to_date(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _for_reading(path: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path))}"  # it may hold bytes that are not text
    if os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK):
        # Not read-only: a reader of a store in WAL mode has to create its shared memory.
        address += "?mode=rw"
    else:
        # If it cannot be created, and there is no log next to the store, nobody is writing either.
        at_rest = not os.path.exists(f"{path}-wal")
        address += "?mode=ro" + ("&immutable=1" if at_rest else "")
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)
    connection.isolation_level = None
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA query_only = ON")
        if _recorded_version(connection) < VERSION:
            with closing(open_for_writing(path)[0]):
                pass
    except BaseException:
        connection.close()
        raise
    return connection


def _recorded_version(connection: sqlite3.Connection) -> int:
    version = version_of(connection)
    if version == 0:
        raise StoreError(NOTHING_YET)
    return version
