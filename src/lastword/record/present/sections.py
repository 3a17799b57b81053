"""Sessions for display: a session of a list, its part in one run, and how its turns ended.

Owns what a list and a timeline are made of, the short phrases for the end of a turn, and the choice
of a session's most important turn. Reads nothing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.phrases import plain
from lastword.core.failure.sentences import TYPES
from lastword.core.timeline.session_events import PHRASES
from lastword.record.reader import (  # noqa: TC001 - a struct's types, at runtime
    Part,
    RecordedEntry,
    RecordedRun,
    RecordedTurn,
)
from lastword.record.turns import FAILED, OK, OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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


def how_it_ended(turn: RecordedTurn, *, alive: bool = False) -> str:
    """Return the end of a turn in a few words; `alive` means that its run continues."""
    if turn.outcome == FAILED:
        return plain(turn.type or FAILED, TYPES)
    if turn.outcome == OPEN:
        return "running" if alive else "no end recorded"
    if turn.outcome == OK and turn.stop_reason:
        return plain(turn.stop_reason, PHRASES["stop reasons"])
    return turn.outcome


def ended_epoch_ms(turn: RecordedTurn) -> int:
    """Return the moment of a turn's end, or of its prompt if it has not ended."""
    return turn.started_epoch_ms + round(1000 * (turn.duration_seconds or 0))


def has_recovered(failed: RecordedTurn, last: RecordedTurn) -> bool:
    """Return whether a turn of the session has ended well since it failed."""
    return last.turn != failed.turn and last.outcome == OK


def standing(
    last: RecordedTurn, failed: RecordedTurn | None, *, alive: bool, clock: Callable[[int], str]
) -> str:
    """Say whether a session's last turn failed, whether it has recovered, and whether it is over.

    Args:
        last: The session's last turn.
        failed: Its latest turn that failed.
        alive: Its run continues.
        clock: Returns a moment in milliseconds since 1970 as a time of day.
    """
    over = "Goes on." if alive else "Ended."
    if failed is None:
        return over
    what = f"{how_it_ended(failed)} at {clock(ended_epoch_ms(failed))}"
    if failed.turn == last.turn:
        sentence = f"The last turn failed: {what}"
    elif has_recovered(failed, last):
        sentence = f"Recovered after a failure: {what}"
    else:
        sentence = f"Turn {failed.turn} failed: {what}"
    return f"{sentence}. {over}"


def turn_to_summarize(turns: Sequence[RecordedTurn], *, alive: bool) -> RecordedTurn | None:
    """Return the turn for a session's first paragraph: the last that did not end well.

    A turn that is still running has no story yet.
    """
    over = [turn for turn in turns if turn.outcome != OPEN or not alive]
    bad = [turn for turn in over if turn.outcome != OK]
    return next(reversed(bad or over), None)
