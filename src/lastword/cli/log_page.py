"""The record on a page: lists of sessions and failures, and one session with its timeline.

Owns the layout, the choice of the turns that are shown in full, and the marks of the strips, one
for each turn or retry. Everything on it comes from the reader, except whether a run is still alive.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from lastword.cli import envelope
from lastword.cli.page import Page, day_and_time, fitted, supports_bars, visibly_cut
from lastword.cli.record_access import chosen_session
from lastword.core.failure.phrases import counted, duration, moment_of, plain
from lastword.core.failure.sentences import TYPES
from lastword.record import reader
from lastword.record.present import documents
from lastword.record.present.documents import (
    Section,
    ShownFailure,
    Story,
    failure_document,
    how_it_ended,
    sentences_of,
    standing,
    story_document,
    summary_of,
    summary_of_request,
    turn_to_summarize,
    words,
)
from lastword.record.reader import RecordedTurn, in_words, is_alive, total
from lastword.record.turns import CANCELLED, FAILED, OK, OPEN

if TYPE_CHECKING:
    import argparse
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from lastword.record.present.documents import ShownPart, ShownTurn
    from lastword.record.reader import Part, RecordedEntry, RecordedRun


# --- strips

TURN_MARKS = {OK: ".", FAILED: "x", CANCELLED: "-"}
NO_END, RUNNING, SILENT, MORE = "?", "~", "s", "<"
LEGEND = (
    "One mark a turn, the latest last:",
    ". ok",
    f"{SILENT} ok after a long silence",
    "x failed",
    "- cancelled",
    f"{RUNNING} running",
    f"{NO_END} no end recorded",
    f"{MORE} earlier turns",
)
"""The meanings of the marks, one phrase for each."""

_BARS, _PLAIN = "▁▂▃▄▅▆▇█", ".:-=+*%#"
_STEPS_SECONDS = (1, 2, 5, 15, 45, 120, 600)
"""A wait up to the first has the lowest bar, one longer than the last the highest."""


def turn_strip(marks: Iterable[str], columns: int) -> str:
    """Return one mark for each turn, the latest last; `<` stands for earlier ones."""
    strip = "".join(marks)
    return strip if len(strip) <= columns else MORE + strip[len(strip) - columns + 1 :]


def retry_strip(waits_seconds: Sequence[float], columns: int, *, bars: bool) -> str:
    """Return one mark for each retry, higher for longer waits; `<` stands for earlier ones."""
    marks = _BARS if bars else _PLAIN
    strip = "".join(marks[sum(wait > step for step in _STEPS_SECONDS)] for wait in waits_seconds)
    return strip if len(strip) <= columns else MORE + strip[len(strip) - columns + 1 :]


# --- lists and timelines

SHOWN_ID_CHARS, MOST_ID_CHARS = 18, 36
_WIDE_COLUMNS = 90
"""From this width on, an id is shown with up to `MOST_ID_CHARS`, which is a whole UUID."""

_NARROW_COLUMNS = 60
"""Below this width, columns become lines, or are separated by commas."""

STYLES = {OK: "green", FAILED: "red", CANCELLED: "yellow", OPEN: "yellow"}
LEVEL_STYLES = {"error": "red", "warning": "yellow", "debug": "dim"}
_RETRY_COLUMNS = 8
_KIND_COLUMNS = 20
_NUMBER_COLUMNS = 4


def shown_id(page: Page, text: str) -> str:
    """Return an id, cut to the width that this page has for it."""
    return visibly_cut(text, MOST_ID_CHARS if page.columns >= _WIDE_COLUMNS else SHOWN_ID_CHARS)


def mark_of(turn: RecordedTurn, run: RecordedRun, *, silent: bool = False) -> str:
    """Return a turn's mark in a session's row of marks."""
    if turn.outcome == OK and silent:
        return SILENT
    if turn.outcome in TURN_MARKS:
        return TURN_MARKS[turn.outcome]
    return RUNNING if is_alive(run) else NO_END


def show_parts(page: Page, parts: Sequence[ShownPart]) -> None:
    """Show sessions, each with its latest turns."""
    for shown in parts:
        if not shown.turns:  # a run that failed before a turn began
            _show_name(page, shown, shown.part.run_id, day_and_time(shown.part.last_epoch_ms))
            for failure in shown.failures:
                facts = failure.entry.facts
                row = f"{facts.get('method', 'a request')} failed: {what_failed(facts)}"
                page.row(f"    {moment_of(failure.at_epoch_ms):%H:%M:%S}  ", row, "red")
                page.line(f"      incident {facts.get('incident_id', '')}", "dim")
            page.line()
            continue
        last = shown.turns[-1].turn
        when = day_and_time(last.started_epoch_ms)
        _show_name(page, shown, shown.name or shown.part.session_id, when)
        marks = turn_strip(shown.marks, page.columns - 18)
        page.line(f"    {marks}  {counted(shown.count, 'turn')}{_cost(shown.costs)}")
        alive, day = is_alive(shown.run), moment_of(last.started_epoch_ms).date()
        for each in shown.turns:
            show_turn(page, each, day, alive=alive)
        clock = partial(_clock, day=day)
        ended = standing(last, shown.last_failed, alive=is_alive(shown.run), clock=clock)
        page.line(ended, "dim", indent=4)
        page.line()


def _cost(costs: Mapping[str, float]) -> str:
    return f", {in_words(costs)}" if costs else ""


def _clock(epoch_ms: int, day: date) -> str:
    at = moment_of(epoch_ms)
    return f"{at:%H:%M:%S}" if at.date() == day else f"{at:%m-%d %H:%M}"


def _show_name(page: Page, shown: ShownPart, name: str, when: str) -> None:
    number = str(shown.number).ljust(_NUMBER_COLUMNS - 1)
    lead = ((f"{number} ", "bold"), (f"{shown_id(page, name)}  {when}  ", "bold"))
    if page.columns >= _NARROW_COLUMNS:
        page.row(lead, _sides(shown.run), "bold")
        return
    page.verbatim(*lead)
    page.line(_sides(shown.run), "bold", indent=_NUMBER_COLUMNS)


def what_failed(facts: Mapping[str, Any]) -> str:
    """Return a failure's type and reason in words."""
    text = [plain(facts.get("type") or "error", TYPES)]
    return ", ".join(text + ([plain(facts["reason"])] if facts.get("reason") else []))


