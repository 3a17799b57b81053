"""`lastword stats`: failures by type, agent and day, how long turns take, and what they cost.

Owns the command line and the exit status: 0; 1 if the record cannot be read; 2 for invalid
arguments.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from lastword.cli import envelope
from lastword.cli.page import Page, Progress, visibly_cut
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.record_access import add_record_option, answer, path_of
from lastword.core.failure.option_values import DAY_SECONDS, seconds_of
from lastword.core.failure.phrases import counted, duration, plain
from lastword.core.failure.sentences import TYPES
from lastword.core.timeline.session_events import PHRASES
from lastword.record.reader import in_words, total
from lastword.record.trends import trends_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lastword.record.reader import CostTotal
    from lastword.record.trends import GatewayPeriod, Period, Spread

_ABOUT = """\
Summarises the record: failures by type, agent and day compared with the days
before, successful turns, restarts, retries, how long turns take, what they
cost by agent, model and day, and what happened to sessions behind a gateway.
"""

_ENDS = """\
examples:
  lastword stats
  lastword stats --days 30

exit status: 0, 1 if the record cannot be read, 2 for invalid arguments.
"""

DEFAULT_DAYS = 7
MAX_DAYS = 3650
MAX_ROWS = 12
_LABEL_COLUMNS = 38
_NUMBER_COLUMNS = 7
_COUNT_COLUMNS, _SPREAD_COLUMNS = 20, 29
"""The columns beside a row's label, for a count with its change, and for three durations."""

_BAR_COLUMNS = 20
_CAUSES, _DECIDED, _ENDINGS = PHRASES["left"], PHRASES["decided"], PHRASES["ends"]


def main(arguments: Sequence[str]) -> int:
    """Summarise the record; return the exit status."""
    options = parser().read(arguments)
    path = path_of(options)
    return answer("stats", path, lambda: _run(options, path))


_OPTIONS = """\
--days N
    summarise the last N days, and compare them with the N days before (default: %(default)s)
--json  print the same as JSON
"""


def parser() -> CommandParser:
    made = CommandParser("stats", usage="[options]", about=_ABOUT, ends=_ENDS)
    add_arguments(made, _OPTIONS, days={"type": _days, "default": DEFAULT_DAYS})
    add_record_option(made)
    return made


def _days(text: str) -> int:
    days = (seconds_of(text, unit="d") or 0) / DAY_SECONDS
    if days < 1 or days % 1:
        raise argparse.ArgumentTypeError(
            f"cannot be {text!r}: it takes whole days, such as 7, 7d or 4w"
        )
    if days > MAX_DAYS:
        raise argparse.ArgumentTypeError(f"it takes at most {MAX_DAYS} days")
    return int(days)


def _run(options: argparse.Namespace, path: str) -> int:
    with Progress("Reading the record") as progress:
        trends = trends_of(
            path,
            options.days,
            int(time.time() * 1000) + 1,
            lambda what: progress.say(f"Reading the record: {what}"),
        )
    if options.json:
        envelope.write(trends)
        return 0
    page = Page()
    _show(page, options.days, trends.now, trends.before)
    sys.stdout.write(page.drain())
    return 0


def _show(page: Page, days: int, now: Period, before: Period) -> None:
    span = "day" if days == 1 else f"{days} days"
    page.line(f"The last {span}, compared with the {span} before", "bold")
    page.line()
    if not now.turns and not now.failed_requests:
        page.line("No turn was recorded in this time; --days 30 looks further back.", "dim")
        if not before.turns and now.gateway is None:
            return
    compares = bool(before.turns or before.failed_requests or before.gateway is not None)
    table = _Table(page, compares=compares)
    if not compares:
        page.line(f"Nothing is recorded of the {span} before.", "dim")
        page.line()
    _turns(table, now, before)
    by_type, by_agent = _named(now.by_type), now.by_agent
    _counts(table, "Failed turns by what failed", by_type, _named(before.by_type))
    _counts(table, "Failed turns by agent", by_agent, before.by_agent)
    types = (_named(now.requests_by_type), _named(before.requests_by_type))
    _counts(table, "Other failed requests by what failed", *types)
    _counts(
        table, "Other failed requests by agent", now.requests_by_agent, before.requests_by_agent
    )
    _by_day(table, now)
    _latency(table, now, before)
    _waits(table, now, before)
    _providers(table, now)
    _costs(table, now, before)
    if now.gateway is not None:
        _gateway(table, now.gateway, before.gateway)


