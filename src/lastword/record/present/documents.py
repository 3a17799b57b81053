"""Sessions, turns and entries of the record for display: as JSON, in sentences, and in a line each.

Owns what a list and a timeline are made of, and the choice of a session's most important turn; how
a line of `core/timeline/data/events.txt` is filled in; the names in the JSON that
`lastword log --json` writes (durations are seconds; `moments` formats moments, and the command line
adds the envelope); and which entries the story of a turn uses, with shorter sentences for a failure
where a paragraph would be too long. `core.timeline.summary` writes the paragraph. Reads nothing
itself.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lastword.core.failure import sentences
from lastword.core.failure.option_values import money
from lastword.core.failure.phrases import counted, duration, plain
from lastword.core.failure.sentences import (
    PHASES,
    TYPES,
    advice_of,
    retry_words,
    sentence_of,
    type_of,
    what_of,
)
from lastword.core.protocol.acp import number_of, object_of
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import PHRASES, SESSION_EVENTS
from lastword.core.timeline.summary import Outcome, Summary, summarise
from lastword.record import reader
from lastword.record.present.moments import moment, with_moments
from lastword.record.reader import (
    Part,
    RecordedEntry,
    RecordedRun,
    RecordedTurn,
    is_alive,
    total,
)
from lastword.record.turns import FAILED, OK, OPEN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lastword.core.timeline.entry import Entry


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
        failures: if it has had no turn, the requests that failed.
        name: the session's name, which a gateway rather than the agent may have chosen.
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
    """Return whether a session's last turn failed, has recovered, and whether it is over.

    Args:
        last: The session's last turn.
        failed: Its latest turn that failed.
        alive: Whether its run continues.
        clock: Returns a moment in milliseconds since 1970 as a time of day.
    """
    over = "Still open." if alive else "Ended."
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
    """Return the turn for a session's first paragraph: the last one that did not end well.

    A turn that is still running has no story yet.
    """
    over = [turn for turn in turns if turn.outcome != OPEN or not alive]
    bad = [turn for turn in over if turn.outcome != OK]
    return next(reversed(bad or over), None)


MAX_TEXT_CHARS = 300
_MAX_VALUE_CHARS = 80
_VIEWER_CHARS = 6
_MIB = 1024 * 1024

LEFT_TO_JSON = frozenset(
    {
        *("rule", "redactions", "detail", "reset_at_epoch_ms", "traceparent", "message"),
        *("origin", "retryable", "retry_after_seconds", "until_epoch_ms"),
    }
)
"""Facts for machines and maintainers, and facts that a line words differently."""

_TABLES = PHRASES | {
    "types": sentences.TYPES,
    "phases": sentences.PHASES,
    "cancelled by": sentences.CANCELLED_BY,
}
"""Phrases for facts, by the form that a line names."""

Facts = dict[str, Any]
Form: TypeAlias = "Callable[[Any, Facts], str]"

_PART = re.compile(r" ?\((?:\[[^]]*\])+\)|\[[^]]*\]")
"""Parentheses with optional parts alone, or one such part."""

_FACT = re.compile(r"\{(\w+)(?::([\w ]*))?(?:\|([^}]*))?\}")


def words(entry: Entry) -> str:
    """Return an entry as one short sentence without a full stop.

    Facts that the kind's line does not name follow, or stand at its `{rest}`.
    """
    facts = entry.facts
    line = SESSION_EVENTS[entry.kind].line or entry.kind.value.replace("_", " ")
    before, after, named = _split(line)
    phrase = _with_parts(before, facts)
    others = [f"{plain(name)} {_value(facts[name])}" for name in facts if name not in named]
    mark = "," if ": " in phrase else ":"
    rest = f"{mark} {', '.join(others)}" if others else ""
    return f"{phrase}{rest}{_with_parts(after, facts)}"


@cache
def _split(line: str) -> tuple[str, str, frozenset[str]]:
    """Return what is before `{rest}`, what is after it, and the facts that are left out there."""
    before, _, after = line.partition("{rest}")
    named = {match[1] for match in _FACT.finditer(line)}
    return before, after, LEFT_TO_JSON | _IN_OTHER_FORMS | named


def _with_parts(text: str, facts: Facts) -> str:
    """Return a text without the optional parts whose facts are missing."""
    made = ""
    for before, is_list, parts in _parts(text):
        made += _with_facts(before, facts)
        shown = "".join([_with_facts(part, facts, optional=True) for part in parts])
        # In parentheses, the first goes without the mark before it.
        made += f" ({shown.lstrip(',; ')})" if is_list and shown else shown
    return made


@cache
def _parts(text: str) -> list[tuple[str, bool, list[str]]]:
    """Return the optional parts, with the text before them and whether they form a list."""
    parts, at = [], 0
    for match in _PART.finditer(text):
        inner = [part.partition("]")[0] for part in match[0].split("[")[1:]]
        parts.append((text[at : match.start()], match[0][0] != "[", inner))
        at = match.end()
    return [*parts, (text[at:], False, [])]


def _with_facts(text: str, facts: Facts, *, optional: bool = False) -> str:
    """Return a text with its facts; nothing if it is optional and one of them is missing."""
    made, pieces = _pieces(text)
    for name, in_words, otherwise, then in pieces:
        phrase = in_words(facts.get(name), facts) or otherwise
        if optional and not phrase and in_words is not _nothing:
            return ""
        made += phrase + then
    return made


@cache
def _pieces(text: str) -> tuple[str, list[tuple[str, Form, str, str]]]:
    """Return the beginning of a text, and its facts: name, form, otherwise, and what follows."""
    first, *rest = _FACT.split(text)
    facts = zip(rest[::4], rest[1::4], rest[2::4], rest[3::4], strict=True)
    return first, [(name, _form(form), other or "", then) for name, form, other, then in facts]


@cache
def _form(form: str | None) -> Form:
    """Return the function that words a fact in a form; the words of a missing fact are empty."""
    if form is None:
        return lambda value, _: "" if value is None else _value(value)
    if form in _FORMS:
        return _FORMS[form]
    noun = form.removeprefix("count ")
    if noun != form:
        return lambda count, _: counted(count, noun) if count and isinstance(count, int) else ""
    table = _TABLES[form]

    def phrase_for(value: Any, facts: Facts) -> str:
        if value is None:
            return ""
        if isinstance(value, list):
            return " and ".join(plain(each, table) for each in value)
        phrase = table.get(str(value)) or table.get("*") or plain(_value(value))
        return "" if phrase == "-" else _with_facts(phrase, facts)

    return phrase_for


def _nothing(_: Any, _facts: Facts) -> str:
    return ""


def _value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))[:_MAX_VALUE_CHARS] or "none"
    return str(value)[:_MAX_VALUE_CHARS]


def _duration(value: Any, _: Facts) -> str:
    return duration(value) if isinstance(value, int | float) else ""


def _silence(cause: Any, facts: Facts) -> str:
    """Return the cause of a silence (`core.link.facts.Cause`)."""
    tool, seconds = facts.get("tool"), facts.get("cause_seconds")
    program = facts.get("program") or (f"a tool ({plain(tool)})" if tool else "a program")
    return (
        PHRASES["silences"]
        .get(str(cause), "")
        .format(
            program=_value(program),
            tries=_value(facts.get("tries") or "several"),
            span=_duration(seconds, facts) or "a while",
        )
    )


def _missed(first: Any, facts: Facts) -> str:
    last = facts.get("last")
    if not isinstance(first, int) or not isinstance(last, int):
        return ""
    return f"{counted(last - first + 1, 'entry')} ({first} to {last}),"


def _next(_: Any, facts: Facts) -> str:
    """Return whether a prompt may be sent again after a failure, or else how long to wait."""
    retry, wait = sentences.retry_words(facts), facts.get("retry_after_seconds")
    if retry:
        return f"retry: {retry}"
    return f"wait {duration(wait)}" if isinstance(wait, int | float) else ""


def _original(message: Any, facts: Facts) -> str:
    """Return the failing party's own words, or else the message that the user was shown."""
    text = object_of(facts.get("detail")).get("text")
    original = text if isinstance(text, str) and text.strip() else message
    return " ".join(original.split())[:MAX_TEXT_CHARS] if isinstance(original, str) else ""


