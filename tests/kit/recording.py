"""Records for tests: rows as the recorder makes them, written by the real writer, and real runs."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import problems_of
from lastword.record import intake, run_file
from lastword.record.paths import Limits, store_path
from lastword.record.recorder import Recorder
from lastword.record.run import Row, Run
from lastword.record.run_file import RunFile
from tests.kit.command import command

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

FOR_EVER = Limits(days=0, size_bytes=0)
HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS
GONE_PID = 2**22 + 1
"""Beyond any process number that Linux gives."""


def now_ms() -> int:
    return int(time.time() * 1000)


def a_run(run_id: str = "01RUNA", *, pid: int = GONE_PID, at_ms: int | None = None) -> Run:
    return Run(
        run_id=run_id,
        door="run",
        program="agent-x",
        lastword_version="0.1.0",
        python_version="3.11.7",
        platform="linux",
        pid=pid,
        started_epoch_ms=now_ms() if at_ms is None else at_ms,
    )


class Book:
    """Collects rows of one run, its time of day beginning where a test says."""

    def __init__(self, began_ms: int | None = None) -> None:
        self.rows: list[Row] = []
        self.began_ms = now_ms() if began_ms is None else began_ms
        self.seconds = 100.0

    def note(
        self, kind: Kind, session: str | None = None, turn: int | None = None, **facts: Any
    ) -> None:
        self.seconds += 0.5
        entry = Entry(
            kind=kind, at_seconds=self.seconds, session_id=session, turn=turn, facts=facts
        )
        at_ms = self.began_ms + int((self.seconds - 100) * 1000)
        level = entry.level.value
        self.rows.append(
            Row(kind.value, level, at_ms, self.seconds, session, turn, None, entry.facts)
        )

    def created(self, session: str, how: str = "new") -> None:
        self.note(Kind.SESSION_CREATED, session, how=how)

    def ok(self, session: str, turn: int) -> None:
        self.note(Kind.PROMPT, session, turn)
        self.note(Kind.FIRST_OUTPUT, session, turn)
        self.note(Kind.ANSWER, session, turn, stop_reason="end_turn", by="agent")

    def failed(self, session: str, turn: int, type_: str = "rate_limit", **facts: Any) -> None:
        self.note(Kind.PROMPT, session, turn)
        self.note(Kind.ERROR, session, turn, type=type_, **facts)


def write(
    folder: Path,
    book: Book,
    run: Run | None = None,
    *,
    ended: bool = True,
    limits: Limits = FOR_EVER,
) -> Path:
    """Write a book's rows as a run does, and bring them in; gives the store."""
    path = store_path(str(folder))
    file = RunFile(path, run or a_run(at_ms=book.began_ms), limits)
    file.write(book.rows)
    file.close(ended=ended)
    assert not file.is_behind
    return stored(folder)


def stored(folder: Path) -> Path:
    """Bring in what runs have recorded in this folder; gives the store."""
    path = folder / "record.db"
    intake.opened(str(path)).close()
    return path


def is_recorded(folder: Path) -> bool:
    """Has a run begun a record in this folder?"""
    return run_file.size_of(run_file.folder_of(str(folder / "record.db"))) > 0


def a_book(turns: int = 3, *, began_ms: int | None = None, session: str = "s1") -> Book:
    book = Book(began_ms)
    for turn in range(1, turns + 1):
        book.ok(session, turn)
    return book


def everything_in(folder: Path) -> str:
    """What all files below this folder have, as Latin-1."""
    found = []
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        with suppress(FileNotFoundError):  # a writer has taken it away meanwhile
            found.append(file.read_bytes().decode("latin-1"))
    return "".join(found)


def count(path: Path, what: str = "entries") -> int:
    stored(path.parent)
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0])


def problems_in(path: Path) -> list[str]:
    """What the entries of a store say that no entry of their kind may say."""
    stored(path.parent)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT kind, facts FROM entries").fetchall()
    return [
        problem
        for kind, facts in rows
        for problem in problems_of(Entry(kind=Kind(kind), at_seconds=0.0, facts=json.loads(facts)))
    ]


class Carrier:
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def send(self, rows: list[Row]) -> None:
        self.rows += rows

    def close(self) -> None:
        return


def recorded(entries: list[Entry]) -> list[Row]:
    carrier = Carrier()
    recorder = Recorder(lambda: carrier)
    for entry in entries:
        recorder.record(entry)
        recorder.flush()
    recorder.close()
    return carrier.rows


def lastword(
    *arguments: str, state: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    where = {} if state is None else {"LASTWORD_STATE_DIR": str(state)}
    return command(*arguments, environment=os.environ | where | environment)
