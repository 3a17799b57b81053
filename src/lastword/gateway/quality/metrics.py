"""The gateway's metrics: a table of them, and their counts as values that can be added.

Owns their names, units, labels and bounds; what is counted of sessions, viewers' links and the
outbox; and how the counts of several processes become one.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from bisect import bisect_left
from enum import StrEnum
from functools import partial
from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from lastword.core.failure.option_values import CURRENCIES
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.session_events import RECORDED, WORDS
from lastword.gateway.log.entries import CAUSE_OF_CODE, CAUSES, cause_of
from lastword.outbox.store import DROPPED, NAME, REFUSED, SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lastword.core.protocol.jsonrpc import Envelope, Frame


OTHER = "other"
"""Stands for every value that a label does not take."""

SEPARATOR = "|"
"""Between a metric's name and its labels' values, in the key of a series."""

MAX_ZEROS = 64
"""A metric of at most this many series shows all of them from the start: a series
that begins above nothing is not an increase to Prometheus."""


class MetricKind(StrEnum):
    """The kind of a metric, in Prometheus' words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Label(msgspec.Struct, frozen=True):
    """A label, and its values beside `other`."""

    name: str
    values: tuple[str, ...]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric.

    Attributes:
        name: its OpenTelemetry name.
        kind: its kind.
        unit: its unit in UCUM, as in OpenTelemetry.
        help: its description.
        labels: the labels of its series.
        bounds: for a histogram, the upper end of each bucket but the last.
        is_optional: it is shown only where it has a value.
    """

    name: str
    kind: MetricKind
    unit: str
    help: str
    labels: tuple[Label, ...] = ()
    bounds: tuple[float, ...] = ()
    is_optional: bool = False

    @property
    def exposed(self) -> str:
        """Return its Prometheus name, including the unit and a counter's suffix."""
        base = self.name.replace(".", "_")
        unit = _SUFFIXES.get(self.unit, "")
        total = "_total" if self.kind is MetricKind.COUNTER else ""
        return f"{base}{unit}{total}"

    def key(self, *values: str) -> str:
        """Return the key of a series."""
        if not values:
            return self.name
        known = (
            value if value in label.values else OTHER
            for label, value in zip(self.labels, values, strict=True)
        )
        return SEPARATOR.join((self.name, *known))

    def zeros(self) -> list[str]:
        """Return the keys of the series that are shown before anything has happened."""
        combinations = list(product(*(label.values for label in self.labels)))
        if len(combinations) > MAX_ZEROS or self.is_optional:
            return []
        return [SEPARATOR.join((self.name, *values)) for values in combinations]


_SUFFIXES = {"s": "_seconds", "By": "_bytes"}


def _metric(
    kind: MetricKind,
    name: str,
    unit: str,
    description: str,
    *labels: Label,
    bounds: tuple[float, ...] = (),
) -> Metric:
    return Metric(
        name=f"lastword.gateway.{name}",
        kind=kind,
        unit=unit,
        help=description,
        labels=labels,
        bounds=bounds,
    )


_counter = partial(_metric, MetricKind.COUNTER)
_gauge = partial(_metric, MetricKind.GAUGE)
_histogram = partial(_metric, MetricKind.HISTOGRAM)


