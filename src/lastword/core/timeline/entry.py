"""The timeline's entries: what happened, when, in which session and turn.

Owns the entry's shape, its kinds and their levels. Keeping entries is `lastword.record`'s, telling
a story from them `core.timeline.summary`'s.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """What an entry tells."""

    CLIENT_ATTACHED = "client_attached"
    CLIENT_DETACHED = "client_detached"
    """Nobody is there for now; what is open stays open."""
    CLIENT_GONE = "client_gone"
    SHUTDOWN = "shutdown"
    """We were told to stop."""
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
    RETRY = "retry"
    """The model call is going to be tried again."""
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
    """So many entries are missing here."""


class Level(StrEnum):
    """How much an entry matters."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class By(StrEnum):
    """Whose wish it was that a turn ends before its time."""

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
    Kind.SILENCE: Level.WARNING,
    Kind.CANCEL: Level.WARNING,
    Kind.FRAME_DROPPED: Level.WARNING,
    Kind.FRAME_REPAIRED: Level.WARNING,
    Kind.QUARANTINED: Level.WARNING,
    Kind.OMITTED: Level.WARNING,
    Kind.FIRST_PROGRESS: Level.DEBUG,
    Kind.RELEASED: Level.DEBUG,
    Kind.STDERR: Level.DEBUG,
}
"""Every other kind is `INFO`; an agent's exit in the middle of something is an error."""

TERMINAL = frozenset(
    {Kind.ERROR, Kind.ANSWER, Kind.AGENT_EXITED, Kind.CONTEXT_LOST, Kind.CLIENT_GONE, Kind.SHUTDOWN}
)
"""What tells how something ended: never left out of a record."""


def tells_of_cancel(answer: Mapping[str, Any]) -> bool:
    """Was the turn cancelled that ended with an answer of these facts?"""
    return answer.get("stop_reason") == "cancelled" or answer.get("cancelled") is True


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened. Holds no content of a conversation, and no secret.

    Attributes:
        kind: what happened.
        at_seconds: the monotonic time that the shell gave.
        session_id: the session it happened in, where there is one.
        turn: the number of the turn it belongs to, counted from 1 within the link.
        request_id: the JSON text of the request it is about, where there is one.
        facts: what else is known, as plain JSON values.
    """

    kind: Kind
    at_seconds: float
    session_id: str | None = None
    turn: int | None = None
    request_id: str | None = None
    facts: dict[str, Any] = {}

    @property
    def level(self) -> Level:
        """How much it matters."""
        if self.kind is Kind.AGENT_EXITED and self.facts.get("open_turns"):
            return Level.ERROR
        return LEVELS.get(self.kind, Level.INFO)
