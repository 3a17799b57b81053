"""Behind lastword no fault of an agent hangs a client, or costs it its connection or session."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.interop import toolchain
from tests.interop.fault_cells import Cell, Seen, cells, play, wrong
from tests.interop.faults_table import README, WORKERS
from tests.interop.selection import in_ci, selected_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CELLS = cells(behind=True)


@pytest.fixture(scope="module")
def lived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Cell], Seen]]:
    """What came of a cell; the selected ones are played a few at a time, each once."""
    toolchain.require_node()
    folder = tmp_path_factory.mktemp("faults")
    wanted = selected_cells(request, "lived")
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = {cell: pool.submit(play, cell, folder) for cell in wanted}
        yield lambda cell: jobs[cell].result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("cell", in_ci(CELLS, lambda cell: cell.client == "raw"), ids=str)
def test_a_fault_of_the_agents_is_typed_and_everything_goes_on(
    lived: Callable[[Cell], Seen], cell: Cell
) -> None:
    assert wrong(cell, lived(cell)) == []


def test_a_fault_without_lastword_is_seen_to_be_bad(tmp_path: Path) -> None:
    bare = Cell(CELLS[0].fault, "raw", behind=False)
    assert len(wrong(bare, play(bare, tmp_path))) == 3


def test_the_table_has_every_fault() -> None:
    written = README.read_text(encoding="utf-8")
    assert [cell.fault.words for cell in CELLS if cell.fault.words not in written] == []
