"""The types of the values that the events API returns and accepts.

Owns their names and meanings. Both the answers and the OpenAPI document (`openapi`) are made from
these types, so they cannot differ. Times are milliseconds since 1970 UTC; an event also has its
time in ISO 8601. A member is left out if the requester may not see it, and null if it has no
value.

The gateway's own figures, as `/v1/stats` reports them. Owns the choice of metrics. Their values
come from `quality`, so that they agree with `/metrics`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from lastword.core.failure.taxonomy import (
    Action,  # noqa: TC001
    ErrorType,  # noqa: TC001
)
from lastword.core.timeline.session_events import LOG_KINDS
from lastword.gateway.quality import metrics
from lastword.gateway.quality.metrics import Snapshot, labels_of
from lastword.gateway.viewing.reader import Role  # noqa: TC001
from lastword.record.trends import Period  # noqa: TC001

if TYPE_CHECKING:
    from lastword.gateway.quality.metrics import Counts, Distribution


VERSION = 1
"""The version of the shapes: within one, members may be added, but not removed or changed."""

MAX_WORD_CHARS = 64
WORD = "^[a-z][a-z0-9_]{0,63}$"
"""A low-cardinality word: what failed, in a client's report."""

_Count = Annotated[int, Meta(ge=0)]


if TYPE_CHECKING:
    from lastword.core.timeline.entry import Kind

    EventKind: TypeAlias = Kind
else:
    EventKind = StrEnum("EventKind", [(kind.name, kind.value) for kind in LOG_KINDS])
    EventKind.__doc__ = "The kind of an event; the record has most of them, too."


class EventLevel(StrEnum):
    """How severe an event is, on the record's scale."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class SessionEvent(Struct, frozen=True, kw_only=True):
    """One entry of a session's log. All members but the first and the last two are the record's.

    Attributes:
        seq: its number in the log.
        kind: its kind.
        level: its severity.
        at: its time, as ISO 8601 in UTC, to the millisecond.
        at_epoch_ms: the same in milliseconds since 1970 UTC.
        at_seconds: the same in seconds, for readers of the record, where it is monotonic.
        session_id: the session's.
        turn: on a prompt and on its end: the turn's number. Events between the two belong to that
            turn.
        request_id: the viewer's id of the request in question, as JSON text.
        facts: further facts, without content.
        viewer: the viewer that sent it, that it answers, or that it is about.
        content: the frame as it came; only with `content=1`.
    """

    seq: Annotated[int, Meta(ge=1)]
    kind: EventKind
    level: EventLevel
    at: str
    at_epoch_ms: int
    at_seconds: float
    session_id: str
    turn: int | None
    request_id: str | None
    facts: dict[str, Any]
    viewer: str | None
    content: Any | UnsetType = UNSET


class EventGap(Struct, frozen=True, rename={"first": "from", "last": "to"}):
    """Entries that are no longer kept, from the first to the last of them."""

    first: Annotated[int, Meta(ge=1)]
    last: Annotated[int, Meta(ge=1)]
    reason: str


class EventsPage(Struct, frozen=True, kw_only=True, rename={"first": "from", "after": "next"}):
    """A part of a session's log.

    Attributes:
        version: of this shape.
        session_id: the session's.
        epoch: identifies the log's numbering.
        head: the last entry's number.
        first: where this part begins: the number after the cursor's.
        after: the cursor for the next request. It is also past the events that `kinds` left out.
        more: whether there are more already.
        reset: the cursor was from another epoch, so this begins with the oldest entry that is kept.
        gap: entries that were wanted and are no longer kept.
        events: the events in order.
    """

    version: int
    session_id: str
    epoch: str
    head: _Count
    first: Annotated[int, Meta(ge=1)]
    after: str
    more: bool
    events: list[SessionEvent]
    reset: bool | UnsetType = UNSET
    gap: EventGap | UnsetType = UNSET


class SessionState(StrEnum):
    """The state of a session."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING_FOR_ANSWER = "waiting_for_answer"
    """The agent has asked something."""
    FAILED = "failed"
    """Its last turn failed, or its agent cannot take it up; nothing runs."""
    ENDED = "ended"
    LOST = "lost"
    """Its agent ended with its gateway; attaching restores it."""


class AgentNamed(Struct, frozen=True):
    """The name and version that an agent gives itself."""

    name: str
    version: str | None


class ViewerCount(Struct, frozen=True):
    """The number of viewers of a session."""

    controllers: _Count = 0
    observers: _Count = 0


