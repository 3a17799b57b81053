"""Trends of a period and of the one before it, read from a store.

Owns what the totals of a period are made from, and where its days begin. `trends` computes them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.phrases import moment_of
from lastword.record import reader, trends
from lastword.record.trends import Period  # noqa: TC001 - msgspec reads annotations
from lastword.record.waits import waits_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

_QUARTER_MS = 15 * 60 * 1000
"""In every time zone days begin on a quarter of an hour; computing the day of each turn is slow."""


PROGRESS_EVERY = 200
"""Rows between two words of how far it is: some milliseconds."""


class Trends(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of some days, and of as many days before.

    Attributes:
        days: how many.
        from_epoch_ms: the first moment, in milliseconds since 1970 UTC.
        to_epoch_ms: the moment after the last.
        now: these days.
        before: the days before.
    """

    days: int
    from_epoch_ms: int
    to_epoch_ms: int
    now: Period
    before: Period


def trends_of(
    path: str, days: int, end_ms: int, at: Callable[[str], None] = lambda _: None
) -> Trends:
    """Compute the totals of the days before a moment.

    Args:
        path: The store.
        days: How many days.
        end_ms: The moment, in milliseconds since 1970 UTC.
        at: Called with what is being read, in a few words.

    Raises:
        StoreError: There is no store, or it cannot be read.
    """
    span = days * trends.DAY_MS
    with reader.reading(path) as record:
        return Trends(
            days=days,
            from_epoch_ms=end_ms - span,
            to_epoch_ms=end_ms,
            now=trends.period(_input_between(record, end_ms - span, end_ms, at), _day),
            before=trends.period(
                _input_between(record, end_ms - 2 * span, end_ms - span, at), _day
            ),
        )


def _input_between(
    record: sqlite3.Connection, start: int, end: int, at: Callable[[str], None]
) -> trends.PeriodInput:
    turns = []
    for turn in reader.turns_between(record, start, end):
        turns.append(turn)
        if not len(turns) % PROGRESS_EVERY:
            at(f"{len(turns):,} turns since {_day(start)}")
    requests = reader.failed_requests(record, start, end)
    runs = {run.id: run for run in reader.runs_between(record, start, end)}
    costs = list(reader.cost_entries(record, start, end))
    for run in {turn.run for turn in turns} | {each.run for each in (*requests, *costs)}:
        # A run is recorded a moment after its first prompt.
        runs[run] = runs.get(run) or reader.run_of(record, run)
    restarts = []
    for number, run in enumerate(runs, 1):
        if not number % PROGRESS_EVERY:
            at(f"start {number:,} of {len(runs):,} since {_day(start)}")
        entries = reader.restarts_of(record, run)
        restarts += [each for each in entries if start <= each.at_epoch_ms < end]
    return trends.PeriodInput(
        turns=turns,
        requests=requests,
        restarts=restarts,
        runs=runs,
        alive=frozenset(run.id for run in runs.values() if reader.is_alive(run)),
        costs=costs,
        waits=waits_of(reader.wait_entries(record, start, end)),
        models=list(reader.model_entries(record, start, end)),
        gateway=list(reader.gateway_entries(record, start, end)),
    )


def _day(epoch_ms: int) -> str:
    return _day_of_quarter(epoch_ms // _QUARTER_MS)


@cache
def _day_of_quarter(quarter: int) -> str:
    return f"{moment_of(quarter * _QUARTER_MS):%Y-%m-%d}"
