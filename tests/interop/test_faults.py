"""Behind lastword no fault of an agent hangs a client, or costs it its connection or session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop import selection, tables, toolchain
from tests.interop.faults_table import TABLES, WORKERS, Cell, Seen, cells, play, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CELLS = cells(behind=True)


@pytest.fixture(scope="module")
def lived(request: pytest.FixtureRequest) -> Iterator[Callable[[Cell], Seen]]:
    yield from selection.lived(request, play, WORKERS, lambda _: toolchain.require_node())


IN_CI = {"unknown-stop-reason-raw", "string-code-raw"}
"""The other faults are in the sidecar's process tests, with a client as strict as `raw`."""


@pytest.mark.parametrize("cell", selection.in_ci(CELLS, lambda one: str(one) in IN_CI), ids=str)
def test_an_agents_fault_is_typed_and_the_session_continues(
    lived: Callable[[Cell], Seen], cell: Cell
) -> None:
    assert wrong(cell, lived(cell)) == []


def test_the_table_has_every_fault() -> None:
    written = [row[0] for row in tables.load(TABLES)["faults"].rows]
    assert written == list(dict.fromkeys(cell.fault.words for cell in CELLS))