class LastFailure(Struct, frozen=True, kw_only=True):
    """The last turn that failed.

    Attributes:
        type: what went wrong.
        sentence: what went wrong and what to do, in lastword's own words.
        retryable: whether the same prompt may succeed later.
        at_epoch_ms: when.
        reason: what exactly, as a word.
        action: what the user can do.
        incident_id: an id for the user to quote.
        seq: its entry in the log; 0 if it has none.
        recovered: a later turn ended without a failure.
    """

    type: ErrorType
    sentence: str
    retryable: bool
    at_epoch_ms: int
    reason: str | None = None
    action: Action | None = None
    incident_id: str | None = None
    seq: _Count = 0
    recovered: bool = False


class OtherGateway(Struct, frozen=True):
    """A gateway with the same state folder, which has a session.

    Attributes:
        pid: its process id.
        address: its URL.
    """

    pid: int
    address: str


class ActivityWord(StrEnum):
    """What an agent does beside its turns."""

    ACTIVE = "active"
    QUIET = "quiet"


class SessionView(Struct, frozen=True, kw_only=True):
    """A session.

    Attributes:
        id: its id.
        state: its state.
        since_epoch_ms: when this state began.
        agent: the agent's own name and version.
        viewers: the number of its viewers.
        questions: how many of the agent's questions are open.
        epoch: identifies its log's numbering.
        head: the last entry's number.
        first: the oldest entry that is kept.
        last_failure: the last turn that failed.
        title: the agent's title for it; only for a controller with `content=1`, since it may quote
            a prompt.
        cwd: its working directory; only for controllers.
        gateway: another gateway of this machine that has it, which this one does not reach; only
            for controllers.
        node: in a fleet, the node that has it; only for controllers.
        continues_at_epoch_ms: when its turn continues, which waits for the end of a limit.
        activity: what the agent does although no turn is open, or only its answer is missing;
            absent if nothing.
    """

    id: str
    state: SessionState
    since_epoch_ms: int
    agent: AgentNamed | None
    viewers: ViewerCount
    questions: _Count
    epoch: str
    head: _Count
    first: Annotated[int, Meta(ge=1)]
    last_failure: LastFailure | None
    title: str | UnsetType | None = UNSET
    cwd: str | UnsetType | None = UNSET
    gateway: OtherGateway | UnsetType = UNSET
    node: str | UnsetType = UNSET
    activity: ActivityWord | UnsetType = UNSET
    continues_at_epoch_ms: int | UnsetType = UNSET


class SessionList(Struct, frozen=True, kw_only=True):
    """The sessions that the requester may see, the latest change first.

    Attributes:
        version: of this shape.
        role: what the requester may do.
        sessions: the running sessions, and the latest of those that ended.
        more: how many further sessions ended.
    """

    version: int
    role: Role
    sessions: list[SessionView]
    more: _Count = 0


class SessionOne(Struct, frozen=True, kw_only=True):
    """One session."""

    version: int
    role: Role
    session: SessionView


class DurationSeen(Struct, frozen=True, kw_only=True):
    """How long something took, by the buckets of `/metrics`.

    Attributes:
        count: the number of measurements.
        p50_seconds: half of them took no longer; null if there are none.
        p95_seconds: 19 of 20 took no longer; at most 30.
    """

    count: _Count
    p50_seconds: float | None
    p95_seconds: float | None


class GatewayCounts(Struct, frozen=True, kw_only=True):
    """The counts of the gateway.

    Attributes:
        since_epoch_ms: since when; a restart or reload starts again.
        sessions: sessions by state, now.
        viewers: viewers, now.
        closed: viewers' WebSockets by close code; `other` for rare ones.
        round_trips: to viewers and back, by who measured: `websocket` (its pings), `viewer`.
        attaches: from a request that opens, loads or resumes a session to its result, by method.
        client_errors: what pages and connectors reported, by word.
    """

    since_epoch_ms: int
    sessions: dict[str, int]
    viewers: ViewerCount
    closed: dict[str, int]
    round_trips: dict[str, DurationSeen]
    attaches: dict[str, DurationSeen]
    client_errors: dict[str, int]


class StatsView(Struct, frozen=True, kw_only=True):
    """Totals of the last days and of the days before them.

    Attributes:
        version: of this shape.
        days: how many days.
        from_epoch_ms: the start of the first day.
        to_epoch_ms: now.
        now: the totals of `lastword stats --json` for these days; null without a record.
        before: the same for as many days before.
        gateway: the gateway's own counts.
    """

    version: int
    days: int
    from_epoch_ms: int
    to_epoch_ms: int
    now: Period | None
    before: Period | None
    gateway: GatewayCounts


