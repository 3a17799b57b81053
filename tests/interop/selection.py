"""The cells of a table: which of them CI plays, and which the selected tests of a module ask for.

Most of a cell's time is waiting, so a module's fixture plays the selected cells ahead of the tests,
and no other. Playing them is each table's own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


def in_ci(cells: Iterable[Any], is_played: Callable[[Any], bool]) -> list[Any]:
    """Return the cells as parameters of tests; what CI does not play is left to the matrix."""
    return [
        cell if is_played(cell) else pytest.param(cell, marks=pytest.mark.matrix) for cell in cells
    ]


def lived(
    request: pytest.FixtureRequest,
    play: Callable[[Any, Path], Any],
    workers: int,
    needs: Callable[[list[Any]], object] = lambda _: None,
) -> Iterator[Callable[[Any], Any]]:
    """Play the selected cells of a module a few at a time, each once; yield what came of one."""
    wanted = {
        item.callspec.params["cell"]: None
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and request.fixturename in item.fixturenames
    }
    needs(list(wanted))
    folder = request.getfixturevalue("tmp_path_factory").mktemp("cells")
    with ThreadPoolExecutor(workers) as pool:
        jobs = {cell: pool.submit(play, cell, folder) for cell in wanted}
        yield lambda cell: jobs[cell].result()
        pool.shutdown(cancel_futures=True)
