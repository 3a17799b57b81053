"""Sessions as they are shown: a session of a list, and a session's part in one run.

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
        turn: which it is.
        waits_seconds: how long each of its retries was to wait.
        silent_seconds: the longest silence that was noticed; it lasted at least as long.
    """

    turn: RecordedTurn
    waits_seconds: tuple[float, ...] = ()
    silent_seconds: float | None = None


class ShownPart(msgspec.Struct, frozen=True):
    """A session in a run, as a list shows it.

    Attributes:
        part: which it is.
        run: the run it is in.
        turns: its latest turns.
        marks: one mark for each of its latest turns, more of them.
        count: how many turns it has had.
        failures: where it has had none, the requests that failed.
        name: the session's, which is a gateway's where that gave it another than the agent did.
        number: its place in the list, from 1 for the latest; 0 outside of a list.
    """

    part: Part
    run: RecordedRun
    turns: tuple[ShownTurn, ...]
    marks: tuple[str, ...]
    count: int
    failures: tuple[RecordedEntry, ...] = ()
    name: str = ""
    number: int = 0


class Section(msgspec.Struct, frozen=True):
    """A session's part in a run, with the turns of it that a timeline shows."""

    part: Part
    run: RecordedRun
    turns: tuple[RecordedTurn, ...]
    left_out: int
    name: str = ""
    """As `ShownPart` has it."""

    @property
    def from_seconds(self) -> float | None:
        """From when on it is shown, in the run's monotonic seconds."""
        if not self.left_out:
            return None
        return self.turns[0].started_seconds if self.turns else float("inf")
