"""The line protocol between the nodes of a fleet.

It is spoken on a connection between two nodes (`fleet.node_link`), by a viewer's front and the
holder of its session, or by two fronts.

Owns its version and its control lines. A line that begins with `!` is a control line, and every
other is an ACP frame, which has no line ends within. A node of version n talks to nodes of
versions n and n - 1.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import struct
import sys
from typing import Any, NamedTuple, TypeAlias

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of

VERSION = 2

CONTROL = b"!"

LINE_LIMIT_BYTES = 80 * 1024 * 1024
"""The longest line that either end reads: the largest frame, and what is put around it."""

HELLO = "hello"
"""Front: who the viewer of this connection is. The first line. With `checked`, every frame behind
it has passed `viewer_frames.read` at the front, and is not checked for ambiguity again; its rights
and paths are."""
WELCOME = "welcome"
"""Holder: what its agent said of itself, and which sessions it has."""
LEAVE = "leave"
"""Front: the viewer's socket has closed, with this code, for this cause."""
SHUT = "shut"
"""Holder: the viewer's socket is to be closed with this code and reason; if a `session` is named,
only if it carries no other. Nothing more comes of that session."""
ANSWER_FIRST = "answer-first"
"""Front: the next attach is answered before the past is sent, since nobody reads that yet."""
EVENTS = "events"
"""Holder: frames of a session with their places in its log. Only where the front's hello had
`events`, and then all that comes from a log."""
RESUME = "resume"
"""Front: the viewer goes back to this place of a session, or begins there with its next attach."""
RESUMED = "resumed"
"""Holder: it has, and what comes now is from there on; or why it cannot."""
BLOCK = "block"
"""Holder: this many bytes follow, whole WebSocket frames for the viewer's socket as they are. Only
where the front's hello had `framed`."""
STATUS = "status"
"""Front: how are you? Holder: so. `quality` came later than the rest: a holder without it counts
for nothing, and a front that does not know it passes it by."""
EVENTS_PAGE = "events-page"
"""Front: a part of a session's log as events, once there is some. Holder: this one."""
NOTE = "note"
"""Front: a client reported an error of its own at a session. Holder: it is this entry."""
ANSWER = "answer"
"""Front: answer a question by a code. Holder: what has become of it. Only the holder that has made
a code has its question, so no older one needs to know this."""
OPENER = "opener"
"""Another node's front: which holder of yours is for this `session/new`? Front: the one there."""
OF_SESSION = "of-session"
"""Another node's front: where is this session of yours, which has no owner? Front: there now."""
SPARE = "spare"
"""Another node's front: a holder without a session, please. Front: the one there."""
PLACE = "place"
"""Fact of an answer to these three, and of a `STATUS` in a fleet: where that holder listens for
other nodes."""

ANSWERED, DECIDED, GONE = "answered", "decided", "gone"
"""Outcomes of an `ANSWER`: it is answered by this; it had been decided; this holder has none."""

UNKNOWN = "unknown"
REFUSED = "refused"
PAGE = "page"
"""Facts of an answer to these: the session is not here; the cursor is not in its log; the part."""


OF_A_VIEWER = frozenset({LEAVE, RESUME, ANSWER_FIRST})
"""What is taken over a connection that has a viewer, and over no other; the rest is taken before
it has one."""

_SPACES = bytes.maketrans(b"\r\n", b"  ")


def one_line(frame: bytes) -> bytes:
    """Return a JSON text without line ends; they stand only between its tokens."""
    return frame.translate(_SPACES) if b"\n" in frame or b"\r" in frame else frame


def control(word: str, **facts: Any) -> bytes:
    """Return a control line without its line end."""
    return CONTROL + jsonrpc.dumps({"word": word} | facts)


def block(frames: bytes) -> bytes:
    """Return encoded frames, preceded by the line that announces them."""
    return control(BLOCK, bytes=len(frames)) + b"\n" + frames


class Control(NamedTuple):
    """A control line: a word and its facts."""

    word: str
    facts: dict[str, Any]


Lines: TypeAlias = list[bytes]
"""ACP frames that came in one read, one behind the other."""


class Incoming:
    """Data from a holder, split into complete parts."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._wanted = 0
        """How many bytes of a block are to come."""

    def feed(self, data: bytes) -> list[Lines | Control | bytes]:
        """Take in what was read; return frames, control lines and encoded blocks in order."""
        self._rest += data
        found: list[Lines | Control | bytes] = []
        at = 0
        while (step := self._step(at)) is not None:
            at, item = step
            if item is not None:
                found.append(item)
        del self._rest[:at]
        return found

    def _step(self, at: int) -> tuple[int, Lines | Control | bytes | None] | None:
        rest = self._rest
        if self._wanted:
            end = at + self._wanted
            if len(rest) < end:
                return None
            self._wanted = 0
            return end, bytes(rest[at:end])
        if rest[at : at + 1] == CONTROL:
            end = rest.find(b"\n", at)
            return self._controlled(at, end) if end >= 0 else None
        # Frames up to the next control line, else up to the last whole one.
        end = rest.find(b"\n" + CONTROL, at)
        end = end if end >= 0 else rest.rfind(b"\n", at)
        return (end + 1, bytes(rest[at:end]).split(b"\n")) if end >= 0 else None

    def _controlled(self, at: int, end: int) -> tuple[int, Control | None]:
        word, facts = read_control(bytes(self._rest[at:end]))
        if word != BLOCK:
            return end + 1, Control(word, facts)
        size = facts.get("bytes")
        self._wanted = size if isinstance(size, int) else 0
        return end + 1, None


def read_control(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return a control line's word and facts; an empty word if it is not one."""
    facts = object_of(jsonrpc.loads(line[len(CONTROL) :])) if line[:1] == CONTROL else {}
    word = facts.pop("word", "")
    return (word if isinstance(word, str) else ""), facts


def name_of(session_id: str) -> str:
    """Return the name of a session's files; its id may contain what file names cannot."""
    return hashlib.sha256(session_id.encode(errors="surrogatepass")).hexdigest()[:24]


async def close_server(server: asyncio.Server) -> None:
    """Stop listening, and leave nothing open of who connected a moment before.

    asyncio accepts in one round of its loop and attaches the connection in the next; a server
    that is closed between them leaves it open.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    for _ in range(2):
        await asyncio.sleep(0)
    server.close()


def peer_user(connection: socket.socket) -> int | None:
    """Return the user at the other end of a Unix socket; `None` if the system does not say."""
    if sys.platform == "darwin":
        return _macos_peer_user(connection)
    if sys.platform != "linux":
        return None
    credentials = connection.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    user: int = struct.unpack("3i", credentials)[1]
    return user


_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76
"""macOS' sys/un.h and sys/ucred.h: a version, the user, and the user's groups."""


def _macos_peer_user(connection: socket.socket) -> int | None:
    credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
    version, user = struct.unpack_from("=II", credentials)
    return int(user) if version == 0 else None
