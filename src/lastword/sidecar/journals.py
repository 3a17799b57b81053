"""The journals of one agent: where they are, and their hints about silent turns.

Owns the location of an agent's journals, given the environment that it inherits, and the choice
of hints: the last line about each session since its prompt. It is loaded when the agent is ready.
`sidecar.sources` decides when to look; a look is made in steps, so that it can be interrupted.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lastword.core.failure.taxonomy import UNDECIDED, Attribution
from lastword.core.link.evidence import Hint, HintSource
from lastword.platform.process import write_message
from lastword.quirks import journals
from lastword.quirks.agents import agent_of
from lastword.sidecar import late_modules
from lastword.sidecar.journal_files import SESSION, FolderIndex, GrowingFile, find, is_plain

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from lastword.core.link.evidence import SilentTurn
    from lastword.quirks.journals import JournalRow
    from lastword.sidecar.journal_files import Attributions, News
    from lastword.sidecar.journal_lines import FailedCall
    from lastword.sidecar.own_patterns import Groups

    Steps = Generator[Hint | None, None, None]
    """The steps of a look, with new hints."""

MAX_FILES = 1024
"""At most this many files are watched; a new one replaces the oldest."""

MAX_LINES = 32
"""At most this many marked lines are read at one look, the last ones."""

LATE_SECONDS = 0.05
"""How much earlier than a turn's beginning the time in one of its lines may be."""


def rows_of(
    agent_name: str | None, own: Sequence[JournalRow] = (), command: Sequence[str] = ()
) -> list[JournalRow]:
    """Return the rows of an agent's journals, the user's own rows first.

    A user's row has the agent's key, or the name that the agent gives itself.
    """
    key = agent_of(list(command), agent_name)
    names = {key, agent_name} - {None, ""}
    theirs = [row for row in journals.ROWS if row.agent == key]
    return [row for row in own if row.agent in names] + theirs


def folder_of(row: JournalRow, environment: Mapping[str, str]) -> str:
    """Return the folder of a journal of an agent in this environment."""
    for variable, rest in row.variables:
        if environment.get(variable):
            return os.path.join(environment[variable], rest)
    return os.path.expanduser(row.default)


def by_file(rows: Sequence[JournalRow]) -> list[list[JournalRow]]:
    """Return the rows, grouped by their file."""
    files: dict[tuple[object, ...], list[JournalRow]] = {}
    for row in rows:
        files.setdefault((row.variables, row.default, row.path), []).append(row)
    return list(files.values())


