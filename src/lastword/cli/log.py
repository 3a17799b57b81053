"""`lastword log`: show recorded sessions as a list, as a timeline, or live.

Owns the command line, the polling of `--follow`, four times a second, and the exit status: 0; 1 if
the record cannot be read; 2 for invalid arguments.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from lastword.cli import envelope
from lastword.cli.log_page import (
    LEVEL_STYLES,
    SHOWN_ID_CHARS,
    mark_of,
    show_all_failures,
    show_legend,
    show_parts,
    show_session,
)
from lastword.cli.page import Page, visibly_cut
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.record_access import (
    UnusableError,
    add_record_option,
    add_session,
    answer,
    chosen_session,
    has_frames,
    moment,
    path_of,
    port,
    whole_number,
)
from lastword.core.failure.phrases import counted, moment_of
from lastword.core.protocol.acp import number_of
from lastword.core.timeline.session_events import waits_that_passed
from lastword.errors import StoreError
from lastword.platform.pipes import close
from lastword.platform.terminal import wait_for_readers_end
from lastword.record import reader
from lastword.record.present import documents
from lastword.record.present.documents import ShownPart, ShownTurn, words
from lastword.record.reader import total
from lastword.record.store import file_of

if TYPE_CHECKING:
    import argparse
    import sqlite3
    from collections.abc import Iterator, Sequence

    from lastword.record.reader import Part, RecordedEntry
    from lastword.record.store import File


SPOOL_BYTES = 1024 * 1024
"""How much output is buffered in memory; the rest is in a temporary file."""


@contextlib.contextmanager
def buffer_output() -> Iterator[None]:
    """Buffer output to a pipe until the record is closed.

    An open pager reads only its first page. A record that stays open for reading would grow beyond
    its limits meanwhile: SQLite keeps everything that is written after the reader began.
    """
    out = sys.stdout
    if out.isatty():
        yield
        return
    with tempfile.SpooledTemporaryFile(
        SPOOL_BYTES, "w+", encoding=out.encoding, errors="backslashreplace", newline=""
    ) as buffer:
        try:
            with contextlib.redirect_stdout(buffer):
                yield
        finally:
            buffer.seek(0)
            out.writelines(buffer)


EVERY_SECONDS = 0.25
_COLUMNS = (
    "lastword log: each line has the time, the session and its turn (- outside any session), and "
    "what happened\n"
)
_PATIENCE = 8
"""How many times in a row the store may be unreadable."""


def follow(options: argparse.Namespace, path: str) -> int:
    """Show entries as they are recorded, until the user stops it.

    Raises:
        UnusableError: The named session does not exist.
        StoreError: The store cannot be read.
    """
    part = None
    if options.session is not None or options.last:
        with reader.reading(path) as record:
            part = chosen_session(record, options)
    place = _Place(path)
    if not place.is_there():
        sys.stderr.write(f"lastword log: there is no record at {path} yet; waiting for it\n")
    else:
        sys.stderr.write("lastword log: following; press Ctrl-C to stop\n")
    if not options.json:
        sys.stderr.write(_COLUMNS)
    sys.stderr.flush()
    page = Page()
    runs = {part.run} if part else set()
    try:
        while True:
            for recorded in place.news():
                session_id = recorded.entry.session_id
                if part is not None and session_id == part.session_id:
                    runs.add(recorded.run)
                elif part is not None and (session_id is not None or recorded.run not in runs):
                    continue  # of another session, or of a run without this one
                if not options.errors or recorded.level == "error":
                    _show(page, recorded, as_json=options.json)
            sys.stdout.flush()
            if wait_for_readers_end(sys.stdout.fileno(), EVERY_SECONDS):
                return 0
    except KeyboardInterrupt:
        return 0  # the way to end it


class _Place:
    """The position up to which a store has been read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: File | None = None
        self._path_fd: int | None = None
        self._last_id = 0
        # An error is reported by a later poll if the store stays unreadable.
        with suppress(StoreError), reader.reading(path) as record:
            self._last_id = reader.last_id(record)
        self._begin(file_of(path))
        self._refusals = 0

    def is_there(self) -> bool:
        return self._file is not None or self._last_id > 0

    def news(self) -> list[RecordedEntry]:
        """Return the entries written since the last poll.

        Raises:
            StoreError: The store has not been readable for two seconds.
        """
        try:
            now = file_of(self._path)
            with reader.reading(self._path) as record:
                now = now or file_of(self._path)  # reading may have created it
                if now != self._file:
                    self._begin(now)
                    self._last_id = 0
                newest = reader.last_id(record)
                # After a clearing the numbers begin again lower.
                self._last_id = min(self._last_id, newest)
                entries = reader.entries_after(record, self._last_id)
        except StoreError:
            # A reader may be about to create it, or to set it aside.
            self._refusals += file_of(self._path) is not None
            if self._refusals > _PATIENCE:
                raise
            return []
        if entries:
            self._last_id = entries[-1].id
        self._refusals = 0
        return entries

    def _begin(self, file: File | None) -> None:
        """Keep this file open, so that a file that replaces it cannot get its inode."""
        self._file = file
        if self._path_fd is not None:
            close(self._path_fd)
            self._path_fd = None
        if sys.platform == "linux":
            with suppress(OSError):
                # As a path only: closing a file releases each lock that SQLite has on it here.
                self._path_fd = os.open(self._path, os.O_PATH | os.O_CLOEXEC)


