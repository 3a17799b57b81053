"""The journals of one agent: where they are, and what they say about silent turns.

Owns the location of an agent's journals, given the environment that it inherits, and the choice
of hints: the last line about each session that is not older than its turn. It is loaded when a
turn has first been silent for a while. `sidecar.sources` decides when to look.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lastword.core.failure.attribution import Attribution
from lastword.core.failure.taxonomy import UNDECIDED
from lastword.core.link.retries.hints import Hint, HintSource
from lastword.quirks import journals
from lastword.quirks.agents import agent_key
from lastword.sidecar import journal_files
from lastword.sidecar.journal_files import GrowingFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lastword.core.link.retries.hints import SilentTurn
    from lastword.quirks.journals import JournalRow
    from lastword.sidecar.agent_start import GivenFile
    from lastword.sidecar.journal_lines import FailedCall

MAX_FILES = 64
"""At most this many files are remembered; the one that was added first goes for a new one."""

MAX_LINES = 32
"""At most this many marked lines are read at one look: the last."""

LATE_SECONDS = 0.05
"""How much the clocks of a line's time and of a turn's beginning may differ."""

SESSION = "{session}"


def rows_of(agent_name: str | None, own: Sequence[JournalRow] = ()) -> list[JournalRow]:
    """Return the journals that an agent of this name may keep, the user's own rows first.

    A user's row names the agent by its key or as the agent names itself.
    """
    key = agent_key(agent_name)
    names = {key, agent_name} - {None, ""}
    theirs = [row for row in journals.ROWS if row.agent == key]
    return [row for row in own if row.agent in names] + theirs


def folder_of(row: JournalRow, environment: Mapping[str, str]) -> str:
    """Return where an agent in this environment keeps a journal."""
    for variable, rest in row.variables:
        if environment.get(variable):
            return os.path.join(environment[variable], rest)
    return os.path.expanduser(row.default)


def by_file(rows: Sequence[JournalRow]) -> list[list[JournalRow]]:
    """Return the rows, grouped by the file that they read."""
    files: dict[tuple[object, ...], list[JournalRow]] = {}
    for row in rows:
        files.setdefault((row.variables, row.default, row.path), []).append(row)
    return list(files.values())


class Journals:
    """New lines of an agent's journals."""

    __slots__ = ("_environment", "_files", "_given", "_rows_by_file")

    def __init__(
        self,
        agent_name: str | None,
        environment: Mapping[str, str],
        given: GivenFile | None = None,
        own: Sequence[JournalRow] = (),
    ) -> None:
        """Find the journals.

        Args:
            agent_name: The agent's own name.
            environment: The agent's environment.
            given: The file that the agent was started to write to, if any.
            own: The user's own rows.
        """
        rows = [row for row in rows_of(agent_name, own) if row.path or given]
        self._rows_by_file = by_file(rows)
        self._environment = environment
        self._given = given
        self._files: dict[tuple[str, str | None], GrowingFile] = {}

    def __bool__(self) -> bool:
        """Return whether there may be any."""
        return bool(self._rows_by_file)

    def look(self, turns: Sequence[SilentTurn], now: float) -> list[Hint]:
        """Return what is new about these turns, the oldest first."""
        # The difference between this machine's two clocks: lines have the time of day.
        since = time.time() - now
        hints: list[Hint] = []
        for rows in self._rows_by_file:
            if SESSION not in rows[0].path:
                news = self._news(rows[0], None)
                for row in rows:
                    hints += _hints(row, news, None, turns, now, since)
                continue
            for turn in turns:
                news = self._news(rows[0], turn.session_id)
                for row in rows:
                    hints += _hints(row, news, turn.session_id, [turn], now, since)
        return sorted(hints, key=lambda hint: hint.at_seconds)

    def _news(self, row: JournalRow, session_id: str | None) -> bytes:
        if not row.path:
            return b"" if self._given is None else self._given.news()
        file = self._files.get((row.name, session_id)) or self._open(row, session_id)
        return b"" if file is None else file.news()

    def _open(self, row: JournalRow, session_id: str | None) -> GrowingFile | None:
        if session_id is not None and not journal_files.is_plain(session_id):
            return None
        path = row.path.replace(SESSION, session_id or "")
        file_path = journal_files.find(folder_of(row, self._environment), path)
        if file_path is None or not os.path.lexists(file_path):
            return None
        if len(self._files) >= MAX_FILES:
            del self._files[next(iter(self._files))]
        file = self._files[row.name, session_id] = GrowingFile(file_path)
        return file


def _hints(  # noqa: PLR0913, PLR0917 - a line's row, its text, and what it is measured by
    row: JournalRow,
    news: bytes,
    session_id: str | None,
    turns: Sequence[SilentTurn],
    now: float,
    since: float,
) -> Iterator[Hint]:
    """Return the last line about each session, and about calls outside turns."""
    if row.marker not in news:
        return
    # Loaded at the first marked line: a turn that is silent and well needs no classifier.
    from lastword.sidecar.journal_lines import read_line  # noqa: PLC0415

    began_at = min(turn.began_at for turn in turns)
    last: dict[tuple[str | None, bool], tuple[float, FailedCall]] = {}
    for line in _marked(row.marker, news):
        call = read_line(row, line)
        at = None if call is None else min(call.at_epoch - since, now)
        if call is None or at is None or at < began_at - LATE_SECONDS:
            continue
        if row.goes_on or call.verdict.type not in UNDECIDED:
            last[session_id or call.session_id, call.side] = max(at, began_at), call
    for (session, side), (at, call) in last.items():
        yield Hint(
            source=HintSource.JOURNAL,
            verdict=call.verdict,
            attribution=Attribution.PROVEN,
            at_seconds=at,
            session_id=session,
            attempt=call.attempt,
            max_attempts=call.max_attempts,
            wait_seconds=call.wait_seconds,
            goes_on=row.goes_on,
            side=side,
        )


def _marked(marker: bytes, news: bytes) -> list[bytes]:
    """Return the last lines with the marker, searching from the end."""
    lines: list[bytes] = []
    end = len(news)
    while len(lines) < MAX_LINES:
        at = news.rfind(marker, 0, end)
        if at < 0:
            break
        begin = news.rfind(b"\n", 0, at) + 1
        line_end = news.find(b"\n", at)
        lines.append(news[begin : line_end if line_end >= 0 else len(news)])
        end = begin
    lines.reverse()
    return lines
