"""Events of sessions, and the history of a turn.

The events are one table for the record, the API, metrics and pages. Owns the reading of
`data/events.txt`, and the check of an entry against it. Code that needs only a kind's name or level
imports `core.timeline.entry`. An unknown fact is absent, so a fact is never `None`.

A history is built from a turn's entries, in order: how it began, what it did, how it ended.
`core.timeline.summary` puts it into words.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.members import MEMBERS, ValueForm
from lastword.core.protocol import acp
from lastword.core.protocol.acp import number_of
from lastword.core.timeline.data import read_tables, read_words
from lastword.core.timeline.entry import By, Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable


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
"""The members of the payload. Somebody's own text is recorded only with --record-text."""


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
            continue
        types = (int, float) if fact.of is float else fact.of  # whole numbers are numbers
        if (isinstance(value, bool) and fact.of is not bool) or not isinstance(value, types):
            problems.append(f"{entry.kind.value}: {name} is {value!r}, not a {fact.of.__name__}")
    return problems


class Cancel(msgspec.Struct, frozen=True):
    """A request to end the turn; `reason` is the watchdog's."""

    at_seconds: float
    by: str
    reason: str | None = None


class TurnHistory(msgspec.Struct, kw_only=True):
    """One turn, as far as its entries show. Times are the entries' monotonic seconds.

    Attributes:
        session_id: the session to which it belongs.
        turn: its number.
        started_at: when the prompt arrived.
        last_at: the last known moment of it.
        ended_at: when it was answered; `None` if no end is recorded.
        progress_at: its first update.
        output_at: its first text or tool call.
        question_at: the first question to the user.
        open_tools: unfinished tool calls, each with its kind (`""` if unknown).
        tools: the kinds of all tool calls, in order.
        failed_tools: how many tool calls failed.
        unsafe_tools: a tool that may have changed something was started, or the client was asked
            to change something.
        delegated: how often the client was asked to write a file or to run a command.
        retries: the facts of each retry.
        retried_at: when each was announced; its wait begins there.
        silences: the length of each silence that the watchdog noticed, in seconds.
        questions: how often the user was asked.
        waits_for_user: a question is still open.
        cancels: who wanted it to end, in order.
        error: the facts of its failure.
        answer: the facts of its answer.
        exited: the facts of the agent's exit during the turn.
        client_gone_at: when the client left during the turn.
        in_gateway: a gateway's process held its session, and was the client.
        shutdown: the signal that stopped lastword during the turn.
        stderr_bytes: how many bytes the agent wrote to stderr.
        dropped: frames that were held back, by reason.
        omitted: how many entries are missing.
    """

    session_id: str | None = None
    turn: int | None = None
    started_at: float = 0.0
    last_at: float = 0.0
    ended_at: float | None = None
    progress_at: float | None = None
    output_at: float | None = None
    question_at: float | None = None
    open_tools: dict[str, str] = {}
    tools: list[str] = []
    failed_tools: int = 0
    unsafe_tools: bool = False
    delegated: int = 0
    retries: list[dict[str, Any]] = []
    retried_at: list[float] = []
    silences: list[float] = []
    questions: int = 0
    waits_for_user: bool = False
    cancels: list[Cancel] = []
    error: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    exited: dict[str, Any] | None = None
    client_gone_at: float | None = None
    in_gateway: bool = False
    shutdown: str | None = None
    stderr_bytes: int = 0
    dropped: dict[str, int] = {}
    omitted: int = 0

    @property
    def seconds(self) -> float:
        """Return how long the turn took, or was observed."""
        return (self.last_at if self.ended_at is None else self.ended_at) - self.started_at

    @property
    def waits(self) -> list[float]:
        """Return how long the agent waited before each retry, in seconds."""
        announced = (number_of(retry.get("wait_seconds")) for retry in self.retries)
        until = self.last_at if self.ended_at is None else self.ended_at
        return waits_that_passed(list(zip(self.retried_at, announced, strict=True)), until)

    @property
    def acted(self) -> bool:
        """Return whether it had begun to act, with a tool or through the client."""
        return bool(self.tools) or self.delegated > 0

    def was_cancelled_by(self, by: By) -> Cancel | None:
        """Return the first request of this party to end the turn."""
        return next((cancel for cancel in self.cancels if cancel.by == by.value), None)


