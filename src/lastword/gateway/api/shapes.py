"""The values that the events API answers with and takes, as types.

Owns their names and meanings: answers are made of these, and the OpenAPI document is made from
them (`openapi`), so neither can say what the other does not. Moments are milliseconds since 1970
UTC; an event has its own as ISO 8601, too. What is not known is left out where it may not be told,
and null where it is not there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

# msgspec reads annotations when a type is used.
from lastword.core.failure.taxonomy import Action, ErrorType  # noqa: TC001
from lastword.gateway.viewers import Role  # noqa: TC001
from lastword.record.trends import Period  # noqa: TC001

VERSION = 1
"""Of the answers' shapes: members may come, and none goes or changes within one."""

MAX_WORD_CHARS = 64
WORD = "^[a-z][a-z0-9_]{0,63}$"
"""A low-cardinality word: what failed, in a client's report."""

_Count = Annotated[int, Meta(ge=0)]


class EventKind(StrEnum):
    """What an event tells. Those of the first part are kinds of the record's entries, too."""

    PROMPT = "prompt"
    CANCEL = "cancel"
    ASKED = "asked"
    DELEGATED = "delegated"
    TOOL_STARTED = "tool_started"
    TOOL_ENDED = "tool_ended"
    RETRY = "retry"
    ANSWER = "answer"
    ERROR = "error"
    VIEWER_CAME = "viewer_came"
    VIEWER_LEFT = "viewer_left"
    VIEWER_LAGS = "viewer_lags"
    VIEWER_CAUGHT_UP = "viewer_caught_up"
    GAP_TOLD = "gap_told"
    QUESTION_HELD = "question_held"
    QUESTION_DECIDED = "question_decided"
    HOLDER_DIED = "holder_died"
    SUPERVISOR_EXITED = "supervisor_exited"
    SESSION_RESTORED = "session_restored"
    SESSION_NOT_RESTORED = "session_not_restored"
    LOG_RESET = "log_reset"
    SESSION_ENDED = "session_ended"

    UPDATE = "update"
    """The agent said something else."""
    REQUEST = "request"
    """A viewer asked the agent for something that is no prompt."""
    RESULT = "result"
    """The agent answered that."""
    WAITS = "waits"
    """A line told whoever cannot read retries that the agent waits."""
    CLIENT_ERROR = "client_error"
    """A page or a connector reported an error of its own."""
    LIFE = "life"
    """Something else befell the session; `facts.word` says what."""


class EventLevel(StrEnum):
    """How much an event matters, as the record has it."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class SessionEvent(Struct, frozen=True, kw_only=True):
    """One entry of a session's log. Its members but the first and the last two are the record's.

    Attributes:
        seq: its number in the log.
        kind: what it tells.
        level: how much it matters.
        at: when, as ISO 8601 in UTC, to the millisecond.
        at_epoch_ms: the same in milliseconds since 1970 UTC.
        at_seconds: the same in seconds, for readers of the record, which has monotonic ones there.
        session_id: the session's.
        turn: of a prompt, and of how it ended: a number that both have, and none other; what stands
            between them is of that turn.
        request_id: the viewer's id of the request it is about, as JSON text.
        facts: what else is known, without content.
        viewer: the viewer that said it, that it answers, or that it is about.
        content: the frame as it came; with `content=1` alone.
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
    """Entries that are no more, from the first to the last of them."""

    first: Annotated[int, Meta(ge=1)]
    last: Annotated[int, Meta(ge=1)]
    reason: str


class EventsPage(Struct, frozen=True, kw_only=True, rename={"first": "from", "after": "next"}):
    """A part of a session's log.

    Attributes:
        version: of this shape.
        session_id: whose it is.
        epoch: names the log's numbers.
        head: the last entry's number.
        first: where this part begins: the number after the cursor's.
        after: the cursor to go on from. It passes what `kinds` has left out, too.
        more: there is more already.
        reset: the cursor was one of another epoch, so this begins with the oldest that is kept.
        gap: what was wanted and is no more.
        events: in order.
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
    """How a session is."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING_FOR_ANSWER = "waiting_for_answer"
    """The agent has asked something."""
    FAILED = "failed"
    """Its last turn failed, or its agent cannot take it up; nothing runs."""
    ENDED = "ended"
    LOST = "lost"
    """Its process died; who attaches brings it back."""


