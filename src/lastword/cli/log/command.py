"""`lastword log`: what is recorded of sessions, in a list, as a timeline, or as it happens.

Owns the command line and the exit status: 0, 1 when the record cannot be used, 2 when it cannot be
shown as it was asked.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lastword.cli.log.follow import follow
from lastword.cli.log.page import mark_of, show_failures, show_head, show_parts, show_timeline
from lastword.cli.page import Page
from lastword.cli.parser import CommandParser
from lastword.cli.record_access import (
    UnusableError,
    add_record_option,
    add_session,
    add_since_option,
    answer,
    chosen_session,
    path_of,
    port,
    whole_number,
)
from lastword.record import reader
from lastword.record.present import documents
from lastword.record.present.sections import Section, ShownPart, ShownTurn
from lastword.record.present.strip import LEGEND
from lastword.record.turns import FAILED

if TYPE_CHECKING:
    import argparse
    import sqlite3
    from collections.abc import Sequence

    from lastword.record.reader import Part, RecordedEntry, RecordedRun, RecordedTurn

DEFAULT_SESSIONS, DEFAULT_FAILURES, DEFAULT_TURNS = 10, 20, 20
TURNS_IN_A_LIST = 5
MARKS_IN_A_LIST = 80

_ABOUT = """\
Shows what `lastword run` has recorded: the latest sessions with their turns,
or the timeline of one session.
"""

_EPILOG = """\
examples:
  lastword log                     the latest sessions
  lastword log 3f2a                one session's timeline, by its id's beginning
  lastword log --last              the latest session's
  lastword log --errors --since 2d
  lastword log --follow            what happens, as it happens
  lastword log --web               the same in a browser, by a one-time link

Within a turn, times are seconds since its prompt. An incident's id names its
session, too.
No prompt, no answer and no tool's content is in the record.