def show_turn(page: Page, shown: ShownTurn, day: date, *, alive: bool) -> None:
    """Show a turn's row: time (a date if not on `day`), outcome, duration, tools, retries."""
    turn = shown.turn
    began = moment_of(turn.started_epoch_ms)
    start = f"    {began:%H:%M:%S}  " if began.date() == day else f"    {began:%m-%d}     "
    bars = supports_bars()
    silent = shown.silent_seconds
    cells = (
        visibly_cut(how_it_ended(turn, alive=alive), _KIND_COLUMNS).ljust(_KIND_COLUMNS),
        duration(turn.duration_seconds).rjust(7),
        fitted(counted(turn.tools, "tool") if turn.tools else "", 8),
        retry_strip(shown.waits_seconds, _RETRY_COLUMNS, bars=bars),
        "" if silent is None else f"silent for {duration(silent)} or more",
        in_words(shown.costs),
    )
    text = "  ".join(cells[:4] + tuple(filter(None, cells[4:]))).rstrip()
    if page.columns < _NARROW_COLUMNS:
        text = ", ".join(filter(None, map(str.strip, cells)))
    page.row(start, text, STYLES.get(turn.outcome, ""))


def show_legend(page: Page, parts: Sequence[ShownPart]) -> None:
    row = ""
    for piece in LEGEND:
        longer = f"{row}   {piece}" if row else piece
        if row and len(longer) > page.columns:
            page.line(row, "dim")
            longer = f"    {piece}"
        row = longer
    page.line(row, "dim")
    if any(turn.waits_seconds for shown in parts for turn in shown.turns):
        bars = _BARS if supports_bars() else _PLAIN
        legend = f"{bars} one mark a retry, by how long it waited: up to 1 s ({bars[0]}) to over "
        page.line(f"{legend}10 min ({bars[-1]}).", "dim")


