"""The store on disk: opened for writing or for reading, with what may be wrong about it said.

Owns the file: its rights, its settings, and what becomes of one that is broken. What is in it is
`record.schema`'s.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from lastword.errors import StoreError
from lastword.record import schema
from lastword.record.paths import absolute

if TYPE_CHECKING:
    from collections.abc import Callable

BUSY_SECONDS = 2.0
"""How long another process may hold the store up."""

_BROKEN = ("malformed", "not a database", "corrupt", "encrypted")
_COMPANIONS = ("", "-wal", "-shm")


def open_for_writing(path: str) -> sqlite3.Connection:
    """Open the store, made where there is none; one that is broken is set aside, not deleted.

    Raises:
        StoreError: it cannot be used.
    """
    folder = os.path.dirname(path)
    try:
        make_folder(folder)
        # Made by us, so that nobody else can ever read it; SQLite's companions take its rights.
        make_private(path)
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be written ({why})") from error
    try:
        return _opened(path, _for_writing)
    except StoreError as error:
        if not isinstance(error.__cause__, sqlite3.DatabaseError) or not is_broken(error.__cause__):
            raise
    set_aside(path)
    return _opened(path, _for_writing)


def make_folder(folder: str) -> None:
    """Make a folder, and those above it that are missing, for their user alone.

    `os.makedirs` gives its mode to the last one, and leaves the others to the umask.
    """
    if not folder or os.path.isdir(folder):
        return
    make_folder(os.path.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, mode=0o700)


def make_private(path: str) -> None:
    """Make the file where there is none, and take it from everybody else where they had it."""
    for suffix in _COMPANIONS:
        try:
            made = os.O_CREAT if not suffix else 0
            file = os.open(path + suffix, os.O_RDWR | made, 0o600)
        except FileNotFoundError:
            continue
        try:
            if stat.S_IMODE(os.fstat(file).st_mode) & ~0o600:
                # Somebody else's file is theirs to give: it is used as far as it can be.
                with suppress(PermissionError):
                    os.fchmod(file, 0o600)
        finally:
            os.close(file)


def open_for_reading(path: str) -> sqlite3.Connection:
    """Open the store to read it.

    Raises:
        StoreError: there is none, or it cannot be used.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"there is no record at {path} {_why_none(path)}") from None
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be read ({why})") from error
    return _opened(path, _for_reading)


def _why_none(path: str) -> str:
    """No turn is touched by a folder that takes nothing, so whoever looks here is told of it."""
    folder = os.path.dirname(absolute(path))
    while folder and not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not folder:
        return "and none can be kept: the working directory is gone; name a folder from / on"
    if not os.path.isdir(folder):
        return f"and none can be kept: {folder} is no folder; move it away, or name another"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"and none can be kept: {folder} cannot be written; check its rights"
    return "yet; one is kept from the first prompt through `lastword run -- AGENT` on"


def set_aside_before(path: str) -> list[str]:
    """The damaged stores that were set aside here, the oldest first."""
    folder, name = os.path.split(path)
    try:
        found = os.listdir(folder or ".")
    except OSError:
        return []
    return sorted(
        os.path.join(folder, each)
        for each in found
        if each.startswith(f"{name}.broken-") and not each.endswith(_COMPANIONS[1:])
    )


def as_sqlite(error: sqlite3.Error | UnicodeDecodeError) -> sqlite3.Error:
    """What SQLite said of a damaged store: Python gives up where it quotes the damage."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.DatabaseError("malformed")


def file_of(path: str) -> tuple[int, int] | None:
    """Which file is there now, whatever its name; nothing where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_broken(error: sqlite3.Error) -> bool:
    """Does this say that the file itself is damaged, rather than busy or out of reach?"""
    return any(word in str(error) for word in _BROKEN)


def set_aside(path: str) -> str:
    """Give a broken store another name, so that a new one can begin; gives that name.

    Raises:
        StoreError: it cannot be renamed.
    """
    aside = f"{path}.broken-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        for companion in _COMPANIONS:
            if os.path.exists(path + companion):
                os.replace(path + companion, aside + companion)
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise StoreError(f"{path} is damaged and cannot be set aside ({why})") from error
    return aside


def _opened(path: str, prepare: Callable[[str], sqlite3.Connection]) -> sqlite3.Connection:
    try:
        return prepare(path)
    except StoreError as error:
        raise StoreError(f"{path} cannot be used: {error}") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        said = as_sqlite(error)
        raise StoreError(f"{path} cannot be used: {reason_of(said)}") from said


def reason_of(error: sqlite3.Error) -> str:
    """What SQLite complained of, and what to do."""
    said = str(error)
    if "locked" in said or "busy" in said:
        return "another process holds it; try again"
    if is_broken(error):
        return "it is damaged; the next session sets it aside and begins a new one"
    if "readonly" in said or "unable to open" in said:
        return "it cannot be opened; check the rights of its folder"
    if "full" in said:
        return "the disk is full"
    return said


def _for_writing(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        if schema.version_of(connection) == 0:
            # Only an empty file can be given this.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may cost the last entries, never the store.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        schema.bring_up_to_date(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _for_reading(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(_address(path), uri=True, timeout=BUSY_SECONDS)
    connection.isolation_level = None
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA query_only = ON")
        if _recorded_version(connection) < schema.VERSION:
            with closing(open_for_writing(path)):
                pass
    except BaseException:
        connection.close()
        raise
    return connection


def _recorded_version(connection: sqlite3.Connection) -> int:
    version = schema.version_of(connection)
    if version == 0:
        raise StoreError(
            "nothing has been recorded in it yet; if there were turns, is the disk full?"
        )
    return version


def _address(path: str) -> str:
    """How SQLite is asked to open a store that is only read."""
    folder = os.path.dirname(path) or "."
    name = quote(os.fsencode(path))  # it may hold bytes that are no text
    if os.access(path, os.W_OK) and os.access(folder, os.W_OK):
        # Not read-only: a reader of a store in WAL mode has to make its shared memory.
        return f"file:{name}?mode=rw"
    # Where that cannot be made, and no log waits beside it, nobody is writing either.
    at_rest = not os.path.exists(f"{path}-wal")
    return f"file:{name}?mode=ro" + ("&immutable=1" if at_rest else "")
