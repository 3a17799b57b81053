"""Files that other programs write: found in their folders, and read while they grow.

Owns what may be read: only regular files of this user, no links, and only the end of what was
appended since a prompt; anything else, and every error, counts as nothing new. Listings of folders,
which all sessions share, have a time at which each name was not there yet: a file that did not
exist when a prompt was sent belongs to the time after it. A large folder is read in steps, and
delays nothing. Owns also the proof that the agent of this run wrote a line: the line names one of
its processes, or only its processes have the file open for writing. There is no proof on systems
without /proc, or if a writer opens the file for every line. `sidecar.journal_lines` interprets the
lines.
"""

from __future__ import annotations

import math
import os
import re
import stat
import string
import time
from typing import TYPE_CHECKING, NamedTuple

from lastword.core.failure.taxonomy import Attribution
from lastword.platform.files import READ, is_own, read_at
from lastword.platform.process_tree import belongs_to, find_writers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from lastword.platform.process_tree import Writers


# --- folders

NEVER = -math.inf
SESSION = "{session}"

FRESH_SECONDS = 0.02
"""A folder is checked once in this time, however many sessions need it."""

MAX_NAMES = 16_384
"""At most this many names of one folder are read."""

MAX_ALL_NAMES = 65_536
MAX_FOLDERS = 4096
"""The oldest listings are dropped beyond this many names or folders."""

STEP_NAMES = 256
_RECENT_NS = 50_000_000
"""A folder that changed this recently may change again without a new time of change."""


class Listing:
    """The names in one folder."""

    __slots__ = ("checked_at", "folders", "mtime_ns", "names")

    def __init__(self) -> None:
        self.names: dict[str, float] = {}
        """Every name, with a time at which it was not there yet."""
        self.folders: set[str] = set()
        self.mtime_ns: int = -1
        """The folder's time of change; -1 if it has to be read again."""
        self.checked_at: float = NEVER


class FolderIndex:
    """Listings of folders."""

    __slots__ = ("_count", "_listings")

    def __init__(self) -> None:
        self._listings: dict[str, Listing] = {}
        self._count = 0

    def read(self, folder: str, born_after: float = NEVER) -> Generator[None, None, Listing]:
        """Return a folder's listing, read again if the folder has changed.

        Args:
            folder: Its path.
            born_after: A time at which the folder was not there yet.
        """
        now = time.monotonic()
        listing = self._listings.get(folder)
        if listing is not None and now - listing.checked_at < FRESH_SECONDS:
            return listing
        mtime_ns = _mtime_ns(folder)
        if listing is None:
            listing, absent_at = Listing(), born_after
            while self._listings and (
                len(self._listings) >= MAX_FOLDERS or self._count > MAX_ALL_NAMES
            ):
                self._count -= len(self._listings.pop(next(iter(self._listings))).names)
            self._listings[folder] = listing
        else:
            absent_at = listing.checked_at
            if listing.mtime_ns == mtime_ns:
                listing.checked_at = now
                return listing
        recent = time.time_ns() - mtime_ns < _RECENT_NS
        names: dict[str, float] = {}
        folders: set[str] = set()
        try:
            with os.scandir(folder) as entries:
                for _, entry in zip(range(MAX_NAMES), entries, strict=False):
                    names[entry.name] = listing.names.get(entry.name, absent_at)
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(entry.name)
                    if len(names) % STEP_NAMES == 0:
                        yield
        except OSError:
            pass  # it is not there, or not ours to read
        self._count += len(names) - len(listing.names)
        listing.names, listing.folders = names, folders
        listing.checked_at = now
        listing.mtime_ns = -1 if recent else mtime_ns
        return listing

    def note_unchanged(self) -> None:
        """Note, for every folder that has not changed, that it has no new names up to now."""
        now = time.monotonic()
        for folder, listing in self._listings.items():
            if listing.mtime_ns == _mtime_ns(folder):
                listing.checked_at = now


def _mtime_ns(folder: str) -> int:
    """Return when a folder last changed; 0 if it is not there."""
    try:
        return os.stat(folder).st_mtime_ns
    except (OSError, ValueError):
        return 0


def find(
    index: FolderIndex, folder: str, path: str, sessions: set[str | None]
) -> Generator[None, None, dict[str | None, tuple[str, float]]]:
    """Return one file for each session that a path matches, with a time before the file existed.

    In the path `*` stands for any name, or the beginning of one, and `{session}` for a session;
    without it there is one file, of the session `None`. Of several files, the newest counts.
    """
    places: list[tuple[str, float, str | None]] = [(folder, NEVER, None)]
    names = path.split("/")
    for depth, name in enumerate(names, 1):
        last = depth == len(names)
        below: list[tuple[str, float, str | None]] = []
        for place, born_after, owner in places:
            if "*" not in name and (SESSION not in name or owner is not None):
                exact = name.replace(SESSION, owner or "")
                below.append((os.path.join(place, exact), born_after, owner))
                continue
            listing = yield from index.read(place, born_after)
            yield
            for entry, session in _matches(name, listing, sessions, owner):
                if last or entry in listing.folders:
                    below.append((os.path.join(place, entry), listing.names[entry], session))
        places = below
    places.sort(key=lambda each: _mtime_ns(each[0]))
    return {session: (place, born_after) for place, born_after, session in places}


