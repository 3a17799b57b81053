"""Folder index: the names in folders, shared by all sessions and read again only after a change.

Owns the listings and how long each is valid. A listing also says since when a name has been there:
a file that did not exist when a prompt was sent belongs to the time after it. Reading is done in
steps, so that a large folder delays nothing.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

NEVER = -math.inf
SESSION = "{session}"

FRESH_SECONDS = 0.02
"""A folder is looked at once in this time, however many sessions need it."""

MAX_NAMES = 16_384
"""At most this many names of one folder are read."""

MAX_ALL_NAMES = 65_536
MAX_FOLDERS = 4096
"""At most so much is remembered; what was listed first goes for what is new."""

STEP_NAMES = 256
_RECENT_NS = 50_000_000
"""A folder that changed so shortly ago may change once more without its time changing."""


class Listing:
    """The names in one folder."""

    __slots__ = ("checked_at", "folders", "mtime_ns", "names")

    def __init__(self) -> None:
        self.names: dict[str, float] = {}
        """Each name, and a moment at which it was not there yet."""
        self.folders: set[str] = set()
        self.mtime_ns: int = -1
        """The folder's time of change, -1 if it has to be read again."""
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
            born_after: A moment at which the folder was not there yet.
        """
        now = time.monotonic()
        listing = self._listings.get(folder)
        if listing is not None and now - listing.checked_at < FRESH_SECONDS:
            return listing
        mtime_ns = _mtime_ns(folder)
        if listing is None:
            listing, absent_at = Listing(), born_after
            self._make_room()
            self._listings[folder] = listing
        else:
            absent_at = listing.checked_at
            if listing.mtime_ns == mtime_ns:
                listing.checked_at = now
                return listing
        recent = time.time_ns() - mtime_ns < _RECENT_NS
        yield from self._fill(folder, listing, absent_at)
        listing.checked_at = now
        listing.mtime_ns = -1 if recent else mtime_ns
        return listing

    def note_unchanged(self) -> None:
        """Note of each folder that is as it was listed that it has no other name up to now."""
        now = time.monotonic()
        for folder, listing in self._listings.items():
            if listing.mtime_ns == _mtime_ns(folder):
                listing.checked_at = now

    def _fill(self, folder: str, listing: Listing, absent_at: float) -> Generator[None]:
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

    def _make_room(self) -> None:
        while self._listings and (
            len(self._listings) >= MAX_FOLDERS or self._count > MAX_ALL_NAMES
        ):
            self._count -= len(self._listings.pop(next(iter(self._listings))).names)


def _mtime_ns(folder: str) -> int:
    """Return when a folder changed last, 0 if it is not there."""
    try:
        return os.stat(folder).st_mtime_ns
    except (OSError, ValueError):
        return 0


def find(
    index: FolderIndex, folder: str, path: str, sessions: set[str | None]
) -> Generator[None, None, dict[str | None, tuple[str, float]]]:
    """Return the files that a path matches, one for each session, with moments before each.

    In the path `*` stands for any name, or its beginning, and `{session}` for a session; without
    it, the one file is that of no session. Of several files the one counts that was written last.
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
    """Yield the names that fit one part of a path, each with the session that it belongs to."""
    if SESSION not in pattern or session is not None:
        ending = pattern.replace(SESSION, session or "").strip("*")
        yield from ((name, session) for name in listing.names if name.endswith(ending))
        return
    endings = {pattern.replace(SESSION, each or "").lstrip("*"): each for each in sessions}
    if not pattern.startswith("*"):
        yield from ((name, endings[name]) for name in endings.keys() & listing.names.keys())
        return
    # The ending begins with a character of the pattern's, or else with any.
    first = pattern.lstrip("*").partition(SESSION)[0][:1]
    for name in listing.names:
        starts = (at for at, char in enumerate(name) if not first or char == first)
        fit = next((name[at:] for at in starts if name[at:] in endings), None)
        if fit is not None:
            yield name, endings[fit]
