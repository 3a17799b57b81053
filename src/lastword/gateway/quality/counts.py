"""Counts of sessions, viewers' links and the outbox, as values that can be added.

Counts: how often something happened and how long it took, as values that can be added. Owns the
counters and histograms of a gateway. They are only numbers, and name nobody.

Counts of viewers' links: connections, round trips, attaches. Owns the counts. They start again at 0
after a restart or reload, as Prometheus expects.

Viewers' links as the front measures them: how long an attach takes, and what has arrived. Owns the
measurements of a link while it is open. They are bounded, and end with the link.

The outbox of failure reports, as metrics. Owns how the outbox is read: read-only and briefly, so
that senders are never held up. Its counters only grow, even if its file is set aside. The outbox
itself is in `lastword.outbox`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from bisect import bisect_left
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.log.entries import cause_of
from lastword.gateway.quality import table
from lastword.gateway.quality.table import BY_NAME, SEPARATOR, Metric, MetricKind, metric_of
from lastword.outbox.store import NAME
from lastword.outbox.tables import DROPPED, REFUSED, SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lastword.core.protocol.jsonrpc import Frame


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


class FrontCounts:
    """Counts of viewers' links."""

    def __init__(self) -> None:
        self.counts: Counts = Counts()
        self._listener: Callable[[Metric, float, tuple[str, ...]], None] | None = None
        self._began = time.time()
        self._links: dict[LinkQuality, str] = {}
        """The open links, with the transport of each."""

    def listen(self, listener: Callable[[Metric, float, tuple[str, ...]], None]) -> None:
        """Also report each observation to a listener, as it comes."""
        self._listener = listener

    def open_link(self, transport: str) -> LinkQuality:
        """Count a viewer's connection."""
        link = LinkQuality(self)
        self._links[link] = transport
        return link

    def close_link(self, link: LinkQuality, code: int, reason: str = "") -> None:
        """Count the end of a connection, by its close code and by its cause."""
        transport = self._links.pop(link, None)
        if transport is not None:
            self.counts.add(table.CLOSED, 1, transport, str(code))
            self.counts.add(table.ENDED, 1, cause_of(code, reason))

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Count a duration."""
        self.counts.observe(metric, value, *labels)
        if self._listener is not None:
            self._listener(metric, value, labels)

    def pong(self, seconds: float) -> None:
        """Count an answer to a WebSocket's ping."""
        self.observe(table.RTT, seconds, "websocket")

    def ping_missed(self) -> None:
        """Count a WebSocket's ping without an answer in time."""
        self.counts.add(table.PINGS_MISSED, 1)

    def gauges(self, heads: Mapping[str, int]) -> dict[str, float]:
        """Return the gauges, given the heads of the sessions."""
        gauges: dict[str, float] = {table.STARTED.key(): self._began}
        for transport in self._links.values():
            key = table.CONNECTIONS.key(transport)
            gauges[key] = gauges.get(key, 0) + 1
        behind = sum(link.unacknowledged(heads) for link in self._links)
        return gauges | {table.UNACKNOWLEDGED.key(): behind}


MAX_ATTACHING = 64
MAX_SESSIONS = 64
MAX_RTT_MS = 600_000
ATTACHES = frozenset({"session/new", acp.LOAD, acp.RESUME})
ENVELOPE_BYTES = 64
"""Where an answer's id stands, and another frame's method."""


