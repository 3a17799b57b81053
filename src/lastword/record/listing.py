"""Additional facts for a list of the record: counts, silences, and the facts of failures.

Owns the numbers of sessions, from 1 for the latest in the order of `reader.latest_parts`. Changes
nothing in a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol.tolerant import number_of
from lastword.core.timeline.entry import Kind
from lastword.record import reader
from lastword.record.costs import add

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from lastword.record.costs import Costs
    from lastword.record.reader import Part, RecordedTurn

MAX_NUMBER = 9999
"""The highest number by which a session can be named; longer digits are the beginning of an id."""

MIN_SILENT_SECONDS = 0.5
"""A shorter turn has no recorded silence, since silences are in whole seconds."""


def count_parts(record: sqlite3.Connection, since_epoch_ms: int = 0) -> int:
    """Return how many sessions an unlimited list has."""
    (sessions,) = record.execute(
        "SELECT count(*) FROM"
        " (SELECT DISTINCT run, session_id FROM turns WHERE started_epoch_ms >= ?)",
        (since_epoch_ms,),
    ).fetchone()
    (starts,) = record.execute(
        "SELECT count(DISTINCT e.run) FROM entries e"
        " WHERE e.level = 'error' AND e.turn IS NULL AND e.kind = ? AND e.at_epoch_ms >= ?"
        " AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.run = e.run)",
        (Kind.ERROR, since_epoch_ms),
    ).fetchone()
    return int(sessions) + int(starts)


def part_by_number(record: sqlite3.Connection, number: int) -> Part | None:
    """Return the session with this number in the list, if the list is that long."""
    if not 0 < number <= MAX_NUMBER:
        return None
    parts, _ = reader.latest_parts(record, number)
    return parts[number - 1] if len(parts) >= number else None


def silences_of(record: sqlite3.Connection, turns: Sequence[RecordedTurn]) -> dict[int, float]:
    """Return the longest silence noticed in each of a session's turns, in seconds by turn number.

    Each silence lasted at least as long. A turn without one is left out.
    """
    long = [turn for turn in turns if _may_be_silent(turn)]
    if not long:
        return {}
    rows = record.execute(
        "SELECT turn, facts FROM entries WHERE run = ? AND session_id = ?"
        " AND turn BETWEEN ? AND ? AND kind = ?",
        (long[0].run, long[0].session_id, long[0].turn, long[-1].turn, Kind.SILENCE),
    )
    longest: dict[int, float] = {}
    for row in rows:
        facts = msgspec.json.decode(row["facts"], type=dict[str, Any])
        seconds = number_of(facts.get("silent_seconds"))
        longest[row["turn"]] = max(seconds, longest.get(row["turn"], 0))
    return longest


def costs_of(record: sqlite3.Connection, part: Part) -> dict[int, Costs]:
    """Return what a session's turns have cost in this run, by turn number."""
    rows = record.execute(
        "SELECT turn, facts FROM entries WHERE run = ? AND session_id = ? AND kind = ?",
        (part.run, part.session_id, Kind.COST),
    )
    costs: dict[int, Costs] = {}
    for row in rows:
        add(costs.setdefault(row["turn"], {}), msgspec.json.decode(row["facts"]))
    return costs


def _may_be_silent(turn: RecordedTurn) -> bool:
    took = turn.duration_seconds
    return took is None or took >= MIN_SILENT_SECONDS


def failure_of(record: sqlite3.Connection, turn: RecordedTurn) -> dict[str, Any]:
    """Return the facts of a turn's failure, or those of its row if the entry is gone."""
    row = record.execute(
        "SELECT facts FROM entries WHERE run = ? AND session_id = ? AND turn = ? AND kind = ?"
        " ORDER BY id LIMIT 1",
        (turn.run, turn.session_id, turn.turn, Kind.ERROR),
    ).fetchone()
    if row is not None:
        return msgspec.json.decode(row["facts"], type=dict[str, Any])
    facts = {name: getattr(turn, name) for name in ("type", "reason", "phase", "incident_id")}
    return {name: value for name, value in facts.items() if value is not None}
