"""`lastword stats`: failures by type, agent and day, and how long turns take.

Owns the command line and the exit status: 0, 1 when the record cannot be used, 2 when it cannot be
summed as it was asked.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from lastword.cli.page import Page, fitted
from lastword.cli.parser import CommandParser
from lastword.cli.progress import Progress
from lastword.cli.record_access import add_record_option, answer, path_of, whole_number
from lastword.core.failure.durations import counted, duration
from lastword.record.present import documents
from lastword.record.spans import trends_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.record.gateway_trends import GatewayPeriod
    from lastword.record.trends import Period, Spread

_ABOUT = """\
Sums up what is recorded: failures by type, agent and day with the change
against the days before, whether every turn was answered, restarts, retries,
how long turns take, and what happened to sessions behind a gateway.
"""

_ENDS = """\
examples:
  lastword stats
  lastword stats --days 30

exit status: 0, 1 when the record cannot be read, 2 for arguments that cannot
be used.
"""

DEFAULT_DAYS = 7
MAX_DAYS = 3650
MAX_ROWS = 12
_LABEL_COLUMNS = 24
_BAR_COLUMNS = 20


def main(arguments: Sequence[str]) -> int:
    """Sum up what is recorded; gives the exit status."""
    options = parser().read(arguments)
    path = path_of(options)
    return answer("stats", path, lambda: _run(options, path))


def parser() -> CommandParser:
    """Return the parser."""
    made = CommandParser("stats", usage="[options]", about=_ABOUT, ends=_ENDS)
    made.add_argument(
        "--days",
        type=_days,
        default=DEFAULT_DAYS,
        metavar="N",
        help="sum up the last N days, and compare them with the N days before (default: "
        "%(default)s)",
    )
    made.add_argument("--json", action="store_true", help="print the same as JSON, for programs")
    add_record_option(made)
    return made


def _days(text: str) -> int:
    days = whole_number(text)
    if days > MAX_DAYS:
        raise argparse.ArgumentTypeError(f"it takes at most {MAX_DAYS} days")
    return days


def _run(options: argparse.Namespace, path: str) -> int:
    with Progress("Reading the record") as progress:
        found = trends_of(
            path,
            options.days,
            int(time.time() * 1000) + 1,
            lambda what: progress.say(f"Reading the record: {what}"),
        )
    if options.json:
        documents.write(found)
        return 0
    page = Page()
    _show(page, options.days, found.now, found.before)
    sys.stdout.write(page.take())
    return 0


def _show(page: Page, days: int, now: Period, before: Period) -> None:
    """Show everything, one part below the other."""
    span = "day" if days == 1 else f"{days} days"
    page.line(f"the last {span}, and the change against the {span} before", "bold")
    page.line()
    if not now.turns and not now.failed_requests:
        page.line("No turn is recorded in this time; --days 30 looks further back.", "dim")
        if not before.turns and now.gateway is None:
            return
    _turns(page, now, before)
    _counts(page, "failed turns by type", now.by_type, before.by_type)
    _counts(page, "failed turns by agent", now.by_agent, before.by_agent)
    _counts(page, "other failed requests by type", now.requests_by_type, before.requests_by_type)
    _counts(page, "other failed requests by agent", now.requests_by_agent, before.requests_by_agent)
    _by_day(page, now)
    _latency(page, now, before)
    if now.gateway is not None:
        _gateway(page, now.gateway, before.gateway)


def _gateway(page: Page, now: GatewayPeriod, before: GatewayPeriod | None) -> None:
    """Show what befell sessions behind a gateway; what did not happen is left out."""
    page.line()
    page.line("behind a gateway", "bold")
    rows = _gateway_rows(now)
    earlier = {} if before is None else _gateway_rows(before)
    for label, count in rows.items():
        if count or earlier.get(label):
            _row(page, label, count, earlier.get(label, 0))


def _gateway_rows(period: GatewayPeriod) -> dict[str, int]:
    ended = {
        f"  {each.replace('_', ' ')}": count for each, count in period.connections_ended.items()
    }
    return {
        "viewers came": period.viewers_came,
        "  to go on": period.viewers_came_back,
        "viewers left": sum(period.connections_ended.values()),
        **ended,
        "far behind": period.lags,
        "gaps told": period.gaps,
        "  entries missed": period.missed_entries,
        "questions held": period.questions_held,
        **{f"questions {how}": count for how, count in period.questions.items()},
        "holders died": period.holders_died,
        "lastword run ended": period.supervisors_exited,
        "sessions restored": period.restored,
        "  without history": period.restored_without_history,
        "sessions not restored": period.not_restored,
        "logs begun anew": period.log_resets,
        **{f"sessions ended: {why}": count for why, count in period.sessions_ended.items()},
    }


def _turns(page: Page, now: Period, before: Period) -> None:
    _row(page, "turns", now.turns, before.turns)
    _row(page, "  ok", now.ok, before.ok)
    _row(page, "  failed", now.failed, before.failed)
    _row(page, "  cancelled", now.cancelled, before.cancelled)
    if now.running:
        _row(page, "  running", now.running, None)
    if now.no_end or before.no_end:
        _row(page, "  no end recorded", now.no_end, before.no_end)
    if now.answered_percent is not None:
        whole = now.answered_percent == 100  # noqa: PLR2004 - percent
        # Cut, not rounded: 99.99 is not 100.
        told = "100 %" if whole else f"{int(now.answered_percent * 100) / 100:.2f} %"
        page.row(f"{fitted('  answered', _LABEL_COLUMNS)} ", f"{told:>7}", "" if whole else "red")
    _row(page, "other requests failed", now.failed_requests, before.failed_requests)
    _row(page, "restarts of an agent", now.restarts, before.restarts)
    _row(page, "retries", now.retries, before.retries)
    if now.wait_seconds or before.wait_seconds:
        told = f"{duration(now.wait_seconds)}, before {duration(before.wait_seconds)}"
        page.row(f"{fitted('  waits', _LABEL_COLUMNS)} ", told)


def _counts(page: Page, title: str, now: Mapping[str, int], before: Mapping[str, int]) -> None:
    names = list(dict.fromkeys([*now, *before]))
    if not names:
        return
    page.line()
    page.line(title, "bold")
    for name in names[:MAX_ROWS]:
        _row(page, name, now.get(name, 0), before.get(name, 0))
    if len(names) > MAX_ROWS:
        page.line(f"and {len(names) - MAX_ROWS} more; --json has all", "dim")


def _by_day(page: Page, now: Period) -> None:
    days = sorted({*now.by_day, *now.turns_by_day})[-14:]
    if not days:
        return
    page.line()
    page.line("failed turns by day", "bold")
    most = max((now.by_day.get(day, 0) for day in days), default=0)
    for day in days:
        failed = now.by_day.get(day, 0)
        bar = "#" * -(-failed * _BAR_COLUMNS // most) if most else ""
        turns = counted(now.turns_by_day.get(day, 0), "turn")
        page.row(f"{day}  ", f"{failed:>5,} in {turns:<12} {bar}", "red" if failed else "")


def _latency(page: Page, now: Period, before: Period) -> None:
    if not now.first_output.count and not now.whole_turn.count:
        return
    page.line()
    page.line(f"{'how long it took':<{_LABEL_COLUMNS}}{'p50':>8}{'p90':>9}{'p99':>9}", "bold")
    for label, mine, theirs in (
        ("to the first output", now.first_output, before.first_output),
        ("whole turns, ended well", now.whole_turn, before.whole_turn),
    ):
        page.row(fitted(label, _LABEL_COLUMNS), _spread(mine))
        if theirs.count:
            page.row(fitted("  before", _LABEL_COLUMNS), _spread(theirs), "dim")


def _spread(spread: Spread) -> str:
    return "".join(
        f"{duration(value) or '-':>{width}}"
        for value, width in ((spread.p50, 8), (spread.p90, 9), (spread.p99, 9))
    )


def _row(page: Page, label: str, now: int, before: int | None) -> None:
    change = "" if before is None or before == now else f"{now - before:+,}"
    page.row(f"{fitted(label, _LABEL_COLUMNS)} ", f"{now:>7,}  {change:>8}")
