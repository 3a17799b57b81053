"""The record on a page: lists of sessions and failures, and one session's timeline.

Owns the layout. It gets what the reader found and reads nothing itself, but for how a run goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.cli.page import Page, day_and_time, fitted, local, takes_bars
from lastword.core.failure.durations import counted, duration
from lastword.record.present import strip
from lastword.record.present.words import words
from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn, is_alive
from lastword.record.turns import CANCELLED, FAILED, OK, OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from lastword.record.present.sections import Section, ShownPart, ShownTurn

SHOWN_ID_CHARS = 18
_STYLES = {OK: "green", FAILED: "red", CANCELLED: "yellow", OPEN: "yellow"}
LEVEL_STYLES = {"error": "red", "warning": "yellow", "debug": "dim"}
_RETRY_COLUMNS = 8
_KIND_COLUMNS = 20


def mark_of(turn: RecordedTurn, run: RecordedRun) -> str:
    """Return a turn's mark in a strip."""
    if turn.outcome in strip.TURN_MARKS:
        return strip.TURN_MARKS[turn.outcome]
    return strip.RUNNING if is_alive(run) else strip.NO_END


def show_parts(page: Page, parts: Sequence[ShownPart]) -> None:
    """Show sessions, each with its latest turns."""
    for shown in parts:
        if not shown.turns:
            show_start(page, shown)
            continue
        name = (shown.name or shown.part.session_id)[:SHOWN_ID_CHARS]
        when = day_and_time(shown.turns[-1].turn.started_epoch_ms)
        page.line(f"{name}  {when}  {_sides(shown.run)}", "bold")
        marks = strip.turns(shown.marks, page.columns - 16)
        page.line(f"  {marks}  {counted(shown.count, 'turn')}")
        alive, day = is_alive(shown.run), local(shown.turns[-1].turn.started_epoch_ms).date()
        for each in shown.turns:
            show_turn(page, each, day, alive=alive)
        page.line()


def show_start(page: Page, shown: ShownPart) -> None:
    """Show a run that failed before a turn began."""
    when = day_and_time(shown.part.last_epoch_ms)
    page.line(f"{shown.part.run_id[:SHOWN_ID_CHARS]}  {when}  {_sides(shown.run)}", "bold")
    for failure in shown.failures:
        facts = failure.entry.facts
        about = [str(facts[key]).replace("_", " ") for key in ("type", "reason") if key in facts]
        row = f"{facts.get('method', 'a request')} failed: {', '.join(about)}"
        page.row(f"  {local(failure.at_epoch_ms):%H:%M:%S}  ", row, "red")
        page.line(f"    {facts.get('incident_id', '')}", "dim")
    page.line()


def show_turn(page: Page, shown: ShownTurn, day: date, *, alive: bool) -> None:
    """Show a turn's row: when (another day than `day` as a date), end, time, tools, retries."""
    turn = shown.turn
    began = local(turn.started_epoch_ms)
    start = f"  {began:%H:%M:%S}  " if began.date() == day else f"  {began:%m-%d}     "
    bars = takes_bars()
    cells = (
        fitted(how_it_ended(turn, alive=alive), _KIND_COLUMNS),
        duration(turn.duration_seconds).rjust(7),
        fitted(counted(turn.tools, "tool") if turn.tools else "", 8),
        strip.retries(shown.waits_seconds, _RETRY_COLUMNS, bars=bars),
    )
    page.row(start, "  ".join(cells), _STYLES.get(turn.outcome, ""))


def how_it_ended(turn: RecordedTurn, *, alive: bool) -> str:
    """Return a turn's end in a word or two."""
    if turn.outcome == FAILED:
        return turn.type or FAILED
    if turn.outcome == OPEN:
        return "running" if alive else "no end recorded"
    if turn.outcome == OK and turn.stop_reason not in (None, "end_turn"):
        return turn.stop_reason
    return turn.outcome


