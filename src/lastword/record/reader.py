"""Reading the record: sessions, turns, entries and failures.

Owns every statement that reads, and the check whether a recorded run is still alive, which asks
only this machine. Changes nothing in a store. `record.trends` computes totals over turns, and the
command line decides on the display.

What turns have cost, as their agents stated it: by turn, and by agent, model and day. Owns the
sums. Amounts of different currencies are never added up or converted.

Additional facts for a list of the record: counts, silences, and the facts of failures. Owns the
numbers of sessions, from 1 for the latest in the order of `reader.latest_parts`. Changes nothing in
a store.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lastword.core.failure.option_values import money
from lastword.core.protocol.acp import number_of
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import GATEWAY
from lastword.errors import StoreError
from lastword.platform.files import is_running
from lastword.record import intake, store
from lastword.record.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


FOLLOWED_AT_ONCE = 1000
LISTED_FAILURES = 5
_END_MS = 2**62
_SLACK_SECONDS = 60
"""Clocks are set, and the kernel counts from its own start."""


WAITS = frozenset({
    *(Kind.TOOL_STARTED, Kind.TOOL_ENDED, Kind.ASKED, Kind.USER_ANSWERED, Kind.ANSWER, Kind.ERROR),
    *(Kind.QUESTION_EXPIRED, Kind.PROMPT),
})  # fmt: skip
"""The kinds of entries that show who was waited for."""


class RecordedRun(Run, frozen=True, kw_only=True):
    """A run, as far as it has come.

    Attributes:
        id: its row.
        last_epoch_ms: its last entry, in milliseconds since 1970 UTC.
        ended: it recorded its own end.
        client: the client's own name, if it gave one.
        client_version: the client's version.
        agent: the agent's own name, if it gave one.
        agent_version: the agent's version.
        lost_entries: entries that could not be written.
    """

    id: int
    last_epoch_ms: int
    ended: bool
    client: str | None
    client_version: str | None
    agent: str | None
    agent_version: str | None
    lost_entries: int


class Part(msgspec.Struct, frozen=True):
    """A session within one run; a session that was restored later has a part in each run.

    Without a session id, it is everything in a run outside sessions, such as a failed start.
    """

    run: int
    run_id: str
    session_id: str
    last_epoch_ms: int

    @property
    def name(self) -> str:
        return f"{self.run_id}/{self.session_id}".removesuffix("/")


class RecordedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. Its seconds are the run's monotonic ones; `outcome` is a word of `record.turns`."""

    run: int
    turn: int
    session_id: str
    started_epoch_ms: int
    started_seconds: float
    ended_seconds: float | None
    first_output_seconds: float | None
    outcome: str
    type: str | None
    reason: str | None
    phase: str | None
    by: str | None
    stop_reason: str | None
    incident_id: str | None
    tools: int
    retries: int
    wait_seconds: float
    dropped: int

    @property
    def duration_seconds(self) -> float | None:
        """From the prompt to its end."""
        return None if self.ended_seconds is None else self.ended_seconds - self.started_seconds

    @property
    def output_after_seconds(self) -> float | None:
        """From the prompt to its first text or tool call."""
        first = self.first_output_seconds
        return None if first is None else first - self.started_seconds


