"""Counts that are added up, those of the outbox too, and shown as Prometheus reads them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from lastword.gateway.quality import metrics
from lastword.gateway.quality.exposition import escaped, exposition
from lastword.gateway.quality.metrics import Counts, Distribution, OutboxMetrics, Snapshot
from lastword.outbox.report import FailureReport, ReportTarget
from lastword.outbox.store import Outbox

if TYPE_CHECKING:
    from pathlib import Path


def test_prometheus_own_parser_reads_every_line_as_the_table_defines() -> None:
    counts = Counts()
    counts.add(metrics.ERRORS, 2, "rate_limit")
    counts.observe(metrics.COMMIT, 0.0003)
    counts.observe(metrics.ATTACH, 90.0, "session/load", "error")
    optional = {each.key(): 1.0 for each in metrics.METRICS if each.is_optional}
    snapshot = Snapshot(counts=counts, gauges=optional | {metrics.SESSIONS.key("running"): 3})
    told = exposition(snapshot)
    families = {each.name: each for each in text_string_to_metric_families(told)}
    for metric in metrics.METRICS:
        family = families.pop(metric.exposed.removesuffix("_total"))
        assert (family.type, family.documentation) == (metric.kind.value, metric.help)
        names = {label.name for label in metric.labels}
        assert all(names <= sample.labels.keys() for sample in family.samples)
    assert families.keys() == {"lastword_gateway_build_info"}
    assert 'lastword_gateway_errors_total{type="rate_limit"} 2\n' in told
    assert 'lastword_gateway_sessions{state="running"} 3\n' in told
    assert 'duration_seconds_bucket{method="session/load",outcome="error",le="30"} 0\n' in told
    assert 'duration_seconds_bucket{method="session/load",outcome="error",le="+Inf"} 1\n' in told


def test_a_metrics_name_ends_with_its_unit_and_a_counters_with_total() -> None:
    for metric in metrics.METRICS:
        assert metric.exposed.startswith("lastword_gateway_")
        assert metric.exposed.endswith("_total") == (metric.kind is metrics.MetricKind.COUNTER)
        assert ("_seconds" in metric.exposed) == (metric.unit == "s")
        assert ("_bytes" in metric.exposed) == (metric.unit == "By")
        assert sorted(metric.bounds) == list(metric.bounds)


def test_a_label_has_only_values_of_the_table() -> None:
    counts = Counts()
    for session in range(1000):
        counts.add(metrics.ERRORS, 1, f"session {session}")
    assert counts.counters == {metrics.ERRORS.key("anything"): 1000}
    shown = exposition(Snapshot(counts=counts, gauges={}))
    assert 'type="other"} 1000' in shown
    assert "fleet" not in shown  # without one


def test_characters_that_would_end_a_label_are_escaped() -> None:
    line = f'a{{b="{escaped(chr(34) + chr(92) + chr(10))}"}} 1\n'
    (family,) = text_string_to_metric_families(line)
    assert family.samples[0].labels == {"b": '"\\\n'}


def test_series_of_another_version_are_left_out() -> None:
    counts, other = Counts(), Counts()
    other.counters = {
        "lastword.gateway.of_tomorrow": 5,
        "lastword.gateway.turns": 7,
        "lastword.gateway.turns|paused": 11,
        "lastword.gateway.turns|failed": -4,
        metrics.TURNS.key("answered"): 3,
    }
    counts.include(other)
    text = exposition(Snapshot(counts=counts, gauges={}))
    assert 'lastword_gateway_turns_total{outcome="answered"} 3\n' in text
    assert 'lastword_gateway_turns_total{outcome="failed"} 0\n' in text
    assert "tomorrow" not in text


def test_buckets_of_another_version_fall_into_those_of_this_one() -> None:
    ours = Distribution.empty((0.1, 1.0))
    ours.include(Distribution((0.05, 0.5, 2.0), [1, 2, 4, 8], 20.0))
    assert (ours.counts, ours.total) == ([1, 2, 12], 20.0)


def test_a_quantile_lies_in_its_bucket_and_is_undefined_without_values() -> None:
    seen = Distribution.empty((1.0, 2.0, 4.0))
    assert seen.quantile(0.5) is None
    for value in (0.5, 1.5, 3.0, 3.5):
        seen.observe(value)
    assert seen.quantile(0.25) == 1.0
    assert seen.quantile(0.5) == 2.0
    assert seen.quantile(0.75) == 3.0
    seen.observe(1000.0)
    assert seen.quantile(0.99) == 4.0


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
