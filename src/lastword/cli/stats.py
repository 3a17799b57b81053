"""`lastword stats`: failures by type, agent and day, and how long turns take.

Owns the command line and the exit status: 0, 1 when the record cannot be used, 2 when it cannot be
summed as it was asked.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import cache
from typing import TYPE_CHECKING

from lastword.cli import log_json
from lastword.cli.columns import Page, local
from lastword.cli.record_access import add_record_option, answer, path_of, whole_number
from lastword.cli.stats_show import show
from lastword.record import reader, trends
from lastword.record.alive import is_alive

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

DEFAULT_DAYS = 7
MAX_DAYS = 3650
_QUARTER_MS = 15 * 60 * 1000
"""Days begin on a quarter of an hour, wherever one is; asking for each turn takes long."""


def main(arguments: Sequence[str]) -> int:
    """Sum up what is recorded; gives the exit status."""
    options = _parser().parse_args(list(arguments))
    path = path_of(options)
    return answer("stats", path, lambda: _run(options, path))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lastword stats",
        description="Sums up what `lastword run` has recorded: failures by type, agent and day "
        "with the change against the days before, whether every turn was answered, restarts, "
        "retries, and how long turns take.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--days",
        type=_days,
        default=DEFAULT_DAYS,
        metavar="N",
        help=f"the last N days (default {DEFAULT_DAYS}), against the N days before",
    )
    parser.add_argument("--json", action="store_true", help="for machines")
    add_record_option(parser)
    return parser


def _days(text: str) -> int:
    days = whole_number(text)
    if days > MAX_DAYS:
        raise argparse.ArgumentTypeError(f"it takes at most {MAX_DAYS} days")
    return days


def _run(options: argparse.Namespace, path: str) -> int:
    end = int(time.time() * 1000) + 1
    span = options.days * trends.DAY_MS
    with reader.reading(path) as record:
        now = trends.period(_found(record, end - span, end), _day)
        before = trends.period(_found(record, end - 2 * span, end - span), _day)
    if options.json:
        told = {"days": options.days, "from_epoch_ms": end - span, "to_epoch_ms": end}
        log_json.write(told | {"now": now, "before": before})
        return 0
    page = Page()
    show(page, options.days, now, before)
    sys.stdout.write(page.take())
    return 0


def _found(record: sqlite3.Connection, start: int, end: int) -> trends.Found:
    turns = list(reader.turns_between(record, start, end))
    requests = reader.failed_requests(record, start, end)
    runs = {run.id: run for run in reader.runs_between(record, start, end)}
    for run in {turn.run for turn in turns} | {request.run for request in requests}:
        # A run is written down a moment after its first prompt.
        runs[run] = runs.get(run) or reader.run_of(record, run)
    restarts = [
        restart
        for run in runs
        for restart in reader.restarts_of(record, run)
        if start <= restart.at_epoch_ms < end
    ]
    return trends.Found(
        turns=turns,
        requests=requests,
        restarts=restarts,
        runs=runs,
        alive=frozenset(run.id for run in runs.values() if is_alive(run)),
    )


def _day(epoch_ms: int) -> str:
    return _day_of_quarter(epoch_ms // _QUARTER_MS)


@cache
def _day_of_quarter(quarter: int) -> str:
    return f"{local(quarter * _QUARTER_MS):%Y-%m-%d}"
