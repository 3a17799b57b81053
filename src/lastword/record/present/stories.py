"""A turn or a failure in sentences, from what is recorded of it, and both as JSON.

Owns which entries the story of a turn uses, and the shorter sentences for a failure where a
paragraph would be too long. `core.timeline.summary` writes the paragraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import plain
from lastword.core.failure.sentences import PHASES, advice_of, retry_words, type_of, what_of
from lastword.core.timeline.summary import Outcome, Summary, summarise
from lastword.record.present import documents
from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ShownFailure(msgspec.Struct, frozen=True):
    """A failure of a list, of a turn or of another request, with its run and its facts."""

    of: RecordedTurn | RecordedEntry
    run: RecordedRun
    facts: dict[str, Any]


class Story(msgspec.Struct, frozen=True):
    """The opening of a session's timeline.

    Attributes:
        turn: the turn that it is about, or `None` for another request.
        summary: the turn in one paragraph, and what is known of it.
    """

    turn: int | None
    summary: Summary


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
        """All of them together."""
        retry = f"Retry: {self.retry}." if self.retry else ""
        return " ".join(each for each in (self.what, self.advice, retry) if each)


def sentences_of(facts: Mapping[str, Any]) -> FailureSentences:
    """Return a failure in sentences, from the facts of its entry."""
    origin, phase = str(facts.get("origin")), facts.get("phase")
    what = what_of(type_of(facts), str(facts.get("reason") or ""), origin)
    if phase:
        what = f"{what} It failed {plain(phase, PHASES)}."
    return FailureSentences(what=what, advice=advice_of(facts), retry=retry_words(facts))


def summary_of(turn: RecordedTurn, recorded: Iterable[RecordedEntry]) -> Summary:
    """Return a turn in one paragraph, from its session's entries in order."""
    return summarise([each.entry for each in recorded if _concerns(each, turn)])


def summary_of_request(facts: Mapping[str, Any]) -> Summary:
    """Return a failed request outside turns in one paragraph, from the facts of its entry."""
    sentences = sentences_of(facts)
    what = f"{facts.get('method', 'A request')} failed. {sentences.text}"
    return Summary(outcome=Outcome.FAILED, text=what, action=sentences.advice)


def _concerns(recorded: RecordedEntry, turn: RecordedTurn) -> bool:
    """Return whether this belongs to a turn, or to what happened around it."""
    entry = recorded.entry
    if entry.turn is not None:
        return entry.turn == turn.turn
    ended = float("inf") if turn.ended_seconds is None else turn.ended_seconds
    return entry.at_seconds <= ended


def failure_document(shown: ShownFailure) -> dict[str, Any]:
    """Return a failure, of a turn or of another request, with its sentences."""
    is_turn = isinstance(shown.of, RecordedTurn)
    document = (
        documents.turn(shown.of)
        if isinstance(shown.of, RecordedTurn)
        else documents.entry(shown.of)
    )
    sentences = sentences_of(shown.facts)
    return {
        "of": "turn" if is_turn else "request",
        "sentence": sentences.what,
        "advice": sentences.advice,
        "retry": sentences.retry,
        "run": documents.run(shown.run),
        **document,
    }


def story_document(story: Story | None) -> dict[str, Any] | None:
    """Return the opening of a session's timeline."""
    if story is None:
        return None
    summary = story.summary
    return {
        "turn": story.turn,
        "outcome": summary.outcome,
        "text": summary.text,
        "advice": summary.action,
        "confidence": summary.confidence,
        "missing": summary.missing,
    }
