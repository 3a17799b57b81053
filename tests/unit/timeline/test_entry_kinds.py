"""The facts of the record's entries: one table, and every writer and reader keeps to it."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from lastword.core.failure.taxonomy import AgentError
from lastword.core.link import entries
from lastword.core.link.facts import FACTS_OF_SILENCE
from lastword.core.timeline import summary
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import FACTS, GATEWAY, RECORDED, problems_of
from lastword.inprocess import journal
from lastword.otel import spans
from lastword.record.present import documents
from tests.kit.sources import FILES, ROOT, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ANY_KIND = frozenset().union(*FACTS.values())
READERS = (
    "core/timeline",
    "record",
    "otel",
    "inprocess",
    "sidecar",
    "testing.py",
    "cli/log",
    "cli",
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


def calls(nodes: tuple[ast.AST, ...], function: str) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and _dotted(node.func) == function:
            yield node


def _dotted(function: ast.expr) -> str:
    """The name that a call names, `a.b` at the longest."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def kind_in(node: ast.expr | None) -> str | None:
    said = "" if node is None else ast.unparse(node)
    return said.removeprefix("Kind.").lower() if said.startswith("Kind.") else None


@cache
def written() -> tuple[Use, ...]:
    """What is written anywhere."""
    return tuple(_written())


def _written() -> Iterator[Use]:
    """The facts of `entries.record(link, Kind.X, …, name=…)` and of `Entry(kind=…, facts={…})`."""
    for file, nodes in sources(""):
        own = ("record",) if file == "core/link/entries.py" else ()
        for name in ("entries.record", *own):
            for call in calls(nodes, name):
                kind = kind_in(call.args[1])
                assert kind, f"{file}:{call.lineno} names no kind"
                yield Use(f"{file}:{call.lineno}", kind, None)
                for keyword in call.keywords:
                    yield Use(f"{file}:{call.lineno}", kind, keyword.arg)
        for call in calls(nodes, "Entry"):
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            kind, facts = kind_in(given["kind"]), given.get("facts")
            if kind is not None:
                yield Use(f"{file}:{call.lineno}", kind, None)
            if isinstance(facts, ast.Dict):
                for key in facts.keys:
                    assert isinstance(key, ast.Constant)
                    yield Use(f"{file}:{call.lineno}", kind, str(key.value))
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


def an_entry(kind: Kind, **facts: Any) -> Entry:
    return Entry(kind=kind, at_seconds=0.0, facts=facts)


def test_every_kind_has_its_facts_and_each_fact_a_meaning() -> None:
    assert set(FACTS) == set(Kind)
    assert all(fact.meaning for facts in FACTS.values() for fact in facts.values())


def test_a_number_that_measures_has_a_unit_and_its_name_says_the_same() -> None:
    for facts in FACTS.values():
        for name, fact in facts.items():
            assert name.endswith("_seconds") == (fact.unit == "seconds")
            assert not fact.unit or fact.of in {int, float}


def test_a_failures_facts_are_the_members_of_its_payload() -> None:
    members = {field.name for field in msgspec.structs.fields(AgentError)} - {"extra"}
    assert set(FACTS[Kind.ERROR]) - members == {
        *("by", "method", "rule", "redactions", "retry_refused"),
        *FACTS_OF_SILENCE.values(),
    }
    assert members <= set(FACTS[Kind.ERROR])


@pytest.mark.parametrize(
    ("kind", "facts", "problem"),
    [
        (Kind.SILENCE, {"silent_secs": 4}, "silence has no fact 'silent_secs'"),
        (Kind.SILENCE, {"silent_seconds": "4"}, "silence: silent_seconds is '4', not a int"),
        (Kind.SILENCE, {"silent_seconds": True}, "silence: silent_seconds is True, not a int"),
        (Kind.SILENCE, {"silent_seconds": 0.5}, "silence: silent_seconds is 0.5, not a int"),
        (Kind.TOOL_STARTED, {"side_effects": 1}, "tool_started: side_effects is 1, not a bool"),
        (Kind.ANSWER, {"by": None}, "answer: by is None, not a str"),
    ],
)
def test_an_invalid_fact_of_an_entry_is_found(
    kind: Kind, facts: dict[str, Any], problem: str
) -> None:
    assert problems_of(an_entry(kind, **facts)) == [problem]


def test_a_whole_number_is_a_number() -> None:
    assert problems_of(an_entry(Kind.RETRY, wait_seconds=2, attempt=1.0)) == []
    assert problems_of(an_entry(Kind.TOOL_STARTED, side_effects=True)) == []


def test_a_fact_that_is_written_is_one_of_its_kind() -> None:
    used = list(written())
    assert len(used) > 50
    wrong = [use for use in used if use.name is not None and use.name not in FACTS[Kind(use.kind)]]
    assert wrong == []


def test_every_fact_in_the_table_is_written() -> None:
    used = {(use.kind, use.name) for use in written()}
    # A failure's are those of a payload, and a gateway's are read from its log by the table.
    wanted = {
        (kind.value, name)
        for kind, facts in FACTS.items()
        for name in facts
        if kind in RECORDED - GATEWAY - {Kind.ERROR}
    }
    waits = {("answer", name) for name in FACTS_OF_SILENCE.values()}
    assert wanted - used == {("prompt", "traceparent"), *waits}
    assert {kind for kind, _ in used} >= {kind.value for kind in RECORDED - GATEWAY}


def test_a_fact_that_is_read_is_one_of_some_kind() -> None:
    used = list(read())
    assert len(used) > 60
    assert [use for use in used if use.name not in ANY_KIND] == []


@pytest.mark.parametrize(
    "names",
    [
        [name for name, _ in summary._QUOTED],
        documents.LEFT_TO_JSON,
        spans._END_FACTS,
        journal._NAMED,
        entries._TEXT,
    ],
    ids=["summary", "left to JSON", "spans", "log", "text"],
)
def test_a_list_of_facts_names_facts(names: Any) -> None:
    assert set(names) <= ANY_KIND