class ClientSource(StrEnum):
    """The kind of program that reports."""

    PAGE = "page"
    CONNECT = "connect"


class ClientEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error in a page or a connector. No member can hold content.

    Attributes:
        source: the program that reports.
        word: what failed, as a word of low cardinality; for a link, one of `protocol/words.json`.
        session_id: the session, if any.
        code: a close code.
        status: an HTTP status.
        tries: the number of attempts.
        lasted_ms: how long it lasted.
    """

    source: ClientSource
    word: Annotated[str, Meta(pattern=WORD)]
    session_id: Annotated[str, Meta(min_length=1, max_length=1024)] | UnsetType = UNSET
    code: Annotated[int, Meta(ge=1000, le=4999)] | UnsetType = UNSET
    status: Annotated[int, Meta(ge=100, le=599)] | UnsetType = UNSET
    tries: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    lasted_ms: Annotated[int, Meta(ge=0, le=10**12)] | UnsetType = UNSET


class ClientEventTaken(Struct, frozen=True, kw_only=True):
    """A report was accepted.

    Attributes:
        version: of this shape.
        seq: its entry in the session's log; null if its session is not running, in which case it
            becomes a failure report, if those are sent (`--report-to`).
    """

    version: int
    seq: Annotated[int, Meta(ge=1)] | None


class PushKeys(Struct, frozen=True):
    """A browser's keys, in base64url (RFC 8291).

    Attributes:
        p256dh: its public key.
        auth: its secret.
    """

    p256dh: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{87}=?$")]
    auth: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{22}={0,2}$")]


class PushRequest(Struct, frozen=True, kw_only=True):
    """A browser's request for notifications, as its `PushSubscription` has it in JSON.

    Attributes:
        endpoint: the push service's address for the browser.
        keys: the browser's keys.
        session_id: the only session that they are to be about; absent for all.
    """

    endpoint: Annotated[str, Meta(pattern=r"^https?://", max_length=2048)]
    keys: PushKeys
    session_id: Annotated[str, Meta(min_length=1, max_length=1024)] | UnsetType = UNSET


class PushRow(Struct, frozen=True, kw_only=True):
    """A browser that gets notifications.

    Attributes:
        id: by which its subscription is ended.
        place: scheme, host and port of its push service.
        session_id: the only session that they are about; empty for all.
        expires: when they end, in seconds since 1970 UTC; 0 for never.
    """

    id: str
    place: str
    session_id: str
    expires: int


class PushView(Struct, frozen=True, kw_only=True):
    """Notifications to browsers.

    Attributes:
        version: of this shape.
        key: the gateway's public key, in base64url, as browsers take it to subscribe; empty if the
            packages that push needs are not installed.
        id: the subscription that this request made; absent for none.
        subscriptions: who gets notifications, the oldest first.
    """

    version: int
    key: str
    id: str | UnsetType = UNSET
    subscriptions: list[PushRow]


class ApiProblem(Struct, frozen=True):
    """Why a request was refused.

    Attributes:
        error: what is wrong and what to do, as a sentence.
        reason: the same as a word; `protocol/words.json` lists those of a link.
    """

    error: str
    reason: str


class Healthy(Struct, frozen=True):
    """The gateway answers."""

    status: str = "ok"


DIGITS = 6
"""Quantiles are given to the microsecond; their buckets are wider."""


def closed_of(counts: Counts) -> dict[str, int]:
    """Return how many WebSockets were closed with each close code that occurred."""
    result = Snapshot(counts=counts, gauges={}).values_of(metrics.CLOSED)
    by_label = {tuple(labels_of(key)): int(value) for key, value in result.items()}
    return {
        code: times for (kind, code), times in by_label.items() if kind == "websocket" and times
    }


def round_trips_of(counts: Counts) -> dict[str, DurationSeen]:
    """Return round trips, by who measured them."""
    result = Snapshot(counts=counts, gauges={}).distributions_of(metrics.RTT)
    return {labels_of(key)[0]: _shown(distribution) for key, distribution in result.items()}


def attaches_of(counts: Counts) -> dict[str, DurationSeen]:
    """Return successful attaches, by method."""
    result = Snapshot(counts=counts, gauges={}).distributions_of(metrics.ATTACH)
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
