"""The table of a session's events and their facts, and every place that says something of each."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from lastword.core.failure.taxonomy import AgentError
from lastword.core.link import entries
from lastword.core.link.facts import FACTS_OF_SILENCE, Cause
from lastword.core.timeline import summary
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import (
    BY_WORD,
    FACTS,
    GATEWAY,
    LOG_KINDS,
    PHRASES,
    RECORDED,
    SESSION_EVENTS,
    WORDS,
    problems_of,
)
from lastword.gateway.api.shapes import EventKind
from lastword.gateway.quality import metrics
from lastword.inprocess import journal
from lastword.otel import conventions, spans
from lastword.record.present import documents
from lastword.web.files import GATEWAY as GATEWAY_PAGE
from lastword.web.files import SHARED
from protocol import generate_events
from tests.kit.sources import FILES, ROOT, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def cases(script: Path, function: str) -> set[str]:
    """The kinds or words for which a function of a page has a case of its own."""
    text = script.read_text(encoding="utf-8").partition(function)[2].partition("\n}\n")[0]
    return set(re.findall(r'case "(\w+)":', text))


def test_every_kind_has_a_row_with_a_label_and_is_recorded_or_in_a_log() -> None:
    assert set(SESSION_EVENTS) == set(FACTS) == set(Kind) == RECORDED | {*LOG_KINDS}
    assert all(spec.label for spec in SESSION_EVENTS.values())


def test_a_fact_has_a_meaning_and_one_that_measures_a_unit_that_its_name_says() -> None:
    for facts in FACTS.values():
        for name, fact in facts.items():
            assert fact.meaning
            assert name.endswith("_seconds") == (fact.unit == "seconds")
            assert not fact.unit or fact.of in {int, float}


def test_every_recorded_kind_and_no_other_has_a_line_of_its_facts() -> None:
    assert {kind for kind, spec in SESSION_EVENTS.items() if spec.line} == RECORDED
    for kind, spec in SESSION_EVENTS.items():
        assert {*re.findall(r"{(\w+)", spec.line)} <= {*spec.facts, "rest"}, kind


def test_every_form_that_a_line_names_is_a_table_of_phrases_or_a_form_of_words() -> None:
    lines = [spec.line for spec in SESSION_EVENTS.values()]
    named = {form for line in lines for form in re.findall(r"{\w+:([^}|]+)", line)}
    counts = {form for form in named if form.startswith("count ")}
    assert named - counts <= {*documents._TABLES} | {*documents._FORMS}
    assert {*PHRASES} <= named | {"silences", "exit reasons"}
    assert {*PHRASES["silences"]} == {*Cause}


def test_the_api_and_the_metrics_have_the_kinds_of_the_table() -> None:
    assert [kind.value for kind in EventKind] == [kind.value for kind in LOG_KINDS]
    (label,) = metrics.EVENTS.labels
    assert {BY_WORD[word] for word in label.values} == WORDS.keys() & RECORDED


READ_BY_SPANS = {
    *(Kind.AGENT_READY, Kind.PROMPT, Kind.TOOL_STARTED, Kind.TOOL_ENDED, Kind.ANSWER),
    *(Kind.OMITTED, Kind.SESSION_HELD, Kind.VIEWER_CAUGHT_UP),
}
"""Kinds that begin, end or describe a span of OpenTelemetry's, or stand in one as they are."""

NOT_EXPORTED = {
    *(Kind.CLIENT_ATTACHED, Kind.CLIENT_DETACHED, Kind.CLIENT_GONE, Kind.SHUTDOWN),
    *(Kind.AGENT_STARTED, Kind.AGENT_EXITED, Kind.SESSION_CREATED, Kind.SESSION_RESUMED),
    *(Kind.CONTEXT_LOST, Kind.FIRST_PROGRESS, Kind.DELEGATED, Kind.STDERR),
    *(Kind.FRAME_REPAIRED, Kind.RELEASED),
}
"""Kinds of which the failures, restarts and turns beside them say what an operator counts."""


def test_opentelemetry_has_every_kind_that_is_recorded_and_no_fact_that_the_table_lacks() -> None:
    exported = {*spans.COUNTED, *spans.EVENTS} | READ_BY_SPANS
    missing = RECORDED - exported - NOT_EXPORTED
    assert not missing, f"otel/spans.py or otel/gateway_spans.py: count {sorted(missing)}"
    assert not exported & NOT_EXPORTED
    for kind, (metric, facts, _) in spans.COUNTED.items():
        assert metric in conventions.COUNTERS, kind
        assert {*facts} <= {*FACTS[kind]}, kind
    for kind, facts in spans.EVENTS.items():
        assert {*facts} <= {*FACTS[kind]}, kind


