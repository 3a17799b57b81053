"""Totals over a period, and over the one before: failures, answers, waits and durations of turns.

Owns the counts, which are made from the reader's rows, and the beginning of a period's days. A wait
for a tool counts from its first entry to its last, one for a question until its answer, and the
others as stated for the turn's silences at its end.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import moment_of
from lastword.core.protocol.acp import number_of
from lastword.core.timeline.entry import Kind
from lastword.record import reader
from lastword.record.reader import CostTotal, totals_of
from lastword.record.turns import CANCELLED, FAILED, OK, OPEN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn


# --- sessions behind gateways


class GatewayPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """The totals.

    Attributes:
        viewers_came: how often a viewer connected.
        viewers_came_back: how many of these resumed where they had left off.
        connections_ended: how often one disconnected, by close code and cause (`1006 link_cut`).
        lags: how often a viewer was far behind.
        gaps: how often a viewer learned that entries are gone.
        missed_entries: how many entries these were.
        questions_held: the agents' questions that found no viewer.
        questions: the settled ones, by how they were settled.
        holders_died: sessions that were taken over because their gateway had ended.
        supervisors_exited: ends of the link between a gateway and an agent.
        restored: sessions that were restored.
        restored_without_history: how many of these lost their history.
        not_restored: sessions that could not be restored.
        log_resets: logs whose numbering began again.
        sessions_ended: ended sessions, by cause.
    """

    viewers_came: int
    viewers_came_back: int
    connections_ended: dict[str, int]
    lags: int
    gaps: int
    missed_entries: int
    questions_held: int
    questions: dict[str, int]
    holders_died: int
    supervisors_exited: int
    restored: int
    restored_without_history: int
    not_restored: int
    log_resets: int
    sessions_ended: dict[str, int]


def gateway_period(recorded: Iterable[RecordedEntry]) -> GatewayPeriod | None:
    """Return the totals of the entries, or `None` if there are none."""
    entries = [each.entry for each in recorded]
    if not entries:
        return None
    kinds = Counter(entry.kind for entry in entries)

    def words(kind: Kind, *facts: str) -> dict[str, int]:
        sentences = (
            " ".join(str(entry.facts.get(fact, "unknown")) for fact in facts)
            for entry in entries
            if entry.kind is kind
        )
        return dict(sorted(Counter(sentences).items(), key=lambda each: (-each[1], each[0])))

    came_back = (e.facts.get("back") is True for e in entries if e.kind is Kind.VIEWER_CAME)
    gaps = [entry.facts for entry in entries if entry.kind is Kind.GAP_TOLD]
    return GatewayPeriod(
        viewers_came=kinds[Kind.VIEWER_CAME],
        viewers_came_back=sum(came_back),
        connections_ended=words(Kind.VIEWER_LEFT, "code", "cause"),
        lags=kinds[Kind.VIEWER_LAGS],
        gaps=len(gaps),
        missed_entries=sum(
            int(number_of(facts.get("last")) - number_of(facts.get("first"))) + 1 for facts in gaps
        ),
        questions_held=kinds[Kind.QUESTION_HELD],
        questions=words(Kind.QUESTION_DECIDED, "how"),
        holders_died=kinds[Kind.HOLDER_DIED],
        supervisors_exited=kinds[Kind.SUPERVISOR_EXITED],
        restored=kinds[Kind.SESSION_RESTORED],
        restored_without_history=words(Kind.SESSION_RESTORED, "history").get("none", 0),
        not_restored=kinds[Kind.SESSION_NOT_RESTORED],
        log_resets=kinds[Kind.LOG_RESET],
        sessions_ended=words(Kind.SESSION_ENDED, "cause"),
    )


# --- waits

_BEGIN = {Kind.TOOL_STARTED: "tool", Kind.ASKED: "user"}
_END = {
    Kind.TOOL_ENDED: "tool",
    Kind.USER_ANSWERED: "user",
    Kind.QUESTION_EXPIRED: "user",
}
_FACTS = {
    "provider": "provider_seconds",
    "tool": "tool_seconds",
    "agent": "agent_seconds",
}


class WaitTotals(msgspec.Struct, frozen=True):
    """How long turns waited, in seconds.

    Attributes:
        provider: for the model provider, in silence.
        tool: for tools.
        agent: for the agent itself, which computed, was stopped or waited for a disk.
        user: for answers to the agent's questions.
    """

    provider: float = 0.0
    tool: float = 0.0
    agent: float = 0.0
    user: float = 0.0


def waits_of(entries: Iterable[RecordedEntry]) -> WaitTotals:
    """Count the waits in the entries of some sessions, each session's in order."""
    seconds: dict[str, float] = dict.fromkeys(("provider", "tool", "agent", "user"), 0.0)
    began: dict[tuple[int, str | None, str], list[float]] = {}
    for recorded in entries:
        entry = recorded.entry
        session = recorded.run, entry.session_id
        if entry.kind in _BEGIN:
            began.setdefault((*session, _BEGIN[entry.kind]), []).append(entry.at_seconds)
        elif entry.kind in _END:
            who = _END[entry.kind]
            opened = began.get((*session, who), [])
            # Those that run at the same time are one wait, from the first to the last.
            if len(opened) == 1:
                seconds[who] += max(entry.at_seconds - opened[0], 0.0)
            del opened[1 if len(opened) > 1 else 0 : 2 if len(opened) > 1 else 1]
        else:
            for who in ("tool", "user"):
                opened = began.pop((*session, who), [])
                if opened and entry.kind is not Kind.PROMPT:
                    seconds[who] += max(entry.at_seconds - opened[0], 0.0)
            for who, fact in _FACTS.items():
                seconds[who] += number_of(entry.facts.get(fact))
    return WaitTotals(**seconds)