class Journals:
    """New lines of an agent's journals."""

    __slots__ = (
        "_attributions",
        "_environment",
        "_files",
        "_index",
        "_own",
        "_rows_by_file",
        "_slow",
    )

    def __init__(
        self,
        agent_name: str | None,
        environment: Mapping[str, str],
        attributions: Attributions,
        *,
        own: Sequence[JournalRow] = (),
        command: Sequence[str] = (),
    ) -> None:
        """Find the journals.

        Args:
            agent_name: The agent's own name.
            environment: The agent's environment.
            attributions: The writers of files that several sessions share.
            own: The user's own rows.
            command: The agent's command.
        """
        self._rows_by_file = by_file(rows_of(agent_name, own, command))
        self._environment = environment
        self._attributions = attributions
        self._index = FolderIndex()
        self._files: dict[tuple[str, str | None], GrowingFile] = {}
        self._own = own
        self._slow: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._rows_by_file)

    def mark(self, turn: SilentTurn) -> bool:
        """Store the sizes of the known files, for a turn that has just begun.

        Returns:
            Whether all files of the turn are known. Otherwise a look should search for them.
        """
        complete = True
        for rows in self._rows_by_file:
            session = turn.session_id if SESSION in rows[0].path else None
            file = self._files.get((rows[0].name, session))
            if file is None:
                complete = False
            else:
                file.mark(turn.began_at)
        if not complete:
            # What the agent creates from now on is the turn's, however late the next look is.
            self._index.note_unchanged()
        return complete

    def look(self, turns: Sequence[SilentTurn], silent: Sequence[SilentTurn]) -> Steps:
        """Yield new hints about turns, and `None` between the steps.

        Without a turn, only the folders are listed.

        Args:
            turns: All open turns.
            silent: The turns whose own files are read.
        """
        # The difference between this machine's two clocks: lines have the time of day.
        since = time.time() - time.monotonic()
        sessions = {turn.session_id for turn in turns}
        for rows in self._rows_by_file:
            yield from self._find(rows[0], sessions)
            if SESSION not in rows[0].path:
                yield from self._read(rows, None, turns, since)
                continue
            for turn in silent:
                yield from self._read(rows, turn.session_id, [turn], since)
                yield None

    def _find(self, row: JournalRow, sessions: set[str]) -> Generator[None]:
        """Find files that are not yet known: the sessions' own, or the one that they share."""
        owners: set[str | None] = {None}
        if SESSION in row.path:
            owners = {each for each in sessions if is_plain(each)}
        missing = {each for each in owners if (row.name, each) not in self._files}
        if not missing and (sessions or SESSION not in row.path):
            return
        folder = folder_of(row, self._environment)
        places = yield from find(self._index, folder, row.path, missing)
        for session, (path, born_after) in places.items():
            if len(self._files) >= MAX_FILES:
                del self._files[next(iter(self._files))]
            self._files[row.name, session] = GrowingFile(path, born_after)

    def _read(
        self,
        rows: Sequence[JournalRow],
        session_id: str | None,
        turns: Sequence[SilentTurn],
        since: float,
    ) -> Steps:
        """Yield a file's hints about these turns, the oldest first."""
        key = rows[0].name, session_id
        file = self._files.get(key)
        if file is None or not turns:
            return
        news = file.news(min(turn.began_at for turn in turns))
        if file.is_gone:
            # Perhaps to another folder.
            del self._files[key]
        hints: list[Hint] = []
        for row in rows:
            if row.marker in news.data and row.name not in self._slow:
                calls = yield from self._calls(row, file, news, session_id)
                # The last hint about each session, and the last about calls outside turns.
                last: dict[tuple[str | None, bool], Hint] = {}
                for call in calls:
                    hint = hint_of(call, file, turns, -since, HintSource.JOURNAL)
                    if hint is not None:
                        last[hint.session_id, hint.side] = hint
                hints += [
                    msgspec.structs.replace(hint, goes_on=row.goes_on) for hint in last.values()
                ]
        yield from sorted(hints, key=lambda hint: hint.at_seconds)

    def _calls(
        self, row: JournalRow, file: GrowingFile, news: News, session_id: str | None
    ) -> Generator[None, None, list[LoggedCall]]:
        # Loaded at the first marked line: a healthy turn that is silent needs no classifier.
        yield from late_modules.load(late_modules.JOURNAL_LINES)
        from lastword.sidecar.journal_lines import read_groups, read_line  # noqa: PLC0415

        calls: list[LoggedCall] = []
        lines = _marked(row.marker, news)
        is_own = bool(row.pattern) and row in self._own
        own: Sequence[Groups | None] = ()
        if is_own:
            # Loaded only for a user's own patterns.
            from lastword.sidecar.own_patterns import SlowPatternError, match_lines  # noqa: PLC0415

            texts = [line.decode(errors="replace") for _, line in lines]
            try:
                own = yield from match_lines(row.pattern, texts)
            except SlowPatternError as error:
                name = row.name.removeprefix("config:")
                write_message(f"your journal {name!r} is not read any more: {error}")
                self._slow.add(row.name)
                own = [None] * len(lines)
        for index, (position, line) in enumerate(lines):
            if is_own:
                groups = own[index]
                call = None if groups is None else read_groups(groups)
            else:
                call = read_line(row, line)
            yield
            if call is None or not (row.goes_on or call.verdict.type not in UNDECIDED):
                continue
            session, attribution = session_id or call.session_id, Attribution.PROVEN
            if session is None:
                attribution = yield from self._attributions.of_line(
                    file.path, call.pid, Attribution.PROVEN
                )
            calls.append(LoggedCall(position, session, attribution, call))
        return calls


class LoggedCall(NamedTuple):
    """A line about a failed call.

    Attributes:
        position: where it begins in its file.
        session_id: its session; `None` if unknown.
        attribution: how certain it is that this agent wrote it.
        call: the call that it reports.
    """

    position: int
    session_id: str | None
    attribution: Attribution
    call: FailedCall


def hint_of(
    each: LoggedCall,
    file: GrowingFile,
    turns: Sequence[SilentTurn],
    zero: float,
    source: HintSource,
) -> Hint | None:
    """Return the hint that a line gives about an open turn, if any.

    Args:
        each: The line.
        file: Its file.
        turns: All open turns to which it may belong.
        zero: The monotonic clock's value when the time of day was 0.
        source: The kind of the file.
    """
    call = each.call
    own = [turn for turn in turns if each.session_id in {None, turn.session_id}]
    # A line without a session counts only where one turn is open.
    began_at = max((turn.began_at for turn in own), default=None)
    if began_at is None or each.attribution is Attribution.FOREIGN:
        return None
    at = call.at_epoch + zero
    if each.position < file.size_at(began_at) or at < began_at - LATE_SECONDS:
        return None
    return Hint(
        source=source,
        verdict=call.verdict,
        at_seconds=max(min(at, time.monotonic()), began_at),
        session_id=each.session_id,
        attempt=call.attempt,
        max_attempts=call.max_attempts,
        wait_seconds=call.wait_seconds,
        goes_on=call.goes_on,
        may_go_on=call.may_go_on,
        side=call.side,
        attribution=each.attribution,
    )


def _marked(marker: bytes, news: News) -> list[tuple[int, bytes]]:
    """Return the last lines with the marker and their positions, searching from the end."""
    data = news.data
    lines: list[tuple[int, bytes]] = []
    end = len(data)
    while len(lines) < MAX_LINES:
        at = data.rfind(marker, 0, end)
        if at < 0:
            break
        begin = data.rfind(b"\n", 0, at) + 1
        line_end = data.find(b"\n", at)
        lines.append((news.begin + begin, data[begin : line_end if line_end >= 0 else len(data)]))
        end = begin
    lines.reverse()
    return lines
