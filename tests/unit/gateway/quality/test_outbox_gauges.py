"""The outbox as a metric: looked at, and left alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.gateway.quality import table
from lastword.gateway.quality.outbox import gauges_of
from lastword.outbox.report import FailureReport
from lastword.outbox.store import Outbox
from lastword.outbox.target import ReportTarget

if TYPE_CHECKING:
    from pathlib import Path

TARGET = ReportTarget("http://127.0.0.1:9/", "webhook", {}, b"", "key", "http://127.0.0.1:9")


def report(number: int, age_seconds: float) -> FailureReport:
    return FailureReport(
        report_id=f"r{number}",
        at_epoch_ms=int((time.time() - age_seconds) * 1000),
        what="turn",
        run_id="run",
        door="run",
        program="agent",
        lastword_version="0",
        platform="linux",
        facts={"type": "budget"},
    )


def test_what_waits_what_is_dead_and_since_when_is_told(tmp_path: Path) -> None:
    assert gauges_of(str(tmp_path)) == {}
    outbox = Outbox(str(tmp_path))
    outbox.add([report(1, 7000), report(2, 500), report(3, 100)], TARGET)
    taken = outbox.take(TARGET)
    assert taken is not None
    outbox.refused(taken.number, TARGET, "400")
    found = gauges_of(str(tmp_path))
    assert found is not None
    assert found[table.REPORTS.key("waiting")] == 2
    assert found[table.REPORTS.key("dead")] == 1
    assert 500 <= found[table.OLDEST_REPORT.key()] < 7000
    status = outbox.status()
    assert (status.waiting, status.dead) == (2, 1)


def test_an_outbox_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "outbox.db").write_bytes(b"this is no database" * 100)
    assert gauges_of(str(tmp_path)) is None
    assert (tmp_path / "outbox.db").read_bytes().startswith(b"this is")