def _named(counts: Mapping[str, int]) -> dict[str, int]:
    return {plain(name, TYPES): count for name, count in counts.items()}


def _gateway(table: _Table, now: GatewayPeriod, before: GatewayPeriod | None) -> None:
    """Show what happened to sessions behind a gateway, leaving out zero counts."""
    table.head("Behind a gateway")
    rows = _gateway_rows(now)
    earlier = {} if before is None else _gateway_rows(before)
    for label, count in rows.items():
        if count or earlier.get(label):
            table.row(label, count, earlier.get(label, 0))


def _gateway_rows(period: GatewayPeriod) -> dict[str, int]:
    return {
        "viewers connected": period.viewers_came,
        "  resumed where they had been": period.viewers_came_back,
        "viewers disconnected": sum(period.connections_ended.values()),
        **{f"  {_ended(how)}": count for how, count in period.connections_ended.items()},
        "times a viewer fell behind": period.lags,
        "times a viewer missed entries": period.gaps,
        "  entries missed": period.missed_entries,
        "questions while nobody was there": period.questions_held,
        **{f"questions {plain(how, _DECIDED)}": n for how, n in period.questions.items()},
        "sessions taken over after their gateway ended": period.holders_died,
        "the link to the agent ended unexpectedly": period.supervisors_exited,
        "sessions restored": period.restored,
        "  without their history": period.restored_without_history,
        "sessions that could not be restored": period.not_restored,
        "session logs started over": period.log_resets,
        **{
            f"sessions ended: {plain(why, _ENDINGS)}": n for why, n in period.sessions_ended.items()
        },
    }


def _ended(how: str) -> str:
    """Describe how a connection ended, from its close code and its cause."""
    code, _, cause = how.partition(" ")
    return f"{plain(cause, PHRASES['left'])} ({code})" if cause else plain(code)


def _turns(table: _Table, now: Period, before: Period) -> None:
    table.row("turns", now.turns, before.turns)
    table.row("  ok", now.ok, before.ok)
    table.row("  failed", now.failed, before.failed)
    table.row("  cancelled", now.cancelled, before.cancelled)
    if now.running:
        table.row("  running", now.running, None)
    if now.no_end or before.no_end:
        table.row("  no end recorded", now.no_end, before.no_end)
    if now.ok_percent is not None:
        whole = now.ok_percent == 100  # noqa: PLR2004 - percent
        # Cut, not rounded: 99.99 is not 100.
        text = "100 %" if whole else f"{int(now.ok_percent * 100) / 100:.2f} %"
        text = f"{text:>{_NUMBER_COLUMNS}}"
        label = table.label("  succeeded (without cancelled turns)")
        table.page.row(label, text, "" if whole else "red")
    table.row("other requests that failed", now.failed_requests, before.failed_requests)
    table.row("agents restarted", now.restarts, before.restarts)
    table.row("model calls retried", now.retries, before.retries)
    if now.wait_seconds or before.wait_seconds:
        text = duration(now.wait_seconds)
        if before.wait_seconds:
            text += f" ({duration(before.wait_seconds)} before)"
        table.page.row(table.label("  time spent waiting for retries"), text)


def _counts(table: _Table, title: str, now: Mapping[str, int], before: Mapping[str, int]) -> None:
    names = list(dict.fromkeys([*now, *before]))
    if not names:
        return
    table.head(title)
    for name in names[:MAX_ROWS]:
        table.row(name, now.get(name, 0), before.get(name, 0))
    if len(names) > MAX_ROWS:
        table.page.line(f"and {len(names) - MAX_ROWS} more; --json lists them all", "dim")