# --- a period

DAY_MS = 24 * 3600 * 1000


class Spread(msgspec.Struct, frozen=True):
    """Percentiles of a duration in seconds, over a number of turns."""

    count: int = 0
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


class ProviderTotal(msgspec.Struct, frozen=True, kw_only=True):
    """The requests to one model provider, as agents' runtimes reported them.

    Attributes:
        requests: how many there were.
        statuses: how many were answered with each HTTP status; `none` if no answer came.
        first_byte: from a request to the beginning of its answer.
        whole: from a request to the end of its answer, of those that did not fail.
    """

    requests: int
    statuses: dict[str, int]
    first_byte: Spread
    whole: Spread


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a period.

    Attributes:
        turns: how many began.
        ok: ended well.
        failed: ended with an error.
        cancelled: were cancelled.
        running: have not ended, in a run that is alive.
        no_end: have not ended, in a run that is gone.
        answered_percent: the share of finished turns that have an end, with a result or with an
            error; `None` without turns.
        ok_percent: the share of finished turns that ended well, without those that were cancelled;
            `None` without any.
        failed_requests: failed requests outside turns.
        restarts: how often an agent was restarted.
        retries: model calls that were tried again.
        wait_seconds: the total wait before those retries.
        by_type: failed turns by their type.
        by_agent: failed turns by the agent's name.
        by_day: failed turns by day.
        requests_by_type: failed requests outside turns, by their type.
        requests_by_agent: failed requests outside turns, by the agent's name.
        turns_by_day: all turns by day.
        first_output: from the prompt to the first text, tool call or question to the user.
        whole_turn: from the prompt to the end, for turns that ended well.
        waits: who made the turns wait.
        providers: requests to model providers, by host.
        costs: what turns have cost, by day, agent, model and currency.
        gateway: the totals of sessions behind gateways; `None` if there were none.
    """

    turns: int
    ok: int
    failed: int
    cancelled: int
    running: int
    no_end: int
    answered_percent: float | None
    ok_percent: float | None
    failed_requests: int
    restarts: int
    retries: int
    wait_seconds: float
    by_type: dict[str, int]
    by_agent: dict[str, int]
    by_day: dict[str, int]
    requests_by_type: dict[str, int]
    requests_by_agent: dict[str, int]
    turns_by_day: dict[str, int]
    first_output: Spread
    whole_turn: Spread
    waits: WaitTotals = WaitTotals()
    providers: dict[str, ProviderTotal] = {}
    costs: tuple[CostTotal, ...] = ()
    gateway: GatewayPeriod | None = None


class PeriodInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input for the totals of a period.

    Attributes:
        turns: those that began in it.
        requests: failed requests outside turns in it.
        restarts: restarts of agents in it.
        runs: every run to which one of these belongs, by its row.
        alive: the rows of runs that are alive.
        gateway: events of sessions behind gateways in it.
        waits: who made its turns wait.
        models: requests to model providers in it.
        costs: what its turns have cost.
    """

    turns: Sequence[RecordedTurn]
    requests: Sequence[RecordedEntry]
    restarts: Sequence[RecordedEntry]
    runs: Mapping[int, RecordedRun]
    alive: frozenset[int]
    gateway: Sequence[RecordedEntry] = ()
    waits: WaitTotals = WaitTotals()
    models: Sequence[RecordedEntry] = ()
    costs: Sequence[RecordedEntry] = ()


