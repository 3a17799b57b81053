"""The file of a run: its rows as lines of JSON, to which only this process appends.

Owns that file: its rights, its lock, the rows that wait while the disk cannot be written, and the
removal of earlier runs' files. Writing needs no database, and waits for no other process;
`record.intake` brings the lines into the store when somebody reads the record.

The first line is the run with its limits, as a JSON object. A row is an array (`record.run.Row`),
the number of rows that were lost is `{"lost": 3}`, and the last line of a run that ended in order
is `{"ended": true}`.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.option_values import DAY_SECONDS
from lastword.platform import files
from lastword.record.paths import make_folder
from lastword.record.run import storable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.record.paths import Limits
    from lastword.record.run import Row, Run

FOLDER = "runs"
"""The folder of these files, beside the store."""

SUFFIX = ".jsonl"

MAX_PENDING = 10_000
"""Rows that wait for a disk that cannot be written; beyond it the oldest are lost and counted."""

RETRY_SECONDS = 5.0

REMOVE_EVERY_SECONDS = 60.0
"""How often a process looks for old files: a gateway may open a thousand, among as many others."""

_ATTEMPTS = 3
"""How often a file is opened anew that seems to be removed in the same moment, as always on a disk
without lasting inodes."""


class RunFile:
    """Writes one run's rows.

    Args:
        store: the path of the store.
        run: the run.
        limits: the limits of the record.
    """

    def __init__(self, store: str, run: Run, limits: Limits) -> None:
        self._folder = folder_of(store)
        # A gateway's holder and its `lastword run` are one run, and two processes.
        self._path = os.path.join(self._folder, f"{run.run_id}-{os.getpid()}{SUFFIX}")
        self._run = run
        self._limits = limits
        self._encoder = msgspec.json.Encoder()
        self._fd = -1
        self._pending: list[bytes] = []
        self._lost = 0
        self._not_before = 0.0

    def write(self, rows: list[Row]) -> None:
        """Write these rows, and those that could not be written before."""
        for row in rows:
            try:
                line = self._encoder.encode(row)
            except UnicodeEncodeError:
                line = self._encoder.encode(storable(row))
            self._pending.append(line + b"\n")
        if len(self._pending) > MAX_PENDING:
            self._lost += len(self._pending) - MAX_PENDING
            del self._pending[:-MAX_PENDING]
        if self._pending and time.monotonic() >= self._not_before:
            self._attempt()

    @property
    def is_behind(self) -> bool:
        """Return whether rows wait for a disk that could not be written."""
        return bool(self._pending)

    def close(self, *, ended: bool = True) -> None:
        """Write what is left, mark the run as ended if it is, and close the file."""
        if ended:
            self._pending.append(_line({"ended": True}))
        if self._pending:
            self._attempt()
        self._leave()

    def _attempt(self) -> None:
        try:
            self._append()
        except OSError:
            self._leave()
            self._not_before = time.monotonic() + RETRY_SECONDS

    def _append(self) -> None:
        if not self._is_there:  # nobody would read a deleted file
            make_folder(self._folder)
            now = time.monotonic()
            if now >= _remove_at.get(self._folder, now):
                _remove_at[self._folder] = now + REMOVE_EVERY_SECONDS
                _remove_old(self._folder, self._limits)
            flags = os.O_WRONLY | os.O_APPEND | files.CREATE
            for _ in range(_ATTEMPTS):
                self._leave()
                self._fd = os.open(self._path, flags, 0o600)
                _open_files.add(self._fd)
                with suppress(OSError):  # a disk without modes, or without locks
                    files.restrict(self._fd)
                    # Whoever brings the lines of a dead run into the store deletes its file.
                    files.lock(self._fd)
                if self._is_there:
                    break
        size = os.fstat(self._fd).st_size
        if size > self._limits.size_bytes > 0:  # the run fills the record by itself
            os.ftruncate(self._fd, 0)
            size = 0
        lines: list[bytes] = []
        if not size:
            # The limits, too: whoever reads the record may have another environment.
            limits = {"limits": msgspec.structs.asdict(self._limits)}
            lines = [_line(msgspec.structs.asdict(self._run) | limits)]
        if self._lost:
            lines.append(_line({"lost": self._lost}))
        data = b"".join([*lines, *self._pending])
        if os.write(self._fd, data) < len(data):  # half a line could not be read
            os.ftruncate(self._fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._pending.clear()
        self._lost = 0

    @property
    def _is_there(self) -> bool:
        return self._fd >= 0 and _identity(self._path) == _identity(self._fd)

    def _leave(self) -> None:
        if self._fd >= 0:
            _open_files.discard(self._fd)
            os.close(self._fd)
            self._fd = -1


def folder_of(store: str) -> str:
    """Return the folder of the runs' files beside this store."""
    return os.path.join(os.path.dirname(store), FOLDER)


def names_in(folder: str) -> list[str]:
    """Return the names of the files in the folder, the earliest runs first."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
    except OSError:
        return []


def size_of(folder: str) -> int:
    """Return the total size of the files in the folder, in bytes."""
    size = 0
    for name in names_in(folder):
        with suppress(OSError):
            size += os.stat(os.path.join(folder, name)).st_size
    return size


def _remove_old(folder: str, limits: Limits) -> None:
    """Remove files that are too old, and the oldest ones of a folder that is too large.

    Nobody has read the record of these runs. The file of a run that continues is left.
    """
    others: list[tuple[float, int, str]] = []
    before = time.time() - limits.days * DAY_SECONDS
    for name in names_in(folder):
        path = os.path.join(folder, name)
        with suppress(OSError):
            status = os.stat(path)
            if not (limits.days > 0 and status.st_mtime < before and remove(path)):
                others.append((status.st_mtime, status.st_size, path))
    size = sum(each[1] for each in others)
    for _, own, path in sorted(others):
        if size <= limits.size_bytes or limits.size_bytes <= 0:
            break
        with suppress(OSError):
            size -= own if remove(path) else 0


def remove(path: str, size: int | None = None) -> bool:
    """Remove a file if its run has ended; return whether it has.

    Args:
        path: the file.
        size: how much of it was read; with it, a longer file is not removed.

    Raises:
        OSError: It cannot be opened or removed.
    """
    fd = os.open(path, files.READ)
    try:
        try:
            files.lock(fd, wait=False)  # nor does another process get it from now on
        except BlockingIOError:
            return False
        except OSError:  # a disk without locks
            if time.time() - os.fstat(fd).st_mtime <= DAY_SECONDS:
                return False
        if size not in (None, os.fstat(fd).st_size):
            return False
        if sys.platform != "win32":
            os.unlink(path)
    finally:
        os.close(fd)
    if sys.platform == "win32":  # which removes no open file
        os.unlink(path)
    return True


def _identity(of: str | int) -> tuple[int, int] | None:
    try:
        status = os.stat(of)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _line(members: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(members) + b"\n"


_remove_at: dict[str, float] = {}
"""When old files in a folder are next looked for."""

_open_files: set[int] = set()
"""The descriptors of this process."""


def _close_inherited() -> None:
    """Close a forked child's copies, which would keep its parent's files locked."""
    for fd in _open_files:
        os.close(fd)
    _open_files.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_close_inherited)
