"""The record for machines: what `lastword log --json` writes.

Owns the names in that JSON. Durations are seconds; how a moment is said is `moments`'s, and the
envelope the command line's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.record import reader
from lastword.record.present.moments import moment
from lastword.record.present.stories import sentences_of
from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn, is_alive

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from lastword.record.present.sections import Section, ShownFailure, ShownPart, Story


def part(shown: ShownPart) -> dict[str, Any]:
    """A session in the list."""
    return {
        "number": shown.number or None,
        "session_id": shown.part.session_id or None,
        "gateway_session_id": _other(shown.name, shown.part.session_id),
        "run": run(shown.run),
        "failures": [entry(failure) for failure in shown.failures],
        "turn_count": shown.count,
        "turns": [
            turn(each.turn)
            | {"retry_wait_seconds": each.waits_seconds, "silent_seconds": each.silent_seconds}
            for each in shown.turns
        ],
    }


def run(recorded: RecordedRun) -> dict[str, Any]:
    """A run."""
    values = msgspec.structs.asdict(recorded)
    del values["id"]
    return values | {"alive": is_alive(recorded)}


def turn(recorded: RecordedTurn) -> dict[str, Any]:
    """A turn."""
    values = msgspec.structs.asdict(recorded)
    for name in ("run", "started_seconds", "ended_seconds", "first_output_seconds"):
        del values[name]
    values["duration_seconds"] = recorded.duration_seconds
    values["first_output_after_seconds"] = recorded.output_after_seconds
    return values


def entry(recorded: RecordedEntry) -> dict[str, Any]:
    """An entry."""
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


def failure(shown: ShownFailure) -> dict[str, Any]:
    """A failure: a turn's, or of a request outside of turns; in sentences, too."""
    is_turn = isinstance(shown.of, RecordedTurn)
    told = turn(shown.of) if isinstance(shown.of, RecordedTurn) else entry(shown.of)
    said = sentences_of(shown.facts)
    return {
        "of": "turn" if is_turn else "request",
        "sentence": said.what,
        "advice": said.advice,
        "retry": said.retry,
        "run": run(shown.run),
        **told,
    }


def story(told: Story | None) -> dict[str, Any] | None:
    """What a session's timeline opens with."""
    if told is None:
        return None
    summary = told.summary
    return {
        "turn": told.turn,
        "outcome": summary.outcome,
        "text": summary.text,
        "advice": summary.action,
        "confidence": summary.confidence,
        "missing": summary.missing,
    }


def timeline(
    record: sqlite3.Connection, sections: Sequence[Section], told_first: Story | None
) -> dict[str, Any]:
    """A session: what it opens with, and its runs, each with turns and entries."""
    told = []
    for section in sections:
        shown = {recorded.turn for recorded in section.turns}
        entries = [
            entry(recorded)
            for recorded in reader.entries_of(record, section.part, section.from_seconds)
            if recorded.entry.turn is None or recorded.entry.turn in shown
        ]
        told.append(
            {
                "run": run(section.run),
                "turns_left_out": section.left_out,
                "turns": [turn(recorded) for recorded in section.turns],
                "entries": entries,
            }
        )
    last = sections[-1]
    return {
        "session_id": last.part.session_id or None,
        "gateway_session_id": _other(last.name, last.part.session_id),
        "summary": story(told_first),
        "runs": told,
    }


def _other(name: str, session_id: str) -> str | None:
    """A gateway's name of a session, where that is not the agent's."""
    return name if name and name != session_id else None
