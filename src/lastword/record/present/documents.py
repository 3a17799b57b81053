"""The record as JSON: what `lastword log --json` writes.

Owns the names in that JSON. Durations are seconds; `moments` formats moments, and the command line
adds the envelope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.sentences import sentence_of
from lastword.core.timeline.entry import Kind
from lastword.record import reader
from lastword.record.costs import total
from lastword.record.present.moments import moment, with_moments
from lastword.record.present.sections import ended_epoch_ms, has_recovered
from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn, is_alive

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from lastword.record.present.sections import Section, ShownPart


def part(shown: ShownPart) -> dict[str, Any]:
    """Return a session of the list."""
    return {
        "number": shown.number or None,
        "session_id": shown.part.session_id or None,
        "gateway_session_id": _other(shown.name, shown.part.session_id),
        "run": run(shown.run),
        "failures": [entry(failure) for failure in shown.failures],
        "last_failure": _last_failure(shown),
        "turn_count": shown.count,
        "costs": shown.costs,
        "turns": [
            turn(each.turn)
            | {
                "retry_wait_seconds": each.waits_seconds,
                "silent_seconds": each.silent_seconds,
                "costs": each.costs,
            }
            for each in shown.turns
        ],
    }


def _last_failure(shown: ShownPart) -> dict[str, Any] | None:
    failed = shown.last_failed
    if failed is None or not shown.turns:
        return None
    return {
        "turn": failed.turn,
        "type": failed.type,
        "incident_id": failed.incident_id,
        "at": moment(ended_epoch_ms(failed)),
        "at_epoch_ms": ended_epoch_ms(failed),
        "recovered": has_recovered(failed, shown.turns[-1].turn),
    }


def run(recorded: RecordedRun) -> dict[str, Any]:
    """Return a run."""
    values: dict[str, Any] = with_moments(msgspec.structs.asdict(recorded))
    del values["id"]
    return values | {"alive": is_alive(recorded)}


def turn(recorded: RecordedTurn) -> dict[str, Any]:
    """Return a turn."""
    values: dict[str, Any] = with_moments(msgspec.structs.asdict(recorded))
    for name in ("run", "started_seconds", "ended_seconds", "first_output_seconds"):
        del values[name]
    values["duration_seconds"] = recorded.duration_seconds
    values["first_output_after_seconds"] = recorded.output_after_seconds
    return values


def entry(recorded: RecordedEntry) -> dict[str, Any]:
    """Return an entry."""
    return {
        "kind": recorded.entry.kind,
        "level": recorded.level,
        "at": moment(recorded.at_epoch_ms),
        "at_epoch_ms": recorded.at_epoch_ms,
        "at_seconds": recorded.entry.at_seconds,
        "session_id": recorded.entry.session_id,
        "turn": recorded.entry.turn,
        "request_id": recorded.entry.request_id,
        "facts": recorded.entry.facts,
    }


def page_event(recorded: RecordedEntry, run_number: int) -> dict[str, Any]:
    """Return an entry for the web page, with its place, its run, and the sentence of a failure.

    A gateway sends its own entries in the same shape.
    """
    document = entry(recorded) | {"seq": recorded.id, "run": run_number}
    facts = recorded.entry.facts
    if recorded.entry.kind is Kind.ERROR:
        document["facts"] = facts | {"sentence": sentence_of(facts)}
    return document


def timeline(
    record: sqlite3.Connection, sections: Sequence[Section], story: dict[str, Any] | None
) -> dict[str, Any]:
    """Return a session: its opening story, and its runs, each with turns and entries."""
    documents = []
    for section in sections:
        shown = {recorded.turn for recorded in section.turns}
        entries = [
            entry(recorded)
            for recorded in reader.entries_of(record, section.part, section.from_seconds)
            if recorded.entry.turn is None or recorded.entry.turn in shown
        ]
        documents.append(
            {
                "run": run(section.run),
                "turns_left_out": section.left_out,
                "turns": [
                    turn(recorded) | {"costs": section.costs.get(recorded.turn, {})}
                    for recorded in section.turns
                ],
                "costs": total(section.costs.values()),
                "entries": entries,
            }
        )
    last = sections[-1]
    return {
        "session_id": last.part.session_id or None,
        "gateway_session_id": _other(last.name, last.part.session_id),
        "story": story,
        "runs": documents,
    }


def _other(name: str, session_id: str) -> str | None:
    """Return a gateway's name for a session, if it is not the agent's."""
    return name if name and name != session_id else None
