"""Counts that are added up: of holders that live, that end, that are of another version."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lastword.gateway.holder.quality import HolderQuality
from lastword.gateway.quality import table
from lastword.gateway.quality.counts import Counts, Distribution, Snapshot
from lastword.gateway.quality.exposition import escaped, exposition
from lastword.gateway.quality.totals import Totals

if TYPE_CHECKING:
    from pathlib import Path

NO_PROCESS = 2**22 + 1
"""A process' number is never so large on Linux."""


def status(quality: HolderQuality, *, pid: int = os.getpid()) -> dict[str, Any]:
    """What a holder without sessions answers."""
    return {"pid": pid, "sessions": [], "quality": quality.report([])}


def turns(totals: Totals) -> float:
    """How many turns were answered, by what a front tells."""
    told = exposition(totals.snapshot(Counts(), {}))
    families = {each.name: each for each in text_string_to_metric_families(told)}
    (found,) = (
        sample.value
        for sample in families["lastword_gateway_turns"].samples
        if sample.labels == {"outcome": "answered"}
    )
    return found


def a_holder(turns_answered: int) -> HolderQuality:
    quality = HolderQuality()
    quality.counts.add(table.TURNS, turns_answered, "answered")
    return quality


def test_every_line_is_read_by_prometheus_own_parser_as_what_the_table_says() -> None:
    counts = Counts()
    counts.add(table.ERRORS, 2, "rate_limit")
    counts.observe(table.COMMIT, 0.0003)
    counts.observe(table.ATTACH, 90.0, "session/load", "error")
    optional = {each.key(): 1.0 for each in table.METRICS if each.is_optional}
    snapshot = Snapshot(counts=counts, gauges=optional | {table.SESSIONS.key("running"): 3})
    told = exposition(snapshot)
    families = {each.name: each for each in text_string_to_metric_families(told)}
    for metric in table.METRICS:
        family = families.pop(metric.exposed.removesuffix("_total"))
        assert (family.type, family.documentation) == (metric.kind.value, metric.help)
        names = {label.name for label in metric.labels}
        assert all(names <= sample.labels.keys() for sample in family.samples)
    assert families.keys() == {"lastword_gateway_build_info"}
    assert 'lastword_gateway_errors_total{type="rate_limit"} 2\n' in told
    assert 'lastword_gateway_sessions{state="running"} 3\n' in told
    assert 'duration_seconds_bucket{method="session/load",outcome="error",le="30"} 0\n' in told
    assert 'duration_seconds_bucket{method="session/load",outcome="error",le="+Inf"} 1\n' in told


def test_what_only_a_fleet_has_is_not_shown_without_one() -> None:
    assert "fleet" not in exposition(Snapshot(counts=Counts(), gauges={}))


def test_a_metrics_name_ends_with_its_unit_and_a_counters_with_total() -> None:
    for metric in table.METRICS:
        assert metric.exposed.startswith("lastword_gateway_")
        assert metric.exposed.endswith("_total") == (metric.kind is table.MetricKind.COUNTER)
        assert ("_seconds" in metric.exposed) == (metric.unit == "s")
        assert ("_bytes" in metric.exposed) == (metric.unit == "By")
        assert sorted(metric.bounds) == list(metric.bounds)


def test_a_label_takes_no_value_that_the_table_does_not_have() -> None:
    counts = Counts()
    for session in range(1000):
        counts.add(table.ERRORS, 1, f"session {session}")
    assert counts.counters == {table.ERRORS.key("anything"): 1000}
    assert 'type="other"} 1000' in exposition(Snapshot(counts=counts, gauges={}))


def test_what_would_end_a_label_is_escaped() -> None:
    line = f'a{{b="{escaped(chr(34) + chr(92) + chr(10))}"}} 1\n'
    (family,) = text_string_to_metric_families(line)
    assert family.samples[0].labels == {"b": '"\\\n'}


def test_no_counter_goes_down_when_a_holder_ends_in_order_or_is_killed(tmp_path: Path) -> None:
    totals, stays = Totals(str(tmp_path)), a_holder(1)
    leaves, dies = a_holder(10), a_holder(100)
    totals.update([status(stays), status(leaves), status(dies, pid=NO_PROCESS)], 3)
    assert turns(totals) == 111
    leaves.counts.add(table.TURNS, 5, "answered")
    leaves.leave(str(tmp_path))
    totals.update([status(stays)], 1)
    assert turns(totals) == 116
    assert list(tmp_path.iterdir()) == []
    for _ in range(3):
        totals.update([status(stays)], 1)
    assert turns(totals) == 116