def test_words_of_the_log_that_older_versions_wrote_are_read_and_still_written() -> None:
    older = {kind.value: word for kind, word in WORDS.items() if word != kind.value}
    assert older == {
        "session_restored": "restored",
        "session_not_restored": "not_restored",
        "supervisor_exited": "agent_ended",
    }
    assert {BY_WORD[word] for word in WORDS.values()} == {*WORDS}


def test_the_pages_script_is_generated_from_the_table() -> None:
    assert generate_events.FILE == SHARED / "session_events.js"
    assert generate_events.FILE.read_text(encoding="utf-8") == generate_events.made()


def test_the_pages_know_no_kind_and_no_word_that_the_table_lacks() -> None:
    shown = cases(SHARED / "timeline.js", "function detailOf(")
    assert {"viewer_left", "silence"} <= shown <= {kind.value for kind in Kind}
    news = cases(GATEWAY_PAGE / "session.js", "  #life(params)")
    assert "agent_ended" in news
    assert news <= {*WORDS.values()}


LABEL_SAYS_IT = {
    *(Kind.PROMPT, Kind.VIEWER_LAGS, Kind.VIEWER_CAUGHT_UP, Kind.HOLDER_DIED, Kind.CLIENT_DETACHED),
    *(Kind.CLIENT_GONE, Kind.SESSION_RESUMED, Kind.AGENT_RESTARTED, Kind.FIRST_PROGRESS),
    *(Kind.FIRST_OUTPUT, Kind.QUARANTINED, Kind.RELEASED, Kind.SESSION_HELD),
    Kind.SESSION_FENCED,
}
"""Kinds whose label is their whole line; their facts are in the opened row."""


def test_every_kind_that_a_page_shows_has_its_words_there() -> None:
    path = SHARED / "timeline.js"
    default = path.read_text(encoding="utf-8").partition("default: {")[2].partition("} = about")[0]
    shown_by_default = {*re.findall(r"\w+", default)}
    detailed = cases(path, "function detailOf(")
    with_words = {
        kind for kind in Kind if kind in detailed or shown_by_default & {*FACTS[kind]}
    } | {Kind.ERROR}
    missing = {*Kind} - with_words - LABEL_SAYS_IT
    assert not missing, f"{path}: `detailOf` has no words for {sorted(missing)}"
    assert not LABEL_SAYS_IT & with_words


def test_the_gateway_notes_every_event_of_the_table_that_a_log_has_as_life_and_no_other() -> None:
    noted, named = set(), set()
    for path in FILES:
        if not path.is_relative_to(ROOT / "gateway") or path.name == "recorded_entries.py":
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.Call):
                args = {*map(kind_of, node.args)} - {None}
                called = ast.unparse(node.func).rpartition(".")[2]
                noted |= args if called in {"note", "note_of", "note_bounded", "LagNote"} else set()
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "WORDS":
                named |= {kind_of(node.slice)} - {None}
    assert noted | named == {*WORDS}


def kind_of(node: ast.expr) -> Kind | None:
    said = ast.unparse(node)
    return Kind[said.removeprefix("Kind.")] if said.startswith("Kind.") else None


def test_a_failures_facts_are_the_members_of_its_payload() -> None:
    members = {field.name for field in msgspec.structs.fields(AgentError)} - {"extra"}
    assert set(FACTS[Kind.ERROR]) - members == {
        *("by", "method", "rule", "redactions", "retry_refused"),
        *FACTS_OF_SILENCE.values(),
    }
    assert members <= set(FACTS[Kind.ERROR])


@pytest.mark.parametrize(
    ("kind", "facts", "problems"),
    [
        (Kind.SILENCE, {"silent_secs": 4}, ["silence has no fact 'silent_secs'"]),
        (Kind.SILENCE, {"silent_seconds": "4"}, ["silence: silent_seconds is '4', not a int"]),
        (Kind.SILENCE, {"silent_seconds": True}, ["silence: silent_seconds is True, not a int"]),
        (Kind.SILENCE, {"silent_seconds": 0.5}, ["silence: silent_seconds is 0.5, not a int"]),
        (Kind.TOOL_STARTED, {"side_effects": 1}, ["tool_started: side_effects is 1, not a bool"]),
        (Kind.ANSWER, {"by": None}, ["answer: by is None, not a str"]),
        (Kind.RETRY, {"wait_seconds": 2, "attempt": 1.0}, []),  # a whole number is a number
        (Kind.TOOL_STARTED, {"side_effects": True}, []),
    ],
)
def test_an_invalid_fact_of_an_entry_is_found(
    kind: Kind, facts: dict[str, Any], problems: list[str]
) -> None:
    assert problems_of(Entry(kind=kind, at_seconds=0.0, facts=facts)) == problems


