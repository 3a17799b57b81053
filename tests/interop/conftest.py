"""Fixtures of the interop tests.

Owns: playing the matrix ahead of the tests that look at it, because most of its time is agents
waiting between retries. Only cells that a selected test asks for are played, each once.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.interop import real_agents, toolchain
from tests.interop.matrix import Cell, Played, play
from tests.interop.selection import in_ci

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKERS = 3
PREFETCHED = "played"


class Farm:
    """Cells being played in the background."""

    def __init__(self, folder: Path, cells: list[Cell]) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(WORKERS)
        self._jobs: dict[Cell, Future[Played]] = {}
        for cell in cells:
            self._jobs[cell] = self._pool.submit(play, cell, folder / str(cell))

    def result(self, cell: Cell) -> Played:
        """What came of a cell; waits for it, and skips where its agent cannot be installed."""
        return self._jobs[cell].result()

    def close(self) -> None:
        """Drop what has not begun, wait for what has."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@pytest.fixture(scope="session")
def farm(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Farm]:
    """The selected cells, started in the matrix's order."""
    toolchain.require_node()  # one of the two clients needs it in every cell
    wanted: dict[Cell, None] = {
        cell: None
        for item in request.session.items
        if isinstance(item, pytest.Function) and PREFETCHED in item.fixturenames
        for cell in [getattr(item, "callspec", None) and item.callspec.params.get("cell")]
        if isinstance(cell, Cell)  # other modules have cells, and fixtures, of their own
    }
    farm = Farm(tmp_path_factory.mktemp("cells"), list(wanted))
    yield farm
    farm.close()


@pytest.fixture
def played(farm: Farm, cell: Cell) -> Played:
    """The cell that the test is about."""
    return farm.result(cell)


@pytest.fixture(params=in_ci(real_agents.AGENTS, lambda name: name == "opencode"))
def agent_name(request: pytest.FixtureRequest) -> str:
    """Each real agent."""
    name: str = request.param
    return name
