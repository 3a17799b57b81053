"""Sessions and failures in sentences: a session's summary and timeline, and recent failures.

Owns the choice of the turns to show, and the layout of summaries and failures.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from lastword.cli import envelope
from lastword.cli.log.page import (
    STYLES,
    agent_of,
    show_head,
    show_timeline,
    shown_id,
    what_failed,
)
from lastword.cli.page import Page, day_and_time
from lastword.cli.record_access import chosen_session
from lastword.record import listing, reader
from lastword.record.present import documents
from lastword.record.present.sections import Section, turn_to_summarize
from lastword.record.present.stories import (
    ShownFailure,
    Story,
    failure_document,
    sentences_of,
    story_document,
    summary_of,
    summary_of_request,
)
from lastword.record.reader import RecordedTurn
from lastword.record.turns import FAILED

if TYPE_CHECKING:
    import argparse
    import sqlite3
    from collections.abc import Iterable, Sequence

    from lastword.record.reader import Part, RecordedEntry, RecordedRun


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
        ShownFailure(failure, runs[failure.run], _facts_of(record, failure))
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


def _facts_of(record: sqlite3.Connection, failure: RecordedTurn | RecordedEntry) -> dict[str, Any]:
    if isinstance(failure, RecordedTurn):
        return listing.failure_of(record, failure)
    return failure.entry.facts


def show_session(record: sqlite3.Connection, options: argparse.Namespace, limit: int) -> None:
    """Show one session, with its latest turns up to the limit."""
    sections = _sections(record, options, chosen_session(record, options), limit)
    story = _story(record, sections)
    if options.json:
        envelope.write(documents.timeline(record, sections, story_document(story)))
        return
    page = Page()
    if story is not None:
        _show_story(page, story)
    for number, section in enumerate(sections):
        if number:
            page.line()
        show_head(page, section)
        entries = reader.entries_of(record, section.part, section.from_seconds)
        for text in show_timeline(page, section, entries):
            sys.stdout.write(text)
        sys.stdout.write(page.drain())


def _story(record: sqlite3.Connection, sections: Sequence[Section]) -> Story | None:
    """Return the summary that opens the timeline, of the latest part that has one."""
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
        # One without a turn is what a gateway has restored.
        is_shown = bool(shown) or not sections or (count == 0 and left > 0)
        left -= len(shown)
        if is_shown:
            run, name = reader.run_of(record, each.run), reader.gateways_name(record, each)
            costs = listing.costs_of(record, each)
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


def _show_story(page: Page, story: Story) -> None:
    """Show the opening of a session's timeline: one turn or failed request in a paragraph."""
    lead = f"Turn {story.turn}: " if story.turn is not None else ""
    style = STYLES.get(story.summary.outcome, "")
    page.line(f"{lead}{story.summary.text}", style if style != "green" else "", hang=0)
    page.line()