def waits_that_passed(retries: list[tuple[float, float]], until: float) -> list[float]:
    """Return how long each announced wait lasted: at most until the next try, or the turn's end.

    Args:
        retries: When each was announced, and the wait that was announced, in seconds.
        until: The turn's end, or the time until which it was observed.
    """
    ends = [*(at for at, _ in retries[1:]), until]
    return [max(min(wait, end - at), 0.0) for (at, wait), end in zip(retries, ends, strict=False)]


def histories(entries: Iterable[Entry]) -> list[TurnHistory]:
    """Return the turns in these entries, in the order of their prompts.

    Entries about the whole link (an exit, a departed client) belong to every turn that is open at
    that time.
    """
    turns: dict[tuple[str | None, int], TurnHistory] = {}
    gateway_sessions: set[str | None] = set()
    for entry in entries:
        if entry.turn is not None:
            key = (entry.session_id, entry.turn)
            story = turns.get(key)
            if story is None:
                story = turns[key] = TurnHistory(
                    session_id=entry.session_id,
                    turn=entry.turn,
                    started_at=entry.at_seconds,
                    last_at=entry.at_seconds,
                )
            add_entry(story, entry)
        elif entry.kind in GATEWAY:  # viewers do not affect turns
            gateway_sessions.add(entry.session_id)
        else:
            for story in turns.values():
                if story.ended_at is None and entry.session_id in {None, story.session_id}:
                    add_entry(story, entry)
    for story in turns.values():
        story.in_gateway = story.session_id in gateway_sessions
    return list(turns.values())


def add_entry(story: TurnHistory, entry: Entry) -> None:
    story.last_at = max(story.last_at, entry.at_seconds)
    facts = entry.facts
    kind = entry.kind
    if kind in (Kind.ERROR, Kind.ANSWER):
        if story.ended_at is None:
            story.ended_at = entry.at_seconds
            if kind is Kind.ERROR:
                story.error = facts
            else:
                story.answer = facts
    elif kind is Kind.TOOL_STARTED:
        tool = str(facts.get("tool", ""))
        story.tools.append(tool)
        story.open_tools[str(facts.get("call", ""))] = tool
        safe = facts.get("side_effects") is False or tool in acp.READ_ONLY_TOOLS
        story.unsafe_tools = story.unsafe_tools or not safe
    elif kind is Kind.TOOL_ENDED:
        story.open_tools.pop(str(facts.get("call", "")), None)
        story.failed_tools += facts.get("status") == "failed"
    elif kind is Kind.FIRST_PROGRESS:
        # A prompt that is sent again has one in each try.
        story.progress_at = entry.at_seconds if story.progress_at is None else story.progress_at
    elif kind is Kind.FIRST_OUTPUT:
        story.output_at = entry.at_seconds
    elif kind is Kind.CANCEL:
        reason = facts.get("reason")
        story.cancels.append(Cancel(entry.at_seconds, str(facts.get("by")), reason))
    elif kind is Kind.RETRY:
        story.retries.append(facts)
        story.retried_at.append(entry.at_seconds)
    elif kind is Kind.SILENCE:
        story.silences.append(number_of(facts.get("silent_seconds")))
    elif kind is Kind.FRAME_DROPPED:
        reason = str(facts.get("reason"))
        story.dropped[reason] = story.dropped.get(reason, 0) + 1
    else:
        _add_surroundings(story, entry)


def _add_surroundings(story: TurnHistory, entry: Entry) -> None:
    """Add an entry about an event around the turn rather than in it."""
    facts, kind = entry.facts, entry.kind
    if kind is Kind.ASKED:
        story.questions += 1
        story.question_at = entry.at_seconds if story.question_at is None else story.question_at
        story.waits_for_user = True
    elif kind is Kind.DELEGATED:
        story.delegated += 1
        story.unsafe_tools = True
    elif kind in (Kind.USER_ANSWERED, Kind.QUESTION_EXPIRED):
        story.waits_for_user = False
    elif kind is Kind.STDERR:
        story.stderr_bytes += int(number_of(facts.get("bytes")))
    elif kind is Kind.OMITTED:
        story.omitted += int(number_of(facts.get("count")))
    elif kind is Kind.AGENT_EXITED:
        story.exited = facts
    elif kind is Kind.CLIENT_GONE:
        story.client_gone_at = entry.at_seconds
    elif kind is Kind.SHUTDOWN:
        story.shutdown = str(facts.get("signal"))