class RecordedEntry(msgspec.Struct, frozen=True):
    """An entry with its place in the record."""

    id: int
    run: int
    at_epoch_ms: int
    level: str
    entry: Entry


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open the store as it is at this moment, unaffected by later writes.

    Raises:
        StoreError: there is none, or it cannot be read; also raised from within the context.
    """
    connection = intake.opened(path)
    try:
        connection.execute("BEGIN")
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        why = store.reason_of(store.as_sqlite(error))
        raise StoreError(f"{path} cannot be read: {why}") from error
    except msgspec.MsgspecError as error:
        # No writer of ours wrote this: the file has damage that SQLite does not notice.
        why = "it is damaged, or a newer lastword wrote it"
        raise StoreError(f"{path} holds what cannot be read: {why}") from error
    finally:
        connection.close()


def latest_parts(
    record: sqlite3.Connection, limit: int, since_epoch_ms: int = 0
) -> tuple[list[Part], bool]:
    """Return the latest sessions with a turn, and runs that failed without one, newest first.

    Also returns whether there are more.
    """
    latest: dict[tuple[int, str], Part] = {}
    are_more = False
    # By turns, along their index: grouping all of them would take longer as the store grows.
    rows = record.execute(
        "SELECT t.run, r.run_id, t.session_id, t.started_epoch_ms AS last_epoch_ms FROM turns t"
        " JOIN runs r ON r.id = t.run WHERE t.started_epoch_ms >= ?"
        " ORDER BY t.started_epoch_ms DESC, t.id DESC",
        (since_epoch_ms,),
    )
    for row in rows:
        key = (row["run"], row["session_id"])
        if key not in latest:
            if len(latest) == limit:
                are_more = True
                break
            latest[key] = msgspec.convert(dict(row), Part)
    starts = _failed_runs(record, "e.at_epoch_ms >= ?", since_epoch_ms, limit=limit + 1)
    both = sorted([*latest.values(), *starts], key=lambda part: part.last_epoch_ms, reverse=True)
    return both[:limit], are_more or len(both) > limit


def _failed_runs(
    record: sqlite3.Connection, condition: str, *values: str | int, limit: int = -1
) -> list[Part]:
    """Return runs in which a request failed and no turn began, newest first."""
    rows = record.execute(
        "SELECT e.run, r.run_id, '' AS session_id, max(e.at_epoch_ms) AS last_epoch_ms"  # noqa: S608 - conditions are ours
        " FROM entries e JOIN runs r ON r.id = e.run"
        " WHERE e.level = 'error' AND e.turn IS NULL AND e.kind = ?"
        " AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.run = e.run)"
        f" AND {condition} GROUP BY e.run ORDER BY last_epoch_ms DESC LIMIT ?",
        (Kind.ERROR, *values, limit),
    )
    return [msgspec.convert(dict(row), Part) for row in rows]


def find(record: sqlite3.Connection, text: str) -> list[Part]:
    """Return the sessions that a text may name: by id, the beginning of one, run, or incident.

    A complete id wins over longer ones that begin with it. Of sessions with the same id, the latest
    is returned, from which earlier parts can be found (`with_earlier_parts`).
    """
    whole = find_whole(record, text)
    return [whole] if whole is not None else find_by_beginning(record, text)


def find_whole(record: sqlite3.Connection, text: str) -> Part | None:
    """Return the session with this exact id, name or incident."""
    exact = _parts(record, "t.session_id = ? OR r.run_id || '/' || t.session_id = ?", text, text)
    if exact:
        own = (part for part in exact if text in {part.name, gateways_name(record, part)})
        return next(own, exact[0])
    restored = _restored_parts(record, text)
    if restored:
        return restored[0]
    row = record.execute(  # a request outside turns, or where a gateway took a session over
        "SELECT e.run, r.run_id, coalesce(e.session_id, '') AS session_id,"
        " e.at_epoch_ms AS last_epoch_ms FROM entries e JOIN runs r ON r.id = e.run"
        " WHERE e.level = 'error' AND e.turn IS NULL AND instr(e.facts, ?) > 0"
        " ORDER BY e.at_epoch_ms DESC LIMIT 1",
        (f'"incident_id":"{text}"',),
    ).fetchone()
    if row is not None:
        return msgspec.convert(dict(row), Part)
    incident = _parts(record, "t.incident_id = ?", text)
    return incident[0] if incident else None


def find_by_beginning(record: sqlite3.Connection, text: str) -> list[Part]:
    """Return the sessions whose id, run or gateway name begins with this text."""
    begins = "substr(t.session_id, 1, ?) = ? OR substr(r.run_id || '/' || t.session_id, 1, ?) = ?"
    parts = _parts(record, begins, len(text), text, len(text), text)
    if not parts:
        name = msgspec.json.encode({"name": text}).decode().removesuffix('"}').removeprefix("{")
        rows = record.execute(
            "SELECT e.run, r.run_id, e.session_id, max(e.at_epoch_ms) AS last_epoch_ms"
            " FROM runs r CROSS JOIN entries e"
            " ON e.run = r.id AND e.turn IS NULL AND e.kind = ? AND instr(e.facts, ?) > 0"
            " WHERE r.door = 'gateway' GROUP BY e.facts ORDER BY last_epoch_ms DESC",
            (Kind.SESSION_HELD, name),
        )
        parts = [msgspec.convert(dict(row), Part) for row in rows]
        if parts:
            return parts
    latest: dict[str, Part] = {}
    for part in parts:
        latest.setdefault(part.session_id, part)
    by_run = [part for part in parts if part.name.startswith(text)]
    by_run += _failed_runs(record, "substr(r.run_id, 1, ?) = ?", len(text), text)
    return by_run or list(latest.values())


def _parts(record: sqlite3.Connection, condition: str, *values: str | int) -> list[Part]:
    rows = record.execute(
        "SELECT t.run, r.run_id, t.session_id, max(t.started_epoch_ms) AS last_epoch_ms"  # noqa: S608 - conditions are ours
        " FROM turns t"
        f" JOIN runs r ON r.id = t.run WHERE {condition}"
        " GROUP BY t.run, t.session_id ORDER BY last_epoch_ms DESC, t.run DESC",
        values,
    )
    return [msgspec.convert(dict(row), Part) for row in rows]


def with_earlier_parts(record: sqlite3.Connection, part: Part) -> list[Part]:
    """Return a session's parts since its creation, the earliest first.

    Agents that count their sessions from 1 reuse ids: anything before the creation of this session
    belongs to another one, and so does anything with another name at a gateway. Parts that a
    gateway has restored since, and in which no turn has begun, belong to it.
    """
    parts = [part]
    if not part.session_id:
        return parts
    name = gateways_name(record, part)
    restored = _restored_parts(record, part.session_id)
    candidates = [*_parts(record, "t.session_id = ?", part.session_id), *restored]
    candidates = sorted(candidates, key=_age, reverse=True)
    for earlier in candidates:
        if _age(earlier) >= _age(part) or gateways_name(record, earlier) != name:
            continue
        creations = record.execute(
            "SELECT facts FROM entries"
            " WHERE run = ? AND session_id = ? AND turn IS NULL AND kind = ?",
            (parts[-1].run, parts[-1].session_id, Kind.SESSION_CREATED),
        )
        facts = (msgspec.json.decode(row["facts"], type=dict[str, Any]) for row in creations)
        if any(each.get("how") == "new" for each in facts):
            break
        parts.append(earlier)
    later = [each for each in restored[::-1] if _age(each) > _age(part)]
    return [*parts[::-1], *(each for each in later if gateways_name(record, each) == name)]


def _age(part: Part) -> tuple[int, int]:
    return part.last_epoch_ms, part.run


def gateways_name(record: sqlite3.Connection, part: Part) -> str:
    """Return a gateway's name for a session, or its own id if no gateway gave it another."""
    row = record.execute(
        "SELECT facts FROM entries WHERE run = ? AND session_id = ? AND turn IS NULL AND kind = ?",
        (part.run, part.session_id, Kind.SESSION_HELD),
    ).fetchone()
    facts = msgspec.json.decode(row["facts"], type=dict[str, Any]) if row else {}
    return str(facts.get("name", part.session_id))


