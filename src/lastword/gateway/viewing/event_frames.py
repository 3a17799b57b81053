"""Events of a session's stream over HTTP: their ids, which are positions in its log.

Owns the form of an id, `EPOCH:SEQ`, and how a holder passes frames with their positions to a
front. If an entry is sent as several frames, all but the last have the id `EPOCH:SEQ.PART`, so
that a stream that breaks off between them resumes with the next frame.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.protocol.tolerant import object_of
from lastword.gateway import wire
from lastword.gateway.viewing.reader import CursorError, cursor_of

if TYPE_CHECKING:
    from lastword.gateway.log.entries import Cursor
    from lastword.gateway.viewing.render import Placed

_ID = re.compile(r"(?P<epoch>[0-9A-Za-z_-]{1,64}):(?P<seq>[0-9]{1,16})(?:\.(?P<part>[0-9]{1,6}))?")


class StreamEvent(NamedTuple):
    """A frame on a stream.

    Attributes:
        frame: the frame.
        id: the viewer's position once it has applied it; empty if an earlier id still holds.
        is_kept: it is in the log, and is sent again if the viewer goes back.
    """

    frame: bytes
    id: str = ""
    is_kept: bool = False

    @property
    def encoded(self) -> bytes:
        """Return the bytes on the stream."""
        told = f"id: {self.id}\n".encode() if self.id else b""
        return b"%bdata: %b\n\n" % (told, wire.one_line(self.frame))


class LogPlace(NamedTuple):
    """A viewer's position: a cursor, and how many frames of the next entry it has had."""

    cursor: Cursor
    parts: int = 0


def read_id(text: str) -> LogPlace:
    """Return the position that an event's id names.

    Raises:
        CursorError: It is not the id of an event.
    """
    found = _ID.fullmatch(text)
    if found is None:
        raise CursorError("Last-Event-ID is the id of an event of this session")
    seq, parts = int(found["seq"]), int(found["part"] or 0)
    # Of an entry that was sent in part the one before it is the last that has been applied.
    cursor = cursor_of({"epoch": found["epoch"], "seq": seq - 1 if parts else seq})
    return LogPlace(cursor, parts)


def place_facts(place: LogPlace) -> dict[str, Any]:
    """Return a position as facts of a control line."""
    cursor, parts = place
    return {"epoch": cursor.epoch, "seq": cursor.seq, "parts": parts}


def place_of(facts: dict[str, Any]) -> LogPlace:
    """Return a position from the facts of a control line.

    Raises:
        CursorError: They do not name one.
    """
    parts = facts.get("parts")
    return LogPlace(cursor_of(facts), parts if isinstance(parts, int) else 0)


def stream_events(epoch: str, placed: list[Placed]) -> list[StreamEvent]:
    """Return frames with their places as events."""
    return [
        StreamEvent(
            frame, f"{epoch}:{seq}{f'.{part}' if part else ''}" if seq else "", is_kept=True
        )
        for seq, part, frame in placed
    ]


def events_facts(events: list[StreamEvent]) -> list[list[str]]:
    """Return events as a fact of a control line."""
    return [[event.frame.decode(), event.id] for event in events]


def events_of(facts: dict[str, Any]) -> list[StreamEvent]:
    """Return the events of such a line."""
    events = object_of(facts).get("events")
    return [
        StreamEvent(str(frame).encode(), str(name), is_kept=True)
        for frame, name in (events if isinstance(events, list) else ())
    ]
