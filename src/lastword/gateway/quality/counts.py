"""Counts: what has happened so often, and what has taken how long, as values that can be added up.

Owns counters and histograms of one process, and their form towards another. Numbers alone; of whom
they tell is not in them.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from lastword.gateway.quality.table import BY_NAME, SEPARATOR, Metric, MetricKind, metric_of


class Distribution(msgspec.Struct):
    """What a histogram has seen.

    Attributes:
        bounds: the upper end of each bucket but the last.
        counts: how many fell into each bucket.
        total: the sum of what was seen.
    """

    bounds: tuple[float, ...]
    counts: list[int]
    total: float = 0.0

    @classmethod
    def empty(cls, bounds: tuple[float, ...]) -> Distribution:
        """One that has seen nothing."""
        return cls(bounds, [0] * (len(bounds) + 1))

    def see(self, value: float) -> None:
        """Take a value in."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: Distribution) -> None:
        """Take in what another has seen, whose bounds may be another version's."""
        for bound, count in zip((*other.bounds, float("inf")), other.counts, strict=False):
            self.counts[bisect_left(self.bounds, bound)] += count
        self.total += other.total


class Counts(msgspec.Struct, kw_only=True):
    """Series by their keys (`Metric.key`)."""

    counters: dict[str, float] = {}
    distributions: dict[str, Distribution] = {}

    def add(self, metric: Metric, value: float, *labels: str) -> None:
        """So much more."""
        key = metric.key(*labels)
        self.counters[key] = self.counters.get(key, 0) + value

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """One more, that was so large."""
        key = metric.key(*labels)
        seen = self.distributions.get(key)
        if seen is None:
            seen = self.distributions[key] = Distribution.empty(metric.bounds)
        seen.see(value)

    def include(self, other: Counts) -> None:
        """Add another process' counts. What this version does not know is left out."""
        for key, value in other.counters.items():
            metric = metric_of(key)
            if metric is not None and metric.kind is MetricKind.COUNTER and value > 0:
                self.add(metric, value, *labels_of(key))
        for key, seen in other.distributions.items():
            metric = metric_of(key)
            if metric is not None and metric.kind is MetricKind.HISTOGRAM:
                ours = self.distributions.setdefault(
                    metric.key(*labels_of(key)), Distribution.empty(metric.bounds)
                )
                ours.add(seen)


def labels_of(key: str) -> list[str]:
    """The labels' values of a series."""
    return key.split(SEPARATOR)[1:]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """How everything stood at one moment.

    Attributes:
        counts: what has happened.
        gauges: how things are, by series.
    """

    counts: Counts
    gauges: dict[str, float]

    def values_of(self, metric: Metric) -> dict[str, float]:
        """The series of a counter or a gauge, with those that are 0 as yet."""
        source = self.gauges if metric.kind is MetricKind.GAUGE else self.counts.counters
        found = dict.fromkeys(metric.zeros(), 0.0)
        return found | {key: value for key, value in source.items() if _is_of(key, metric)}

    def distributions_of(self, metric: Metric) -> dict[str, Distribution]:
        """The series of a histogram, with those that have seen nothing as yet."""
        found = {key: Distribution.empty(metric.bounds) for key in metric.zeros()}
        seen = self.counts.distributions
        return found | {key: value for key, value in seen.items() if _is_of(key, metric)}


def _is_of(key: str, metric: Metric) -> bool:
    return BY_NAME.get(key.split(SEPARATOR, 1)[0]) is metric