def period(recorded: PeriodInput, day_of: Callable[[int], str]) -> Period:
    """Compute the totals; `day_of` names the day of a moment in milliseconds since 1970."""
    outcomes = Counter(turn.outcome for turn in recorded.turns)
    running = sum(t.outcome == OPEN and t.run in recorded.alive for t in recorded.turns)
    over = len(recorded.turns) - running
    ended = len(recorded.turns) - outcomes[OPEN]
    expected = over - outcomes[CANCELLED]
    failed = [turn for turn in recorded.turns if turn.outcome == FAILED]
    requests = [str(entry.entry.facts.get("type") or "unknown") for entry in recorded.requests]
    by_host: dict[str, list[Mapping[str, Any]]] = {}
    for each in recorded.models:
        facts = each.entry.facts
        by_host.setdefault(str(facts.get("host") or "unknown"), []).append(facts)
    hosts = sorted(by_host.items(), key=lambda item: (-len(item[1]), item[0]))
    return Period(
        turns=len(recorded.turns),
        ok=outcomes[OK],
        failed=outcomes[FAILED],
        cancelled=outcomes[CANCELLED],
        running=running,
        no_end=over - ended,
        answered_percent=100 * ended / over if over else None,
        ok_percent=100 * outcomes[OK] / expected if expected else None,
        failed_requests=len(recorded.requests),
        restarts=len(recorded.restarts),
        retries=sum(turn.retries for turn in recorded.turns),
        wait_seconds=sum(turn.wait_seconds for turn in recorded.turns),
        by_type=_ordered(turn.type or "unknown" for turn in failed),
        by_agent=_ordered(_agent(recorded.runs.get(turn.run)) for turn in failed),
        by_day=dict(sorted(Counter(day_of(turn.started_epoch_ms) for turn in failed).items())),
        requests_by_type=_ordered(requests),
        requests_by_agent=_ordered(_agent(recorded.runs.get(e.run)) for e in recorded.requests),
        turns_by_day=dict(
            sorted(Counter(day_of(t.started_epoch_ms) for t in recorded.turns).items())
        ),
        first_output=spread(turn.output_after_seconds for turn in recorded.turns),
        whole_turn=spread(turn.duration_seconds for turn in recorded.turns if turn.outcome == OK),
        waits=recorded.waits,
        providers={
            host: ProviderTotal(
                requests=len(each),
                statuses=_ordered(str(facts.get("status") or "none") for facts in each),
                first_byte=spread(facts.get("first_byte_seconds") for facts in each),
                whole=spread(facts.get("total_seconds") for facts in each if "type" not in facts),
            )
            for host, each in hosts
        },
        costs=totals_of(recorded.costs, lambda run: _agent(recorded.runs.get(run)), day_of),
        gateway=gateway_period(recorded.gateway),
    )


def spread(durations: Iterable[float | None]) -> Spread:
    """Return the percentiles by nearest rank, so that each is a measured duration.

    Unknown durations are left out.
    """
    values = sorted(value for value in durations if value is not None)
    if not values:
        return Spread()
    ranks = (max(1, math.ceil(len(values) * percent / 100)) for percent in (50, 90, 99))
    return Spread(len(values), *(values[rank - 1] for rank in ranks))


def _ordered(words: Iterable[str]) -> dict[str, int]:
    counts = Counter(words).items()
    return dict(sorted(counts, key=lambda each: (-each[1], each[0])))


def _agent(run: RecordedRun | None) -> str:
    return (run.agent or run.program) if run else "unknown"


# --- a period of a store

_QUARTER_MS = 15 * 60 * 1000
"""In every time zone days begin on a quarter of an hour; computing the day of each turn is slow."""


PROGRESS_EVERY = 200
"""Rows between two reports of progress: some milliseconds."""


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
        at: Called with a few words on the progress.

    Raises:
        StoreError: There is no store, or it cannot be read.
    """
    span = days * DAY_MS
    with reader.reading(path) as record:
        return Trends(
            days=days,
            from_epoch_ms=end_ms - span,
            to_epoch_ms=end_ms,
            now=period(_input_between(record, end_ms - span, end_ms, at), _day),
            before=period(_input_between(record, end_ms - 2 * span, end_ms - span, at), _day),
        )


def _input_between(
    record: sqlite3.Connection, start: int, end: int, at: Callable[[str], None]
) -> PeriodInput:
    turns = []
    for turn in reader.turns_between(record, start, end):
        turns.append(turn)
        if not len(turns) % PROGRESS_EVERY:
            at(f"{len(turns):,} turns since {_day(start)}")
    requests = reader.failed_requests(record, start, end)
    runs = {run.id: run for run in reader.runs_between(record, start, end)}
    costs = list(reader.entries_of_kinds(record, frozenset({Kind.COST}), start, end))
    for run in {turn.run for turn in turns} | {each.run for each in (*requests, *costs)}:
        # A run is recorded a moment after its first prompt.
        runs[run] = runs.get(run) or reader.run_of(record, run)
    restarts = []
    for number, run in enumerate(runs, 1):
        if not number % PROGRESS_EVERY:
            at(f"start {number:,} of {len(runs):,} since {_day(start)}")
        entries = reader.restarts_of(record, run)
        restarts += [each for each in entries if start <= each.at_epoch_ms < end]
    return PeriodInput(
        turns=turns,
        requests=requests,
        restarts=restarts,
        runs=runs,
        alive=frozenset(run.id for run in runs.values() if reader.is_alive(run)),
        costs=costs,
        waits=waits_of(reader.entries_of_kinds(record, reader.WAITS, start, end)),
        models=list(reader.entries_of_kinds(record, frozenset({Kind.MODEL_REQUEST}), start, end)),
        gateway=list(reader.gateway_entries(record, start, end)),
    )


def _day(epoch_ms: int) -> str:
    return _day_of_quarter(epoch_ms // _QUARTER_MS)


@cache
def _day_of_quarter(quarter: int) -> str:
    return f"{moment_of(quarter * _QUARTER_MS):%Y-%m-%d}"
