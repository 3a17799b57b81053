"""A turn or a failure in sentences, from what is recorded of it.

Owns which turn of a session is told, which entries it is told from, and what a failure is told by
where a paragraph would be too long. The paragraph itself is `core.timeline.summary`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import wording
from lastword.core.failure.durations import plain_duration
from lastword.core.failure.naming import PHASES, TYPES, plain, retry_words
from lastword.core.failure.taxonomy import Action, ErrorType, Origin
from lastword.core.timeline.summary import Outcome, Summary, summarise
from lastword.record.present.words import STOP_REASONS
from lastword.record.turns import FAILED, OK, OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lastword.record.reader import RecordedEntry, RecordedTurn

DOORS = {
    "run": "in front of the agent (lastword run)",
    "guard": "in the agent's own process (lastword.guard)",
    "serve": "in the agent's own process (lastword.serve)",
    "gateway": "as a gateway (lastword gateway)",
}
"""By which way a run came, by its recorded word."""


class FailureSentences(msgspec.Struct, frozen=True, kw_only=True):
    """A failure in sentences. What is not known is empty.

    Attributes:
        what: what failed, and where in the turn.
        advice: what to do.
        retry: whether the prompt may be sent again, as a phrase.
    """

    what: str
    advice: str
    retry: str

    @property
    def text(self) -> str:
        """All of it."""
        retry = f"Retry: {self.retry}." if self.retry else ""
        return " ".join(each for each in (self.what, self.advice, retry) if each)


def sentences_of(facts: Mapping[str, Any]) -> FailureSentences:
    """A failure in sentences, by the facts of its entry."""
    kind, reason = _type_of(facts), str(facts.get("reason") or "")
    what = wording.WHAT_BY_REASON.get(kind, {}).get(reason) or wording.WHAT[kind]
    if facts.get("origin") == Origin.CLIENT:
        what = wording.WHAT_OF_CLIENT.get(reason) or what
    if facts.get("phase"):
        what = f"{what} It failed {plain(facts['phase'], PHASES)}."
    return FailureSentences(what=what, advice=_advice(facts, reason), retry=retry_words(facts))


def _type_of(facts: Mapping[str, Any]) -> ErrorType:
    try:
        return ErrorType(str(facts.get("type")))
    except ValueError:
        return ErrorType.UNKNOWN


def _advice(facts: Mapping[str, Any], reason: str) -> str:
    wait = facts.get("retry_after_seconds")
    if isinstance(wait, int) and wait > 0 and facts.get("retryable") is True:
        return f"Try again in {plain_duration(wait)}."
    try:
        usual = wording.ADVICE[Action(str(facts.get("action")))]
    except ValueError:
        usual = ""
    return wording.ADVICE_BY_REASON.get(reason) or usual


def how_it_ended(turn: RecordedTurn, *, alive: bool = False) -> str:
    """A turn's end in a few words; `alive` says that its run goes on."""
    if turn.outcome == FAILED:
        return plain(turn.type or FAILED, TYPES)
    if turn.outcome == OPEN:
        return "running" if alive else "no end recorded"
    if turn.outcome == OK and turn.stop_reason:
        return plain(turn.stop_reason, STOP_REASONS)
    return turn.outcome


def turn_to_tell(turns: Sequence[RecordedTurn], *, alive: bool) -> RecordedTurn | None:
    """The turn of which a session's first paragraph tells: the last that did not end well.

    A turn that is still running has no story yet.
    """
    over = [turn for turn in turns if turn.outcome != OPEN or not alive]
    bad = [turn for turn in over if turn.outcome != OK]
    return next(reversed(bad or over), None)


def summary_of(turn: RecordedTurn, recorded: Iterable[RecordedEntry]) -> Summary:
    """A turn in one paragraph, from its session's entries in order."""
    return summarise([each.entry for each in recorded if _concerns(each, turn)])


def summary_of_request(facts: Mapping[str, Any]) -> Summary:
    """A request outside of turns that failed, in one paragraph, by the facts of its entry."""
    said = sentences_of(facts)
    what = f"{facts.get('method', 'A request')} failed. {said.text}"
    return Summary(outcome=Outcome.FAILED, text=what, action=said.advice)


def _concerns(recorded: RecordedEntry, turn: RecordedTurn) -> bool:
    """Does this belong to a turn, or to what went on around it?"""
    entry = recorded.entry
    if entry.turn is not None:
        return entry.turn == turn.turn
    ended = float("inf") if turn.ended_seconds is None else turn.ended_seconds
    return entry.at_seconds <= ended
