"""Attribution in real processes: rows of the corpus, played behind `lastword run --retry 2`.

The whole of it goes through the core, in `tests/unit/link/test_attribution_corpus.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.attribution import processes, table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

LANES = 6
"""So many agents, each behind a sidecar of its own."""


def test_nothing_that_stands_beside_a_turn_is_shown_blamed_or_sent_again(
    start: Start, tmp_path: Path
) -> None:
    tenth = processes.tenth(processes.playable(table.all_rows()))
    lanes = sorted(processes.lanes(tenth), key=len, reverse=True)[:LANES]
    found, _ = processes.measure([row for lane in lanes for row in lane], start.command, tmp_path)
    wrong = [p for p in found if p.kind != "quoted"]
    assert not wrong, "\n".join(f"{p.kind}: {p.row.id}: {p.details}" for p in wrong)
    assert sum(map(len, lanes)) >= 20
