"""Files of somebody else's that are read while they grow: found, opened with care, read in bounds.

Owns what may be read at all: a regular file of this user's, no link, the last of what was appended.
Whatever else is there, or goes wrong, is no news. What a line means is `sidecar.journal_lines`'s.
"""

from __future__ import annotations

import os
import stat
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NEWS_BYTES = 256 * 1024
"""At most so much of what was appended is read at once: the last of it."""

MAX_ENTRIES = 4096
"""At most so many names are looked at to find a file."""

MAX_ID_CHARS = 128
_ID_CHARS = frozenset(string.ascii_letters + string.digits + "-_.")
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_plain(session_id: str) -> bool:
    """Can an id that an agent made up be part of a path, and is it that part alone?"""
    short = 0 < len(session_id) <= MAX_ID_CHARS
    return short and session_id[0] != "." and _ID_CHARS.issuperset(session_id)


def find(folder: str, path: str) -> str | None:
    """The file that a path leads to, `*` being any names; of several, the one written last."""
    budget = iter(range(MAX_ENTRIES))
    ways = [folder]
    for name in path.split("/"):
        if "*" in name:
            ways = [found for way in ways for found in _ending_so(way, name.strip("*"), budget)]
        else:
            ways = [os.path.join(way, name) for way in ways]
    return max(ways, key=_written_at, default=None)


def _ending_so(folder: str, ending: str, budget: Iterator[int]) -> list[str]:
    """What is in a folder under a name that ends so, as far as may be looked."""
    try:
        with os.scandir(folder) as entries:
            looked_at = zip(budget, entries, strict=False)
            return [entry.path for _, entry in looked_at if entry.name.endswith(ending)]
    except (OSError, ValueError):
        return []


def _written_at(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except (OSError, ValueError):
        return -1.0


class GrowingFile:
    """What is appended to a file from one look to the next."""

    __slots__ = ("_at", "_known", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: tuple[int, int] | None = None
        """Which file it was."""
        self._at = 0

    def news(self) -> bytes:
        """Whole lines that were appended since the last look; at the first, the last of them all.

        A file that was cut or exchanged is read as one that is new.
        """
        try:
            seen = os.lstat(self._path)
            unchanged = _identity(seen) == self._known and seen.st_size == self._at
            if unchanged or not _may_be_read(seen):
                return b""
            fd = os.open(self._path, _FLAGS)
        except (OSError, ValueError):
            # What is there under this name later is another file.
            self._known = None
            return b""
        try:
            opened = os.fstat(fd)
            return self._read(fd, opened) if _may_be_read(opened) else b""
        except OSError:
            return b""
        finally:
            os.close(fd)

    def _read(self, fd: int, opened: os.stat_result) -> bytes:
        size = opened.st_size
        if _identity(opened) != self._known or size < self._at:
            self._known, self._at = _identity(opened), 0
        begin = max(self._at, size - MAX_NEWS_BYTES)
        data, whole = appended(fd, begin, size, cut=begin > self._at)
        self._at = whole
        return data


def appended(fd: int, begin: int, size: int, *, cut: bool) -> tuple[bytes, int]:
    """The whole lines between two places of a file, and the end of the last of them.

    Where more was there before (`cut`), the first line is no whole one.
    """
    data = os.pread(fd, min(size - begin, MAX_NEWS_BYTES), begin)
    end = data.rfind(b"\n") + 1
    # A line that fills all that is read has no end that is waited for.
    whole = begin + end if end or len(data) < MAX_NEWS_BYTES else begin + len(data)
    start = data.find(b"\n") + 1 if cut else 0
    return data[start:end], whole


def _may_be_read(told: os.stat_result) -> bool:
    return stat.S_ISREG(told.st_mode) and told.st_uid == os.geteuid()


def _identity(told: os.stat_result) -> tuple[int, int]:
    return told.st_dev, told.st_ino
