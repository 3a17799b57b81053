"""Logs and session files of an agent without known journals, found by the agent's own name.

Owns where they may be and which are read: in folders with the agent's name, files whose path has
the session's id, and logs, if they are written while a turn is silent. `sidecar.log_lines`
interprets the lines; `sidecar.journal_files` opens the files safely and within bounds. It is
loaded when a turn has first been silent.
"""

from __future__ import annotations

import heapq
import os
import re
import time
from typing import TYPE_CHECKING

from lastword.core.failure.attribution import Attribution
from lastword.core.link.retries.hints import Hint, HintSource
from lastword.sidecar.journal_files import GrowingFile, is_plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lastword.core.link.retries.hints import SilentTurn
    from lastword.sidecar.journal_lines import FailedCall

MAX_ENTRIES = 8192
"""At most this many names are looked at in one search: 10 ms."""

MAX_DEPTH = 8
MAX_FILES = 8
"""At most this many files of a session are read: those that were written last."""

MAX_STORED = 64
MAX_LINES = 32
SEARCH_SHARE = 100
MAX_SEARCH_SECONDS = 10.0
"""The next search, for a file that an agent creates during a turn, waits this many times as long as
the last one took: searching takes at most a hundredth of the time, and what is small is searched
at each look."""

MIN_ID_CHARS = 6
"""A shorter id of a session may stand in a path by chance."""

LATE_SECONDS = 0.05
"""How much the clocks of a line's time and of a turn's beginning may differ."""

_WORD = re.compile(r"[a-z]+|\d+")
SAME_SECONDS = 0.3
"""Reports of several files within this time are about one failure."""

_PAGE = re.compile(rb"<(?:html|!doctype)[^>]{0,80}>\s*$", re.IGNORECASE)
_PAGE_LINES = 4

_SESSION = re.compile(rb"session[._ -]?id[\"\s:=]{1,4}([\w.-]{8,128})", re.IGNORECASE)
"""The session of a line in a log that several processes may write to."""

_COMMON = frozenset({
    *("agent", "agents", "acp", "code", "cli", "ai", "the", "app", "dev", "server", "node", "js"),
    *("python", "py", "bin", "run", "client", "protocol", "adapter", "bridge", "mcp", "my", "test"),
    *("config", "local", "share", "cache", "state", "data", "log", "logs", "home", "com", "io"),
})  # fmt: skip
"""Words that occur in the names of many agents and identify none."""

_SHARED = (
    ("XDG_DATA_HOME", "~/.local/share"),
    ("XDG_STATE_HOME", "~/.local/state"),
    ("XDG_CONFIG_HOME", "~/.config"),
    ("XDG_CACHE_HOME", "~/.cache"),
)
_SHARED_ON_MAC = ("~/Library/Logs", "~/Library/Application Support")
_OWN_ENDINGS = frozenset({"home", "dir"})
_OF_OTHERS = frozenset({
    *("project", "projects", "work", "working", "workspace", "cwd", "plugin", "plugins", "user"),
})  # fmt: skip
"""Parts of a variable that names a folder which is the user's, or another program's."""
_NAMES = (".log", ".jsonl", ".ndjson")
_SKIPPED = frozenset({
    *("node_modules", ".git", "plugins", "skills", "extensions", "bin", "history", "file-history"),
    *("backups", "snapshots", "telemetry", "venv", ".venv", "site-packages"),
})  # fmt: skip


def words_of(name: str | None) -> frozenset[str]:
    """Return the words of an agent's name that distinguish it from others."""
    words = _WORD.findall((name or "")[:96].lower())
    return frozenset(word for word in words if len(word) > 1 and word not in _COMMON)


def folders_of(words: frozenset[str], environment: Mapping[str, str]) -> list[str]:
    """Return the folders with one of these words, from the agent's environment and home."""
    home = environment.get("HOME") or os.path.expanduser("~")
    folders: dict[str, None] = {}
    for variable, value in environment.items():
        parts = variable.lower().split("_")
        of_agent = words.intersection(parts) and not _OF_OTHERS.intersection(parts)
        if of_agent and parts[-1] in _OWN_ENDINGS and _is_below(value, home):
            folders[value] = None
    shared = [environment.get(variable) or default for variable, default in _SHARED]
    for folder in (home, *(os.path.join(home, each.removeprefix("~/")) for each in shared)):
        folders.update(dict.fromkeys(_named_so(folder, words, hidden=folder == home)))
    for default in _SHARED_ON_MAC:
        folders.update(
            dict.fromkeys(_named_so(os.path.join(home, default[2:]), words, hidden=False))
        )
    return list(folders)


def _is_below(folder: str, home: str) -> bool:
    """Return whether this is a folder that does not contain the whole home."""
    whole = os.path.join(os.path.normpath(folder), "")
    return os.path.isabs(folder) and not os.path.join(home, "").startswith(whole)


def _named_so(folder: str, words: frozenset[str], *, hidden: bool) -> list[str]:
    """Return the folders within this one whose names contain one of the words."""
    try:
        with os.scandir(folder) as entries:
            return [
                entry.path
                for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)
                if (entry.name.startswith(".") or not hidden)
                and words.intersection(_WORD.findall(entry.name.lower()))
                and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


