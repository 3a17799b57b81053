"""Short phrases for the end of a turn, and the choice of a session's most important turn.

Owns both, using only a turn's row, so that nothing is imported that only sentences need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.phrases import plain
from lastword.core.failure.sentences import TYPES
from lastword.core.timeline.session_events import PHRASES
from lastword.record.turns import FAILED, OK, OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.record.reader import RecordedTurn


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
        alive: Its run goes on.
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