def _by_day(table: _Table, now: Period) -> None:
    days = sorted({*now.by_day, *now.turns_by_day})[-14:]
    if not days:
        return
    table.head("Failed turns by day")
    most = max((now.by_day.get(day, 0) for day in days), default=0)
    if most:
        table.page.line("The longest bar is the day with the most failures.", "dim")
    for day in days:
        failed = now.by_day.get(day, 0)
        bar = "#" * -(-failed * _BAR_COLUMNS // most) if most else ""
        turns = counted(now.turns_by_day.get(day, 0), "turn")
        table.page.row(f"{day}  ", f"{failed:>5,} in {turns:<12} {bar}", "red" if failed else "")


def _latency(table: _Table, now: Period, before: Period) -> None:
    if not now.first_output.count and not now.whole_turn.count:
        return
    table.head("How long turns took")
    table.page.line(
        "Half of them took at most the first figure, 9 of 10 at most the second, and 99 of 100 at "
        "most the third. Output is a text, a tool call or a question to the user.",
        "dim",
    )
    for label, mine, theirs in (
        ("to the first output", now.first_output, before.first_output),
        ("whole successful turns", now.whole_turn, before.whole_turn),
    ):
        table.page.row(table.label(label, _SPREAD_COLUMNS), _spread(mine))
        if theirs.count:
            table.page.row(table.label("  before", _SPREAD_COLUMNS), _spread(theirs), "dim")


def _waits(table: _Table, now: Period, before: Period) -> None:
    rows = (
        ("the model provider, in silence", now.waits.provider, before.waits.provider),
        ("tools", now.waits.tool, before.waits.tool),
        ("the agent itself", now.waits.agent, before.waits.agent),
        ("you, for an answer", now.waits.user, before.waits.user),
    )
    if not any(seconds for _, seconds, _ in rows):
        return
    table.head("Who made you wait")
    for label, mine, theirs in rows:
        text = duration(mine) or "-"
        if theirs:
            text += f" ({duration(theirs)} before)"
        table.page.row(table.label(label), text)


def _providers(table: _Table, now: Period) -> None:
    if not now.providers:
        return
    table.head("Requests to model providers")
    table.page.line(
        "As the agents' own runtimes reported them. Half of the requests took at most the first "
        "figure, 9 of 10 at most the second, and 99 of 100 at most the third.",
        "dim",
    )
    for host, sent in list(now.providers.items())[:MAX_ROWS]:
        statuses = ", ".join(f"{count:,} {status}" for status, count in sent.statuses.items())
        table.page.line(f"{host}: {counted(sent.requests, 'request')} ({statuses})")
        for label, spread in (("to the first byte", sent.first_byte), ("whole", sent.whole)):
            if spread.count:
                table.page.row(table.label(f"  {label}", _SPREAD_COLUMNS), _spread(spread))


def _costs(table: _Table, now: Period, before: Period) -> None:
    if not now.costs and not before.costs:
        return
    table.head("Cost, as the agents state it")
    parts: tuple[tuple[str, Callable[[CostTotal], str]], ...] = (
        ("", lambda _: "in all"),
        ("by agent", lambda cost: cost.agent),
        ("by model", lambda cost: cost.model or "not stated"),
        ("by day", lambda cost: cost.day),
    )
    for title, key in parts:
        mine, theirs = _sums(now.costs, key), _sums(before.costs, key)
        if title:
            table.page.line(title, "dim")
        names = list(mine) if title == "by day" else list(dict.fromkeys([*mine, *theirs]))
        for name in names[-MAX_ROWS:]:
            text = in_words(mine.get(name, {})) or "-"
            if name in theirs:
                text += f" ({in_words(theirs[name])} before)"
            table.page.row(table.label(f"  {name}" if title else name), text)


def _sums(
    costs: Sequence[CostTotal], key: Callable[[CostTotal], str]
) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(map(key, costs))
    return {
        name: total({cost.currency: cost.amount} for cost in costs if key(cost) == name)
        for name in names
    }


def _spread(spread: Spread) -> str:
    return "".join(f"{duration(each) or '-':>9}" for each in (spread.p50, spread.p90, spread.p99))


class _Table:
    def __init__(self, page: Page, *, compares: bool) -> None:
        self.page = page
        self._compares = compares

    def row(self, label: str, now: int, before: int | None) -> None:
        change = ""
        if self._compares and before is not None and before != now:
            change = f"  {abs(now - before):,} {'more' if now > before else 'fewer'}"
        self.page.row(self.label(label), f"{now:>{_NUMBER_COLUMNS},}{change}")

    def head(self, title: str) -> None:
        self.page.line()
        self.page.line(title, "bold")

    def label(self, text: str, figures: int = _COUNT_COLUMNS) -> str:
        """Return a row's label, cut to leave room for its figures."""
        columns = min(_LABEL_COLUMNS, self.page.columns - figures)
        return f"{visibly_cut(text, columns).ljust(columns)} "
