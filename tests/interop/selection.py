"""The cells of a table: which of them CI plays, and which the selected tests of a module ask for.

Most of a cell's time is waiting, so a module's fixture plays the selected cells ahead of the tests,
and no other. Playing them is each table's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def in_ci(cells: Iterable[Any], is_played: Callable[[Any], bool]) -> list[Any]:
    """Return the cells as parameters of tests; what CI does not play is left to the matrix."""
    return [
        cell if is_played(cell) else pytest.param(cell, marks=pytest.mark.matrix) for cell in cells
    ]


def selected_cells(request: pytest.FixtureRequest, fixture: str) -> list[Any]:
    """Return the module's selected cells, each once, in the order of the tests.

    Args:
        request: Of a fixture of the module's.
        fixture: By which its tests look at what came of their `cell`.
    """
    wanted = {
        item.callspec.params["cell"]: None
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and fixture in item.fixturenames
    }
    return list(wanted)
