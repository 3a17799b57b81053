"""Logs and session files of an agent without known journals, found by the agent's own name.

Owns where they may be and which are read: in folders with the agent's name, logs and files whose
path has the session's id. `sidecar.log_lines` interprets the lines; `sidecar.journal_files` opens
the files safely and within bounds. It is loaded when such an agent is ready.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import Attribution
from lastword.core.link.evidence import HintSource
from lastword.sidecar import late_modules
from lastword.sidecar.journal_files import MARKS, NEVER, FolderIndex, GrowingFile, is_plain
from lastword.sidecar.journals import LoggedCall, hint_of

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from lastword.core.link.evidence import Hint, SilentTurn
    from lastword.sidecar.journal_files import Attributions
    from lastword.sidecar.journals import Steps

MAX_ENTRIES = 4096
"""At most this many names in a folder are compared with the agent's."""

MAX_DEPTH = 8
MAX_FOLDERS = 2048
MAX_CANDIDATES = 8192
MAX_LOGS = 64
"""At most this many logs shared by sessions are watched, the newest ones."""

MAX_FILES = 8
"""At most this many files of a session are watched, the newest ones."""

MAX_SEARCHED_AT_END = 64
"""With more folders, no new files are searched for while an answer waits for the look."""

MAX_SESSIONS = 1024
ANOTHER = ""
"""A session that has no open turn."""

MIN_ID_CHARS = 6
"""A shorter session id may be part of a path by chance."""

_WORD = re.compile(r"[a-z]+|\d+")
SAME_SECONDS = 0.3
"""Reports of several files within this time are about one failure."""

