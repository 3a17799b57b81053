"""Short phrases for the end of a turn, and the choice of a session's most important turn.

Owns both, using only a turn's row, so that nothing is imported that only sentences need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.naming import TYPES, plain
from lastword.record.present.words import STOP_REASONS
from lastword.record.turns import FAILED, OK, OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.record.reader import RecordedTurn


def how_it_ended(turn: RecordedTurn, *, alive: bool = False) -> str:
    """Return the end of a turn in a few words; `alive` means that its run goes on."""
    if turn.outcome == FAILED:
        return plain(turn.type or FAILED, TYPES)
    if turn.outcome == OPEN:
        return "running" if alive else "no end recorded"
    if turn.outcome == OK and turn.stop_reason:
        return plain(turn.stop_reason, STOP_REASONS)
    return turn.outcome


def turn_to_tell(turns: Sequence[RecordedTurn], *, alive: bool) -> RecordedTurn | None:
    """Return the turn for a session's first paragraph: the last that did not end well.

    A turn that is still running has no story yet.
    """
    over = [turn for turn in turns if turn.outcome != OPEN or not alive]
    bad = [turn for turn in over if turn.outcome != OK]
    return next(reversed(bad or over), None)
