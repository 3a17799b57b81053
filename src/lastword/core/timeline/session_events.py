"""Events of sessions: one table of what may happen, for the record, the API, metrics and pages.

Owns the reading of `data/events.txt`, and the check of an entry against it. Code that needs only a
kind's name or level imports `core.timeline.entry`. An unknown fact is absent, so a fact is never
`None`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.members import MEMBERS, ValueForm
from lastword.core.timeline.data import read_tables, read_words
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry


class Group(StrEnum):
    """A filter of the pages, by its name, which shows the kinds that name it."""

    FAILURES = "Failures"
    RETRIES = "Failures and retries"
    """Retries and warnings; the filter shows failures too."""
    TURNS = "Turns"
    QUESTIONS = "Tools and questions"
    CONNECTIONS = "Connections"


class Fact(msgspec.Struct, frozen=True):
    """One fact.

    Attributes:
        of: the JSON type of its value.
        meaning: what it says.
        unit: what it counts or measures.
    """

    of: type
    meaning: str
    unit: str = ""


class EventSpec(msgspec.Struct, frozen=True):
    """One kind of event.

    Attributes:
        label: what a page calls it.
        line: what a timeline in the terminal says, as a template; empty if it is not recorded.
        facts: the facts that it may have.
        groups: the filters of the pages that show it.
        writers: who records it: words of `data/events.txt`.
        word: its word in the log, on the wire and in metrics.
    """

    label: str
    line: str
    facts: dict[str, Fact]
    groups: tuple[Group, ...]
    writers: frozenset[str]
    word: str


_TYPES = {"text": str, "int": int, "number": float, "flag": bool, "list": list, "object": dict}
_OF_FORM = {
    ValueForm.FLAG: bool,
    ValueForm.COUNT: int,
    ValueForm.WHOLE: int,
    ValueForm.DETAIL: dict,
}
"""The JSON types of the payload's members; every other form is a text."""

_FAILURE = {
    member.name: Fact(_OF_FORM.get(member.form, str), member.description, member.unit)
    for member in MEMBERS
}
"""The members of the payload. Those that are somebody's own text are recorded with --record-text
alone."""


def _read(heading: str, rows: tuple[str, ...]) -> tuple[Kind, EventSpec]:
    kind, _, writers = heading.partition("; ")
    about = {"label": "", "line": "", "filters": "", "word": kind}
    facts: dict[str, Fact] = {}
    for row in rows:
        head, _, text = row.partition(": ")
        name, _, form = head.partition(" ")
        if not form:
            about[name] = text
        elif form == "failure":
            facts |= _FAILURE if name == "*" else {name: _FAILURE[name]}
        else:
            of, _, unit = form.partition(", ")
            facts[name] = Fact(_TYPES[of], text, unit)
    groups = tuple(Group(each) for each in about["filters"].split(", ") if each)
    writes = frozenset(writers.split(", "))
    return Kind(kind), EventSpec(
        about["label"], about["line"], facts, groups, writes, about["word"]
    )


SESSION_EVENTS: dict[Kind, EventSpec] = dict(_read(*table) for table in read_tables("events"))

PHRASES = read_words("phrases")
"""What facts of events are called: tables of words with their phrases."""

FACTS = {kind: spec.facts for kind, spec in SESSION_EVENTS.items()}


def _written_by(*writers: str) -> frozenset[Kind]:
    return frozenset(kind for kind, spec in SESSION_EVENTS.items() if spec.writers & {*writers})


GATEWAY = _written_by("holder", "life")
"""The kinds that a gateway's holder records, besides those of `lastword run` in the same run."""

RECORDED = _written_by("run", "holder", "life")

_LIFE = _written_by("life") | {
    *(Kind.LIMIT_WAIT, Kind.CONTINUED, Kind.WAITS, Kind.ACTIVITY, Kind.CLIENT_ERROR)
}
WORDS = {kind: spec.word for kind, spec in SESSION_EVENTS.items() if kind in _LIFE}
"""Of a `life` entry: its word in the log and on the wire; in metrics, if it is recorded."""

BY_WORD = {word: kind for kind, word in WORDS.items()}
"""The kind of a `life` entry; any other is `Kind.LIFE`."""

_LOGGED = _written_by("log", "life")
LOG_KINDS = tuple(kind for kind in SESSION_EVENTS if kind in _LOGGED)
"""The events in a gateway's log, which its API and page show."""


def problems_of(entry: Entry) -> list[str]:
    """Return the facts of this entry that its kind does not allow."""
    allowed = FACTS[entry.kind]
    problems = []
    for name, value in entry.facts.items():
        fact = allowed.get(name)
        if fact is None:
            problems.append(f"{entry.kind.value} has no fact {name!r}")
        elif not _is_a(value, fact.of):
            problems.append(f"{entry.kind.value}: {name} is {value!r}, not a {fact.of.__name__}")
    return problems


def _is_a(value: object, of: type) -> bool:
    if isinstance(value, bool):
        return of is bool
    # Whole numbers are numbers.
    return isinstance(value, (int, float) if of is float else of)