def show_timeline(page: Page, section: Section, entries: Iterable[RecordedEntry]) -> Iterator[str]:
    """Yield each entry's text below its turn, the first with the head of the session's part."""
    run, own = section.run, section.part.session_id
    named = f"session {section.name or own}" if own else "no session"
    page.line(f"{named} (the agent's {own})" if section.name not in {"", own} else named, "bold")
    ended = (
        "" if run.ended else (", still running" if is_alive(run) else ", its end was not recorded")
    )
    page.line(_sides(run, versions=True))
    page.line(f"run {run.run_id}{ended}")
    if section.costs:
        page.line(f"cost: {in_words(total(section.costs.values()))}, as the agent states it")
    if run.lost_entries:
        page.line(f"{counted(run.lost_entries, 'entry')} could not be written", "yellow")
    if section.left_out:
        page.line(
            f"{counted(section.left_out, 'turn')} of this session not shown; --all shows them all",
            "dim",
        )
    turns = {turn.turn: turn for turn in section.turns}
    alive = is_alive(section.run)
    current: int | None = None
    started: set[int] = set()
    for recorded in entries:
        entry = recorded.entry
        turn = turns.get(entry.turn) if entry.turn is not None else None
        if entry.turn is not None and turn is None:
            continue  # of a turn that is not shown
        if turn is not None and turn.turn != current:
            current = turn.turn
            page.line()
            if current in started:
                page.line(f"turn {current} continues", "dim")
            else:
                started.add(current)
                took = duration(turn.duration_seconds)
                result = how_it_ended(turn, alive=alive) + (f" after {took}" if took else "")
                began = f"{moment_of(turn.started_epoch_ms):%Y-%m-%d %H:%M:%S}"
                cost = _cost(section.costs.get(current, {}))
                style = STYLES.get(turn.outcome, "bold")
                page.line(f"turn {current}: {result}, {began}{cost}", style)
        # The seconds since the prompt inside a turn, else the time of day.
        clock = f"{moment_of(recorded.at_epoch_ms):%H:%M:%S}"
        if turn is not None:
            since = entry.at_seconds - turn.started_seconds
            clock = f"+{since:.3f}" if since < 1000 else f"+{since:.0f}"  # noqa: PLR2004
        page.row(f"  {clock:>9}  ", words(entry), LEVEL_STYLES.get(recorded.level, ""))
        yield page.drain()


def _sides(run: RecordedRun, *, versions: bool = False) -> str:
    agent = agent_of(run)
    client = run.client or ""
    if versions:
        agent = " ".join(filter(None, (agent, run.agent_version)))
        client = " ".join(filter(None, (client, run.client_version)))
    return f"{agent} in {client}" if client else agent


def agent_of(run: RecordedRun) -> str:
    """Return the name that a run's agent gives itself, or else its program."""
    return run.agent or run.program


# --- failures and sessions in full


def show_all_failures(record: sqlite3.Connection, options: argparse.Namespace, limit: int) -> None:
    """Show the latest failures of all sessions, up to the limit."""
    since = options.since or 0
    failures: list[tuple[int, RecordedTurn | RecordedEntry]] = [
        (turn.started_epoch_ms, turn) for turn in reader.failed_turns(record, limit + 1, since)
    ]
    outside = reader.failed_requests(record, since, limit=limit + 1)
    failures += [(entry.at_epoch_ms, entry) for entry in outside]
    failures.sort(key=lambda each: each[0], reverse=True)
    runs: dict[int, RecordedRun] = {}
    for _, failure in failures[:limit]:
        if failure.run not in runs:
            runs[failure.run] = reader.run_of(record, failure.run)
    shown = [
        ShownFailure(
            failure,
            runs[failure.run],
            reader.failure_of(record, failure)
            if isinstance(failure, RecordedTurn)
            else failure.entry.facts,
        )
        for _, failure in failures[:limit]
    ]
    more = len(failures) > limit
    if options.json:
        envelope.write({"failures": [failure_document(each) for each in shown], "more": more})
        return
    page = Page()
    _show_failures(page, shown)
    if shown:
        page.line("`lastword log INCIDENT` shows the whole turn, with what led to it.", "dim")
    else:
        page.line(
            "No failure is recorded" + (" in this time." if options.since else " yet."), "dim"
        )
    if more:
        page.line(
            f"Older failures are not shown; --limit {limit * 2} shows more of them, --all every "
            "one.",
            "dim",
        )
    sys.stdout.write(page.drain())