def _restored_parts(record: sqlite3.Connection, session_id: str) -> list[Part]:
    """Return where a gateway took a session over and no turn has begun, newest first."""
    rows = record.execute(
        # In this order, so that it uses the index for each of those few runs.
        "SELECT r.id AS run, r.run_id, e.session_id, max(e.at_epoch_ms) AS last_epoch_ms"
        " FROM runs r CROSS JOIN entries e"
        " ON e.run = r.id AND e.session_id = ?1 AND e.turn IS NULL AND e.kind = ?2"
        " WHERE r.door = 'gateway' AND NOT EXISTS"
        " (SELECT 1 FROM turns t WHERE t.run = r.id AND t.session_id = ?1)"
        " GROUP BY r.id ORDER BY last_epoch_ms DESC, r.id DESC",
        (session_id, Kind.HOLDER_DIED),
    )
    return [msgspec.convert(dict(row), Part) for row in rows]


def gateway_entries(
    record: sqlite3.Connection, start_ms: int, end_ms: int
) -> Iterator[RecordedEntry]:
    """Return the events of sessions behind gateways in a period."""
    kinds = ", ".join(f"'{kind.value}'" for kind in sorted(GATEWAY))
    rows = record.execute(
        "SELECT e.* FROM runs r CROSS JOIN entries e"  # noqa: S608 - our own words
        f" ON e.run = r.id AND e.turn IS NULL AND e.kind IN ({kinds})"
        " WHERE r.door = 'gateway' AND r.last_epoch_ms >= ?1"
        " AND e.at_epoch_ms >= ?1 AND e.at_epoch_ms < ?2 ORDER BY e.at_epoch_ms, e.id",
        (start_ms, end_ms),
    )
    return map(_entry, rows)