_COMMON = frozenset({
    *("agent", "agents", "acp", "code", "cli", "ai", "the", "app", "dev", "server", "node", "js"),
    *("python", "py", "bin", "run", "client", "protocol", "adapter", "bridge", "mcp", "my", "test"),
    *("npx", "bun", "bunx", "deno", "pnpm", "yarn", "uv", "uvx", "env", "sh", "bash", "main"),
    *("config", "local", "share", "cache", "state", "data", "log", "logs", "home", "com", "io"),
})  # fmt: skip
"""Words that many agents' names have, and that identify none."""

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
"""Parts of variables for folders of the user, or of other programs."""
_NAMES = (".log", ".jsonl", ".ndjson")
_SKIPPED = frozenset({
    *("node_modules", ".git", "plugins", "skills", "extensions", "bin", "history", "file-history"),
    *("backups", "snapshots", "telemetry", "venv", ".venv", "site-packages", "subagents"),
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
        if not of_agent or parts[-1] not in _OWN_ENDINGS or not os.path.isabs(value):
            continue
        # Not a folder that contains the whole home.
        if not os.path.join(home, "").startswith(os.path.join(os.path.normpath(value), "")):
            folders[value] = None
    shared = [environment.get(variable) or default for variable, default in _SHARED]
    for folder in (home, *(os.path.join(home, each.removeprefix("~/")) for each in shared)):
        folders.update(dict.fromkeys(_folders_named(folder, words, hidden=folder == home)))
    for default in _SHARED_ON_MAC:
        folders.update(
            dict.fromkeys(_folders_named(os.path.join(home, default[2:]), words, hidden=False))
        )
    return list(folders)


def _folders_named(folder: str, words: frozenset[str], *, hidden: bool) -> list[str]:
    """Return the folders in this one whose names contain one of the words."""
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

    __slots__ = (
        "_attributions",
        "_candidates",
        "_folders",
        "_index",
        "_logs",
        "_of_sessions",
        "_reported_at",
        "_searched",
    )

    def __init__(
        self,
        agent_name: str | None,
        environment: Mapping[str, str],
        attributions: Attributions,
        program: str = "",
    ) -> None:
        """Find the folders of the agent with this name or, without one, of this program."""
        words = words_of(agent_name) or words_of(os.path.basename(program))
        self._folders = folders_of(words, environment) if words else []
        self._attributions = attributions
        self._index = FolderIndex()
        self._candidates: dict[str, float] = {}
        """The files that may be logs by their names, each with a time before it existed."""
        self._searched: dict[str, dict[str, float]] = {}
        """The names in each folder that were already searched."""
        self._logs: dict[str, GrowingFile] = {}
        """Logs shared by sessions."""
        self._of_sessions: dict[str, dict[str, GrowingFile]] = {}
        self._reported_at: dict[str, float] = {}
        """For each session, when the call that was reported last failed."""

    def __bool__(self) -> bool:
        return bool(self._folders)

    def mark(self, turn: SilentTurn) -> bool:
        """Store the sizes of the known files, for a turn that has just begun.

        Returns:
            Whether files of its session were searched for before.
        """
        own = self._of_sessions.get(turn.session_id)
        for file in (*self._logs.values(), *(own or {}).values()):
            file.mark(turn.began_at)
        # What the agent creates from now on is the turn's, however late the next look is.
        self._index.note_unchanged()
        return own is not None

    def look(self, turns: Sequence[SilentTurn], silent: Sequence[SilentTurn]) -> Steps:
        """Yield new hints about turns, and `None` between the steps, as `Journals.look` does."""
        # The difference between this machine's two clocks: lines have the time of day.
        zero = time.monotonic() - time.time()
        waits = any(turn.answered for turn in turns)
        if not waits or len(self._searched) <= MAX_SEARCHED_AT_END:
            yield from self._find({turn.session_id for turn in turns})
        if not turns:
            return
        hints: list[Hint] = []
        for file in list(self._logs.values()):
            hints += yield from self._read(file, None, turns, zero)
        for turn in silent:
            for file in list(self._of_sessions.get(turn.session_id, {}).values()):
                hints += yield from self._read(file, turn.session_id, [turn], zero)
            yield None
        for turn in turns:
            # A line without a session counts only if no other turn is open.
            owners = {turn.session_id, None} if len(turns) == 1 else {turn.session_id}
            own = [hint for hint in hints if hint.session_id in owners]
            if not own:
                continue
            # Agents write about one failure in several files: of the last hints, the most certain
            # and informative one counts, once.
            last = max(hint.at_seconds for hint in own) - SAME_SECONDS
            best = max(
                (hint for hint in own if hint.at_seconds >= last),
                key=lambda hint: (hint.attribution, hint.attempt is not None),
            )
            reported_at = self._reported_at.get(turn.session_id)
            if reported_at is None or best.at_seconds > reported_at + SAME_SECONDS:
                if len(self._reported_at) >= MAX_SESSIONS:
                    del self._reported_at[next(iter(self._reported_at))]
                self._reported_at[turn.session_id] = best.at_seconds
                yield best

    # --- the files

    def _find(self, sessions: set[str]) -> Generator[None]:
        """Find new logs, and the files of new sessions."""
        for session in sessions - self._of_sessions.keys():
            if is_plain(session) and len(session) >= MIN_ID_CHARS:
                if len(self._of_sessions) >= MAX_SESSIONS:
                    del self._of_sessions[next(iter(self._of_sessions))]
                self._of_sessions[session] = {}
                for path, born_after in self._candidates.items():
                    self._add_own(session, path, born_after)
                yield
        waiting = [(folder, NEVER, 0) for folder in self._folders]
        for folder, born_after, depth in waiting:
            listing = yield from self._index.read(folder, born_after)
            yield
            names = listing.names
            if self._searched.get(folder) is not names:
                for name, born in names.items():
                    path = os.path.join(folder, name)
                    if not name.endswith(_NAMES) or path in self._candidates:
                        continue
                    if len(self._candidates) >= MAX_CANDIDATES:
                        del self._candidates[next(iter(self._candidates))]
                    self._candidates[path] = born
                    for session in self._of_sessions:
                        self._add_own(session, path, born)
                    if name.endswith(".log"):
                        self._logs[path] = GrowingFile(path, born)
                        yield
                if len(self._logs) > MAX_LOGS:
                    latest = sorted(self._logs, key=_changed_at, reverse=True)[:MAX_LOGS]
                    self._logs = {path: self._logs[path] for path in latest}
                self._searched[folder] = names
            if depth < MAX_DEPTH and len(waiting) < MAX_FOLDERS:
                waiting += [
                    (os.path.join(folder, name), listing.names[name], depth + 1)
                    for name in listing.folders
                    if name not in _SKIPPED
                ]

    def _add_own(self, session: str, path: str, born_after: float) -> None:
        """Add a file to a session's own if its path has the session's id."""
        if session not in path:
            return
        files = self._of_sessions[session]
        files[path] = GrowingFile(path, born_after)
        self._logs.pop(path, None)
        if len(files) > MAX_FILES:
            del files[min(files, key=_changed_at)]

    # --- their lines

    def _read(
        self, file: GrowingFile, session_id: str | None, turns: Sequence[SilentTurn], zero: float
    ) -> Generator[None, None, list[Hint]]:
        """Return the last failed call of each session in a file."""
        news = file.news(min(turn.began_at for turn in turns))
        if MARKS.search(news.data) is None:
            return []
        # Loaded at the first mark: a healthy turn needs no classifier.
        yield from late_modules.load(late_modules.LOG_LINES)
        from lastword.sidecar.log_lines import (  # noqa: PLC0415
            named_process,
            named_session,
            read_own_line,
            records,
        )

        last: dict[str | None, Hint] = {}
        for position, line in records(news):
            yield
            session = session_id or _session_of(line, named_session(line), turns)
            if session == ANOTHER:
                continue
            call = read_own_line(line, of_session=session is not None)
            if call is None:
                continue
            attribution = Attribution.PROVEN
            if session is None:
                attribution = yield from self._attributions.of_line(
                    file.path, named_process(line), Attribution.STRONG
                )
            if not call.strong:
                attribution = min(attribution, Attribution.WEAK)
            report = LoggedCall(position, session, attribution, call)
            hint = hint_of(report, file, turns, zero, HintSource.LOG)
            if hint is not None:
                last[session] = hint
        return list(last.values())


def _session_of(line: bytes, named: bytes | None, turns: Sequence[SilentTurn]) -> str | None:
    """Return the session that a line names, `ANOTHER` if it has no turn, or `None`."""
    for turn in turns:
        session = turn.session_id
        long = len(session) >= MIN_ID_CHARS and session.encode() in line
        if long or named == session.encode():
            return session
    return None if named is None else ANOTHER


def _changed_at(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return -1.0
