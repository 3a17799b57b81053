"""A minute of an agent's retries is no failure to any client, and shown to whoever can show it."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.interop.clients_agent import FAILED, FRAMES, RETRIED, RETRIES, WELL
from tests.interop.clients_retries import (
    KINDS,
    WAYS,
    WORKERS,
    Shown,
    committed,
    play,
    retry_cells,
    row,
)
from tests.interop.clients_table import without_versions
from tests.interop.selection import in_ci, selected_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interop.clients_cells import Cell

Lived: TypeAlias = "Callable[[Cell], Shown]"

HURRY = 12.0
"""So many minutes of the agent's are one: its tries come as often within lastword's waits."""

IN_CI = {"py", "ts-v2", "raw"}
CELLS = in_ci(retry_cells(), lambda cell: cell.client.key in IN_CI)
ENDS = {
    "retry_thought": {"an error"},
    "typed_retry": {"an error", "`PromptFailedError`, or one of its kinds"},
    "retry_air": {"`end_turn`"},
    "retry_v2": {"`error`"},
    "retry_v2_asked": {"`error`"},
}
"""How a failing turn ends for a client that can be told in this way."""

DROPS_RETRY = {"py", "py-old", "ts", "ts-014", "rust", "go", "kotlin"}
"""In version 1 their SDKs drop an update of an unknown kind, unless one looks before they do."""

DROPS_META = {"kotlin"}
"""Its user code gets a `session_info_update` without `_meta`."""

PLAIN = ("acpx",)
"""What a person sees of it has no types."""

COUNT = re.compile(r"\b(all|none of|\d+ of) \d+\b")


@pytest.fixture(scope="module")
def lived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lived]:
    """What a client came to; the selected cells are played some at a time, each once."""
    folder = tmp_path_factory.mktemp("retries")
    wanted = selected_cells(request, "lived")
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = {cell: pool.submit(play, cell, folder, HURRY) for cell in wanted}
        yield lambda cell: jobs[cell].result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_every_turn_ends_as_without_retries_and_the_next_prompt_works(
    lived: Lived, cell: Cell
) -> None:
    seen = lived(cell)
    well = {kind: one for kind, one in seen.turns.items() if kind.endswith(WELL)}
    failed = {kind: one for kind, one in seen.turns.items() if kind.endswith(FAILED)}
    assert {one.ended for one in well.values()} == {"`end_turn`"}
    assert {one.ended for one in failed.values()} <= ENDS[cell.rung.key]
    assert [kind for kind, one in seen.turns.items() if one.is_bad or one.wrong] == []
    assert [kind for kind, one in well.items() if one.arrived] == []
    if cell.client.key not in PLAIN:
        assert [kind for kind, one in failed.items() if not one.arrived] == [], RETRIED
    assert seen.lost == ()


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_it_is_told_of_in_the_one_way_that_is_the_clients(lived: Lived, cell: Cell) -> None:
    seen = lived(cell)
    assert seen.strange == ()
    assert set(seen.sent) == set(KINDS)
    if cell.rung.key == "retry_thought":
        assert all(0 < told < RETRIES for told in seen.sent.values())
    else:
        by_frames = [told for kind, told in seen.sent.items() if kind.startswith(FRAMES)]
        assert by_frames == [RETRIES] * len(by_frames)
        assert all(0 < told <= RETRIES for told in seen.sent.values())


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_what_is_sent_of_it_reaches_user_code_unless_its_sdk_has_no_word_for_it(
    lived: Lived, cell: Cell
) -> None:
    seen = lived(cell)
    drops = {"typed_retry": DROPS_RETRY, "retry_air": DROPS_META}.get(cell.rung.key, set())
    expected = dict.fromkeys(KINDS, 0) if cell.client.key in drops else seen.sent
    assert seen.arrived == expected


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_table_has_what_was_measured(lived: Lived, cell: Cell) -> None:
    rows = [uncounted(line) for line in committed().splitlines()]
    assert uncounted(row(cell, lived(cell))) in rows


def uncounted(line: str) -> str:
    """A row of the table without versions and without how often: whether all or none stays."""
    return COUNT.sub(lambda found: found[1], without_versions(line))


def test_the_table_has_every_client_in_every_way_in_which_it_can_be_told() -> None:
    rows = [line.split(" | ")[:2] for line in committed().splitlines() if line.startswith("| ")]
    wanted = [[f"| {cell.client.words}", cell.rung.title] for cell in retry_cells()]
    assert [[without_versions(name), way] for name, way in rows[1:]] == wanted
    assert {way.title for way in WAYS} == {way for _, way in rows[1:]}
