"""The record as JSON, and a turn or a failure in sentences, from what is recorded of it.

Owns the names in the JSON that `lastword log --json` writes (durations are seconds; `moments`
formats moments, and the command line adds the envelope), which entries the story of a turn uses,
and the shorter sentences for a failure where a paragraph would be too long.
`core.timeline.summary` writes the paragraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.phrases import plain
from lastword.core.failure.sentences import (
    PHASES,
    advice_of,
    retry_words,
    sentence_of,
    type_of,
    what_of,
)
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.summary import Outcome, Summary, summarise
from lastword.record import reader
from lastword.record.present.moments import moment, with_moments
from lastword.record.present.sections import ended_epoch_ms, has_recovered
from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn, is_alive, total

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from lastword.record.present.sections import Section, ShownPart


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
    document = turn(shown.of) if isinstance(shown.of, RecordedTurn) else entry(shown.of)
    sentences = sentences_of(shown.facts)
    return {
        "of": "turn" if is_turn else "request",
        "sentence": sentences.what,
        "advice": sentences.advice,
        "retry": sentences.retry,
        "run": run(shown.run),
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


def part(shown: ShownPart) -> dict[str, Any]:
    return {
        "number": shown.number or None,
        "session_id": shown.part.session_id or None,
        "gateway_session_id": _other(shown.name, shown.part.session_id),
        "run": run(shown.run),
        "failures": [entry(failure) for failure in shown.failures],
        "last_failure": _last_failure(shown),
        "turn_count": shown.count,
        "costs": shown.costs,
        "turns": [
            turn(each.turn)
            | {
                "retry_wait_seconds": each.waits_seconds,
                "silent_seconds": each.silent_seconds,
                "costs": each.costs,
            }
            for each in shown.turns
        ],
    }


def _last_failure(shown: ShownPart) -> dict[str, Any] | None:
    failed = shown.last_failed
    if failed is None or not shown.turns:
        return None
    return {
        "turn": failed.turn,
        "type": failed.type,
        "incident_id": failed.incident_id,
        "at": moment(ended_epoch_ms(failed)),
        "at_epoch_ms": ended_epoch_ms(failed),
        "recovered": has_recovered(failed, shown.turns[-1].turn),
    }


def run(recorded: RecordedRun) -> dict[str, Any]:
    values: dict[str, Any] = with_moments(msgspec.structs.asdict(recorded))
    del values["id"]
    return values | {"alive": is_alive(recorded)}


def turn(recorded: RecordedTurn) -> dict[str, Any]:
    values: dict[str, Any] = with_moments(msgspec.structs.asdict(recorded))
    for name in ("run", "started_seconds", "ended_seconds", "first_output_seconds"):
        del values[name]
    values["duration_seconds"] = recorded.duration_seconds
    values["first_output_after_seconds"] = recorded.output_after_seconds
    return values


def entry(recorded: RecordedEntry) -> dict[str, Any]:
    return {
        "kind": recorded.entry.kind,
        "level": recorded.level,
        "at": moment(recorded.at_epoch_ms),
        "at_epoch_ms": recorded.at_epoch_ms,
        "at_seconds": recorded.entry.at_seconds,
        "session_id": recorded.entry.session_id,
        "turn": recorded.entry.turn,
        "request_id": recorded.entry.request_id,
        "facts": recorded.entry.facts,
    }


def page_event(recorded: RecordedEntry, run_number: int) -> dict[str, Any]:
    """Return an entry for the web page, with its place, its run, and the sentence of a failure.

    A gateway sends its own entries in the same shape.
    """
    document = entry(recorded) | {"seq": recorded.id, "run": run_number}
    facts = recorded.entry.facts
    if recorded.entry.kind is Kind.ERROR:
        document["facts"] = facts | {"sentence": sentence_of(facts)}
    return document


def timeline(
    record: sqlite3.Connection, sections: Sequence[Section], story: dict[str, Any] | None
) -> dict[str, Any]:
    """Return a session: its opening story, and its runs, each with turns and entries."""
    documents = []
    for section in sections:
        shown = {recorded.turn for recorded in section.turns}
        entries = [
            entry(recorded)
            for recorded in reader.entries_of(record, section.part, section.from_seconds)
            if recorded.entry.turn is None or recorded.entry.turn in shown
        ]
        documents.append(
            {
                "run": run(section.run),
                "turns_left_out": section.left_out,
                "turns": [
                    turn(recorded) | {"costs": section.costs.get(recorded.turn, {})}
                    for recorded in section.turns
                ],
                "costs": total(section.costs.values()),
                "entries": entries,
            }
        )
    last = sections[-1]
    return {
        "session_id": last.part.session_id or None,
        "gateway_session_id": _other(last.name, last.part.session_id),
        "story": story,
        "runs": documents,
    }


def _other(name: str, session_id: str) -> str | None:
    """Return a gateway's name for a session, if it is not the agent's."""
    return name if name and name != session_id else None
