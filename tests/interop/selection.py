"""The cells of a matrix that the selected tests of a module ask for.

Owns that selection alone: most of a cell's time is waiting, so a module's fixture plays those cells
ahead of the tests, and no other. Playing them is each matrix' own.
"""

from __future__ import annotations

from typing import Any

import pytest


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
