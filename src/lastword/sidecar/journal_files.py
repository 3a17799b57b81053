"""Files that other programs write, read while they grow: finding and reading them safely.

Owns what may be read: only regular files of this user, no links, and only the end of what was
appended. Anything else, and every error, counts as nothing new. `sidecar.journal_lines`
interprets the lines.
"""

from __future__ import annotations

import os
import stat
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NEWS_BYTES = 256 * 1024
"""At most this much of what was appended is read at once: the end of it."""

MAX_ENTRIES = 4096
"""At most this many names are looked at to find a file."""

MAX_ID_CHARS = 128
_ID_CHARS = frozenset(string.ascii_letters + string.digits + "-_.")
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_plain(session_id: str) -> bool:
    """Return whether an id made up by an agent can safely be one part of a path."""
    short = 0 < len(session_id) <= MAX_ID_CHARS
    return short and session_id[0] != "." and _ID_CHARS.issuperset(session_id)


def find(folder: str, path: str) -> str | None:
    """Return the file that a path matches, with `*` for any name; the latest one of several."""
    budget = iter(range(MAX_ENTRIES))
    ways = [folder]
    for name in path.split("/"):
        if "*" in name:
            ways = [entry for way in ways for entry in _ending_so(way, name.strip("*"), budget)]
        else:
            ways = [os.path.join(way, name) for way in ways]
    return max(ways, key=_written_at, default=None)


def _ending_so(folder: str, ending: str, budget: Iterator[int]) -> list[str]:
    """Return the entries of a folder whose names end like this, up to a limit."""
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
    """A file that grows, read from where the last look ended."""

    __slots__ = ("_at", "_path", "_read_identity")

    def __init__(self, path: str) -> None:
        self._path = path
        self._read_identity: tuple[int, int] | None = None
        """The identity of the file that was read."""
        self._at = 0

    def news(self) -> bytes:
        """Return whole lines appended since the last look; at the first look, the last lines.

        A file that was truncated or replaced is read as a new one.
        """
        try:
            status = os.lstat(self._path)
            unchanged = _identity(status) == self._read_identity and status.st_size == self._at
            if unchanged or not _may_be_read(status):
                return b""
            fd = os.open(self._path, _FLAGS)
        except (OSError, ValueError):
            # A later file under this name is another one.
            self._read_identity = None
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
        if _identity(opened) != self._read_identity or size < self._at:
            self._read_identity, self._at = _identity(opened), 0
        begin = max(self._at, size - MAX_NEWS_BYTES)
        data, whole = appended(fd, begin, size, cut=begin > self._at)
        self._at = whole
        return data


def appended(fd: int, begin: int, size: int, *, cut: bool) -> tuple[bytes, int]:
    """Return the whole lines between two positions of a file, and the end of the last one.

    If there was more before (`cut`), the first line is incomplete and left out.
    """
    data = os.pread(fd, min(size - begin, MAX_NEWS_BYTES), begin)
    end = data.rfind(b"\n") + 1
    # Nothing waits for the end of a line that fills the whole block.
    whole = begin + end if end or len(data) < MAX_NEWS_BYTES else begin + len(data)
    start = data.find(b"\n") + 1 if cut else 0
    return data[start:end], whole


def _may_be_read(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
