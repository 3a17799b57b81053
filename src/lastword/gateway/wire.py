"""The words between a viewer's front and the holder of its session, or between two fronts.

Owns them, what gateway and connector both need for messages, addresses and connections, and the
version of what nodes send each other (`fleet.node_link`). Between two nodes a word goes over a
link, and within one process it is a call. A node of version n talks to nodes of versions n and
n - 1, but not of one below `OLDEST`.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import socket
import struct
import sys
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, UnsetType

from lastword.core.protocol import acp, jsonrpc

VERSION = 3
OLDEST = 3
"""Nodes of version 2 reached each other by their own connections, not over the servers."""

HELLO = "hello"
"""Front: who the viewer of this link is, and which holder it is for. Every frame behind it has
passed `viewer_frames.read` at the front, and is not checked for ambiguity again; its rights and
paths are."""
WELCOME = "welcome"
"""Holder: what its agent said of itself, or why it has none."""
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
STATUS = "status"
"""Front: is this holder running? Its node: so it is."""
EVENTS_PAGE = "events-page"
"""Front: a part of a session's log as events, once there is some. Holder: this one."""
NOTE = "note"
"""Front: a client reported its own error at a session. Holder: it is this entry."""
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
"""Fact of an answer to these three: where other nodes reach that holder."""

ANSWERED, DECIDED, GONE = "answered", "decided", "gone"
"""Outcomes of an `ANSWER`: it is answered by this; it had been decided; this holder has none."""

UNKNOWN = "unknown"
REFUSED = "refused"
PAGE = "page"
"""Facts of an answer to these: the session is not here; the cursor is not in its log; the part."""

NOT_JSON: dict[str, Any] = {
    "code": acp.PARSE_ERROR,
    "message": "This is not a JSON-RPC message.",
}
BATCH: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "Batches are not supported. Send one message.",
}
"""The errors of what is not one message."""

_SPACES = bytes.maketrans(b"\r\n", b"  ")


def one_line(frame: bytes) -> bytes:
    """Return a JSON text without line ends; they stand only between its tokens."""
    return frame.translate(_SPACES) if b"\n" in frame or b"\r" in frame else frame


def cancel_of(frame: jsonrpc.Frame) -> bytes | None:
    """Return the id (JSON text) of the request that a `$/cancel_request` names."""
    params = frame.message.params
    raw = params.request_id if isinstance(params, jsonrpc.Params) else UNSET
    return None if isinstance(raw, UnsetType) else jsonrpc.same_id(bytes(raw))


class Control(NamedTuple):
    """A word and its facts."""

    word: str
    facts: dict[str, Any]


Lines: TypeAlias = list[bytes]
"""ACP frames that came together, one behind the other."""


def name_of(session_id: str) -> str:
    """Return the name of a session's files; its id may contain what file names cannot."""
    return hashlib.sha256(session_id.encode(errors="surrogatepass")).hexdigest()[:24]


class MovesProtocol(asyncio.Protocol):
    """A part of a connection that knows whether anything moves on it, such as parts of a frame."""

    transport: asyncio.Transport
    _has_heard = False
    _unsent = 0

    def data_received(self, data: bytes) -> None:
        """Receive data, which may be a part of a frame."""
        self._has_heard = True
        super().data_received(data)

    def has_moved(self) -> bool:
        """Return whether bytes have come or gone since the last look."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        has_heard, self._has_heard = self._has_heard, False
        return has_heard or self._unsent < before


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


def is_loopback(name: str) -> bool:
    """Return whether this is a name or an address of this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76
"""macOS' sys/un.h and sys/ucred.h: a version, the user, and the user's groups."""


def peer_user(connection: socket.socket) -> int | None:
    """Return the user at the other end of a Unix socket; `None` if the system does not say."""
    if sys.platform == "darwin":
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        version, user = struct.unpack_from("=II", credentials)
        return int(user) if version == 0 else None
    if sys.platform != "linux":
        return None
    credentials = connection.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    return int(struct.unpack("3i", credentials)[1])
