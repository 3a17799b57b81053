"""The log of a session without a holder, read from its file.

Owns reading that file. Nothing is written, not even beside it. A file that was closed cleanly is
opened as immutable, since SQLite would otherwise leave companion files, whose dates decide when a
log is old enough to be deleted (`Holders.forget_old`); if it does change, it is read again.
Everything here blocks, so it runs in a thread.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec

from lastword.gateway.log.files import JOURNAL
from lastword.gateway.log.sqlite import BUSY_SECONDS, FORMAT, pins_in, read_batches
from lastword.gateway.log.store import BATCH_BYTES, BATCH_ENTRIES, LogUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.log.batches import Batch
    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.log.pins import Pins

_Read = TypeVar("_Read")
TRIES = 3


class StoredLog:
    """A log's file at one moment."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("BEGIN")  # all that is read is of one moment
        self.facts: dict[str, str] = dict(db.execute("SELECT name, value FROM facts"))
        if self.facts.get("format") != str(FORMAT):
            raise sqlite3.DatabaseError("the log was written by another version")
        self.epoch: str = self.facts["epoch"]
        first, last, last_ms = db.execute(
            "SELECT min(first), max(last), coalesce(max(until_ms), 0) FROM batches"
        ).fetchone()
        self.last_ms: int = last_ms
        self.head: int = last if last is not None else int(self.facts.get("trimmed", "0"))
        self.first: int = first if first is not None else self.head + 1
        self._pins: Pins | None = None
        self._recent: OrderedDict[int, Batch] = OrderedDict()

    def remembered(self, name: str) -> str:
        """Return a remembered fact; empty if there is none."""
        return self.facts.get(f"session.{name}", "")

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """Return the oldest entries after a number."""
        return read_batches(
            self._db, after, max_entries=max_entries, max_bytes=max_bytes, recent=self._recent
        )

    def pins_of(self, prefix: str) -> list[Numbered]:
        """Return the pinned entries of one kind."""
        if self._pins is None:
            self._pins = pins_in(self._db)
        return self._pins.of(prefix)


def reading(path: str, read: Callable[[StoredLog], _Read]) -> _Read:
    """Open a log's file for reading.

    Raises:
        FileNotFoundError: There is none.
        LogUnavailableError: It cannot be read.
    """
    for attempt in range(1, TRIES + 1):
        before = _state_of(path)
        try:
            with contextlib.closing(_opened(path, is_closed=before[1] is None)) as db:
                result = read(StoredLog(db))
        except (sqlite3.Error, msgspec.MsgspecError, KeyError, ValueError) as error:
            os.stat(path)  # it may have been deleted just now
            if attempt == TRIES:
                raise LogUnavailableError("the session's log cannot be read") from error
            continue
        if before[1] is not None or _state_of(path) == before:
            return result
    raise LogUnavailableError("the session's log is being written")


def _opened(path: str, *, is_closed: bool) -> sqlite3.Connection:
    how = "mode=ro&immutable=1" if is_closed else "mode=ro"
    return sqlite3.connect(f"file:{quote(path)}?{how}", uri=True, timeout=BUSY_SECONDS)


def _state_of(path: str) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Return the date and size of the file and of its write-ahead log."""
    with contextlib.suppress(FileNotFoundError):
        return _date_of(path), _date_of(path + JOURNAL)
    return _date_of(path), None


def _date_of(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size
