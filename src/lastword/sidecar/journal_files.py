"""Files that other programs write, read while they grow.

Owns what may be read: only regular files of this user, no links, and only the end of what was
appended since a prompt. Anything else, and every error, counts as nothing new.
`sidecar.journal_lines` interprets the lines.
"""

from __future__ import annotations

import math
import os
import re
import stat
import string
from typing import NamedTuple

from lastword.platform.files import READ, is_own, read_at
from lastword.sidecar.folder_index import NEVER

MARKS = re.compile(rb"rror|ERR|WARN|warn|FATAL|CRIT")
"""No line of a log in an unknown format is read without one of them."""

MAX_NEWS_BYTES = 256 * 1024
"""At most this much of what was appended is read at once: the end of it."""

MAX_SIZES = 256
"""At most this many prompts' sizes are remembered; an earlier prompt has the first of them."""

BORN_SECONDS = 0.03
"""How much earlier than at a prompt a folder may have been listed; a little more than what
`folder_index` calls fresh."""

MAX_ID_CHARS = 128
_ID_CHARS = frozenset(string.ascii_letters + string.digits + "-_.")


def is_plain(session_id: str) -> bool:
    """Return whether an id made up by an agent can safely be one part of a path."""
    short = 0 < len(session_id) <= MAX_ID_CHARS
    return short and session_id[0] != "." and _ID_CHARS.issuperset(session_id)


class News(NamedTuple):
    """Whole lines that were appended to a file.

    Attributes:
        begin: their position in the file.
        data: the lines.
    """

    begin: int
    data: bytes


NO_NEWS = News(0, b"")


class GrowingFile:
    """A file that grows, read from where the last look ended.

    It remembers how large the file was at each prompt: what stands before that position says
    nothing about that prompt's turn, whatever time it names.
    """

    __slots__ = ("_at", "_read_identity", "_sizes", "is_gone", "path")

    def __init__(self, path: str, born_after: float = math.inf) -> None:
        """Watch a file that was not there yet at some moment (`folder_index`)."""
        self.path: str = path
        self.is_gone: bool = False
        """Whether it was there at the look before the last, and no longer at the last."""
        status = _status(path)
        self._read_identity = None if status is None else _identity(status)
        """The identity of the file that is read."""
        self._at = 0
        size = 0 if status is None else status.st_size
        self._sizes: list[tuple[float, int]] = [(NEVER, 0), (born_after + BORN_SECONDS, size)]
        """The sizes at prompts, each with the time of the first prompt at which it was that."""

    def mark(self, at: float) -> None:
        """Remember the file's size for a prompt that is sent at this time."""
        status = _status(self.path)
        self._follow(status)
        size = 0 if status is None else status.st_size
        if size != self._sizes[-1][1] or at < self._sizes[-1][0]:
            self._sizes.append((at, size))
            del self._sizes[:-MAX_SIZES]

    def size_at(self, began_at: float) -> int:
        """Return the size when the last prompt up to this time was sent."""
        sizes = reversed(self._sizes)
        return next((size for at, size in sizes if at <= began_at), self._sizes[0][1])

    def news(self, began_at: float = NEVER) -> News:
        """Return whole lines appended since the last look and since a prompt."""
        try:
            status = os.lstat(self.path)
            unchanged = _identity(status) == self._read_identity and status.st_size == self._at
            if unchanged or not _may_be_read(status):
                return NO_NEWS
            fd = os.open(self.path, READ)
        except (OSError, ValueError):
            self.is_gone = self._read_identity is not None
            self._follow(None)
            return NO_NEWS
        try:
            opened = os.fstat(fd)
            return self._read(fd, opened, began_at) if _may_be_read(opened) else NO_NEWS
        except OSError:
            return NO_NEWS
        finally:
            os.close(fd)

    def _follow(self, status: os.stat_result | None) -> None:
        """Begin anew with a file that was truncated or replaced."""
        identity = None if status is None else _identity(status)
        if status is None or identity != self._read_identity or status.st_size < self._at:
            self._read_identity, self._at, self._sizes = identity, 0, [(NEVER, 0)]

    def _read(self, fd: int, opened: os.stat_result, began_at: float) -> News:
        self._follow(opened)
        size = opened.st_size
        # At the prompt the last line may have been incomplete: it is left out, as from the byte
        # before that position.
        begin = max(self._at, self.size_at(began_at) - 1, size - MAX_NEWS_BYTES)
        news, self._at = appended(fd, begin, size, cut=begin > self._at)
        return news


def appended(fd: int, begin: int, size: int, *, cut: bool) -> tuple[News, int]:
    """Return the whole lines between two positions of a file, and the end of the last one.

    If there was more before (`cut`), the first line is incomplete and left out.
    """
    data = read_at(fd, min(size - begin, MAX_NEWS_BYTES), begin)
    end = data.rfind(b"\n") + 1
    # Nothing waits for the end of a line that fills the whole block.
    whole = begin + end if end or len(data) < MAX_NEWS_BYTES else begin + len(data)
    start = data.find(b"\n") + 1 if cut else 0
    return News(begin + start, data[start:end]), whole


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _may_be_read(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and is_own(status)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
