"""Attribution in real processes: a tenth of the corpus, played behind `lastword run --retry 2`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.attribution import processes, table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start


def test_nothing_that_stands_beside_a_turn_is_shown_blamed_or_sent_again(
    start: Start, tmp_path: Path
) -> None:
    rows = processes.tenth(processes.playable(table.all_rows()))
    found, seconds = processes.measure(rows, start.command, tmp_path)
    wrong = [p for p in found if p.kind != "quoted"]
    assert not wrong, "\n".join(f"{p.kind}: {p.row.id}: {p.details}" for p in wrong)
    assert len(rows) >= 60
    assert seconds < 180