def show_session(record: sqlite3.Connection, options: argparse.Namespace, limit: int) -> None:
    """Show one session, with its latest turns up to the limit."""
    sections = _sections(record, options, chosen_session(record, options), limit)
    story = _story(record, sections)
    if options.json:
        envelope.write(documents.timeline(record, sections, story_document(story)))
        return
    page = Page()
    left_out = any(section.left_out for section in sections)
    if options.errors and left_out and not any(section.turns for section in sections):
        page.line("No turn of this session failed" + (" in this time." if options.since else "."))
        sys.stdout.write(page.drain())
        return
    if story is not None:  # one turn or failed request in a paragraph
        lead = f"Turn {story.turn}: " if story.turn is not None else ""
        style = STYLES.get(story.summary.outcome, "")
        page.line(f"{lead}{story.summary.text}", style if style != "green" else "", hang=0)
        page.line()
    for number, section in enumerate(sections):
        if number:
            page.line()
        entries = reader.entries_of(record, section.part, section.from_seconds)
        for text in show_timeline(page, section, entries):
            sys.stdout.write(text)
        sys.stdout.write(page.drain())


def _story(record: sqlite3.Connection, sections: Sequence[Section]) -> Story | None:
    """Return the summary at the top of the timeline, of the latest part that has one."""
    for section in reversed(sections):
        turn = turn_to_summarize(section.turns, alive=reader.is_alive(section.run))
        if turn is not None:
            entries = reader.entries_of(record, section.part, turn.started_seconds)
            return Story(turn.turn, summary_of(turn, entries))
        failures = reader.failures_of(record, section.part)
        if failures and not section.turns:
            return Story(None, summary_of_request(failures[-1].entry.facts))
    return None


def _sections(
    record: sqlite3.Connection, options: argparse.Namespace, part: Part, limit: int
) -> list[Section]:
    """Return the session's parts, with the latest of the requested turns."""
    left = limit
    sections: list[Section] = []
    for each in reversed(reader.with_earlier_parts(record, part)):
        turns = reader.turns_of(record, each, since_epoch_ms=options.since or 0)
        if options.errors:
            turns = [turn for turn in turns if turn.outcome == FAILED]
        shown = tuple(turns[-left:] if left > 0 else ())
        count = reader.count_turns(record, each)
        # A part without a turn is a session that a gateway has restored.
        is_shown = bool(shown) or not sections or (count == 0 and left > 0)
        left -= len(shown)
        if is_shown:
            run, name = reader.run_of(record, each.run), reader.gateways_name(record, each)
            costs = reader.costs_of(record, each)
            sections.append(Section(each, run, shown, count - len(shown), name, costs))
    return sections[::-1]


def _show_failures(page: Page, failures: Iterable[ShownFailure]) -> None:
    for shown in failures:
        failed = shown.of
        if isinstance(failed, RecordedTurn):
            at, where = failed.started_epoch_ms, f"turn {failed.turn}"
            session = failed.session_id
        else:
            at, session = failed.at_epoch_ms, failed.entry.session_id or ""
            where = str(shown.facts.get("method", "a request"))
        about = [
            where,
            f"session {shown_id(page, session)}" if session else "",
            agent_of(shown.run),
        ]
        page.row(f"{day_and_time(at)}  ", what_failed(shown.facts), "red")
        sentences = sentences_of(shown.facts)
        page.line(sentences.what, indent=4)
        if sentences.advice:
            page.row("    To do: ", sentences.advice)
        if sentences.retry:
            page.row("    Retry: ", f"{sentences.retry}.")
        page.row("    Where: ", ", ".join(each for each in about if each) + ".")
        if shown.facts.get("incident_id"):
            page.line(f"    Incident {shown.facts['incident_id']}", "dim")
        page.line()