def _matches(
    pattern: str, listing: Listing, sessions: set[str | None], session: str | None
) -> Iterator[tuple[str, str | None]]:
    """Yield the names that match one part of a path, each with its session."""
    if SESSION not in pattern or session is not None:
        ending = pattern.replace(SESSION, session or "").strip("*")
        yield from ((name, session) for name in listing.names if name.endswith(ending))
        return
    endings = {pattern.replace(SESSION, each or "").lstrip("*"): each for each in sessions}
    if not pattern.startswith("*"):
        yield from ((name, endings[name]) for name in endings.keys() & listing.names.keys())
        return
    # An ending begins with the pattern's next character, or with any if the session comes next.
    first = pattern.lstrip("*").partition(SESSION)[0][:1]
    for name in listing.names:
        starts = (at for at, char in enumerate(name) if not first or char == first)
        fit = next((name[at:] for at in starts if name[at:] in endings), None)
        if fit is not None:
            yield name, endings[fit]


# --- files that grow

MARKS = re.compile(rb"rror|ERR|WARN|warn|FATAL|CRIT")
"""In a log of unknown format, only lines with one of these marks are read."""

MAX_NEWS_BYTES = 256 * 1024
"""At most this much of what was appended is read at once, from its end."""

MAX_SIZES = 256
"""At most this many sizes are stored; for an earlier prompt the first one counts."""

BORN_SECONDS = 0.03
"""How long before a prompt a folder may have been listed; a little more than `FRESH_SECONDS`."""

MAX_ID_CHARS = 128
_ID_CHARS = frozenset(string.ascii_letters + string.digits + "-_.")


def is_plain(session_id: str) -> bool:
    """Return whether an agent's session id is safe as one part of a path."""
    short = 0 < len(session_id) <= MAX_ID_CHARS
    return short and session_id[0] != "." and _ID_CHARS.issuperset(session_id)


class News(NamedTuple):
    """Whole lines that were appended to a file."""

    begin: int
    data: bytes


NO_NEWS = News(0, b"")


class GrowingFile:
    """A file that grows, read from where the last look ended.

    It stores the size of the file at every prompt: lines before that position are not about that
    prompt's turn, whatever their time.
    """

    __slots__ = ("_at", "_read_identity", "_sizes", "is_gone", "path")

    def __init__(self, path: str, born_after: float = math.inf) -> None:
        """Watch a file that was not there yet at some time (`FolderIndex`)."""
        self.path: str = path
        self.is_gone: bool = False
        """Whether it disappeared between the last two looks."""
        status = _status(path)
        self._read_identity = None if status is None else _identity(status)
        """The identity of the file that is read."""
        self._at = 0
        size = 0 if status is None else status.st_size
        self._sizes: list[tuple[float, int]] = [(NEVER, 0), (born_after + BORN_SECONDS, size)]
        """The sizes at prompts, each with the time of the first prompt at which it applied."""

    def mark(self, at: float) -> None:
        """Store the file's size for a prompt that is sent at this time."""
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
            if not _may_be_read(opened):
                return NO_NEWS
            self._follow(opened)
            size = opened.st_size
            # At the prompt the last line may have been incomplete: reading begins one byte early,
            # and drops the rest of that line.
            begin = max(self._at, self.size_at(began_at) - 1, size - MAX_NEWS_BYTES)
            news, self._at = appended(fd, begin, size, cut=begin > self._at)
        except OSError:
            return NO_NEWS
        finally:
            os.close(fd)
        return news

    def _follow(self, status: os.stat_result | None) -> None:
        """Start over with a file that was truncated or replaced."""
        identity = None if status is None else _identity(status)
        if status is None or identity != self._read_identity or status.st_size < self._at:
            self._read_identity, self._at, self._sizes = identity, 0, [(NEVER, 0)]


def appended(fd: int, begin: int, size: int, *, cut: bool) -> tuple[News, int]:
    """Return the whole lines between two positions of a file, and the end of the last one.

    If something before them is skipped (`cut`), the first line may be incomplete and is left out.
    """
    data = read_at(fd, min(size - begin, MAX_NEWS_BYTES), begin)
    end = data.rfind(b"\n") + 1
    # A line that fills the whole block is skipped.
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


# --- whose lines they are

VALID_SECONDS = 2.0
"""How long the result of a search for writers is valid: it reads every process's open files."""

MAX_WRITERS = 64


class Attributions:
    """Finds out who writes the files of one agent."""

    __slots__ = ("_group", "_writers")

    def __init__(self, group: Callable[[], int]) -> None:
        """Create it; `group` returns the process group of the agent that runs."""
        self._group = group
        self._writers: dict[str, tuple[float, Writers]] = {}

    def of_line(
        self, path: str, pid: int | None, best: Attribution
    ) -> Generator[None, None, Attribution]:
        """Return the attribution of a new line of a file, at most `best`.

        Args:
            path: The file.
            pid: The process that the line names, if any.
            best: The attribution of a line that this agent has written.
        """
        if pid is not None:
            return best if belongs_to(pid, self._group()) else Attribution.FOREIGN
        now = time.monotonic()
        searched_at, writers = self._writers.get(path, (NEVER, None))
        if writers is None or now - searched_at >= VALID_SECONDS:
            writers = yield from find_writers(path, self._group())
            if len(self._writers) >= MAX_WRITERS:
                self._writers.clear()
            self._writers[path] = now, writers
        if writers.others:
            return Attribution.FOREIGN
        return best if writers.own else Attribution.WEAK
