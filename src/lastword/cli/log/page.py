"""The record on a page: lists of sessions and failures, and one session's timeline.

Owns the layout. It shows what the reader found, and reads nothing itself except whether a run is
still alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.cli.page import Page, day_and_time, fitted, supports_bars, visibly_cut
from lastword.core.failure.phrases import counted, duration, moment_of, plain
from lastword.core.failure.sentences import TYPES
from lastword.record.costs import in_words, total
from lastword.record.present import strip
from lastword.record.present.sections import how_it_ended, standing
from lastword.record.present.words import words
from lastword.record.reader import RecordedTurn, is_alive
from lastword.record.turns import CANCELLED, FAILED, OK, OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from lastword.record.present.sections import (
        Section,
        ShownPart,
        ShownTurn,
    )
    from lastword.record.reader import RecordedEntry, RecordedRun

SHOWN_ID_CHARS, MOST_ID_CHARS = 18, 36
_WIDE_COLUMNS = 90
"""From here on an id is shown with up to `MOST_ID_CHARS`, which is a whole UUID."""

_NARROW_COLUMNS = 60
"""Below this, what stands in columns elsewhere goes on the next line, or follows a comma."""

STYLES = {OK: "green", FAILED: "red", CANCELLED: "yellow", OPEN: "yellow"}
LEVEL_STYLES = {"error": "red", "warning": "yellow", "debug": "dim"}
_RETRY_COLUMNS = 8
_KIND_COLUMNS = 20
_NUMBER_COLUMNS = 4


def shown_id(page: Page, text: str) -> str:
    """Return an id, cut to the room that this page has for it."""
    return visibly_cut(text, MOST_ID_CHARS if page.columns >= _WIDE_COLUMNS else SHOWN_ID_CHARS)


def mark_of(turn: RecordedTurn, run: RecordedRun, *, silent: bool = False) -> str:
    """Return a turn's mark in a session's row of marks."""
    if turn.outcome == OK and silent:
        return strip.SILENT
    if turn.outcome in strip.TURN_MARKS:
        return strip.TURN_MARKS[turn.outcome]
    return strip.RUNNING if is_alive(run) else strip.NO_END


def show_parts(page: Page, parts: Sequence[ShownPart]) -> None:
    """Show sessions, each with its latest turns."""
    for shown in parts:
        if not shown.turns:
            show_start(page, shown)
            continue
        when = day_and_time(shown.turns[-1].turn.started_epoch_ms)
        _show_name(page, shown, shown.name or shown.part.session_id, when)
        marks = strip.turns(shown.marks, page.columns - 18)
        page.line(f"    {marks}  {counted(shown.count, 'turn')}{_cost(shown.costs)}")
        alive, day = is_alive(shown.run), moment_of(shown.turns[-1].turn.started_epoch_ms).date()
        for each in shown.turns:
            show_turn(page, each, day, alive=alive)
        page.line(_standing(shown), "dim", indent=4)
        page.line()


def _cost(costs: Mapping[str, float]) -> str:
    return f", {in_words(costs)}" if costs else ""


def _standing(shown: ShownPart) -> str:
    """Return whether the last turn failed, and whether the session goes on."""
    last = shown.turns[-1].turn
    day = moment_of(last.started_epoch_ms).date()

    def clock(epoch_ms: int) -> str:
        at = moment_of(epoch_ms)
        return f"{at:%H:%M:%S}" if at.date() == day else f"{at:%m-%d %H:%M}"

    return standing(last, shown.last_failed, alive=is_alive(shown.run), clock=clock)


def _show_name(page: Page, shown: ShownPart, name: str, when: str) -> None:
    number = str(shown.number).ljust(_NUMBER_COLUMNS - 1)
    lead = ((f"{number} ", "bold"), (f"{shown_id(page, name)}  {when}  ", "bold"))
    if page.columns >= _NARROW_COLUMNS:
        page.row(lead, _sides(shown.run), "bold")
        return
    page.verbatim(*lead)
    page.line(_sides(shown.run), "bold", indent=_NUMBER_COLUMNS)


def show_start(page: Page, shown: ShownPart) -> None:
    """Show a run that failed before a turn began."""
    _show_name(page, shown, shown.part.run_id, day_and_time(shown.part.last_epoch_ms))
    for failure in shown.failures:
        facts = failure.entry.facts
        row = f"{facts.get('method', 'a request')} failed: {what_failed(facts)}"
        page.row(f"    {moment_of(failure.at_epoch_ms):%H:%M:%S}  ", row, "red")
        page.line(f"      incident {facts.get('incident_id', '')}", "dim")
    page.line()


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
        strip.retries(shown.waits_seconds, _RETRY_COLUMNS, bars=bars),
        "" if silent is None else f"silent for {duration(silent)} or more",
        in_words(shown.costs),
    )
    text = "  ".join(cells[:4] + tuple(filter(None, cells[4:]))).rstrip()
    if page.columns < _NARROW_COLUMNS:
        text = ", ".join(filter(None, map(str.strip, cells)))
    page.row(start, text, STYLES.get(turn.outcome, ""))


def show_legend(page: Page, parts: Sequence[ShownPart]) -> None:
    """Show the meaning of the marks."""
    row = ""
    for piece in strip.LEGEND:
        longer = f"{row}   {piece}" if row else piece
        if row and len(longer) > page.columns:
            page.line(row, "dim")
            longer = f"    {piece}"
        row = longer
    page.line(row, "dim")
    if any(turn.waits_seconds for shown in parts for turn in shown.turns):
        page.line(strip.bars_legend(bars=supports_bars()), "dim")


def show_head(page: Page, section: Section) -> None:
    """Show the head of a session's timeline."""
    run = section.run
    own = section.part.session_id
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