UNKNOWN_CODE = "unknown"
CODES = Label(
    "code",
    (
        *("1000", "1001", "1002", "1003", "1005", "1006", "1007", "1008", "1009", "1011", "1012"),
        *("1013", "1014", "1015", "4400", "4401", "4403", "4404", "4408", "4409", "4410", "4429"),
        UNKNOWN_CODE,
    ),
)
TRANSPORT = Label("transport", ("websocket", "http"))
REACHES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""From a millisecond, which loopback stays below, to half a minute, at which a viewer has long
tried again."""
COMMITS = (0.00002, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.025, 0.1, 0.5, 2.5)
"""From 20 µs; a checkpoint in the way would take 15 to 22 ms (GATEWAY.md, 3), a full disk more."""

# Of viewers' connections.

RTT = _histogram(
    "rtt",
    "s",
    "Round trips to viewers: of the WebSocket's own pings, or as a viewer measured its probe.",
    Label("source", ("websocket", "viewer")),
    bounds=REACHES,
)
PINGS_MISSED = _counter(
    "pings.missed", "{ping}", "WebSocket pings without a pong in time; the socket is then closed."
)
CONNECTIONS = _gauge("connections", "{connection}", "Viewers' open connections.", TRANSPORT)
CLOSED = _counter(
    "connections.closed",
    "{connection}",
    "Viewers' connections that ended, by close code.",
    TRANSPORT,
    CODES,
)
ENDED = _counter(
    "connections.ended",
    "{connection}",
    "Viewers' connections that ended, by cause, in the words of events and of the record.",
    Label("cause", tuple(sorted({*CAUSES.values(), *CAUSE_OF_CODE.values()}))),
)
ATTACH = _histogram(
    "attach.duration",
    "s",
    "Time from a request that opens, loads or resumes a session to its answer.",
    Label("method", ("session/new", "session/load", "session/resume")),
    Label("outcome", ("ok", "error")),
    bounds=REACHES,
)
UNACKNOWLEDGED = _gauge(
    "entries.unacknowledged",
    "{entry}",
    "Entries not yet acknowledged, summed over the viewers that acknowledge them.",
)
HOLDERS = _gauge(
    "holders",
    "{agent}",
    "Agents that run, or are started with the next prompt.",
)
STARTED = _gauge(
    "start_time", "s", "When this gateway was started or reloaded, in seconds since 1970."
)

# Of sessions.

ENTRIES = _counter("log.entries", "{entry}", "Entries that were committed to sessions' logs.")
WRITTEN = _counter("log.written", "By", "Bytes of entries that were committed.")
COMMIT = _histogram(
    "log.commit.duration",
    "s",
    "Time to commit the entries of one read, before they are sent.",
    bounds=COMMITS,
)
LOG_SIZE = _gauge("log.size", "By", "Bytes of entries that the logs of open sessions keep.")
DELIVERED = _counter(
    "entries.delivered", "{entry}", "Entries that were sent to viewers' connections."
)
REPLAYED = _counter(
    "entries.replayed", "{entry}", "Delivered entries that were older than the viewer's attach."
)
GAP_REASON = Label("reason", ("trimmed",))
GAPS = _counter("gaps", "{gap}", "Gaps that were sent to viewers, by reason.", GAP_REASON)
MISSED = _counter("entries.missed", "{entry}", "Entries in those gaps.", GAP_REASON)
RECONNECTS = _counter(
    "reconnects",
    "{reconnect}",
    "Viewers that reconnected to a session, by the close code of their last connection.",
    CODES,
)
ASKED = _counter("questions.asked", "{question}", "Questions that agents asked.")
SETTLED = _counter(
    "questions.settled",
    "{question}",
    "Questions that were settled, by who decided.",
    Label("outcome", ("viewer", "policy", "withdrawn", "lost")),
)
OPEN_QUESTIONS = _gauge("questions.open", "{question}", "Unanswered questions.")
TURNS = _counter(
    "turns", "{turn}", "Turns that ended, by outcome.", Label("outcome", ("answered", "failed"))
)
ERRORS = _counter(
    "errors",
    "{error}",
    "Turns that failed, by `error.type`.",
    Label("type", tuple(each.value for each in ErrorType)),
)
COST = _counter(
    "cost",
    "{currency}",
    "What turns have cost, as their agents state it, by currency (ISO 4217).",
    Label("currency", tuple(sorted(CURRENCIES))),
)
EVENTS = _counter(
    "events",
    "{event}",
    "Events of sessions, by kind.",
    Label("event", tuple(word for kind, word in WORDS.items() if kind in RECORDED)),
)
RESERVED = _counter(
    "frames.reserved",
    "{frame}",
    "Agents' frames with names reserved for the gateway, which are removed, by kind of name.",
    Label("used", ("method", "meta")),
)
SESSIONS = _gauge(
    "sessions", "{session}", "Open sessions.", Label("state", ("idle", "running", "waiting"))
)
VIEWERS = _gauge(
    "viewers",
    "{viewer}",
    "Viewers that are attached to sessions.",
    Label("role", ("controller", "observer")),
)
LAG = _gauge("lag.entries", "{entry}", "Entries that viewers are behind, summed over viewers.")
LAG_MOST = _gauge("lag.entries.max", "{entry}", "Entries that the slowest viewer is behind.")
LAG_SIZE = _gauge(
    "lag.size", "By", "Approximate bytes that viewers are behind, summed over viewers."
)

# The outbox'.

REPORTS = _gauge(
    "outbox.reports",
    "{report}",
    "Error reports in the outbox, by whether they will be resent.",
    Label("state", ("waiting", "dead")),
)
REPORTS_SENT = _counter("outbox.sent", "{report}", "Error reports that were delivered.")
REPORTS_REFUSED = _counter(
    "outbox.refused", "{report}", "Error reports that were refused for good: dead letters."
)
REPORTS_DROPPED = _counter(
    "outbox.dropped",
    "{report}",
    "Error reports that were dropped, by reason.",
    Label("reason", ("full", "old", "unwritten", "damaged")),
)
OLDEST_REPORT = _gauge("outbox.age", "s", "Age of the oldest waiting report; 0 if there is none.")

# A fleet's.


def _of_fleet(name: str, unit: str, description: str) -> Metric:
    return msgspec.structs.replace(_gauge(f"fleet.{name}", unit, description), is_optional=True)


FLEET_CONNECTED = _of_fleet("connected", "1", "Whether a server of the fleet answers this node.")
FLEET_NODES = _of_fleet("nodes", "{node}", "Nodes of the fleet, this one included.")
FLEET_SESSIONS = _of_fleet("sessions", "{session}", "Sessions of the fleet that have an agent.")
FLEET_NOT_REPLICATED = _of_fleet(
    "entries.not_replicated",
    "{entry}",
    "Entries of this node's sessions that the fleet's log does not have yet.",
)
FLEET_INVALID = _of_fleet(
    "records.invalid",
    "{record}",
    "Records that were ignored, since the fleet's key did not sign them.",
)

METRICS = (
    *(RTT, PINGS_MISSED, CONNECTIONS, CLOSED, ENDED, ATTACH, UNACKNOWLEDGED, HOLDERS, STARTED),
    *(ENTRIES, WRITTEN, COMMIT, LOG_SIZE, DELIVERED, REPLAYED, GAPS, MISSED, RECONNECTS),
    *(ASKED, SETTLED, OPEN_QUESTIONS, TURNS, ERRORS, COST, EVENTS, RESERVED, SESSIONS, VIEWERS),
    *(LAG, LAG_MOST, LAG_SIZE, REPORTS, OLDEST_REPORT),
    *(REPORTS_SENT, REPORTS_REFUSED, REPORTS_DROPPED),
    *(FLEET_CONNECTED, FLEET_NODES, FLEET_SESSIONS, FLEET_NOT_REPLICATED, FLEET_INVALID),
)
BY_NAME = {metric.name: metric for metric in METRICS}


def metric_of(key: str) -> Metric | None:
    """Return the metric of a series; `None` for one that only another version knows."""
    name, *values = key.split(SEPARATOR)
    metric = BY_NAME.get(name)
    return metric if metric is not None and len(values) == len(metric.labels) else None


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
        """Return the quantile for this share, such as 0.99; `None` if no value was added.

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
            self.counts.add(CLOSED, 1, transport, str(code))
            self.counts.add(ENDED, 1, cause_of(code, reason))

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Count a duration."""
        self.counts.observe(metric, value, *labels)
        if self._listener is not None:
            self._listener(metric, value, labels)

    def pong(self, seconds: float) -> None:
        """Count an answer to a WebSocket's ping."""
        self.observe(RTT, seconds, "websocket")

    def ping_missed(self) -> None:
        """Count a WebSocket's ping without an answer in time."""
        self.counts.add(PINGS_MISSED, 1)

    def gauges(self, heads: Mapping[str, int]) -> dict[str, float]:
        """Return the gauges, given the heads of the sessions."""
        gauges: dict[str, float] = {STARTED.key(): self._began}
        for transport in self._links.values():
            key = CONNECTIONS.key(transport)
            gauges[key] = gauges.get(key, 0) + 1
        behind = sum(link.unacknowledged(heads) for link in self._links)
        return gauges | {UNACKNOWLEDGED.key(): behind}


