"""Timeline entries: what happened, when, and in which session and turn.

Owns the shape of an entry, the kinds and their levels. `lastword.record` stores entries, and
`core.timeline.summary` summarises them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """The kind of an entry; `core.timeline.session_events` has a row for each."""

    CLIENT_ATTACHED = "client_attached"
    CLIENT_DETACHED = "client_detached"
    """Nobody is connected for now; open turns and questions stay open."""
    CLIENT_GONE = "client_gone"
    SHUTDOWN = "shutdown"
    """lastword was asked to stop."""
    AGENT_STARTED = "agent_started"
    AGENT_READY = "agent_ready"
    AGENT_EXITED = "agent_exited"
    AGENT_RESTARTED = "agent_restarted"
    SESSION_CREATED = "session_created"
    SESSION_RESUMED = "session_resumed"
    CONTEXT_LOST = "context_lost"
    PROMPT = "prompt"
    FIRST_PROGRESS = "first_progress"
    """The first update of a turn, of any kind."""
    FIRST_OUTPUT = "first_output"
    """The first text, or the first tool call, of a turn."""
    TOOL_STARTED = "tool_started"
    TOOL_ENDED = "tool_ended"
    DELEGATED = "delegated"
    """The agent had the client write a file, or run a command."""
    ASKED = "asked"
    """The user was asked: a permission, or a form to fill in."""
    USER_ANSWERED = "user_answered"
    QUESTION_REMINDED = "question_reminded"
    """The user was reminded of a question that waits."""
    QUESTION_EXPIRED = "question_expired"
    """Nobody answered a question in time, so lastword did."""
    MODEL_REQUEST = "model_request"
    """The agent's runtime has sent a request to a model provider, and it is over."""
    RETRY = "retry"
    """The model call is going to be tried again."""
    LIMIT_WAIT = "limit_wait"
    """The turn waits for the end of a limit."""
    MODEL_SWITCH = "model_switch"
    """Another model is chosen after a failure, the former one comes back, or the agent refuses."""
    CONTINUED = "continued"
    """The limit has ended, or there is another model, and the turn continues."""
    COST = "cost"
    """A turn has cost something, as its agent states it."""
    SPEND_LIMIT = "spend_limit"
    """The user's spending limit is near or reached, or has no effect."""
    SILENCE = "silence"
    """The watchdog found nothing to see for a while, and waits on."""
    STDERR = "stderr"
    """A burst on stderr."""
    CANCEL = "cancel"
    """A turn is to stop; `by` says whose wish that is."""
    ANSWER = "answer"
    ERROR = "error"
    FRAME_DROPPED = "frame_dropped"
    FRAME_REPAIRED = "frame_repaired"
    QUARANTINED = "quarantined"
    RELEASED = "released"
    OMITTED = "omitted"
    """This many entries are missing here."""
    SESSION_HELD = "session_held"
    """A gateway's holder has the session, for viewers that come and go."""
    SESSION_FENCED = "session_fenced"
    """Another holder of the fleet has the session now; this one has stopped."""
    VIEWER_CAME = "viewer_came"
    VIEWER_LEFT = "viewer_left"
    VIEWER_LAGS = "viewer_lags"
    """A viewer reads so slowly that it may fall out of the log."""
    VIEWER_CAUGHT_UP = "viewer_caught_up"
    GAP_TOLD = "gap_told"
    """A viewer was notified that entries it had not received are no longer kept."""
    QUESTION_HELD = "question_held"
    """The agent asks, and no viewer that may answer is connected."""
    QUESTION_DECIDED = "question_decided"
    """A question of the agent's is over: `how` says by whom or what."""
    HOLDER_DIED = "holder_died"
    """The gateway that held the session has ended; this one takes it over."""
    SESSION_RESTORED = "session_restored"
    SESSION_NOT_RESTORED = "session_not_restored"
    SUPERVISOR_EXITED = "supervisor_exited"
    """The link between a holder and its agent has ended."""
    LOG_RESET = "log_reset"
    """The numbers of a session's log start again, so no earlier position is valid."""
    SESSION_ENDED = "session_ended"
    # Of a gateway's log alone.
    UPDATE = "update"
    """The agent sent another kind of update."""
    REQUEST = "request"
    """A viewer sent the agent a request that is not a prompt."""
    RESULT = "result"
    """The agent answered that."""
    WAITS = "waits"
    """A line informed viewers that cannot read retries that the agent waits."""
    CLIENT_ERROR = "client_error"
    """A page or a connector reported its own error."""
    ACTIVITY = "activity"
    """The agent works on without a turn, or has become quiet."""
    LIFE = "life"
    """Something else happened to the session; `word` says what."""