exit status: 0, 1 when the record cannot be read, 2 for arguments that cannot
be used.
"""


def main(arguments: Sequence[str]) -> int:
    """Show what is recorded; gives the exit status."""
    options = parser().read(arguments)
    path = path_of(options)
    return answer("log", path, lambda: _run(options, path))


def parser() -> CommandParser:
    """Return the parser."""
    made = CommandParser("log", usage="[options] [SESSION]", about=_ABOUT, ends=_EPILOG)
    add_session(made)
    _add_filters(made.add_argument_group("what is shown"))
    _add_forms(made.add_argument_group("how it is shown"))
    add_record_option(made)
    return made


def _add_filters(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--errors", action="store_true", help="show failures alone")
    group.add_argument(
        "--follow", action="store_true", help="show what happens from now on, until Ctrl-C"
    )
    add_since_option(group)
    group.add_argument(
        "--limit",
        type=whole_number,
        metavar="N",
        help=f"show at most so many sessions (default: {DEFAULT_SESSIONS}), failures (default: "
        f"{DEFAULT_FAILURES}), or turns of one session (default: {DEFAULT_TURNS})",
    )


def _add_forms(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--json",
        action="store_true",
        help="print the same as JSON, for programs; with --follow, an object a line",
    )
    group.add_argument("--web", action="store_true", help="show it in a browser on this machine")
    group.add_argument(
        "--no-open",
        dest="open",
        action="store_false",
        help="with --web: print the link, and open no browser",
    )
    group.add_argument(
        "--port", type=port, metavar="PORT", help="with --web: serve there (default: a free port)"
    )


def _run(options: argparse.Namespace, path: str) -> int:
    if options.last and options.session is not None:
        raise UnusableError("--last names a session by itself; leave the other name out")
    if options.web:
        return _web(options, path)
    if not options.open or options.port is not None:
        raise UnusableError("--no-open and --port belong to --web")
    if options.follow:
        if options.limit is not None or options.since is not None:
            raise UnusableError("--follow begins now; leave --since and --limit out")
        return follow(options, path)
    with reader.reading(path) as record:
        if options.session is not None or options.last:
            _one(options, record)
        elif options.errors:
            _failures(options, record)
        else:
            _list(options, record)
    return 0


def _web(options: argparse.Namespace, path: str) -> int:
    others = ("errors", "follow", "json", "limit", "since")
    given = [f"--{name}" for name in others if getattr(options, name)]
    if given:
        raise UnusableError(f"--web shows all of it as it happens; leave {given[0]} out")
    from lastword.cli.web.command import serve  # noqa: PLC0415

    return serve(options, path)


def _list(options: argparse.Namespace, record: sqlite3.Connection) -> None:
    limit = options.limit or DEFAULT_SESSIONS
    parts, more = reader.latest_parts(record, limit, options.since or 0)
    shown = [_shown(record, part, options.since or 0) for part in parts]
    if options.json:
        documents.write({"sessions": [documents.part(each) for each in shown], "more": more})
        return
    page = Page()
    show_parts(page, shown)
    page.line(LEGEND if parts else "No turn is recorded" + _since(options), "dim")
    if more:
        page.line(f"There are more sessions; --limit {limit * 2} shows more of them.", "dim")
    sys.stdout.write(page.take())


def _shown(record: sqlite3.Connection, part: Part, since: int) -> ShownPart:
    run = reader.run_of(record, part.run)
    turns = reader.turns_of(record, part, MARKS_IN_A_LIST, since)
    latest = tuple(ShownTurn(turn, _waits(record, turn)) for turn in turns[-TURNS_IN_A_LIST:])
    marks = tuple(mark_of(turn, run) for turn in turns)
    count = reader.count_turns(record, part)
    failures = () if count else reader.failures_of(record, part)
    name = reader.gateways_name(record, part)
    return ShownPart(part, run, latest, marks, count, tuple(failures), name)


def _waits(record: sqlite3.Connection, turn: RecordedTurn) -> tuple[float, ...]:
    if not turn.retries:
        return ()
    told = [each.entry.facts.get("wait_seconds") for each in reader.retries_of(record, turn)]
    return tuple(float(wait) if isinstance(wait, int | float) else 0.0 for wait in told)


def _failures(options: argparse.Namespace, record: sqlite3.Connection) -> None:
    limit, since = options.limit or DEFAULT_FAILURES, options.since or 0
    found: list[tuple[int, RecordedTurn | RecordedEntry]] = [
        (turn.started_epoch_ms, turn) for turn in reader.failed_turns(record, limit + 1, since)
    ]
    outside = reader.failed_requests(record, since, limit=limit + 1)
    found += [(entry.at_epoch_ms, entry) for entry in outside]
    found.sort(key=lambda each: each[0], reverse=True)
    runs: dict[int, RecordedRun] = {}
    for _, failure in found[:limit]:
        if failure.run not in runs:
            runs[failure.run] = reader.run_of(record, failure.run)
    shown = [(failure, runs[failure.run]) for _, failure in found[:limit]]
    more = len(found) > limit
    if options.json:
        documents.write({"failures": [documents.failure(*each) for each in shown], "more": more})
        return
    page = Page()
    show_failures(page, shown)
    if not shown:
        page.line("No failure is recorded" + _since(options), "dim")
    if more:
        page.line(f"There are more failures; --limit {limit * 2} shows more of them.", "dim")
    sys.stdout.write(page.take())


def _one(options: argparse.Namespace, record: sqlite3.Connection) -> None:
    sections = _sections(options, record, chosen_session(record, options))
    if options.json:
        documents.write(documents.timeline(record, sections))
        return
    page = Page()
    for number, section in enumerate(sections):
        if number:
            page.line()
        show_head(page, section)
        entries = reader.entries_of(record, section.part, section.from_seconds)
        for text in show_timeline(page, section, entries):
            sys.stdout.write(text)
        sys.stdout.write(page.take())


def _sections(options: argparse.Namespace, record: sqlite3.Connection, part: Part) -> list[Section]:
    """Return the session's parts with the latest of the turns that were asked for."""
    left = options.limit or DEFAULT_TURNS
    sections: list[Section] = []
    for each in reversed(reader.with_earlier_parts(record, part)):
        turns = reader.turns_of(record, each, since_epoch_ms=options.since or 0)
        if options.errors:
            turns = [turn for turn in turns if turn.outcome == FAILED]
        shown = tuple(turns[-left:] if left > 0 else ())
        count = reader.count_turns(record, each)
        # One without a turn is what a gateway has restored.
        is_shown = bool(shown) or not sections or (count == 0 and left > 0)
        left -= len(shown)
        if is_shown:
            run, name = reader.run_of(record, each.run), reader.gateways_name(record, each)
            sections.append(Section(each, run, shown, count - len(shown), name))
    return sections[::-1]


def _since(options: argparse.Namespace) -> str:
    return " in this time." if options.since else " yet."
