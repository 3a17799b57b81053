"""The gateway's metrics in Prometheus' text format 0.0.4, and as OpenTelemetry instruments.

Owns the form of a line, and the choice of instruments: not the metrics that the record's telemetry
reports under the same name, which a collector would add up. Histograms of viewers' links are
reported value by value; of those of sessions, only the sum and the count are known. `metrics` lists
the metrics; their values are in a `Snapshot`.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from lastword._version import __version__
from lastword.gateway.quality import metrics
from lastword.gateway.quality.metrics import METRICS, Metric, MetricKind, labels_of
from lastword.otel import conventions as names
from lastword.otel import enabled
from lastword.otel.conventions import Instrument, InstrumentKind, InstrumentReading, Instruments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lastword.gateway.quality.metrics import FrontCounts, Snapshot
    from lastword.otel.telemetry import GatewayMeters


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUILD = "lastword_gateway_build_info"


def exposition(snapshot: Snapshot) -> str:
    """Return every metric, with its help and type."""
    lines = [
        f"# HELP {BUILD} The version that serves; always 1.",
        f"# TYPE {BUILD} gauge",
        f'{BUILD}{{version="{escaped(__version__)}"}} 1',
    ]
    for metric in METRICS:
        if metric.is_optional and not snapshot.values_of(metric):
            continue
        lines += [
            f"# HELP {metric.exposed} {metric.help}",
            f"# TYPE {metric.exposed} {metric.kind.value}",
        ]
        if metric.kind is not MetricKind.HISTOGRAM:
            for key, value in snapshot.values_of(metric).items():
                lines.append(f"{metric.exposed}{_labels(metric, key)} {number(value)}")
            continue
        for key, distribution in snapshot.distributions_of(metric).items():
            ends = [*map(number, metric.bounds), "+Inf"]
            for end, count in zip(ends, accumulate(distribution.counts), strict=True):
                lines.append(f"{metric.exposed}_bucket{_labels(metric, key, le=end)} {count}")
            labels = _labels(metric, key)
            lines.append(f"{metric.exposed}_sum{labels} {number(distribution.total)}")
            lines.append(f"{metric.exposed}_count{labels} {sum(distribution.counts)}")
    return "\n".join(lines) + "\n"


def _labels(metric: Metric, key: str, **more: str) -> str:
    names = [label.name for label in metric.labels]
    pairs = [*zip(names, labels_of(key), strict=True), *more.items()]
    text = ",".join(f'{name}="{escaped(value)}"' for name, value in pairs)
    return f"{{{text}}}" if text else ""


def escaped(text: str) -> str:
    """Return a label's value, escaped for use between quotes."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value: float) -> str:
    """Return a number as text; whole ones without a decimal point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


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
        for metric in metrics.METRICS
        if metric is not metrics.COMMIT and metric.name not in names.COUNTERS
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
        for distribution in snapshot.distributions_of(metrics.COMMIT).values():
            yield InstrumentReading(
                sum(distribution.counts) if name == COMMITS else distribution.total, {}
            )
        return
    metric = metrics.BY_NAME[name]
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
