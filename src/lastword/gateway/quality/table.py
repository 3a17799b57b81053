"""The gateway's metrics: one table of their names, units, labels and bounds.

Owns the vocabulary, and thereby the cardinality: a label takes only the values listed here and
`other`, so no session or person becomes one. Names are OpenTelemetry's; the Prometheus name
follows by OpenTelemetry's rules: `lastword.gateway.log.size` in bytes is
`lastword_gateway_log_size_bytes`.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import product

import msgspec

from lastword.core.failure.option_values import CURRENCIES
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.timeline.session_events import RECORDED, WORDS
from lastword.gateway.log.entries import CAUSE_OF_CODE, CAUSES

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


def _counter(name: str, unit: str, description: str, *labels: Label) -> Metric:
    return Metric(
        name=f"lastword.gateway.{name}",
        kind=MetricKind.COUNTER,
        unit=unit,
        help=description,
        labels=labels,
    )


def _gauge(name: str, unit: str, description: str, *labels: Label) -> Metric:
    return Metric(
        name=f"lastword.gateway.{name}",
        kind=MetricKind.GAUGE,
        unit=unit,
        help=description,
        labels=labels,
    )


def _histogram(name: str, description: str, bounds: tuple[float, ...], *labels: Label) -> Metric:
    return Metric(
        name=f"lastword.gateway.{name}",
        kind=MetricKind.HISTOGRAM,
        unit="s",
        help=description,
        labels=labels,
        bounds=bounds,
    )


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
    "Round trips to viewers: of the WebSocket's own pings, or as a viewer measured its probe.",
    REACHES,
    Label("source", ("websocket", "viewer")),
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
    "Time from a request that opens, loads or resumes a session to its answer.",
    REACHES,
    Label("method", ("session/new", "session/load", "session/resume")),
    Label("outcome", ("ok", "error")),
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
    "Time to commit the entries of one read, before they are sent.",
    COMMITS,
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
OPEN_QUESTIONS = _gauge("questions.open", "{question}", "Questions that nobody has answered.")
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