def show_failures(
    page: Page, failures: Iterable[tuple[RecordedTurn | RecordedEntry, RecordedRun]]
) -> None:
    """Show failures, one below the other."""
    for failure, run in failures:
        if isinstance(failure, RecordedTurn):
            at, kind, session = failure.started_epoch_ms, failure.type, failure.session_id
            about = [failure.reason, failure.phase]
            where, incident = f"turn {failure.turn}", failure.incident_id
        else:
            facts, session = failure.entry.facts, failure.entry.session_id or ""
            at, kind = failure.at_epoch_ms, str(facts.get("type") or "error")
            about = [facts.get("reason"), facts.get("phase")]
            where, incident = str(facts.get("method", "")), facts.get("incident_id")
        page.row(f"{day_and_time(at)}  ", fitted(kind or FAILED, _KIND_COLUMNS).rstrip(), "red")
        told = [str(word).replace("_", " ") for word in about if word]
        told += [word for word in (where, _agent(run)) if word]
        page.line(f"    {', '.join(told)}")
        page.line(f"    {session[:SHOWN_ID_CHARS]}  {incident or ''}", "dim")


def show_head(page: Page, section: Section) -> None:
    """Show the beginning of a session's timeline."""
    run = section.run
    own = section.part.session_id
    named = f"session {section.name or own}" if own else "no session"
    page.line(f"{named} (the agent's {own})" if section.name not in {"", own} else named, "bold")
    ended = "" if run.ended else (", still running" if is_alive(run) else ", ended without a word")
    page.line(_sides(run, versions=True))
    page.line(f"run {run.run_id}{ended}")
    if run.lost_entries:
        page.line(f"{counted(run.lost_entries, 'entry')} could not be written", "yellow")
    if section.left_out:
        page.line(f"{counted(section.left_out, 'turn')} of this session not shown", "dim")


def show_timeline(page: Page, section: Section, entries: Iterable[RecordedEntry]) -> Iterator[str]:
    """Yield the text of every entry, under the turn that it belongs to."""
    known = {turn.turn: turn for turn in section.turns}
    alive = is_alive(section.run)
    current: int | None = None
    begun: set[int] = set()
    for recorded in entries:
        entry = recorded.entry
        turn = known.get(entry.turn) if entry.turn is not None else None
        if entry.turn is not None and turn is None:
            continue  # of a turn that is not shown
        if turn is not None and turn.turn != current:
            current = turn.turn
            page.line()
            if current in begun:
                page.line(f"turn {current} goes on", "dim")
            else:
                begun.add(current)
                show_turn_head(page, turn, alive=alive)
        show_entry(page, recorded, turn)
        yield page.take()


def show_turn_head(page: Page, turn: RecordedTurn, *, alive: bool) -> None:
    """Show a turn's own line in a timeline."""
    took = duration(turn.duration_seconds)
    after = f" after {took}" if took else ""
    ended = how_it_ended(turn, alive=alive)
    began = f"{local(turn.started_epoch_ms):%Y-%m-%d %H:%M:%S}"
    page.line(f"turn {turn.turn}: {ended}{after}, {began}", _STYLES.get(turn.outcome, "bold"))


def show_entry(page: Page, recorded: RecordedEntry, turn: RecordedTurn | None = None) -> None:
    """Show an entry: in a turn with the seconds since its prompt, else with the time of day."""
    clock = f"{local(recorded.at_epoch_ms):%H:%M:%S}"
    if turn is not None and recorded.entry.turn is not None:
        since = recorded.entry.at_seconds - turn.started_seconds
        clock = f"+{since:.3f}" if since < 1000 else f"+{since:.0f}"  # noqa: PLR2004
    page.row(f"  {clock:>9}  ", words(recorded.entry), LEVEL_STYLES.get(recorded.level, ""))


def _sides(run: RecordedRun, *, versions: bool = False) -> str:
    agent = _agent(run)
    client = run.client or ""
    if versions:
        agent = " ".join(filter(None, (agent, run.agent_version)))
        client = " ".join(filter(None, (client, run.client_version)))
    return f"{agent} in {client}" if client else agent


def _agent(run: RecordedRun) -> str:
    return run.agent or run.program
