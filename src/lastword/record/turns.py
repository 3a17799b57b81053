"""One row for each turn, updated as its entries arrive, from which lists and trends are read.

Owns what each kind of entry means for its turn's row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol.acp import number_of
from lastword.core.timeline.entry import Kind, ended_by_cancel
from lastword.core.timeline.session_events import waits_that_passed

if TYPE_CHECKING:
    import sqlite3

    from lastword.record.run import Row

OPEN, OK, CANCELLED, FAILED = "open", "ok", "cancelled", "failed"
"""A turn's outcome; it stays open if the record stopped before the turn's end."""

_SUMS = {
    Kind.TOOL_STARTED: "tools = tools + 1",
    Kind.RETRY: "retries = retries + 1, wait_seconds = :waited",
    Kind.FRAME_DROPPED: "dropped = dropped + 1",
    Kind.FIRST_OUTPUT: "first_output_seconds = coalesce(first_output_seconds, :at)",
    # The user sees a question at once; how long they take to answer it is not the agent's time.
    Kind.ASKED: "first_output_seconds = coalesce(first_output_seconds, :at)",
    # The entry of the end names the cause; this one stays if there is none.
    Kind.CANCEL: "by = coalesce(by, :by)",
}


def note(connection: sqlite3.Connection, run: int, row: Row) -> None:
    """Apply an entry to its turn's row, if it belongs to one."""
    if row.kind == Kind.HOLDER_DIED and row.facts.get("open_turns"):
        _end_lost(connection, run, row)
    if row.turn is None or row.session_id is None:
        return
    facts = row.facts
    if row.kind == Kind.PROMPT:
        connection.execute(
            "INSERT OR IGNORE INTO turns (run, turn, session_id, started_epoch_ms, started_seconds)"
            " VALUES (?, ?, ?, ?, ?)",
            (run, row.turn, row.session_id, row.at_epoch_ms, row.at_seconds),
        )
    elif row.kind in (Kind.ANSWER, Kind.ERROR):
        failed = row.kind == Kind.ERROR
        outcome = FAILED if failed else CANCELLED if ended_by_cancel(facts) else OK
        causes = (facts.get(word) if failed else None for word in ("type", "reason", "phase"))
        connection.execute(
            "UPDATE turns SET ended_seconds = ?, outcome = ?, type = ?, reason = ?, phase = ?,"
            " stop_reason = ?, incident_id = ?, wait_seconds = ?"
            " WHERE run = ? AND turn = ? AND ended_seconds IS NULL",
            (
                row.at_seconds,
                outcome,
                *map(_text, causes),
                _text(facts.get("stop_reason")),
                _text(facts.get("incident_id")) if failed else None,
                _waited(connection, run, row),
                run,
                row.turn,
            ),
        )
    elif row.kind in _SUMS:
        values = {
            "run": run,
            "turn": row.turn,
            "at": row.at_seconds,
            "waited": _waited(connection, run, row) if row.kind == Kind.RETRY else 0.0,
            "by": _text(facts.get("by")),
        }
        change = _SUMS[Kind(row.kind)]
        connection.execute(f"UPDATE turns SET {change} WHERE run = :run AND turn = :turn", values)  # noqa: S608 - our own table of words


def _end_lost(connection: sqlite3.Connection, run: int, row: Row) -> None:
    """Note that the turns failed which were open when a gateway ended that held their session."""
    connection.execute(
        "UPDATE turns SET outcome = ?, type = ?, reason = 'holder_died', incident_id = ?"
        " WHERE session_id = ? AND outcome = ? AND run = ("
        "SELECT max(t.run) FROM turns t JOIN runs r ON r.id = t.run"
        " WHERE t.session_id = ? AND r.door = 'gateway' AND t.run < ?)",
        (
            *(FAILED, ErrorType.AGENT_CRASH, _text(row.facts.get("incident_id"))),
            *(row.session_id, OPEN, row.session_id, run),
        ),
    )


def _waited(connection: sqlite3.Connection, run: int, until: Row) -> float:
    """Return how long the turn's agent has waited before retries, up to this entry."""
    rows = connection.execute(
        "SELECT at_seconds, json_extract(facts, '$.wait_seconds') FROM entries"
        " WHERE run = ? AND session_id = ? AND turn = ? AND kind = ? ORDER BY at_seconds, id",
        (run, until.session_id, until.turn, Kind.RETRY),
    )
    announced = [(at, number_of(wait)) for at, wait in rows]
    return sum(waits_that_passed(announced, until.at_seconds))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
