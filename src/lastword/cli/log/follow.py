"""`lastword log --follow`: entries as they are written.

Owns the polling, four times a second. It waits for a store that does not exist yet, and follows
one that is replaced by a new one.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from lastword.cli import envelope
from lastword.cli.log.page import LEVEL_STYLES, SHOWN_ID_CHARS
from lastword.cli.page import Page, local, visibly_cut
from lastword.cli.record_access import chosen_session
from lastword.errors import StoreError
from lastword.platform.pipes import close
from lastword.platform.terminal import wait_for_readers_end
from lastword.record import reader
from lastword.record.present import documents
from lastword.record.present.words import words
from lastword.record.store import file_of

if TYPE_CHECKING:
    import argparse

    from lastword.record.reader import Part, RecordedEntry
    from lastword.record.store import File

EVERY_SECONDS = 0.25
_COLUMNS = (
    "lastword log: each line has the time, the session and its turn (- outside any session), and "
    "what happened\n"
)
_PATIENCE = 8
"""How often in a row the store may be unreadable."""


def follow(options: argparse.Namespace, path: str) -> int:
    """Show entries until the user stops it.

    Raises:
        UnusableError: The named session does not exist.
        StoreError: The store cannot be read.
    """
    part = _part(options, path)
    place = _Place(path)
    if not place.is_there():
        sys.stderr.write(f"lastword log: there is no record at {path} yet; waiting for it\n")
    else:
        sys.stderr.write("lastword log: following; press Ctrl-C to stop\n")
    if not options.json:
        sys.stderr.write(_COLUMNS)
    sys.stderr.flush()
    try:
        _until_enough(options, place, part)
    except KeyboardInterrupt:
        return 0  # the way to end it
    return 0


def _until_enough(options: argparse.Namespace, place: _Place, part: Part | None) -> None:
    page = Page()
    runs = {part.run} if part else set()
    while True:
        for recorded in place.news():
            if part is not None and not _concerns(recorded, part.session_id, runs):
                continue
            if not options.errors or recorded.level == "error":
                _show(page, recorded, as_json=options.json)
        sys.stdout.flush()
        if wait_for_readers_end(sys.stdout.fileno(), EVERY_SECONDS):
            return


def _concerns(recorded: RecordedEntry, session_id: str, runs: set[int]) -> bool:
    """Return whether an entry belongs to this session or to a run with it; remember such runs."""
    if recorded.entry.session_id == session_id:
        runs.add(recorded.run)
    return recorded.entry.session_id == session_id or (
        recorded.entry.session_id is None and recorded.run in runs
    )


def _part(options: argparse.Namespace, path: str) -> Part | None:
    if options.session is None and not options.last:
        return None
    with reader.reading(path) as record:
        return chosen_session(record, options)


class _Place:
    """The position up to which a store has been read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: File | None = None
        self._path_fd: int | None = None
        self._last_id = self._newest()
        self._begin(file_of(path))
        self._refusals = 0

    def is_there(self) -> bool:
        return self._file is not None or self._last_id > 0

    def news(self) -> list[RecordedEntry]:
        """Return the entries written since the last poll.

        Raises:
            StoreError: The store has not been readable for two seconds.
        """
        try:
            entries = self._look()
        except StoreError:
            # A reader may be about to create it, or to set it aside.
            self._refusals += file_of(self._path) is not None
            if self._refusals > _PATIENCE:
                raise
            return []
        self._refusals = 0
        return entries

    def _look(self) -> list[RecordedEntry]:
        now = file_of(self._path)
        with reader.reading(self._path) as record:
            now = now or file_of(self._path)  # reading may have created it
            if now != self._file:
                self._begin(now)
                self._last_id = 0
            newest = reader.last_id(record)
            # After a clearing the numbers begin again lower.
            self._last_id = min(self._last_id, newest)
            entries = reader.entries_after(record, self._last_id)
        if entries:
            self._last_id = entries[-1].id
        return entries

    def _begin(self, file: File | None) -> None:
        """Keep this file open, so that a file that replaces it cannot get its inode."""
        self._file = file
        if self._path_fd is not None:
            close(self._path_fd)
            self._path_fd = None
        if sys.platform == "linux":
            with suppress(OSError):
                # As a path only: closing a file releases each lock that SQLite has on it here.
                self._path_fd = os.open(self._path, os.O_PATH | os.O_CLOEXEC)

    def _newest(self) -> int:
        try:
            with reader.reading(self._path) as record:
                return reader.last_id(record)
        except StoreError:
            return 0  # reported by a later poll if it stays unreadable


def _show(page: Page, recorded: RecordedEntry, *, as_json: bool) -> None:
    if as_json:
        envelope.write(documents.entry(recorded), indent=0)
        return
    entry = recorded.entry
    where = visibly_cut(entry.session_id or "-", SHOWN_ID_CHARS)
    where += f" {entry.turn}" if entry.turn else ""
    start = f"{local(recorded.at_epoch_ms):%H:%M:%S}  "
    page.row(start, f"{where}  {words(entry)}", LEVEL_STYLES.get(recorded.level, ""))
    sys.stdout.write(page.drain())
