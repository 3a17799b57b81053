"""Counts: how often something happened and how long it took, as values that can be added.

Owns the counters and histograms of a gateway. They are only numbers, and name nobody.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from lastword.gateway.quality.table import BY_NAME, SEPARATOR, Metric, MetricKind, metric_of


class Distribution(msgspec.Struct):
    """The values of a histogram.

    Attributes:
        bounds: the upper end of each bucket but the last.
        counts: how many values fell into each bucket.
        total: the sum of the values.
    """

    bounds: tuple[float, ...]
    counts: list[int]
    total: float = 0.0

    @classmethod
    def empty(cls, bounds: tuple[float, ...]) -> Distribution:
        """Return a histogram without values."""
        return cls(bounds, [0] * (len(bounds) + 1))

    def observe(self, value: float) -> None:
        """Add a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def quantile(self, share: float) -> float | None:
        """Return the value below which this share of all lies; `None` if there are none.

        As in Prometheus' `histogram_quantile`, values are spread evenly within a bucket, and
        those above all bounds count as the highest bound.
        """
        rank = share * sum(self.counts)
        below, lower = 0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            if count and below + count >= rank:
                return lower + (bound - lower) * (rank - below) / count
            below, lower = below + count, bound
        return lower if rank else None

    def include(self, other: Distribution) -> None:
        """Add another one's values; its bounds may be those of another version."""
        for bound, count in zip((*other.bounds, float("inf")), other.counts, strict=False):
            self.counts[bisect_left(self.bounds, bound)] += count
        self.total += other.total


class Counts(msgspec.Struct, kw_only=True):
    """Series by their keys (`Metric.key`)."""

    counters: dict[str, float] = {}
    distributions: dict[str, Distribution] = {}

    def add(self, metric: Metric, value: float, *labels: str) -> None:
        """Add to a counter."""
        key = metric.key(*labels)
        self.counters[key] = self.counters.get(key, 0) + value

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add one value to a histogram."""
        key = metric.key(*labels)
        distribution = self.distributions.get(key)
        if distribution is None:
            distribution = self.distributions[key] = Distribution.empty(metric.bounds)
        distribution.observe(value)

    def include(self, other: Counts) -> None:
        """Add other counts. Series unknown to this version are left out."""
        for key, value in other.counters.items():
            metric = metric_of(key)
            if metric is not None and metric.kind is MetricKind.COUNTER and value > 0:
                self.add(metric, value, *labels_of(key))
        for key, distribution in other.distributions.items():
            metric = metric_of(key)
            if metric is not None and metric.kind is MetricKind.HISTOGRAM:
                ours = self.distributions.setdefault(
                    metric.key(*labels_of(key)), Distribution.empty(metric.bounds)
                )
                ours.include(distribution)


def labels_of(key: str) -> list[str]:
    """Return the values of a series' labels."""
    return key.split(SEPARATOR)[1:]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All counts and gauges at one moment.

    Attributes:
        counts: counters and histograms.
        gauges: gauges, by series.
    """

    counts: Counts
    gauges: dict[str, float]

    def values_of(self, metric: Metric) -> dict[str, float]:
        """Return the series of a counter or a gauge, including those that are still 0."""
        source = self.gauges if metric.kind is MetricKind.GAUGE else self.counts.counters
        series = dict.fromkeys(metric.zeros(), 0.0)
        return series | {key: value for key, value in source.items() if _is_of(key, metric)}

    def distributions_of(self, metric: Metric) -> dict[str, Distribution]:
        """Return the series of a histogram, including those without values."""
        series = {key: Distribution.empty(metric.bounds) for key in metric.zeros()}
        own = self.counts.distributions
        return series | {key: value for key, value in own.items() if _is_of(key, metric)}


def _is_of(key: str, metric: Metric) -> bool:
    return BY_NAME.get(key.split(SEPARATOR, 1)[0]) is metric
