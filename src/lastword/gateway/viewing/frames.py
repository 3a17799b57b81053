"""Frames of viewers: ids in them, the check of a message, and encoded WebSocket frames.

The ids of requests: questions to viewers, and numbers to the agent. Owns the form of a question's
id, `lastword:SESSION:NUMBER`. A question has the same id for every viewer and on every socket, so
that an answer can be sent again.

A viewer's message: one JSON-RPC message on one line, which every parser reads alike. Owns the check
of input from outside before anything is decided on it. JSON allows line ends between tokens, where
a later reader would split the message, and a name twice in one object, where parsers choose
differently.

Encoded WebSocket frames. Owns the bytes of a server's text frame (RFC 6455, 5.2): a header of two
to ten bytes, no mask. A frame for several viewers is encoded once, and many frames are written
together. uvicorn's own way costs 5.7 µs for each frame and viewer.
"""

from __future__ import annotations

import json
import re
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway import wire
from lastword.gateway.wire import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_ID = re.compile(rb'"lastword:([0-9a-f]{8}):([0-9]{1,15})"')
_NUMBER = re.compile(rb"[0-9]{1,16}")
_SESSION_CHARS = 8

_SERVED = re.compile(r"(?!\.{1,2}\Z)[!-~](?:[ -~]{0,510}[!-~])?")
"""Session ids that read the same in a header, a URL and a message; a URL loses `.` and `..`."""

_UNIQUE = re.compile(
    r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[0-9A-Za-z]{20,}"
)
"""Those that no two agents give: they have a UUID in them, or as long a random part."""


def session_name(agents_id: str, *, in_fleet: bool) -> str:
    """Return a new session's id for viewers: its agent's, or a generated one.

    The agent's may be unfit for a header or a URL, or one that another node's agent gives as well.
    """
    stem = agents_id if _SERVED.fullmatch(agents_id) else "session"
    is_unique = stem == agents_id and (not in_fleet or _UNIQUE.search(stem))
    return stem if is_unique else f"{stem}-{secrets.token_hex(8)}"


def session_key(session_id: str) -> str:
    """Return the key that identifies a session in the ids of its questions."""
    return name_of(session_id)[:_SESSION_CHARS]


def question_id(key: str, number: int) -> bytes:
    """Return a question's id, as JSON text."""
    return f'"lastword:{key}:{number}"'.encode()


def read_question_id(request_id: bytes | None) -> tuple[str, int]:
    """Return the session's key and the question's number; an empty key for any other id."""
    match = _ID.fullmatch(request_id or b"")
    return (match[1].decode(), int(match[2])) if match else ("", 0)


def number_of(request_id: bytes | None) -> int:
    """Return the number of a request to the agent; 0 for any other id."""
    match = _NUMBER.fullmatch(request_id or b"")
    return int(match[0]) if match else 0


AMBIGUOUS = "This message can be read in two ways: {}."

_ENVELOPE = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_PARAMS = frozenset(
    {"sessionId", "cwd", "additionalDirectories", "mcpServers", "requestId", "prompt", "_meta"}
)
"""The members that a decision may depend on. Go's JSON parser reads names in any case."""


class FrameError(Exception):
    """A message that is not passed on.

    Attributes:
        request_id: the id of the request that is to be answered (JSON text); `null` if unknown.
        error: the JSON-RPC error object of the answer.
    """

    def __init__(self, error: dict[str, Any], request_id: bytes = jsonrpc.NULL_ID) -> None:
        super().__init__(str(error["message"]))
        self.error = error
        self.request_id = request_id

    @property
    def answer(self) -> bytes:
        """Return the answer to the viewer."""
        return jsonrpc.error(self.request_id, self.error)


def read(text: bytes) -> jsonrpc.Frame:
    """Return a viewer's message as a frame without line ends.

    Raises:
        FrameError: It is not one message, or parsers could read it differently.
    """
    frame = read_checked(text)
    line = wire.one_line(frame.line)
    try:
        try:
            value = _decoder.decode(frame.readable.decode())
        except RecursionError:  # nested deeper than this parser goes, but not than msgspec does
            value = _decoder.decode((jsonrpc.without_depths(frame.line) or b"").decode())
        params = value.get("params")
        _look_at_case(value, _ENVELOPE)
        _look_at_case(params, _PARAMS)
        _look_at_text(value, "method")
        _look_at_text(params, "sessionId")
    except _MemberError as error:
        wrong = {"code": acp.INVALID_REQUEST, "message": AMBIGUOUS.format(error)}
        raise FrameError(wrong, frame.message.request_id or jsonrpc.NULL_ID) from None
    except ValueError:  # as of a number of thousands of digits
        raise FrameError(wire.NOT_JSON) from None
    return frame if line is frame.line else jsonrpc.Frame(line, frame.message, frame.shallow)


def read_checked(line: bytes) -> jsonrpc.Frame:
    """Return a message that the front has checked, and that is unchanged since.

    Raises:
        FrameError: It is not one message.
    """
    frame = jsonrpc.decode(line)
    if not isinstance(frame, jsonrpc.Frame):
        raise FrameError(wire.BATCH if line.lstrip()[:1] == b"[" else wire.NOT_JSON)
    return frame


class _MemberError(Exception):
    """A member that parsers read differently."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _MemberError(f"an object has {json.dumps(twice[:40])} twice")
    return members


_decoder = json.JSONDecoder(object_pairs_hook=_members)


def _look_at_case(members: object, known: frozenset[str]) -> None:
    if not isinstance(members, dict) or members.keys() <= known:
        return
    folded = {name.casefold() for name in known}
    for name in members.keys() - known:
        if name.casefold() in folded:
            raise _MemberError(
                f"{json.dumps(name[:40])} differs from a name of ACP by its case alone"
            )


def _look_at_text(members: object, name: str) -> None:
    value = members.get(name) if isinstance(members, dict) else None
    if value is not None and not isinstance(value, str):
        raise _MemberError(f"{json.dumps(name[:40])} is not a string")


BLOCK_BYTES = 64 * 1024
"""Frames are joined up to this size, which bounds the memory of a lagging viewer."""

_TEXT = b"\x81"
_SHORT, _LONG = 125, 0xFFFF


@lru_cache(maxsize=4096)
def _header(size: int) -> bytes:
    if size <= _SHORT:
        return _TEXT + bytes((size,))
    if size <= _LONG:
        return _TEXT + b"\x7e" + size.to_bytes(2)
    return _TEXT + b"\x7f" + size.to_bytes(8)


def text_frames(messages: Sequence[bytes]) -> Iterator[bytes]:
    """Return blocks of whole frames, one for each message, which must be valid UTF-8."""
    block: list[bytes] = []
    size = 0
    for message in messages:
        length = len(message)
        if size and size + length > BLOCK_BYTES:
            yield b"".join(block)
            block.clear()
            size = 0
        block.append(_header(length))
        block.append(message)
        size += length
    if block:
        yield b"".join(block)
