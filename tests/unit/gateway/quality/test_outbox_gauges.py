"""The outbox as metrics: looked at, and left alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.gateway.quality import metrics
from lastword.gateway.quality.metrics import OutboxMetrics
from lastword.outbox.report import FailureReport, ReportTarget
from lastword.outbox.store import Outbox

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


def test_waiting_and_dead_reports_and_the_oldest_ones_age_are_gauges(tmp_path: Path) -> None:
    seen = OutboxMetrics(str(tmp_path))
    seen.read()
    assert seen.gauges == {}
    outbox = Outbox(str(tmp_path))
    outbox.add([report(1, 7000), report(2, 500), report(3, 100)], TARGET)
    taken = outbox.next_report(TARGET)
    assert taken is not None
    outbox.refused(taken, TARGET, "400")
    seen.read()
    assert seen.gauges[metrics.REPORTS.key("waiting")] == 2
    assert seen.gauges[metrics.REPORTS.key("dead")] == 1
    assert 500 <= seen.gauges[metrics.OLDEST_REPORT.key()] < 7000
    status = outbox.status()
    assert (status.waiting, status.dead) == (2, 1)


def test_sent_refused_and_dropped_reports_are_counted_across_a_new_file(tmp_path: Path) -> None:
    seen = OutboxMetrics(str(tmp_path))
    for times in (1, 2):
        outbox = Outbox(str(tmp_path))
        outbox.add([report(1, 100), report(2, 100), report(3, 30 * 24 * 3600)], TARGET)
        arrived, refused = outbox.next_report(TARGET), outbox.next_report(TARGET)
        assert arrived is not None
        assert refused is not None
        outbox.delivered(arrived, TARGET)
        outbox.refused(refused, TARGET, "400")
        outbox.clear_dead()
        seen.read()
        seen.read()
        counters = seen.counts.counters
        assert counters[metrics.REPORTS_SENT.key()] == times
        assert counters[metrics.REPORTS_REFUSED.key()] == times
        assert counters[metrics.REPORTS_DROPPED.key("old")] == times
        assert counters.get(metrics.REPORTS_DROPPED.key("full"), 0) == 0
        (tmp_path / "outbox.db").unlink()
        if times == 1:
            Outbox(str(tmp_path)).add([report(9, 100)], TARGET)
            seen.read()


def test_an_unreadable_outbox_does_not_count_as_empty(tmp_path: Path) -> None:
    seen = OutboxMetrics(str(tmp_path))
    Outbox(str(tmp_path)).add([report(1, 100)], TARGET)
    seen.read()
    before = dict(seen.gauges)
    (tmp_path / "outbox.db").write_bytes(b"this is no database" * 100)
    seen.read()
    assert seen.gauges == before
    assert (tmp_path / "outbox.db").read_bytes().startswith(b"this is")