def entries_of_kinds(
    record: sqlite3.Connection, of: frozenset[Kind], start_ms: int, end_ms: int
) -> Iterator[RecordedEntry]:
    """Return a period's entries of these kinds that belong to sessions, session by session."""
    kinds = ", ".join(f"'{kind.value}'" for kind in sorted(of))
    rows = record.execute(
        "SELECT e.* FROM runs r CROSS JOIN entries e"  # noqa: S608 - our own words
        f" ON e.run = r.id AND e.session_id IS NOT NULL AND e.kind IN ({kinds})"
        " WHERE r.last_epoch_ms >= ?1 AND e.at_epoch_ms >= ?1 AND e.at_epoch_ms < ?2"
        " ORDER BY e.run, e.session_id, e.at_seconds, e.id",
        (start_ms, end_ms),
    )
    return map(_entry, rows)


def run_of(record: sqlite3.Connection, run: int) -> RecordedRun:
    row = record.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
    return _run(dict(row or {}))


def runs_between(record: sqlite3.Connection, start_ms: int, end_ms: int) -> list[RecordedRun]:
    """Return the runs that were alive in a period, newest first."""
    rows = record.execute(
        "SELECT * FROM runs WHERE last_epoch_ms >= ? AND started_epoch_ms < ?"
        " ORDER BY started_epoch_ms DESC",
        (start_ms, end_ms),
    )
    return [_run(dict(row)) for row in rows]


