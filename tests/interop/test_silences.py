"""Real agents that are silent: lastword says why, in a remark, the turn's end and the record.

`python -m tests.interop.silence_table` plays every agent in every silence.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.interop import toolchain
from tests.interop.selection import selected_cells
from tests.interop.silence_cells import Cell, Result, Silence, play
from tests.kit.left_behind import CAN_LOOK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.matrix,
    pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc"),
]

WORKERS = 3
CELLS = [
    Cell("gemini", Silence.RETRIES),
    Cell("claude", Silence.TOOL),
    Cell("codex", Silence.TOOL),
    Cell("kimi", Silence.SPINS),
    Cell("qwen", Silence.STOPPED),
    Cell("opencode", Silence.SLOW),
]
"""Each silence once, of different agents, the longest first. A hang is in the main matrix."""


@pytest.fixture(scope="module")
def lived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Cell], Result]]:
    """What came of a cell; the selected ones are played a few at a time, each once."""
    toolchain.require_node()
    toolchain.require_more_agents()
    toolchain.require_kimi()
    folder = tmp_path_factory.mktemp("silences")
    wanted = selected_cells(request, "lived")
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = {cell: pool.submit(play, cell, folder) for cell in wanted}
        yield lambda cell: jobs[cell].result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_cause_of_a_silence_is_reported(lived: Callable[[Cell], Result], cell: Cell) -> None:
    result = lived(cell)
    assert result.is_right, result