MAX_ATTACHING = 64
MAX_SESSIONS = 64
MAX_RTT_MS = 600_000
ATTACHES = frozenset({"session/new", acp.LOAD, acp.RESUME})


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

    def answered(self, answer: Envelope) -> None:
        """Note a holder's answer to the viewer."""
        outcome = "ok" if jsonrpc.loads(answer.error) is None else "error"
        self._attached(answer.request_id, outcome)

    def failed(self, request_id: bytes | None) -> None:
        """Note that the front answered a request of the viewer that cannot be passed on."""
        self._attached(request_id, "error")

    def _attached(self, request_id: bytes | None, outcome: str) -> None:
        method, began = self._attaching.pop(request_id or b"", ("", 0.0))
        if method:
            seconds = time.perf_counter() - began
            self._measured.observe(ATTACH, seconds, method, outcome)

    def ping(self, frame: Frame, sessions: Iterable[str]) -> None:
        """Receive `_lastword/ping`: the viewer's position, and the duration of its last ping.

        The position belongs to the session that it names, or to the only one of `sessions`, to
        which the viewer is attached.
        """
        params = jsonrpc.params_of(frame)
        rtt, seq = params.get("rttMs"), params.get("seq")
        if isinstance(rtt, (int, float)) and not isinstance(rtt, bool) and 0 <= rtt <= MAX_RTT_MS:
            self._measured.observe(RTT, rtt / 1000, "viewer")
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
COUNTED = {SENT: (REPORTS_SENT, ()), REFUSED: (REPORTS_REFUSED, ())} | {
    name: (REPORTS_DROPPED, (name.removeprefix("dropped_"),)) for name in DROPPED
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
            REPORTS.key("waiting"): waiting,
            REPORTS.key("dead"): dead,
            OLDEST_REPORT.key(): age,
        }
        for name, (metric, labels) in COUNTED.items():
            now, before = counts.get(name, 0), self._last.get(name, 0)
            self.counts.add(metric, now - before if now >= before else now, *labels)
        self._last = counts