def test_what_a_holder_said_before_its_end_comes_in_no_second_time(tmp_path: Path) -> None:
    totals, holder = Totals(str(tmp_path)), a_holder(10)
    late = status(holder)
    holder.leave(str(tmp_path))
    totals.update([], 0)
    totals.update([late], 1)
    assert turns(totals) == 10


def test_a_holder_that_does_not_answer_for_a_while_keeps_its_counts(tmp_path: Path) -> None:
    totals, holder = Totals(str(tmp_path)), a_holder(10)
    totals.update([status(holder)], 1)
    totals.update([], 1)
    assert turns(totals) == 10
    told = exposition(totals.snapshot(Counts(), {}))
    assert 'lastword_gateway_holders{state="silent"} 1\n' in told


@pytest.mark.parametrize(
    "quality", [None, {}, {"id": 7}, [], "x", {"id": "x", "counts": {"counters": {"a": "b"}}}]
)
def test_a_holder_without_a_quality_or_with_another_form_of_it_counts_for_nothing(
    tmp_path: Path, quality: object
) -> None:
    totals = Totals(str(tmp_path))
    totals.update([{"pid": 1, "sessions": [], "quality": quality}], 1)
    assert turns(totals) == 0
    told = exposition(totals.snapshot(Counts(), {}))
    assert 'lastword_gateway_holders{state="answering"} 1\n' in told


def test_what_a_newer_holder_counts_beside_is_passed_by(tmp_path: Path) -> None:
    totals, holder = Totals(str(tmp_path)), a_holder(3)
    told = status(holder)
    told["quality"]["more"] = 1
    told["quality"]["counts"]["counters"] |= {
        "lastword.gateway.of_tomorrow": 5,
        "lastword.gateway.turns": 7,
        "lastword.gateway.turns|answered|more": 9,
        "lastword.gateway.turns|paused": 11,
        "lastword.gateway.turns|failed": -4,
    }
    told["quality"]["gauges"] = {"lastword.gateway.sessions|asleep": 2, "nothing": 1}
    totals.update([told], 1)
    assert turns(totals) == 3
    text = exposition(totals.snapshot(Counts(), {}))
    assert 'lastword_gateway_turns_total{outcome="other"} 11\n' in text
    assert 'lastword_gateway_turns_total{outcome="failed"} 0\n' in text
    assert "tomorrow" not in text


def test_buckets_of_another_version_fall_into_those_of_this_one() -> None:
    ours = Distribution.empty((0.1, 1.0))
    ours.include(Distribution((0.05, 0.5, 2.0), [1, 2, 4, 8], 20.0))
    assert (ours.counts, ours.total) == ([1, 2, 12], 20.0)


def test_a_file_that_is_no_holders_is_left_out_and_taken_away(tmp_path: Path) -> None:
    (tmp_path / "x.counts").write_bytes(b"\xff not json")
    (tmp_path / "front.pid").write_bytes(b"7")
    totals = Totals(str(tmp_path))
    totals.update([], 0)
    assert turns(totals) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["front.pid"]


def test_the_furthest_viewer_of_all_holders_is_told_and_the_lag_of_all_is_summed(
    tmp_path: Path,
) -> None:
    totals = Totals(str(tmp_path))
    told = [status(HolderQuality()) for _ in range(2)]
    for each, lag in zip(told, (5, 40), strict=True):
        each["quality"]["gauges"] = {table.LAG.key(): lag, table.LAG_MOST.key(): lag}
    totals.update(told, 2)
    gauges = totals.snapshot(Counts(), {}).gauges
    assert (gauges[table.LAG.key()], gauges[table.LAG_MOST.key()]) == (45, 40)


def test_what_a_holder_tells_is_json_and_names_nobody() -> None:
    told = msgspec.json.encode(a_holder(1).report([]))
    assert set(msgspec.json.decode(told)) == {"id", "counts", "gauges"}


def test_a_quantile_lies_in_its_bucket_and_is_none_of_nothing() -> None:
    seen = Distribution.empty((1.0, 2.0, 4.0))
    assert seen.quantile(0.5) is None
    for value in (0.5, 1.5, 3.0, 3.5):
        seen.observe(value)
    assert seen.quantile(0.25) == 1.0
    assert seen.quantile(0.5) == 2.0
    assert seen.quantile(0.75) == 3.0
    seen.observe(1000.0)
    assert seen.quantile(0.99) == 4.0