def _show(page: Page, recorded: RecordedEntry, *, as_json: bool) -> None:
    if as_json:
        envelope.write(documents.entry(recorded), indent=0)
        return
    entry = recorded.entry
    where = visibly_cut(entry.session_id or "-", SHOWN_ID_CHARS)
    where += f" {entry.turn}" if entry.turn else ""
    start = f"{moment_of(recorded.at_epoch_ms):%H:%M:%S}  "
    page.row(start, f"{where}  {words(entry)}", LEVEL_STYLES.get(recorded.level, ""))
    sys.stdout.write(page.drain())


DEFAULT_SESSIONS, DEFAULT_FAILURES, DEFAULT_TURNS = 10, 20, 20
ALL = 2**31
"""A limit that no record reaches."""

TURNS_IN_A_LIST = 5
MARKS_IN_A_LIST = 80

_ABOUT = """\
Shows what `lastword run` has recorded: the latest sessions with their turns,
or the timeline of one session.
"""

_EPILOG = """\
examples:
  lastword log                     the latest sessions, numbered
  lastword log 1                   the timeline of the first in that list
  lastword log 3f2a                the session whose id begins with 3f2a
  lastword log --errors --since 2d
  lastword log --follow            what happens, as it happens
  lastword log --web 1             the same in a browser, by a one-time link

A timeline opens with what failed, whose fault it was, whether a retry is safe
and what to do. Within a turn, times are seconds since its prompt.
A complete id or incident takes precedence over a number in the list, and a
number over the beginning of an id: give more of an id that begins with digits.
No prompt, no answer and no content of tools is recorded.

exit status: 0, 1 if the record cannot be read, 2 for invalid arguments.
"""


def main(arguments: Sequence[str]) -> int:
    """Show what is recorded; return the exit status."""
    options = parser().read(arguments)
    path = path_of(options)
    return answer("log", path, lambda: _run(options, path))


_SHOWN = f"""\
--errors  show each failure, and what to do about it
--follow  show entries as they are recorded, until Ctrl-C
--since WHEN
    show only what began since then: 30m, 2h, 3d or 1w ago, 2026-11-20, 2026-11-20T14:30 (default:
    no limit)
--limit N
    show at most this many sessions (default: {DEFAULT_SESSIONS}), failures (default:
    {DEFAULT_FAILURES}), or turns of one session (default: {DEFAULT_TURNS})
--all  show all sessions, failures or turns, not only the latest
"""
_FORMS = """\
--json  print the same as JSON; with --follow, one object per line
--web  show the record in a browser on this machine
--frames FILE
    with --web: show this file of `lastword run --frames`, or a trace of ACP Inspector,
    the Rust conductor or acp.el (default: none)
--no-open  with --web: print the link without opening a browser
--port PORT  with --web: the port to serve on (default: a free port)
"""


def parser() -> CommandParser:
    made = CommandParser("log", usage="[options] [SESSION]", about=_ABOUT, ends=_EPILOG)
    add_session(made)
    shown = made.add_argument_group("what is shown")
    add_arguments(shown, _SHOWN, since={"type": moment}, limit={"type": whole_number})
    add_arguments(
        made.add_argument_group("how it is shown"),
        _FORMS,
        no_open={"dest": "open", "action": "store_false"},
        port={"type": port},
    )
    add_record_option(made)
    return made


