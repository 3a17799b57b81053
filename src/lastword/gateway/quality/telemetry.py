"""The gateway's metrics as OpenTelemetry instruments.

Owns the choice of metrics: not those that the record's telemetry reports under the same name,
which a collector would add up. Histograms of viewers' links are reported value by value; of
those of sessions, only the sum and the count are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.quality import table
from lastword.gateway.quality.counts import labels_of
from lastword.otel import conventions as names
from lastword.otel import enabled
from lastword.otel.conventions import Instrument, InstrumentKind, InstrumentReading, Instruments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lastword.gateway.quality.counts import Snapshot
    from lastword.gateway.quality.front_counts import FrontCounts
    from lastword.gateway.quality.table import Metric
    from lastword.otel.gateway_meters import GatewayMeters

COMMITS = "lastword.gateway.log.commits"
COMMIT_TIME = "lastword.gateway.log.commit.time"


def instruments() -> tuple[Instrument, ...]:
    """Return the metrics that are reported."""
    listed = [
        Instrument(
            name=metric.name,
            kind=InstrumentKind(metric.kind.value),
            unit=metric.unit,
            description=metric.help,
            bounds=metric.bounds,
        )
        for metric in table.METRICS
        if metric is not table.COMMIT and metric.name not in names.COUNTERS
    ]
    for name, unit, description in (
        (COMMITS, "{commit}", "Commits to sessions' logs."),
        (COMMIT_TIME, "s", "Total time of commits to sessions' logs."),
    ):
        listed.append(
            Instrument(name=name, kind=InstrumentKind.COUNTER, unit=unit, description=description)
        )
    return tuple(listed)


def readings(name: str, snapshot: Snapshot) -> Iterator[InstrumentReading]:
    """Return the values of an instrument that is read."""
    if name in {COMMITS, COMMIT_TIME}:
        for distribution in snapshot.distributions_of(table.COMMIT).values():
            yield InstrumentReading(
                sum(distribution.counts) if name == COMMITS else distribution.total, {}
            )
        return
    metric = table.BY_NAME[name]
    for key, value in snapshot.values_of(metric).items():
        yield InstrumentReading(value, attributes_of(metric, labels_of(key)))


def attributes_of(metric: Metric, values: list[str]) -> dict[str, str]:
    """Return the labels with their OpenTelemetry names."""
    return {
        names.ERROR_TYPE if label.name == "type" else names.own(label.name): value
        for label, value in zip(metric.labels, values, strict=True)
    }


def meters_of(measured: FrontCounts, last: Callable[[], Snapshot]) -> GatewayMeters | None:
    """Return the meters that the environment asks for, fed with values as they come."""
    meters = enabled.of_gateway(Instruments(instruments(), lambda name: readings(name, last())))
    if meters is not None:
        record = meters.record
        measured.listen(
            lambda metric, value, labels: record(
                metric.name, value, attributes_of(metric, list(labels))
            )
        )
    return meters