def is_alive(run: RecordedRun) -> bool:
    """Return whether a run is still alive: its process exists, and is the one that began it."""
    if run.ended or run.pid <= 0 or not is_running(run.pid):
        return False
    if sys.platform == "win32":
        return True
    # Process ids are reused: a process that began after the run is another one.
    try:
        with open(f"/proc/{run.pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            booted = next(int(line.split()[1]) for line in file if line.startswith(b"btime "))
    except (OSError, ValueError, IndexError, StopIteration):  # as on a system without /proc
        return True
    began = booted + ticks / os.sysconf("SC_CLK_TCK")
    return began <= run.started_epoch_ms / 1000 + _SLACK_SECONDS


def turns_of(
    record: sqlite3.Connection, part: Part, limit: int | None = None, since_epoch_ms: int = 0
) -> list[RecordedTurn]:
    """Return a session's latest turns, in order."""
    rows = record.execute(
        "SELECT * FROM turns WHERE session_id = ? AND run = ? AND started_epoch_ms >= ?"
        " ORDER BY started_epoch_ms DESC, turn DESC LIMIT ?",
        (part.session_id, part.run, since_epoch_ms, _limit(limit)),
    )
    return [_turn(row) for row in rows][::-1]


def last_failed(record: sqlite3.Connection, part: Part) -> RecordedTurn | None:
    """Return the latest turn of a session that failed in this run, if one did."""
    rows = record.execute(
        "SELECT * FROM turns WHERE session_id = ? AND run = ? AND outcome = 'failed'"
        " ORDER BY started_epoch_ms DESC, turn DESC LIMIT 1",
        (part.session_id, part.run),
    )
    return next(map(_turn, rows), None)


def count_turns(record: sqlite3.Connection, part: Part) -> int:
    """Return how many turns a session has had in this run."""
    row = record.execute(
        "SELECT count(*) FROM turns WHERE session_id = ? AND run = ?", (part.session_id, part.run)
    ).fetchone()
    return int(row[0])


def turns_between(record: sqlite3.Connection, start_ms: int, end_ms: int) -> Iterator[RecordedTurn]:
    """Yield every turn that began in a period."""
    rows = record.execute(
        "SELECT * FROM turns WHERE started_epoch_ms >= ? AND started_epoch_ms < ?"
        " ORDER BY started_epoch_ms",
        (start_ms, end_ms),
    )
    return map(_turn, rows)


def failed_turns(
    record: sqlite3.Connection, limit: int, since_epoch_ms: int = 0
) -> list[RecordedTurn]:
    """Return the latest turns that failed, newest first."""
    rows = record.execute(
        "SELECT * FROM turns WHERE outcome = 'failed' AND started_epoch_ms >= ?"
        " ORDER BY started_epoch_ms DESC LIMIT ?",
        (since_epoch_ms, limit),
    )
    return [_turn(row) for row in rows]


def failed_requests(
    record: sqlite3.Connection, start_ms: int, end_ms: int | None = None, limit: int | None = None
) -> list[RecordedEntry]:
    """Return failures of requests other than prompts in a period, newest first.

    Requests that were open when the user left, as during a slow start, do not count.
    """
    rows = record.execute(
        "SELECT * FROM entries WHERE level = 'error' AND turn IS NULL AND kind = ?"
        " AND coalesce(json_extract(facts, '$.reason'), '') NOT IN ('client_left', 'told_to_stop')"
        " AND at_epoch_ms >= ? AND at_epoch_ms < ? ORDER BY at_epoch_ms DESC LIMIT ?",
        (Kind.ERROR, start_ms, _END_MS if end_ms is None else end_ms, _limit(limit)),
    )
    return [_entry(row) for row in rows]


def failures_of(record: sqlite3.Connection, part: Part) -> list[RecordedEntry]:
    """Return failed requests outside turns in a run, in order, as many as a list shows."""
    rows = record.execute(
        "SELECT * FROM entries WHERE level = 'error' AND turn IS NULL AND kind = ? AND run = ?"
        " AND coalesce(json_extract(facts, '$.reason'), '') NOT IN ('client_left', 'told_to_stop')"
        " ORDER BY at_epoch_ms, id LIMIT ?",
        (Kind.ERROR, part.run, LISTED_FAILURES),
    )
    return [_entry(row) for row in rows]


def retries_of(record: sqlite3.Connection, turn: RecordedTurn) -> list[RecordedEntry]:
    """Return the retries of a turn's model calls, in order."""
    rows = record.execute(
        "SELECT * FROM entries WHERE run = ? AND session_id = ? AND turn = ? AND kind = ?"
        " ORDER BY at_seconds, id",
        (turn.run, turn.session_id, turn.turn, Kind.RETRY),
    )
    return [_entry(row) for row in rows]


def restarts_of(record: sqlite3.Connection, run: int) -> list[RecordedEntry]:
    rows = record.execute(
        "SELECT * FROM entries WHERE run = ? AND session_id IS NULL AND turn IS NULL AND kind = ?"
        " ORDER BY at_seconds, id",
        (run, Kind.AGENT_RESTARTED),
    )
    return [_entry(row) for row in rows]


def entries_of(
    record: sqlite3.Connection, part: Part, from_seconds: float | None = None
) -> Iterator[RecordedEntry]:
    """Yield the entries of a session in order, including the run's own."""
    rows = record.execute(
        # Two queries, so that each uses the index.
        "SELECT * FROM entries WHERE run = ?1 AND session_id = ?2 AND at_seconds >= ?3"
        " UNION ALL"
        " SELECT * FROM entries WHERE run = ?1 AND session_id IS NULL AND at_seconds >= ?3"
        " ORDER BY at_seconds, id",
        (part.run, part.session_id, float("-inf") if from_seconds is None else from_seconds),
    )
    return map(_entry, rows)


def in_time(recorded: RecordedEntry) -> tuple[int, int]:
    """Return the sort key of an entry of several writers: its moment, then its place."""
    return recorded.at_epoch_ms, recorded.id


def entries_since(record: sqlite3.Connection, part: Part, entry_id: int) -> Iterator[RecordedEntry]:
    """Yield the entries written after this one, in the order of writing."""
    rows = record.execute(
        "SELECT * FROM entries WHERE run = ?1 AND session_id = ?2 AND id > ?3"
        " UNION ALL"
        " SELECT * FROM entries WHERE run = ?1 AND session_id IS NULL AND id > ?3"
        " ORDER BY id",
        (part.run, part.session_id, entry_id),
    )
    return map(_entry, rows)


def older_entries(record: sqlite3.Connection, part: Part, latest: int) -> tuple[int, int, int]:
    """Return how many entries a part has, how many precede the latest, and the last of those.

    The last is given by its id, 0 if there is none.
    """
    both = "FROM entries WHERE run = ?1 AND (session_id = ?2 OR session_id IS NULL)"
    values = (part.run, part.session_id)
    (count,) = record.execute(f"SELECT count(*) {both}", values).fetchone()
    row = record.execute(
        f"SELECT id {both} ORDER BY id DESC LIMIT 1 OFFSET ?3", (*values, latest)
    ).fetchone()
    return int(count), max(0, int(count) - latest), int(row[0]) if row else 0


def last_id(record: sqlite3.Connection) -> int:
    """Return the id of the newest entry, or 0 if there is none."""
    (newest,) = record.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
    return int(newest)


def entries_after(record: sqlite3.Connection, entry_id: int) -> list[RecordedEntry]:
    """Return the entries that were written after this one, up to the size of one batch."""
    rows = record.execute(
        "SELECT * FROM entries WHERE id > ? ORDER BY id LIMIT ?", (entry_id, FOLLOWED_AT_ONCE)
    )
    return [_entry(row) for row in rows]


def _limit(limit: int | None) -> int:
    return -1 if limit is None else limit


def _run(values: dict[str, Any]) -> RecordedRun:
    return msgspec.convert(values, RecordedRun, strict=False)


def _turn(row: sqlite3.Row) -> RecordedTurn:
    return msgspec.convert(dict(row), RecordedTurn)


def _entry(row: sqlite3.Row) -> RecordedEntry:
    members: dict[str, Any] = {
        "kind": row["kind"],
        "at_seconds": row["at_seconds"],
        "session_id": row["session_id"],
        "turn": row["turn"],
        "request_id": row["request_id"],
        "facts": msgspec.json.decode(msgspec.convert(row["facts"], str)),
    }
    values = {name: row[name] for name in ("id", "run", "at_epoch_ms", "level")}
    return msgspec.convert({**values, "entry": members}, RecordedEntry)


Costs: TypeAlias = dict[str, float]
"""Amounts by currency."""

_PLACES = 9


class CostTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What the turns of one agent with one model have cost on one day.

    Attributes:
        agent: the agent's name.
        model: the model's id; `None` if the agent does not report it.
        day: the local day, such as `2026-11-25`.
        currency: the ISO 4217 code.
        amount: the sum.
    """

    agent: str
    model: str | None
    day: str
    currency: str
    amount: float


def add(costs: Costs, facts: Mapping[str, Any]) -> None:
    """Add the cost in an entry's facts."""
    _add(costs, str(facts.get("currency")), number_of(facts.get("amount")))


def total(costs: Iterable[Costs]) -> Costs:
    sums: Costs = {}
    for each in costs:
        for currency, amount in each.items():
            _add(sums, currency, amount)
    return sums


def totals_of(
    entries: Iterable[RecordedEntry],
    agent_of: Callable[[int], str],
    day_of: Callable[[int], str],
) -> tuple[CostTotal, ...]:
    """Return the sums of a period's entries.

    Args:
        entries: The entries that state costs.
        agent_of: Names the agent of a run, by its row.
        day_of: Names the day of a moment in milliseconds since 1970.
    """
    sums: dict[tuple[str, str, str], Costs] = defaultdict(dict)
    for recorded in entries:
        model = str(recorded.entry.facts.get("model") or "")
        key = day_of(recorded.at_epoch_ms), agent_of(recorded.run), model
        add(sums[key], recorded.entry.facts)
    return tuple(
        CostTotal(agent=agent, model=model or None, day=day, currency=currency, amount=amount)
        for (day, agent, model), costs in sorted(sums.items())
        for currency, amount in sorted(costs.items())
    )


def in_words(costs: Mapping[str, float]) -> str:
    """Return costs for a person, such as `0.42 USD, 1.00 EUR`; empty if there are none."""
    return ", ".join(money(amount, currency) for currency, amount in sorted(costs.items()))


def _add(costs: Costs, currency: str, amount: float) -> None:
    costs[currency] = round(costs.get(currency, 0.0) + amount, _PLACES)


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
    parts, _ = latest_parts(record, number)
    return parts[number - 1] if len(parts) >= number else None


def silences_of(record: sqlite3.Connection, turns: Sequence[RecordedTurn]) -> dict[int, float]:
    """Return the longest silence noticed in each of a session's turns, in seconds by turn number.

    Each silence lasted at least as long. A turn without one is left out.
    """
    long = [
        turn
        for turn in turns
        if turn.duration_seconds is None or turn.duration_seconds >= MIN_SILENT_SECONDS
    ]
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
