"""Entries of a session's log: messages and events, as frozen values.

Owns the kinds of entries and their members. A frame in an entry has the bytes that came; `render`
makes the frames that viewers are sent.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import msgspec


class LogKind(StrEnum):
    """The kind of an entry."""

    OUT = "out"
    """A notification of the agent's."""
    ASK = "ask"
    """A request of the agent's, which somebody has to answer."""
    TOLD = "told"
    """How such a request was answered, and by whom."""
    IN = "in"
    """A request or a notification of a viewer's, which has reached the agent."""
    END = "end"
    """The answer to a viewer's request, failures included."""
    LIFE = "life"
    """What happened to the session or its viewers."""


class About(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What is known about an entry beside its frame.

    Attributes:
        viewer: the viewer that sent it, that it answers, or that it is about.
        request: the id of that viewer's request (JSON text).
        number: the gateway's own number of a request: of `in` and `end` the one towards the agent,
            of `ask` and `told` the one towards viewers.
        turn: of a prompt and of its end: the number of the turn, as `lastword run` behind the same
            holder records it; 0 in entries of older versions.
        session: the agent's session that the frame names, if the log holds several (forks).
        method: of a request.
        word: of `life` what happened, of `told` how it was decided; a low-cardinality word.
        facts: of `life`: further facts, without content.
        failure: of `end`: the payload of the failure.
        shown: of a retry: viewers that do not know retries get a line about it.
    """

    viewer: str = ""
    request: bytes = b""
    number: int = 0
    turn: int = 0
    session: str = ""
    method: str = ""
    word: str = ""
    facts: dict[str, Any] = {}
    failure: dict[str, Any] | None = None
    shown: bool = False


NOTHING = About()


class LogEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry.

    Attributes:
        kind: its kind.
        at_ms: its time, in milliseconds since 1970 UTC.
        frame: the bytes of the frame as it came, without its line end; empty for `life`.
        about: what is known beside the frame.
        is_text: of `out`: it is a piece of the agent's text or thoughts, as most are. It is
            classified where the agent's line is decoded; entries of older versions are not.
    """

    kind: LogKind
    at_ms: int
    frame: bytes = b""
    about: About = NOTHING
    is_text: bool = False

    @property
    def size(self) -> int:
        """Return its size in bytes, for limits."""
        return len(self.frame) + OVERHEAD_BYTES


OVERHEAD_BYTES = 48
"""What an entry takes beside its frame, about."""


class Numbered(NamedTuple):
    """An entry with its sequence number, which is dense and begins with 1."""

    seq: int
    entry: LogEntry


class Cursor(msgspec.Struct, frozen=True):
    """A position in one log: everything up to `seq` has been applied.

    A number means nothing in a log of another `epoch`.
    """

    epoch: str
    seq: int


MAX_SEQ = 2**53 - 1
"""The largest whole number that every JSON reader keeps."""


class Gap(msgspec.Struct, frozen=True):
    """Entries that are no longer kept, reported in their place.

    Attributes:
        first: the first of them.
        last: the last of them.
        reason: `trimmed` if the log's size or age limit removed them.
    """

    first: int
    last: int
    reason: str = "trimmed"
