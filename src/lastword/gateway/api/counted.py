"""The gateway's own figures, as `/v1/stats` reports them.

Owns the choice of metrics. Their values come from `quality`, so that `/metrics` agrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.api.shapes import DurationSeen
from lastword.gateway.quality import table
from lastword.gateway.quality.counts import Snapshot, labels_of

if TYPE_CHECKING:
    from lastword.gateway.quality.counts import Counts, Distribution

DIGITS = 6
"""A quantile is given to the microsecond; its bucket is wider."""


def closed_of(counts: Counts) -> dict[str, int]:
    """Return how many WebSockets were closed with each close code that occurred."""
    result = Snapshot(counts=counts, gauges={}).values_of(table.CLOSED)
    by_label = {tuple(labels_of(key)): int(value) for key, value in result.items()}
    return {
        code: times for (kind, code), times in by_label.items() if kind == "websocket" and times
    }


def round_trips_of(counts: Counts) -> dict[str, DurationSeen]:
    """Return round trips, by who measured them."""
    result = Snapshot(counts=counts, gauges={}).distributions_of(table.RTT)
    return {labels_of(key)[0]: _shown(distribution) for key, distribution in result.items()}


def attaches_of(counts: Counts) -> dict[str, DurationSeen]:
    """Return successful attaches, by method."""
    result = Snapshot(counts=counts, gauges={}).distributions_of(table.ATTACH)
    by_label = {tuple(labels_of(key)): distribution for key, distribution in result.items()}
    return {
        method: _shown(distribution)
        for (method, outcome), distribution in by_label.items()
        if outcome == "ok"
    }


def _shown(distribution: Distribution) -> DurationSeen:
    median, most = distribution.quantile(0.5), distribution.quantile(0.95)
    return DurationSeen(
        count=sum(distribution.counts),
        p50_seconds=None if median is None else round(median, DIGITS),
        p95_seconds=None if most is None else round(most, DIGITS),
    )