_FORMS: dict[str, Form] = {
    "": _nothing,
    "advice": lambda _, facts: sentences.as_phrase(advice_of(facts)),
    "duration": _duration,
    "end": lambda text, _: str(text or "")[-MAX_TEXT_CHARS:],
    "exit": lambda _, facts: sentences.exit_words(facts),
    "exits": lambda reason, facts: (  # unless the status or a signal says it all
        plain(reason, PHRASES["exit reasons"])
        if reason and reason != "exit_status" and not facts.get("exit_signal")
        else ""
    ),
    "kinds": lambda kinds, _: ", ".join(
        f"{number} {plain(kind)}" for kind, number in object_of(kinds).items()
    ),
    "mebibytes": lambda size, _: f"{size / _MIB:.1f} MiB" if isinstance(size, int) else "",
    "missed": _missed,
    "models": lambda before, facts: " → ".join(
        _value(name) for name in (before, facts.get("to_model")) if name is not None
    ),
    "money": lambda amount, facts: money(number_of(amount), str(facts.get("currency", ""))),
    "next": _next,
    "original": _original,
    "plain": lambda word, _: plain(_value(word)) if word is not None else "",
    "silence": _silence,
    "viewer": lambda viewer, _: f"viewer {str(viewer)[:_VIEWER_CHARS]}" if viewer else "",
}
"""Forms that are more than a table of phrases."""