READERS = (
    *("core/timeline", "record", "otel", "inprocess", "sidecar", "testing.py"),
    *("cli/log", "cli"),
)
NO_READERS = ("cli/doctor", "cli/explain", "cli/check", "cli/agent", "inprocess/sdk")
"""Their facts are other facts: of findings, and of turns."""

FROM_THE_TABLE = {"core/link/entries.py", "gateway/log/entries.py", "testing.py"}
"""Where the facts are not written out: the entries of every test are looked at."""


class Use(NamedTuple):
    """A fact that some line of the source writes or reads."""

    where: str
    kind: str | None
    name: str | None


def sources(*folders: str) -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(folders) and not name.startswith(NO_READERS):
            yield name, nodes_of(path)


def written() -> Iterator[Use]:
    """The facts of `entries.record(link, Kind.X, …, name=…)` and of `Entry(kind=…, facts={…})`."""
    for file, nodes in sources(""):
        recorders = {"entries.record", *(["record"] if file == "core/link/entries.py" else [])}
        for call in nodes:
            if not isinstance(call, ast.Call):
                continue
            where, called = f"{file}:{call.lineno}", ast.unparse(call.func)
            if called in recorders:
                kind = kind_of(call.args[1])
                assert kind, f"{where} names no kind"
                yield Use(where, kind, None)
                yield from (Use(where, kind, keyword.arg) for keyword in call.keywords)
            elif called == "Entry":
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                kind, facts = kind_of(given["kind"]), given.get("facts")
                if kind is not None:
                    yield Use(where, kind, None)
                if isinstance(facts, ast.Dict):
                    for key in facts.keys:
                        assert isinstance(key, ast.Constant)
                        yield Use(where, kind, str(key.value))
                else:
                    assert facts is None or file in FROM_THE_TABLE, file


FACTS_OF_AN_ENTRY = re.compile(r"(^|\.)facts$")
FACTS_OF_A_TURN = re.compile(r"(\bfacts|\berror|\banswer|\bexited|\bretry)( or \{\})?\)?$")
"""What `core.timeline.history` keeps of some entries' facts, and `core.timeline` reads from."""


def read() -> Iterator[Use]:
    """The facts of `….facts.get("name")`, `….facts.pop("name")` and `….facts["name"]`."""
    for file, nodes in sources(*READERS):
        holds = FACTS_OF_A_TURN if file.startswith("core/timeline") else FACTS_OF_AN_ENTRY
        for node in nodes:
            if isinstance(node, ast.Subscript):
                holder, key = node.value, node.slice
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in {"get", "pop"}
                and node.args
            ):
                holder, key = node.func.value, node.args[0]
            else:
                continue
            if isinstance(key, ast.Constant) and holds.search(ast.unparse(holder)):
                yield Use(f"{file}:{node.lineno}", None, str(key.value))


def test_a_fact_that_is_written_is_one_of_its_kind_and_every_fact_is_written() -> None:
    used = list(written())
    assert len(used) > 50
    assert [
        use for use in used if use.name is not None and use.name not in FACTS[Kind(use.kind)]
    ] == []
    found = {(use.kind, use.name) for use in used}
    # A failure's are those of a payload, and a gateway's are read from its log by the table.
    own = RECORDED - GATEWAY
    wanted = {(kind, name) for kind in own - {Kind.ERROR} for name in FACTS[kind]}
    waits = {(Kind.ANSWER, name) for name in FACTS_OF_SILENCE.values()}
    assert wanted - found == {(Kind.PROMPT, "traceparent"), *waits}
    assert {kind for kind, _ in found} >= own


def test_a_fact_that_is_read_or_listed_is_one_of_some_kind() -> None:
    of_any_kind = frozenset().union(*FACTS.values())
    used = list(read())
    assert len(used) > 60
    assert [use for use in used if use.name not in of_any_kind] == []
    for names in (
        [name for name, _ in summary._QUOTED],
        documents.LEFT_TO_JSON,
        spans._END_FACTS,
        journal._NAMED,
        entries._TEXT,
    ):
        assert {*names} <= of_any_kind