class AgentNamed(Struct, frozen=True):
    """What an agent calls itself."""

    name: str
    version: str | None


class ViewerCount(Struct, frozen=True):
    """How many look at a session."""

    controllers: _Count = 0
    observers: _Count = 0


class LastFailure(Struct, frozen=True, kw_only=True):
    """The last turn that failed.

    Attributes:
        type: what went wrong.
        sentence: the same for a person, with what to do, in lastword's own words.
        retryable: would the same prompt help later?
        at_epoch_ms: when.
        reason: what exactly, as a word.
        action: what the user can do.
        incident_id: what a user can quote.
        seq: its entry in the log; 0 where it has none.
    """

    type: ErrorType
    sentence: str
    retryable: bool
    at_epoch_ms: int
    reason: str | None = None
    action: Action | None = None
    incident_id: str | None = None
    seq: _Count = 0


class SessionView(Struct, frozen=True, kw_only=True):
    """A session.

    Attributes:
        id: its id.
        state: how it is.
        since_epoch_ms: since when it is so.
        agent: what its agent calls itself.
        viewers: who looks at it.
        questions: how many of the agent's wait for an answer.
        epoch: names its log's numbers.
        head: the last entry's number.
        first: the oldest entry that is kept.
        last_failure: the last turn that failed.
        title: as the agent named it; for a controller with `content=1`, since a prompt is in it.
        cwd: where it works; for controllers.
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


class SessionList(Struct, frozen=True, kw_only=True):
    """The sessions that whoever asks may see, the latest change first.

    Attributes:
        version: of this shape.
        role: what whoever asks may do.
        sessions: those that run, and the latest of those that have ended.
        more: so many more have ended.
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
        count: how often it was measured.
        p50_seconds: half of them took no longer; null where there are none.
        p95_seconds: of twenty, nineteen took no longer; 30 at most.
    """

    count: _Count
    p50_seconds: float | None
    p95_seconds: float | None


class GatewayCounts(Struct, frozen=True, kw_only=True):
    """What the gateway's front has counted.

    Attributes:
        since_epoch_ms: since when; a front that is started anew begins anew.
        sessions: sessions by their state, now.
        viewers: who looks at them, now.
        closed: viewers' WebSockets by the code that they closed with; `other` for rare ones.
        round_trips: to viewers and back, by who measured: `websocket` (its pings), `viewer`.
        attaches: from a request that opens, loads or resumes a session to its result, by method.
        client_errors: what pages and connectors reported, by its word.
    """

    since_epoch_ms: int
    sessions: dict[str, int]
    viewers: ViewerCount
    closed: dict[str, int]
    round_trips: dict[str, DurationSeen]
    attaches: dict[str, DurationSeen]
    client_errors: dict[str, int]


class StatsView(Struct, frozen=True, kw_only=True):
    """Sums over the last days and the days before: as `lastword stats --json`, and the gateway's.

    Attributes:
        version: of this shape.
        days: how many.
        from_epoch_ms: the first of them.
        to_epoch_ms: now.
        now: what the record has of these days; null where there is no record.
        before: the same of as many days before.
        gateway: what the gateway counts itself.
    """

    version: int
    days: int
    from_epoch_ms: int
    to_epoch_ms: int
    now: Period | None
    before: Period | None
    gateway: GatewayCounts


class ClientSource(StrEnum):
    """Who reports."""

    PAGE = "page"
    CONNECT = "connect"


class ClientEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error of a page's or a connector's own. It has no member that could hold content.

    Attributes:
        source: who reports.
        word: what failed, as a word of low cardinality; `protocol/words.json` has those of a link.
        session_id: the session that it was at, if any.
        code: a close code.
        status: an HTTP status.
        tries: how many attempts were made.
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
    """A report was taken.

    Attributes:
        version: of this shape.
        seq: its entry in the session's log; null where no session runs that it is about, and
            where failures are reported (`--report-to`) it is a report then.
    """

    version: int
    seq: Annotated[int, Meta(ge=1)] | None


class ApiProblem(Struct, frozen=True):
    """Why a request was refused.

    Attributes:
        error: what is wrong and what to do, for a person.
        reason: the same as a word; `protocol/words.json` has those of a link.
    """

    error: str
    reason: str


class Healthy(Struct, frozen=True):
    """The front answers."""

    status: str = "ok"


def encode(value: Any) -> bytes:
    """One of these as JSON."""
    return msgspec.json.encode(value)