def show_timeline(page: Page, section: Section, entries: Iterable[RecordedEntry]) -> Iterator[str]:
    """Yield the text of every entry, below its turn."""
    turns = {turn.turn: turn for turn in section.turns}
    alive = is_alive(section.run)
    current: int | None = None
    begun: set[int] = set()
    for recorded in entries:
        entry = recorded.entry
        turn = turns.get(entry.turn) if entry.turn is not None else None
        if entry.turn is not None and turn is None:
            continue  # of a turn that is not shown
        if turn is not None and turn.turn != current:
            current = turn.turn
            page.line()
            if current in begun:
                page.line(f"turn {current} continues", "dim")
            else:
                begun.add(current)
                show_turn_head(page, turn, section.costs.get(turn.turn, {}), alive=alive)
        show_entry(page, recorded, turn)
        yield page.drain()


def show_turn_head(
    page: Page, turn: RecordedTurn, costs: Mapping[str, float], *, alive: bool
) -> None:
    """Show a turn's own line in a timeline."""
    took = duration(turn.duration_seconds)
    after = f" after {took}" if took else ""
    ended = how_it_ended(turn, alive=alive)
    began = f"{moment_of(turn.started_epoch_ms):%Y-%m-%d %H:%M:%S}"
    page.line(
        f"turn {turn.turn}: {ended}{after}, {began}{_cost(costs)}", STYLES.get(turn.outcome, "bold")
    )


def show_entry(page: Page, recorded: RecordedEntry, turn: RecordedTurn | None = None) -> None:
    """Show an entry, with the seconds since the prompt inside a turn, else the time of day."""
    clock = f"{moment_of(recorded.at_epoch_ms):%H:%M:%S}"
    if turn is not None and recorded.entry.turn is not None:
        since = recorded.entry.at_seconds - turn.started_seconds
        clock = f"+{since:.3f}" if since < 1000 else f"+{since:.0f}"  # noqa: PLR2004
    page.row(f"  {clock:>9}  ", words(recorded.entry), LEVEL_STYLES.get(recorded.level, ""))


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
