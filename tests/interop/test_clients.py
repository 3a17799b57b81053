"""Every failure reaches every client typed, and the next prompt works, as the table says.

CI plays one client of each kind of SDK where the most can go wrong, and each kind of carrier once;
`clients_table --write` plays all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from lastword.quirks import clients as known_clients
from tests.interop import selection, tables
from tests.interop.clients_cells import CLIENTS, CRASH_BETWEEN, RUNGS, Cell, cells, groups, play
from tests.interop.clients_table import (
    DOCUMENT,
    TABLES,
    WORKERS,
    rows,
    section,
    summary,
    without_versions,
)
from tests.interop.clients_verdicts import LOST, TRANSLATED, UPDATE, Seen, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.interop.clients_cells import Turns

Lived: TypeAlias = "Callable[[Cell], list[Turns]]"

CONFIGURED = ("py", "raw")
"""The clients that are played on what only a configuration brings."""

IN_CI = {
    *("py-typed", "py-error_with_meta", "lastword-typed", "ts-typed", "ts-v2-v2"),
    *("acpx-error_with_meta", "raw-typed", "raw-air", "raw-text", "raw-result"),
}
"""The vectors have every rung, and `test_native_clients` one in Rust."""

PLAYED = selection.in_ci(
    (cell for cell in cells() if cell.rung.option is None or cell.client.key in CONFIGURED),
    lambda cell: str(cell) in IN_CI,
)
STRICT = {"py", "py-old", "raw", "rust", "kotlin"}
"""They lose a prompt's result whose stop reason they do not know."""

RESULT_RUNGS = {"typed_stop_reason", "result"}
DROPS_UPDATE = {"py", "py-old", "ts", "ts-014", "rust", "go", "kotlin"}
"""In version 1 their SDKs drop an update of an unknown kind, unless one looks before they do."""

PLAIN = ("acpx",)
"""What a person sees of it has no types."""


def play_all(cell: Cell, folder: Path) -> list[Turns]:
    return [play(cell, kinds, folder) for kinds in groups(cell.rung)]


@pytest.fixture(scope="module")
def lived(request: pytest.FixtureRequest) -> Iterator[Lived]:
    yield from selection.lived(request, play_all, WORKERS)


def seen_in(played: list[Turns]) -> dict[str, Seen]:
    return {kind: one for turns in played for kind, one in verdicts(turns).items()}


@pytest.mark.parametrize("cell", PLAYED, ids=str)
def test_every_turn_ends_typed_as_in_the_table_and_the_next_prompt_works(
    lived: Lived, cell: Cell
) -> None:
    played = lived(cell)
    strict = cell.client.key in STRICT and cell.rung.key in RESULT_RUNGS
    seen = seen_in(played)
    lost = [kind for kind, one in seen.items() if one.ended.startswith(LOST)]
    assert lost == ([kind for kind in seen if kind != CRASH_BETWEEN] if strict else [])
    assert [kind for kind, one in seen.items() if one.is_bad and kind not in lost] == []
    assert [kind for kind, one in seen.items() if not one.next_works] == []
    assert [turns.report.leftovers for turns in played if turns.report.leftovers] == []
    # The right type arrives wherever the client can take it.
    assert {kind: one.wrong for kind, one in seen.items() if one.wrong} == {}
    failing = {kind: one for kind, one in seen.items() if kind != CRASH_BETWEEN}
    if cell.client.key not in PLAIN and not (
        cell.client.key in STRICT - {"raw"} and cell.rung.key in RESULT_RUNGS
    ):
        assert [kind for kind, one in failing.items() if not one.arrived] == []
    if cell.rung.meta is not None and "agent_error" in cell.rung.meta:
        update = TRANSLATED[UPDATE] if cell.client.own_rung else UPDATE
        dropped = {kind for kind, one in failing.items() if update not in one.arrived}
        drops = cell.client.key in DROPS_UPDATE and cell.rung.protocol == 1
        assert dropped == (set(failing) if drops else set())
    committed = [without_versions(row) for row in TABLE[cell.rung.key].rows]
    made = [without_versions(row) for row in rows(cell, seen)]
    assert [row for row in made if row not in committed] == []


TABLE = tables.load(TABLES)


def test_the_table_has_every_client_on_every_rung_that_it_can_come_to() -> None:
    for rung in RUNGS:
        first = [without_versions(row)[0] for row in TABLE[rung.key].rows]
        wanted = [cell.client.words for cell in cells() if cell.rung is rung]
        assert [name for name in first if not name.startswith("…")] == wanted


def test_the_page_has_each_rung_and_its_counts() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert summary(TABLE) in text
    assert [rung.key for rung in RUNGS if section(rung) not in text] == []


def test_only_a_measured_client_has_a_rule() -> None:
    measured = {client.key for client in CLIENTS}
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, rule in known_clients.RULES.items():
        assert name in measured
        assert f"`{name}`" in text
        assert rule.evidence
