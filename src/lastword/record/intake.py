"""The intake: brings the lines of the runs' files into the store, when somebody reads the record.

Owns the transaction in which rows are written and the place in their file is noted, so that nothing
is brought in twice, and the removal of files that are done. A store that cannot be written is read
as it is, with what is new beside it in memory.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from lastword.core.timeline.entry import Kind
from lastword.errors import StoreError
from lastword.platform import files
from lastword.record import paths, run_file, store, turns
from lastword.record.run import Row, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AT_ONCE_BYTES = 4 * 1024 * 1024
"""How much is brought in at once: no other reader has to wait longer than for this."""


_DAMAGED = (msgspec.MsgspecError, UnicodeError, OverflowError, sqlite3.ProgrammingError)
"""What a line raises that the disk, or another version, has written in another way."""


def opened(path: str) -> sqlite3.Connection:
    """Open the store at this path for reading, with all that was recorded until now.

    Raises:
        StoreError: there is none, or it cannot be used.
    """
    folder = run_file.folder_of(path)
    names = run_file.names_in(folder)
    if names and not os.path.exists(path) and run_file.size_of(folder) == 0:
        raise StoreError(f"{folder}: {store.NOTHING_YET}")
    if names:
        try:
            if not files.is_own(os.stat(folder)):  # another user's, in which nothing is created
                return _in_memory(path, folder, names)
            _bring_in(path, folder, names)
        except (StoreError, OSError, sqlite3.Error):
            try:
                return _in_memory(path, folder, names)
            except sqlite3.Error as error:
                raise StoreError(f"{path} cannot be used: {store.reason_of(error)}") from error
    return store.open_for_reading(path)


def _bring_in(path: str, folder: str, names: Sequence[str]) -> None:
    for is_last in (False, True):
        connection, file = store.open_for_writing(path)
        try:
            with closing(connection):
                connection.execute(store.FILES)
                read = [_read_file(connection, folder, name) for name in names]
                limits = next(filter(None, reversed(read)), None)
                if limits is not None:
                    paths.keep_within(connection, limits)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if is_last or not store.is_broken(store.as_sqlite(error)):
                raise
            store.set_aside(path, file)
        else:
            return


def _in_memory(path: str, folder: str, names: Sequence[str]) -> sqlite3.Connection:
    """Return a copy of the store in memory, with what is new."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        if os.path.exists(path):
            try:
                with closing(store.open_for_reading(path)) as stored:
                    stored.backup(connection)
            except StoreError as error:
                if str(error.__cause__) != store.NOTHING_YET:  # the disk was full at once
                    raise
        store.bring_up_to_date(connection)
        connection.execute(store.FILES)
        for name in names:
            _read_file(connection, folder, name, remove=False)
    except BaseException:
        connection.close()
        raise
    return connection


def _read_file(
    connection: sqlite3.Connection, folder: str, name: str, *, remove: bool = True
) -> paths.Limits | None:
    """Bring in what is new in a file, and remove a file that is done.

    Returns:
        The limits of its run, if anything was new.
    """
    path, limits = os.path.join(folder, name), None
    try:
        file = os.fdopen(os.open(path, files.READ), "rb")
    except OSError:
        return None  # another reader has removed it
    with file:
        line = file.readline()
        try:
            run = msgspec.json.decode(line, type=Run)
            run_limits = msgspec.json.decode(line, type=_Limited).limits
        except _DAMAGED:
            return None
        while True:
            place = _place_in(connection, name)
            start = place if place <= os.fstat(file.fileno()).st_size else 0  # begun anew
            file.seek(start)
            lines = file.readlines(AT_ONCE_BYTES)
            torn = b"" if not lines or lines[-1].endswith(b"\n") else lines.pop()
            if not lines:
                break
            with _transaction(connection):
                if not os.path.exists(path):
                    return limits  # another reader has had it all, and forgets its place next
                if _place_in(connection, name) == place:  # no other reader was quicker
                    limits = run_limits
                    _write(connection, run, lines)
                    connection.execute(
                        "INSERT OR REPLACE INTO files (name, read_bytes) VALUES (?, ?)",
                        (name, start + sum(map(len, lines))),
                    )
    if remove:
        with suppress(OSError):
            if run_file.remove(path, size=start + len(torn)):
                connection.execute("DELETE FROM files WHERE name = ?", (name,))
    return limits


class _Limited(msgspec.Struct):
    """The other part of a file's first line, beside the run."""

    limits: paths.Limits


def _place_in(connection: sqlite3.Connection, name: str) -> int:
    """Return how many bytes of a file have been brought in."""
    row = connection.execute("SELECT read_bytes FROM files WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


class _Note(msgspec.Struct):
    """A line that is not a row, or the first one."""

    lost: int = 0
    ended: bool = False


_NOTES = msgspec.json.Decoder(_Note)
_ROWS = msgspec.json.Decoder(Row)


def _write(connection: sqlite3.Connection, run: Run, lines: Sequence[bytes]) -> None:
    members = msgspec.structs.asdict(run)
    names = ", ".join([*members, "last_epoch_ms"])
    marks = ", ".join(f":{name}" for name in [*members, "started_epoch_ms"])
    connection.execute(f"INSERT OR IGNORE INTO runs ({names}) VALUES ({marks})", members)  # noqa: S608
    (run_row,) = connection.execute(
        "SELECT id FROM runs WHERE run_id = ?", (run.run_id,)
    ).fetchone()
    lost, last_ms = 0, 0
    ended: bool | None = None  # a run whose rows continue after its end is one that was replaced
    for line in lines:
        try:
            if line.startswith(b"{"):
                note = _NOTES.decode(line)
                lost, ended = lost + note.lost, note.ended or ended
            else:
                row = _ROWS.decode(line)
                connection.execute(
                    "INSERT INTO entries (run, kind, level, at_epoch_ms, at_seconds, session_id,"
                    " turn, request_id, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        run_row,
                        row.kind,
                        row.level,
                        row.at_epoch_ms,
                        row.at_seconds,
                        row.session_id,
                        row.turn,
                        row.request_id,
                        msgspec.json.encode(row.facts).decode(),
                    ),
                )
                turns.note(connection, run_row, row)
                if row.kind in (Kind.CLIENT_ATTACHED, Kind.AGENT_READY):
                    side = "client" if row.kind == Kind.CLIENT_ATTACHED else "agent"
                    connection.execute(
                        f"UPDATE runs SET {side} = ?, {side}_version = ? WHERE id = ?",  # noqa: S608
                        (row.facts.get("name"), row.facts.get("version"), run_row),
                    )
                ended = False
                last_ms = max(last_ms, row.at_epoch_ms)
        except _DAMAGED:
            lost += 1
    connection.execute(
        "UPDATE runs SET last_epoch_ms = max(?, last_epoch_ms), ended = coalesce(?, ended),"
        " lost_entries = lost_entries + ? WHERE id = ?",
        (last_ms, ended, lost, run_row),
    )