class Level(StrEnum):
    """The importance of an entry."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class By(StrEnum):
    """Who wanted a turn to end early."""

    USER = "user"
    CLIENT_GONE = "client_gone"
    WATCHDOG = "watchdog"
    SHUTDOWN = "shutdown"
    AGENT = "agent"
    LASTWORD = "lastword"


LEVELS: dict[Kind, Level] = {
    Kind.CONTEXT_LOST: Level.ERROR,
    Kind.ERROR: Level.ERROR,
    Kind.AGENT_RESTARTED: Level.WARNING,
    Kind.RETRY: Level.WARNING,
    Kind.LIMIT_WAIT: Level.WARNING,
    Kind.SPEND_LIMIT: Level.WARNING,
    Kind.MODEL_SWITCH: Level.WARNING,
    Kind.SILENCE: Level.WARNING,
    Kind.CANCEL: Level.WARNING,
    Kind.FRAME_DROPPED: Level.WARNING,
    Kind.FRAME_REPAIRED: Level.WARNING,
    Kind.QUARANTINED: Level.WARNING,
    Kind.OMITTED: Level.WARNING,
    Kind.VIEWER_LAGS: Level.WARNING,
    Kind.GAP_TOLD: Level.WARNING,
    Kind.QUESTION_HELD: Level.WARNING,
    Kind.QUESTION_EXPIRED: Level.WARNING,
    Kind.HOLDER_DIED: Level.ERROR,
    Kind.SESSION_NOT_RESTORED: Level.ERROR,
    Kind.SESSION_FENCED: Level.WARNING,
    Kind.LOG_RESET: Level.WARNING,
    Kind.WAITS: Level.WARNING,
    Kind.CLIENT_ERROR: Level.ERROR,
    Kind.UPDATE: Level.DEBUG,
    Kind.FIRST_PROGRESS: Level.DEBUG,
    Kind.MODEL_REQUEST: Level.DEBUG,
    Kind.RELEASED: Level.DEBUG,
    Kind.STDERR: Level.DEBUG,
}
"""Every other kind is `INFO`; a process's exit in the middle of something is an error."""

TERMINAL = frozenset(
    {Kind.ERROR, Kind.ANSWER, Kind.AGENT_EXITED, Kind.CONTEXT_LOST, Kind.CLIENT_GONE, Kind.SHUTDOWN}
)
"""Kinds that record how something ended; a record never omits them."""


_EXITS = frozenset({Kind.AGENT_EXITED, Kind.SUPERVISOR_EXITED})


def ended_by_cancel(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer with these facts ended a cancelled turn."""
    return answer.get("stop_reason") == "cancelled" or answer.get("cancelled") is True


def level_of(kind: Kind, facts: Mapping[str, Any]) -> Level:
    """Return how much an entry of a kind with these facts matters."""
    if kind in _EXITS and facts.get("open_turns"):
        return Level.ERROR
    if kind is Kind.SESSION_RESTORED and facts.get("history") == "none":
        return Level.WARNING
    return LEVELS.get(kind, Level.INFO)


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened. Its facts hold no content of a conversation, and no secret.

    Attributes:
        kind: what happened.
        at_seconds: the monotonic time that the shell passed in.
        session_id: the session in which it happened, if any.
        turn: the number of the turn, counted from 1 within the link.
        request_id: the JSON text of the request's id, if it concerns a request.
        facts: what else is known, as plain JSON values.
        content: texts for notifications, only if the user has content sent; never recorded.
    """

    kind: Kind
    at_seconds: float
    session_id: str | None = None
    turn: int | None = None
    request_id: str | None = None
    facts: dict[str, Any] = {}
    content: dict[str, str] = {}

    @property
    def level(self) -> Level:
        """Return the importance of the entry."""
        return level_of(self.kind, self.facts)
