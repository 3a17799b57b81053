"""The timeline's entries: what happened, when, to which session.

Owns the entry's shape and its kinds. Keeping and showing entries is not the core's part.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Kind(StrEnum):
    """What an entry tells."""

    CLIENT_ATTACHED = "client_attached"
    CLIENT_GONE = "client_gone"
    AGENT_READY = "agent_ready"
    AGENT_EXITED = "agent_exited"
    AGENT_RESTARTED = "agent_restarted"
    SESSION_RESUMED = "session_resumed"
    CONTEXT_LOST = "context_lost"
    PROMPT = "prompt"
    FIRST_UPDATE = "first_update"
    ASKED = "asked"
    USER_ANSWERED = "user_answered"
    CANCEL = "cancel"
    STOP = "stop"
    WARNING = "warning"
    ANSWER = "answer"
    ERROR = "error"
    FRAME_DROPPED = "frame_dropped"
    FRAME_REPAIRED = "frame_repaired"
    QUARANTINED = "quarantined"
    RELEASED = "released"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened. Holds no content of a conversation, and no secret.

    Attributes:
        kind: what happened.
        at_seconds: the monotonic time that the shell gave.
        session_id: the session it happened in, where there is one.
        request_id: the JSON text of the request it is about, where there is one.
        facts: what else is known, as plain JSON values.
    """

    kind: Kind
    at_seconds: float
    session_id: str | None = None
    request_id: str | None = None
    facts: dict[str, Any] = {}
