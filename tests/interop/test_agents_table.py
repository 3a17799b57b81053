"""Real agents whose provider fails are told of by the right type; the table says what was seen."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.interop import selection, tables, toolchain
from tests.interop.agents_cells import FAILURES, Cell, End, How, Mode, Seen, Told, play
from tests.interop.agents_registry import AGENTS
from tests.interop.agents_table import (
    SOON_TABLE,
    TABLES,
    counts,
)
from tests.kit.patience import FUSE_SECONDS
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORKERS = 2
SOON = How(waits=2 * FUSE_SECONDS, until_told=True)
CELLS = [
    *(Cell("claude", failure, Mode.BEHIND) for failure in ("unauthorized", "bad_gateway")),
    *(Cell("opencode", failure, Mode.BEHIND) for failure in ("quota", "empty")),
    *(Cell("kimi", failure, Mode.BEHIND) for failure in ("unauthorized", "quota")),
    # Of these nothing tells but files of their own, read by form alone.
    *(Cell("claude", "quota", Mode.UNKNOWN), Cell("kimi", "bad_gateway", Mode.UNKNOWN)),
]
"""Agents that are installed for other tests, and failures that are told of within seconds."""

IN_CI = {Cell("opencode", "quota", Mode.BEHIND), Cell("claude", "quota", Mode.UNKNOWN)}
"""`test_real_agents` has other failures of these agents."""


def needs(wanted: list[Cell]) -> None:
    toolchain.require_node()
    if not IN_CI.issuperset(wanted):
        toolchain.require_kimi()


@pytest.fixture(scope="module")
def lived(request: pytest.FixtureRequest) -> Iterator[Callable[[Cell], Seen]]:
    yield from selection.lived(request, partial(play, how=SOON), WORKERS, needs)


@pytest.mark.parametrize("cell", selection.in_ci(CELLS, IN_CI.__contains__), ids=str)
def test_a_failing_provider_is_reported_as_the_right_type(
    lived: Callable[[Cell], Seen], cell: Cell
) -> None:
    seen = lived(cell)
    assert seen.right_seconds is not None, seen
    assert seen.end is End.NONE or seen.ended_right, seen
    # A retry may be told before its cause is known: kimi writes down that it tries again alone.
    told = {told.type for told in seen.retries} - {"unknown"}
    assert told <= set(FAILURES[cell.failure].types), seen


def test_the_document_has_every_agent_and_every_failure() -> None:
    words = [one.words for one in FAILURES.values()]
    soon = tables.load(TABLES)[SOON_TABLE]
    assert [row[0] for row in soon.rows] == words
    assert soon.columns[2:] == tuple(AGENTS)
    rows = {agent: table.rows for agent, table in tables.load(TABLES).items() if table.package}
    assert set(rows) == set(AGENTS)
    assert [agent for agent, each in rows.items() if [row[0] for row in each] != words] == []


def seen(failure: str, end: End, **more: object) -> Seen:
    known = {"agent": "codex", "mode": Mode.BEHIND, "version": "1", "waited_seconds": 9.0}
    return Seen(**known, failure=failure, end=end, **more)  # type: ignore[arg-type]


def test_failing_turns_are_counted_by_their_report() -> None:
    told = (Told(1.0, "network"), Told(7.0, "rate_limit"))
    turns = [
        seen("unauthorized", End.ERROR, seconds=0.2, type="auth"),
        seen("rate_limited", End.NONE, retries=told),
        seen("quota", End.ERROR, seconds=40.0, type="rate_limit"),
        seen("overloaded", End.ERROR, seconds=1.0, code=-32603),
        seen("refused", End.ANSWER, seconds=1.0, prose="connect ECONNREFUSED"),
        seen("cut", End.ANSWER, seconds=1.0, has_text=True),
        seen("recovers", End.ANSWER, seconds=5.0, has_text=True),
    ]
    assert counts(turns) == (6, [1, 2, 1, 2, 1, 1, 1, 1, 1])


_ASKS = """
from tests.interop import agents_unknown
agents_unknown.forget(["opencode"])
from lastword.quirks import agents, journals
print(agents.agent_key("OpenCode"), agents.agent_key("qwen-code"))
print(*sorted({row.agent for row in journals.ROWS} & {"opencode", "qwen"}))
"""


def test_an_agent_can_be_made_unknown_and_others_stay_known() -> None:
    assert run_program([sys.executable, "-c", _ASKS]).stdout == "None qwen\nqwen\n"
    command = [sys.executable, "-m", "tests.interop.agents_unknown", "opencode", "--version"]
    assert run_program(command).stdout.startswith("lastword ")