def _run(options: argparse.Namespace, path: str) -> int:
    if options.last and options.session is not None:
        raise UnusableError("--last already names a session; leave the other name out")
    if options.all and options.limit is not None:
        raise UnusableError("--all has no limit; leave --limit out")
    if options.web:
        others = ("errors", "follow", "json", "limit", "all", "since")
        given = [f"--{name}" for name in others if getattr(options, name)]
        if given:
            raise UnusableError(f"--web shows all of it as it happens; leave {given[0]} out")
        if options.frames:
            _check_frames(options)
        from lastword.cli.web import serve  # noqa: PLC0415

        return serve(options, path)
    if not options.open or options.port is not None or options.frames:
        raise UnusableError("--no-open, --port and --frames need --web")
    if options.follow:
        if options.limit is not None or options.since is not None or options.all:
            raise UnusableError("--follow begins now; leave --since, --limit and --all out")
        return follow(options, path)
    with buffer_output(), reader.reading(path) as record:
        if options.session is None and not options.last and not options.errors:
            _list(options, record)
        elif options.session is not None or options.last:
            show_session(record, options, _limit(options, DEFAULT_TURNS))
        else:
            show_all_failures(record, options, _limit(options, DEFAULT_FAILURES))
    return 0


def _check_frames(options: argparse.Namespace) -> None:
    if options.session is not None or options.last:
        raise UnusableError("--frames shows a file, not a session; leave the session out")
    try:
        if not has_frames(options.frames):
            raise UnusableError(
                f"{options.frames} has no frames; name a file of `lastword run --frames`, "
                "or another trace"
            )
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise UnusableError(f"--frames cannot be {options.frames}: {reason}") from error


def _limit(options: argparse.Namespace, usual: int) -> int:
    return ALL if options.all else options.limit or usual


def _list(options: argparse.Namespace, record: sqlite3.Connection) -> None:
    since = options.since or 0
    parts, more = reader.latest_parts(record, _limit(options, DEFAULT_SESSIONS), since)
    left_out = reader.count_parts(record, since) - len(parts) if more else 0
    shown = [_shown(record, part, number, since) for number, part in enumerate(parts, 1)]
    if options.json:
        values = [documents.part(each) for each in shown]
        envelope.write({"sessions": values, "more": more, "left_out": left_out})
        return
    page = Page()
    show_parts(page, shown)
    if shown:
        show_legend(page, shown)
        page.line("`lastword log 1` opens the first of these, `lastword log 2` the second.", "dim")
    else:
        page.line("No turn is recorded" + (" in this time." if since else " yet."), "dim")
    if left_out:
        are = "is" if left_out == 1 else "are"
        page.line(
            f"{counted(left_out, 'older session')} {are} not shown; `lastword log --all` lists "
            "every one.",
            "dim",
        )
    sys.stdout.write(page.drain())


def _shown(record: sqlite3.Connection, part: Part, number: int, since: int) -> ShownPart:
    run = reader.run_of(record, part.run)
    turns = reader.turns_of(record, part, MARKS_IN_A_LIST, since)
    silent, costs = reader.silences_of(record, turns), reader.costs_of(record, part)
    latest: list[ShownTurn] = []
    for turn in turns[-TURNS_IN_A_LIST:]:
        waits: tuple[float, ...] = ()
        if turn.retries:
            retries = [each.entry for each in reader.retries_of(record, turn)]
            announced = [
                (each.at_seconds, number_of(each.facts.get("wait_seconds"))) for each in retries
            ]
            until = turn.ended_seconds if turn.ended_seconds is not None else announced[-1][0]
            waits = tuple(waits_that_passed(announced, until))
        latest.append(ShownTurn(turn, waits, silent.get(turn.turn), costs.get(turn.turn, {})))
    marks = tuple(mark_of(turn, run, silent=turn.turn in silent) for turn in turns)
    count = reader.count_turns(record, part)
    failures = () if count else reader.failures_of(record, part)
    name = reader.gateways_name(record, part)
    failed = reader.last_failed(record, part) if count else None
    return ShownPart(
        part,
        run,
        tuple(latest),
        marks,
        count,
        tuple(failures),
        name,
        number,
        failed,
        total(costs.values()),
    )