class OwnLogs:
    """New lines of an agent's own files."""

    __slots__ = ("_due", "_files", "_folders", "_paths", "_reported_at")

    def __init__(self, agent_name: str | None, environment: Mapping[str, str]) -> None:
        """Find the folders of the agent with this name and environment."""
        words = words_of(agent_name)
        self._folders = folders_of(words, environment) if words else []
        self._files: dict[str, GrowingFile] = {}
        self._paths: dict[str, list[str]] = {}
        """The files of each session."""
        self._due: dict[str, float] = {}
        """When to search for each session's files again."""
        self._reported_at: dict[str, float] = {}
        """When the last reported call of each session failed."""

    def __bool__(self) -> bool:
        """Return whether there may be any."""
        return bool(self._folders)

    def look(self, turns: Sequence[SilentTurn], now: float) -> list[Hint]:
        """Return what is new about these turns, the oldest first."""
        # The difference between this machine's two clocks: lines have the time of day.
        since = time.time() - now
        hints: list[Hint] = []
        for turn in turns:
            files = self._files_of(turn, now, since)
            reported = [hint for path in files for hint in self._news(path, turn, now, since)]
            hints += self._unreported(turn, reported)
        return sorted(hints, key=lambda hint: hint.at_seconds)

    def _unreported(self, turn: SilentTurn, hints: Sequence[Hint]) -> Iterator[Hint]:
        """Return the last hint, the most informative one first, unless reported before.

        Agents write about one failure in several files.
        """
        if not hints:
            return
        last = max(hint.at_seconds for hint in hints) - SAME_SECONDS
        best = max(
            (hint for hint in hints if hint.at_seconds >= last),
            key=lambda hint: (hint.attempt is not None, hint.session_id is not None),
        )
        reported_at = self._reported_at.get(turn.session_id)
        if reported_at is None or best.at_seconds > reported_at + SAME_SECONDS:
            self._reported_at[turn.session_id] = best.at_seconds
            yield best

    def _files_of(self, turn: SilentTurn, now: float, since: float) -> list[str]:
        session = turn.session_id
        if now >= self._due.get(session, now):
            if len(self._due) >= MAX_STORED:
                for remembered in (self._due, self._paths, self._reported_at):
                    remembered.clear()
            began = time.monotonic()
            self._paths[session] = search(self._folders, session)
            took = time.monotonic() - began
            self._due[session] = now + min(took * SEARCH_SHARE, MAX_SEARCH_SECONDS)
        began_at = turn.began_at + since - LATE_SECONDS
        return [path for path in self._paths[session] if _changed_at(path) >= began_at]

    def _news(self, path: str, turn: SilentTurn, now: float, since: float) -> Iterator[Hint]:
        """Return the last failed call that a file reports."""
        if path not in self._files and len(self._files) >= MAX_STORED:
            del self._files[next(iter(self._files))]
        news = self._files.setdefault(path, GrowingFile(path)).news()
        if not news:
            return
        # Loaded at the first news: a turn that is silent and well needs no classifier.
        from lastword.sidecar.log_lines import MARKS, read_own_line  # noqa: PLC0415

        session = turn.session_id.encode()
        own = turn.session_id in path
        last: tuple[float, FailedCall] | None = None
        for line in _marked(news.split(b"\n"), MARKS):
            named = _SESSION.search(line)
            if not own and named is not None and named[1] != session:
                continue
            call = read_own_line(line, of_session=own or session in line)
            at = None if call is None else min(call.at_epoch - since, now)
            if call is not None and at is not None and at >= turn.began_at - LATE_SECONDS:
                last = max(at, turn.began_at), call
        if last is not None:
            yield _hint(turn.session_id if own else None, *last)


def _marked(lines: list[bytes], marks: re.Pattern[bytes]) -> list[bytes]:
    """Return the last lines with a mark, including an error page that follows such a line."""
    numbers = [number for number, line in enumerate(lines) if marks.search(line)][-MAX_LINES:]
    ends = [number + (_PAGE_LINES if _PAGE.search(lines[number]) else 1) for number in numbers]
    return [b" ".join(lines[number:end]) for number, end in zip(numbers, ends, strict=True)]


def _hint(session_id: str | None, at: float, call: FailedCall) -> Hint:
    return Hint(
        source=HintSource.LOG,
        verdict=call.verdict,
        attribution=Attribution.STRONG,
        at_seconds=at,
        session_id=session_id,
        attempt=call.attempt,
        max_attempts=call.max_attempts,
        wait_seconds=call.wait_seconds,
        goes_on=call.goes_on,
    )


def search(folders: Sequence[str], session_id: str) -> list[str]:
    """Find the session's files and the agent's logs, the latest first.

    The folders that changed last are searched first, up to a limit.
    """
    named = is_plain(session_id) and len(session_id) >= MIN_ID_CHARS
    waiting = [(-_changed_at(folder), folder, 0) for folder in folders]
    heapq.heapify(waiting)
    matches: list[tuple[float, str]] = []
    left = MAX_ENTRIES
    while waiting and left > 0:
        _, folder, depth = heapq.heappop(waiting)
        for entry in _entries(folder, left):
            left -= 1
            if _is_folder(entry):
                if depth < MAX_DEPTH and entry.name not in _SKIPPED:
                    heapq.heappush(waiting, (-_changed_at(entry.path), entry.path, depth + 1))
            elif entry.name.endswith(_NAMES):
                own = named and session_id in entry.path
                if own or entry.name.endswith(".log"):
                    matches.append((_changed_at(entry.path), entry.path))
    return [path for _, path in sorted(matches, reverse=True)[:MAX_FILES]]


def _entries(folder: str, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(most), entries, strict=False)]
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _changed_at(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return -1.0