class LinkQuality:
    """One link."""

    def __init__(self, measured: FrontCounts) -> None:
        self._measured = measured
        self._attaching: dict[bytes, tuple[str, float]] = {}
        """For each request that attaches its method, and when it came."""
        self._acknowledged: dict[str, int] = {}

    def request(self, frame: Frame) -> None:
        """Note a frame from the viewer that is passed on."""
        method, request_id = frame.message.method, frame.message.request_id
        if request_id is None or method not in ATTACHES:
            return
        if len(self._attaching) < MAX_ATTACHING:
            self._attaching[request_id] = (method, time.perf_counter())

    def holder_sent(self, line: bytes) -> None:
        """Note a line from a holder for the viewer."""
        if not self._attaching or b'"method"' in line[:ENVELOPE_BYTES]:
            return
        frame = jsonrpc.decode(line)
        if isinstance(frame, jsonrpc.Frame) and frame.message.method is None:
            outcome = "ok" if jsonrpc.loads(frame.message.error) is None else "error"
            self._attached(frame.message.request_id, outcome)

    def failed(self, request_id: bytes | None) -> None:
        """Note that the front answered a request of the viewer that cannot be passed on."""
        self._attached(request_id, "error")

    def _attached(self, request_id: bytes | None, outcome: str) -> None:
        method, began = self._attaching.pop(request_id or b"", ("", 0.0))
        if method:
            seconds = time.perf_counter() - began
            self._measured.observe(table.ATTACH, seconds, method, outcome)

    def ping(self, frame: Frame, sessions: Iterable[str]) -> None:
        """Receive `_lastword/ping`: the viewer's position, and the duration of its last ping.

        The position belongs to the session that it names, or to the only one of `sessions`, to
        which the viewer is attached.
        """
        params = jsonrpc.params_of(frame)
        rtt, seq = params.get("rttMs"), params.get("seq")
        if isinstance(rtt, (int, float)) and not isinstance(rtt, bool) and 0 <= rtt <= MAX_RTT_MS:
            self._measured.observe(table.RTT, rtt / 1000, "viewer")
        attached = list(sessions)
        named = params.get("sessionId")
        session = named if isinstance(named, str) else attached[0] if len(attached) == 1 else ""
        has_room = session in self._acknowledged or len(self._acknowledged) < MAX_SESSIONS
        if session in attached and has_room and isinstance(seq, int) and not isinstance(seq, bool):
            self._acknowledged[session] = seq

    def unacknowledged(self, heads: Mapping[str, int]) -> int:
        """Return how many entries the viewer has not acknowledged, given the sessions' heads."""
        return sum(
            max(heads[session] - seq, 0)
            for session, seq in self._acknowledged.items()
            if session in heads
        )


LOOK = (
    "SELECT coalesce(sum(dead = 0), 0), coalesce(sum(dead != 0), 0),"
    " min(CASE WHEN dead = 0 THEN at_epoch_ms END) FROM reports"
)
COUNTED = {SENT: (table.REPORTS_SENT, ()), REFUSED: (table.REPORTS_REFUSED, ())} | {
    name: (table.REPORTS_DROPPED, (name.removeprefix("dropped_"),)) for name in DROPPED
}
"""The metric, and its labels' values, of each count in the file."""

BUSY_SECONDS = 0.05


class OutboxMetrics:
    """The outbox of a state folder, as of the last successful read."""

    def __init__(self, folder: str) -> None:
        """Read the outbox of this folder; an empty name stands for none."""
        self.gauges: dict[str, float] = {}
        self.counts: Counts = Counts()
        self._path = os.path.join(folder, NAME) if folder else ""
        self._last: dict[str, int] = {}
        """The file's counts at the last read, from which they grow; a new file begins at 0."""

    def read(self) -> None:
        """Read it again; if that fails, the old values stay."""
        if not os.path.exists(self._path):
            self.gauges, self._last = {}, {}
            return
        try:
            db = sqlite3.connect(
                f"file:{quote(self._path)}?mode=ro", uri=True, timeout=BUSY_SECONDS
            )
            with contextlib.closing(db):
                waiting, dead, oldest_ms = db.execute(LOOK).fetchone()
                counts = dict(db.execute("SELECT name, value FROM counts"))
        except sqlite3.Error:
            return
        age = max(time.time() - oldest_ms / 1000, 0.0) if oldest_ms is not None else 0.0
        self.gauges = {
            table.REPORTS.key("waiting"): waiting,
            table.REPORTS.key("dead"): dead,
            table.OLDEST_REPORT.key(): age,
        }
        for name, (metric, labels) in COUNTED.items():
            now, before = counts.get(name, 0), self._last.get(name, 0)
            self.counts.add(metric, now - before if now >= before else now, *labels)
        self._last = counts
