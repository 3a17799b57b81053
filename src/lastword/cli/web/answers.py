"""The record's sessions and entries, as the web page requests them.

Owns the query for each of the page's requests, and its limits.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

from lastword.record import listing, reader
from lastword.record.costs import total
from lastword.record.present import documents
from lastword.record.present.events import event
from lastword.record.present.sections import ShownPart, ShownTurn

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from lastword.record.reader import Part, RecordedEntry

LISTED_SESSIONS = 200
MAX_ENTRIES = 20_000
"""The latest of a session; a browser has to hold them all."""

ENTRIES_AT_ONCE = 5000
"""A megabyte, about, which takes 50 ms to read."""


def sessions(path: str) -> dict[str, Any]:
    """Return the latest sessions, each with its last turn.

    Raises:
        StoreError: The record cannot be read.
    """
    with reader.reading(path) as record:
        parts, more = reader.latest_parts(record, LISTED_SESSIONS)
        return {"sessions": [_listed(record, part) for part in parts], "more": more}


def _listed(record: sqlite3.Connection, part: Part) -> dict[str, Any]:
    turns = tuple(ShownTurn(turn) for turn in reader.turns_of(record, part, limit=1))
    failures = () if turns else tuple(reader.failures_of(record, part))
    run = reader.run_of(record, part.run)
    failed = reader.last_failed(record, part)
    count = reader.count_turns(record, part)
    costs = total(listing.costs_of(record, part).values())
    shown = ShownPart(part, run, turns, (), count, failures, last_failed=failed, costs=costs)
    return documents.part(shown) | {"name": part.name, "last_epoch_ms": part.last_epoch_ms}


def session(path: str, name: str, after: int | None) -> dict[str, Any] | None:
    """Return a session's entries after a given one, or its latest; nothing if unknown.

    Raises:
        StoreError: The record cannot be read.
    """
    with reader.reading(path) as record:
        matches = [part for part in reader.find(record, name) if part.name == name]
        if not matches:
            return None
        parts = reader.with_earlier_parts(record, matches[0])
        left_out = 0
        if after is None:
            after, left_out = _start(record, parts)
        entries = _entries(record, parts, after)
        return {
            "run": documents.run(reader.run_of(record, matches[0].run)),
            "events": [
                event(recorded, number)
                for number, recorded in sorted(entries, key=lambda one: reader.in_time(one[1]))
            ],
            "next": entries[-1][1].id if entries else after,  # as written: none is passed over
            "more": len(entries) == ENTRIES_AT_ONCE,
            "left_out": left_out,
        }


def _start(record: sqlite3.Connection, parts: Sequence[Part]) -> tuple[int, int]:
    """Return the entry after which the latest begin, and how many are left out before it."""
    after = left_out = 0
    room = MAX_ENTRIES
    for part in reversed(parts):
        count, older, last = reader.older_entries(record, part, room)
        after, left_out, room = max(after, last), left_out + older, room - count + older
    return after, left_out


def _entries(
    record: sqlite3.Connection, parts: Sequence[Part], after: int
) -> list[tuple[int, RecordedEntry]]:
    """Return entries in the order in which they were written, with their run's number from 1."""
    each = [_numbered(record, part, number, after) for number, part in enumerate(parts, 1)]
    return list(islice(merge(*each, key=lambda one: one[1].id), ENTRIES_AT_ONCE))


def _numbered(
    record: sqlite3.Connection, part: Part, number: int, after: int
) -> Iterator[tuple[int, RecordedEntry]]:
    for recorded in reader.entries_since(record, part, after):
        yield number, recorded
