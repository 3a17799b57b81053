"""Session ids: the client's name for a session, and the agent's.

They differ if a restarted agent gives a new session the id of one that is not restored yet, as
agents do that count from 1 in each process: the new session then gets an id of ours. Owns the two
names of such a session, and the frames under either name. Everything inside this layer knows only
the client's names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from lastword.core.link.effects import FORWARD, Answer, Effect, Send, Side
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from lastword.core.protocol.jsonrpc import Frame

MAX_NAME_CHARS = 64
"""What an id of ours has of the agent's own, for who reads a log of both."""

GIVES_NAME = frozenset({"session/new", acp.FORK})
"""Requests whose answer names a session that was not there before."""


class Names:
    """The sessions that have two names.

    Attributes:
        ours: the client's name of each, by the agent's.
        theirs: the agent's name of each, by the client's.
    """

    __slots__ = ("_given", "ours", "theirs")

    def __init__(self) -> None:
        self.ours: dict[str, str] = {}
        self.theirs: dict[str, str] = {}
        self._given = 0

    def give(self, theirs: str, reserved: Container[str]) -> str:
        """Name a new session; an earlier session with the same agent's name loses its own."""
        self.release(theirs)
        ours = theirs
        while ours in reserved or ours == theirs:
            self._given += 1
            ours = f"{theirs[:MAX_NAME_CHARS]}-lastword-{self._given}"
        self.ours[theirs], self.theirs[ours] = ours, theirs
        return ours

    def release(self, theirs: str) -> str | None:
        """Let the agent's name stand for itself again; return the session that it stood for."""
        ours = self.ours.pop(theirs, None)
        if ours is not None:
            del self.theirs[ours]
        return ours

    def for_agent(self, effects: list[Effect], frame: Frame | None) -> list[Effect]:
        """Rename what goes to the agent; `frame` is the client's that `Forward` passes.

        Without a session with two names, every effect is unchanged.
        """
        return [self._for_agent(effect, frame) for effect in effects] if self.theirs else effects

    def _for_agent(self, effect: Effect, frame: Frame | None) -> Effect:
        if effect is FORWARD and frame is not None:
            line = exchanged(frame.line, self.theirs)
            return effect if line is frame.line else Send(Side.AGENT, line)
        if isinstance(effect, Send | Answer) and effect.to is Side.AGENT:
            return msgspec.structs.replace(effect, frame=exchanged(effect.frame, self.theirs))
        return effect


def new_session(frame: Frame) -> str | None:
    """Return the session named by an answer to a request of `GIVES_NAME`."""
    given = object_of(jsonrpc.loads(frame.message.result)).get("sessionId")
    return given if isinstance(given, str) else None


def under(frame: Frame, names: Mapping[str, str]) -> Frame:
    """Return the frame with these sessions renamed, or the frame itself if it names none."""
    line = exchanged(frame.line, names)
    decoded = frame if line is frame.line else jsonrpc.decode(line)
    return decoded if isinstance(decoded, jsonrpc.Frame) else frame


def exchanged(line: bytes, names: Mapping[str, str]) -> bytes:
    """Return the line with these sessions renamed, or the line itself if it names none.

    A session is named by `sessionId` in the params or in the result, and in a result's list of
    sessions. Everything else is unchanged.
    """
    try:
        return _exchanged(line, names)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # A lone surrogate, which JSON allows and msgspec rejects.
        message = object_of(jsonrpc.loads(line))
    changed = False
    for key in ("params", "result"):
        members = object_of(message.get(key))
        for holder in (members, *_objects(members.get("sessions"))):
            new = names.get(str(holder.get("sessionId")))
            if new is not None:
                holder["sessionId"], changed = new, True
    return jsonrpc.dumps(message) if changed else line


def _exchanged(line: bytes, names: Mapping[str, str]) -> bytes:
    message = msgspec.json.decode(line, type=dict[str, Raw])
    changed = False
    for key in ("params", "result"):
        raw = message.get(key)
        if raw is None or bytes(raw)[:1] != b"{":
            continue
        members = msgspec.json.decode(raw, type=dict[str, Raw])
        renamed = _with_name(members, names)
        listed = members.get("sessions")
        if listed is not None and bytes(listed)[:1] == b"[":
            sessions = msgspec.json.decode(listed, type=list[Raw])
            entries = [_entry(session, names) for session in sessions]
            if entries != sessions:
                members["sessions"], renamed = Raw(msgspec.json.encode(entries)), True
        if renamed:
            message[key], changed = Raw(msgspec.json.encode(members)), True
    return msgspec.json.encode(message) if changed else line


def _entry(session: Raw, names: Mapping[str, str]) -> Raw:
    if bytes(session)[:1] != b"{":
        return session
    members = msgspec.json.decode(session, type=dict[str, Raw])
    return Raw(msgspec.json.encode(members)) if _with_name(members, names) else session


def _with_name(members: dict[str, Raw], names: Mapping[str, str]) -> bool:
    """Rename the session of these members, if it is one of these."""
    named = jsonrpc.loads(members.get("sessionId", UNSET))
    new = names.get(named) if isinstance(named, str) else None
    if new is not None:
        members["sessionId"] = Raw(msgspec.json.encode(new))
    return new is not None


def _objects(values: Any) -> list[dict[str, Any]]:
    return [object_of(value) for value in values] if isinstance(values, list) else []
