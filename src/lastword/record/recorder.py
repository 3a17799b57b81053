"""The recorder, which receives a shell's entries, bounds and dates them, and never delays it.

Owns when anything is kept at all: not before a prompt or a failure, so that a program that only
prints its version leaves no trace. A sink decides where the rows go. Owns the bounds, too: of a
turn, its first entries, its last ones, and all that explain its end, so that one that drops a
million frames leaves as many as one that works hard; of a gateway's session, which may last for
ever, a number of entries per hour.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, TypeAlias

from lastword.core.timeline.entry import TERMINAL, Entry, Kind, Level
from lastword.record.run import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.record.sink import Sink


# --- the bounds

MAX_ENTRIES = 512
"""The most entries of one turn. Real turns have a dozen, and three for each tool call."""

_FIRST = 384
_LAST = MAX_ENTRIES - _FIRST - 2

MAX_STRETCHES = 256
"""Turns that are followed at once."""

MAX_HOURLY = 240
"""The most of one gateway session in an hour: a link that is cut every 30 s leaves this many."""

HOUR_SECONDS = 3600.0

NOTIFIED = frozenset(
    {
        *(Kind.ASKED, Kind.USER_ANSWERED, Kind.QUESTION_EXPIRED),
        *(Kind.LIMIT_WAIT, Kind.CONTINUED),
    }
)
"""Kinds that are notified and do not end a turn."""

_Key: TypeAlias = tuple[str | None, int | None]


class Bounds:
    """Lets entries through, turn by turn, as long as there is room."""

    __slots__ = ("_always", "_stretches")

    def __init__(self, always: frozenset[Kind] = frozenset()) -> None:
        """Let entries of the kinds in `always` through as they come."""
        self._always = always
        self._stretches: dict[_Key, _Stretch] = {}

    def admit(self, entry: Entry) -> list[Entry]:
        """Receive an entry; return the entries to keep now, in order."""
        key = (entry.session_id, entry.turn)
        stretch = self._stretches.get(key)
        if entry.kind in TERMINAL:
            if stretch is None:
                return [entry]
            del self._stretches[key]
            return [*stretch.rest(), entry]
        if stretch is None:
            early: list[Entry] = []
            if len(self._stretches) >= MAX_STRETCHES:
                early = self._stretches.pop(next(iter(self._stretches))).rest()
            self._stretches[key] = _Stretch()
            return [*early, entry]
        has_room = entry.kind in self._always or stretch.has_room(entry)
        return [entry] if has_room else []

    def rest(self) -> list[Entry]:
        """Return the entries of unfinished turns that were held back."""
        omitted = [entry for stretch in self._stretches.values() for entry in stretch.rest()]
        self._stretches.clear()
        return omitted


class _Stretch:
    """The entries of one turn, or of the time between turns."""

    __slots__ = ("_count", "_last", "_left_out")

    def __init__(self) -> None:
        self._count = 1
        self._last: deque[Entry] = deque()
        self._left_out: Counter[str] = Counter()

    def has_room(self, entry: Entry) -> bool:
        self._count += 1
        if self._count <= _FIRST:
            return True
        self._last.append(entry)
        if len(self._last) > _LAST:
            self._left_out[self._last.popleft().kind.value] += 1
        return False

    def rest(self) -> list[Entry]:
        if not self._left_out or not self._last:
            return list(self._last)
        follows = self._last[0]
        omitted = Entry(
            kind=Kind.OMITTED,
            at_seconds=follows.at_seconds,
            session_id=follows.session_id,
            turn=follows.turn,
            facts={"count": self._left_out.total(), "kinds": dict(self._left_out)},
        )
        return [omitted, *self._last]


class HourlyBounds:
    """Lets a session's entries through as they come, up to a number per hour.

    Entries about a failure are always let through.
    """

    __slots__ = ("_hours",)

    def __init__(self) -> None:
        self._hours: dict[str | None, _Hour] = {}

    def admit(self, entry: Entry) -> list[Entry]:
        """Receive an entry; return the entries to keep now, in order."""
        hour = self._hours.get(entry.session_id)
        early: list[Entry] = []
        if hour is None or entry.at_seconds - hour.begins_at >= HOUR_SECONDS:
            early = [] if hour is None else hour.rest()
            hour = self._hours[entry.session_id] = _Hour(entry)
        return [*early, entry] if hour.has_room(entry) else early

    def rest(self) -> list[Entry]:
        """Return the entries that report what was left out."""
        omitted = [entry for hour in self._hours.values() for entry in hour.rest()]
        self._hours.clear()
        return omitted


class _Hour:
    """An hour of a session, counted from its first entry."""

    __slots__ = ("_count", "_last", "_left_out", "begins_at")

    def __init__(self, first: Entry) -> None:
        self.begins_at = first.at_seconds
        self._count = 0
        self._last = first
        self._left_out: Counter[str] = Counter()

    def has_room(self, entry: Entry) -> bool:
        self._count += 1
        if self._count <= MAX_HOURLY or entry.level is Level.ERROR:
            return True
        self._left_out[entry.kind.value] += 1
        self._last = entry
        return False

    def rest(self) -> list[Entry]:
        if not self._left_out:
            return []
        omitted = Entry(
            kind=Kind.OMITTED,
            at_seconds=self._last.at_seconds,
            session_id=self._last.session_id,
            facts={"count": self._left_out.total(), "kinds": dict(self._left_out)},
        )
        return [omitted]


# --- the recorder

WORTH_KEEPING = frozenset(
    {
        *(Kind.PROMPT, Kind.ERROR, Kind.CONTEXT_LOST),
        *(Kind.HOLDER_DIED, Kind.SESSION_NOT_RESTORED, Kind.SUPERVISOR_EXITED),
    }
)
MAX_EARLY = 256
"""Entries that are remembered before anything worth keeping has happened."""


class Recorder:
    """Takes a link's entries."""

    __slots__ = ("_bounds", "_offset", "_pending", "_sink", "_start")

    def __init__(
        self, start: Callable[[], Sink | None], bounds: Bounds | HourlyBounds | None = None
    ) -> None:
        """Create it; `start` opens the sink, and is called once there is something to keep."""
        self._start: Callable[[], Sink | None] | None = start
        self._sink: Sink | None = None
        self._bounds = Bounds() if bounds is None else bounds
        self._pending: list[Row] = []
        self._offset = time.time() - time.monotonic()

    def record(self, entry: Entry) -> None:
        for admitted in self._bounds.admit(entry):
            self._pending.append(self._row(admitted))
        if self._start is not None:
            if entry.kind in WORTH_KEEPING:
                self.keep()
            elif len(self._pending) > MAX_EARLY:
                del self._pending[0]

    def keep(self) -> None:
        """Note that something besides this recorder's entries is worth keeping."""
        if self._start is not None:
            start, self._start = self._start, None
            self._sink = start()

    def flush(self) -> None:
        if self._pending and self._start is None:
            rows, self._pending = self._pending, []
            if self._sink is not None:
                self._sink.send(rows)

    def tend(self) -> None:
        """Have the sink check its process, now that one has ended."""
        if self._sink is not None:
            self._sink.send([])

    def close(self) -> None:
        """Close it: there will be no more entries."""
        self._pending += [self._row(entry) for entry in self._bounds.rest()]
        self.flush()
        if self._sink is not None:
            self._sink.close()
            self._sink = None
        self._start = None

    def _row(self, entry: Entry) -> Row:
        # The time of day may be set while we run; entries are ordered by monotonic time.
        offset = time.time() - time.monotonic()
        if abs(offset - self._offset) > 1:
            self._offset = offset
        return Row(
            kind=entry.kind.value,
            level=entry.level.value,
            at_epoch_ms=int((entry.at_seconds + self._offset) * 1000),
            at_seconds=entry.at_seconds,
            session_id=entry.session_id,
            turn=entry.turn,
            request_id=entry.request_id,
            facts=entry.facts,
            content=entry.content,
        )