_IN_OTHER_FORMS = frozenset({"exit_signal", "currency"})


class ShownFailure(msgspec.Struct, frozen=True):
    """A failure of a list, of a turn or of another request, with its run and its facts."""

    of: RecordedTurn | RecordedEntry
    run: RecordedRun
    facts: dict[str, Any]


class Story(msgspec.Struct, frozen=True):
    """The opening of a session's timeline.

    Attributes:
        turn: the turn that it is about, or `None` for another request.
        summary: the turn in one paragraph, and the facts about it.
    """

    turn: int | None
    summary: Summary


class FailureSentences(msgspec.Struct, frozen=True, kw_only=True):
    """A failure in sentences; unknown ones are empty.

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
    ended = float("inf") if turn.ended_seconds is None else turn.ended_seconds
    entries = [each.entry for each in recorded]
    # What happened outside turns may explain it, unless it came later.
    return summarise(
        [
            each
            for each in entries
            if (each.at_seconds <= ended if each.turn is None else each.turn == turn.turn)
        ]
    )


def summary_of_request(facts: Mapping[str, Any]) -> Summary:
    """Return a failed request outside turns in one paragraph, from the facts of its entry."""
    sentences = sentences_of(facts)
    what = f"{facts.get('method', 'A request')} failed. {sentences.text}"
    return Summary(outcome=Outcome.FAILED, text=what, action=sentences.advice)


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
    failed = shown.last_failed
    failure: dict[str, Any] | None = None
    if failed is not None and shown.turns:
        failure = {
            "turn": failed.turn,
            "type": failed.type,
            "incident_id": failed.incident_id,
            "at": moment(ended_epoch_ms(failed)),
            "at_epoch_ms": ended_epoch_ms(failed),
            "recovered": has_recovered(failed, shown.turns[-1].turn),
        }
    return {
        "number": shown.number or None,
        "session_id": shown.part.session_id or None,
        "gateway_session_id": _other(shown.name, shown.part.session_id),
        "run": run(shown.run),
        "failures": [entry(failure) for failure in shown.failures],
        "last_failure": failure,
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
