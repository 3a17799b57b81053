"""Sessions for display: a session of a list, and a session's part in one run.

Owns what a list and a timeline are made of. Reads nothing itself.
"""

from __future__ import annotations

import msgspec

from lastword.record.reader import (  # noqa: TC001 - a struct's types, at runtime
    Part,
    RecordedEntry,
    RecordedRun,
    RecordedTurn,
)


class ShownTurn(msgspec.Struct, frozen=True):
    """A turn of a list.

    Attributes:
        turn: the turn.
        waits_seconds: the wait before each of its retries.
        silent_seconds: the longest silence that was noticed; it lasted at least as long.
        costs: what it has cost, by currency.
    """

    turn: RecordedTurn
    waits_seconds: tuple[float, ...] = ()
    silent_seconds: float | None = None
    costs: dict[str, float] = {}


class ShownPart(msgspec.Struct, frozen=True):
    """A session in a run, as a list shows it.

    Attributes:
        part: the session's part.
        run: the run that it is in.
        turns: its latest turns.
        marks: one mark for each of its latest turns, of which there may be more.
        count: how many turns it has had.
        failures: if it has had none, the requests that failed.
        name: the session's name, which a gateway may have chosen instead of the agent.
        number: its place in the list, from 1 for the latest; 0 outside a list.
        last_failed: the latest turn that failed.
        costs: what all its turns have cost, by currency.
    """

    part: Part
    run: RecordedRun
    turns: tuple[ShownTurn, ...]
    marks: tuple[str, ...]
    count: int
    failures: tuple[RecordedEntry, ...] = ()
    name: str = ""
    number: int = 0
    last_failed: RecordedTurn | None = None
    costs: dict[str, float] = {}


class Section(msgspec.Struct, frozen=True):
    """A session's part in a run, with the turns that a timeline shows."""

    part: Part
    run: RecordedRun
    turns: tuple[RecordedTurn, ...]
    left_out: int
    name: str = ""
    """As `ShownPart` has it."""
    costs: dict[int, dict[str, float]] = {}
    """What all turns of the part have cost, by their number."""

    @property
    def from_seconds(self) -> float | None:
        """The start of what is shown, in the run's monotonic seconds."""
        if not self.left_out:
            return None
        return self.turns[0].started_seconds if self.turns else float("inf")
