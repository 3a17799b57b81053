"""Frames: reading an envelope without reading the rest, and writing our own frames.

Owns the bytes of a line and the parts of them that the relay looks at. A frame that is only passed
on is never encoded again. Does not know what a method means (`core.protocol.acp`).

msgspec reads the envelope, at a tenth of the cost of `json`. Whatever msgspec rejects is left to
`json`, since neither a lone surrogate, which JavaScript emits and JSON allows, nor a member of an
unexpected type may cost a legal frame. A line that is nested too deeply for both is cut into layers
that a parser can take.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

if TYPE_CHECKING:
    from collections.abc import Iterable


LAYER = 100
"""A parser's depth includes its callers, of which a guard's host may have hundreds."""

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BRACKET = re.compile(_STRING + rb'|["{}\[\]]', re.DOTALL)
_VALUE = re.compile(rb'\s*:\s*(%s|[^\s"{}\[\],:]+)' % _STRING, re.DOTALL)
_OPENING, _CLOSING, _QUOTE = frozenset(b"{["), frozenset(b"}]"), ord('"')


def without_depths(line: bytes) -> bytes | None:
    """Return the line with `null` for anything nested deeper than a layer; `None` if not JSON."""
    layers: list[list[bytes]] = [[]]
    depth = done = 0
    for match in _BRACKET.finditer(line):
        start, end = match.span()
        byte = line[start]
        if byte in _OPENING:
            if depth and depth % LAYER == 0:
                layers[-1] += [line[done:start], b"null"]
                layers.append([])
                done = start
            depth += 1
        elif byte in _CLOSING:
            depth -= 1
            if depth < 0:
                return None
            if depth and depth % LAYER == 0:
                layer = b"".join([*layers.pop(), line[done:end]])
                done = end
                if not _is_json(layer):
                    return None
        elif byte == _QUOTE and end - start == 1:
            return None  # an unterminated string
    return b"".join([*layers[0], line[done:]]) if depth == 0 else None


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError):
        pass
    else:
        return True
    constants: list[str] = []
    try:
        # `json` accepts the escape of a lone surrogate, which msgspec does not.
        json.loads(text, parse_constant=constants.append)
    except ValueError:
        return False
    return not constants  # NaN and Infinity, which `json` accepts, are not JSON


class Update(msgspec.Struct, rename="camel", gc=False):
    """The members of a `session/update`'s `update` that the relay reads."""

    session_update: str = ""
    tool_call_id: str | None = None
    status: str | None = None
    kind: str | None = None
    title: str | None = None
    state: str | None = None
    stop_reason: str | None = None
    content: Raw | UnsetType = UNSET
    raw_input: Raw | UnsetType = UNSET


class Params(msgspec.Struct, rename="camel", gc=False):
    """The members of any message's `params` that the relay reads."""

    session_id: str | None = None
    update: Update | UnsetType = UNSET
    request_id: Raw | UnsetType = UNSET
    terminal_id: str | None = None
    method: Raw | UnsetType = UNSET


class Envelope(msgspec.Struct, gc=False):
    """A message's members; `id`, `result` and `error` are kept as the bytes that arrived."""

    id: Raw | UnsetType = UNSET
    method: str | None = None
    params: Params | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def request_id(self) -> bytes | None:
        """The id as JSON text (`b"1"` and `b'"1"'` differ), or `None`."""
        return None if self.id is UNSET else same_id(bytes(self.id))

    @property
    def session_id(self) -> str | None:
        """The session named in `params`, if any."""
        return None if self.params is UNSET else self.params.session_id

    @property
    def update(self) -> Update | None:
        """The `update` member of a `session/update`, if any."""
        return None if self.params is UNSET or self.params.update is UNSET else self.params.update


class Frame(msgspec.Struct, frozen=True):
    """A message and the line (without its line end) in which it arrived.

    Attributes:
        line: The line.
        message: What was read of it.
        shallow: The line without its deepest parts, if it is nested deeper than the parsers go.
    """

    line: bytes
    message: Envelope
    shallow: bytes = b""

    @property
    def readable(self) -> bytes:
        """The line in a form that a parser can take."""
        return self.shallow or self.line


class Malformed(msgspec.Struct, frozen=True):
    """A line that is not a JSON-RPC object. `reason` is one of the `MALFORMED_*` words below."""

    line: bytes
    reason: str


MALFORMED_JSON = "not_json"
MALFORMED_OBJECT = "not_an_object"
MALFORMED_MESSAGE = "not_json_rpc"

NULL_ID = b"null"
_PIECE_BYTES = 8 * 1024
"""The bytes that are checked at a time. Pieces of 32 KiB take 11 % less time, but fragment the heap
of a process that relays a flood, which costs 4 MB; 64 KiB cost 10 MB."""
_CHECKED_FRAMES = 64

_JSON_BEGINS = frozenset(bytes([byte]) for byte in b'{["-0123456789tfn\xef')
_BYTE_ORDER_MARK = "\ufeff".encode()

BLANKS = bytes(range(33))
"""Invisible characters before a frame: the end of a C string, a bell, white space."""


def same_id(raw: bytes) -> bytes:
    r"""Return an id's JSON text in a canonical form.

    A peer may repeat an id in other bytes: `"\u00e9"` for `"é"`, `1e2` for 100.
    """
    if raw.isdigit() or (raw.isascii() and raw[:1] == b'"' and b"\\" not in raw):
        return raw
    value = loads(raw)
    return dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


_decoder = msgspec.json.Decoder(Envelope)


def decode_block(block: bytes) -> list[Envelope] | None:
    """Decode a block of lines in one call; return `None` if each line must be decoded by itself.

    One call for many lines costs half as much as a call for each. msgspec reads values, not lines:
    two values on a line, or one value over two lines, pass for messages. Looking for those costs
    150 ns a frame, a third of what a relayed frame costs in bulk, so only short bursts are checked
    and the lines of a flood pass unchanged. `split_block` separates the lines of a block.
    """
    try:
        messages = _decoder.decode_lines(block)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if len(messages) <= _CHECKED_FRAMES:
        # `}` LF `{` stands between two values and never within one: if every line end but the last
        # is of that kind, and there are as many as values, each line is one value.
        end = -1
        for _ in range(len(messages) - 1):
            end = block.find(b"\n", end + 1)
            if block[end - 1 : end + 2] != b"}\n{":
                return None
        if block.find(b"\n", end + 1) != len(block) - 1:
            return None
    return messages if is_text(block) else None


def split_block(block: bytes, messages: list[Envelope]) -> list[bytes] | None:
    """Return the lines of a decoded block, or `None` if they are not one message each, in order.

    A line that begins with ``{`` after one that ends with ``}`` begins a new value, since no value
    can hold ``}``, a newline and ``{`` in a row. Equal counts therefore mean one value a line.
    """
    lines = block.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if len(lines) != len(messages):
        return None
    for line in lines:
        if line[:1] != b"{" or line[-1:] != b"}":
            return None
    return lines


def decode_lines(block: bytes) -> list[Frame | Malformed]:
    """Decode a block of whole lines, each as `decode` does. Never raises."""
    messages = decode_block(block)
    lines = split_block(block, messages) if messages else None
    if messages is None or lines is None:
        return [decode(line) for line in block.split(b"\n") if line]
    return list(map(frame, lines, messages))


def decode(line: bytes) -> Frame | Malformed:
    """Decode one line. Never raises.

    Bytes that are not UTF-8 become U+FFFD in the frame's line: text with one broken character is
    worth more than a lost frame, and strict peers drop the connection over it.
    """
    if line.lstrip()[:1] not in _JSON_BEGINS:
        return Malformed(line, MALFORMED_JSON)  # log noise, recognised without two parsers
    line = as_text(line).removeprefix(_BYTE_ORDER_MARK)
    try:
        message = _decoder.decode(line)
    except RecursionError:
        return _decode_deep(line)
    except (msgspec.MsgspecError, ValueError):
        return _decode_lenient(line)
    return frame(line, message)


def frame(line: bytes, message: Envelope) -> Frame | Malformed:
    """Return a line with its decoded content; it is a message only with a method or an id."""
    if message.method is None and message.id is UNSET:
        return Malformed(line, MALFORMED_MESSAGE)
    return Frame(line, message)


def is_text(block: bytes) -> bool:
    """Return whether this is valid UTF-8; msgspec does not check the strings that it skips.

    Costs 1 ns for every 60 bytes if they are ASCII, and for every 2.5 bytes if they are not.
    """
    if block.isascii():
        return True
    start, size = 0, len(block)
    try:
        # In pieces: a text of megabytes would need fresh memory each time, at three times the cost.
        while start < size:
            end = start + _PIECE_BYTES
            while end < size and block[end] & 0xC0 == 0x80:  # noqa: PLR2004  (inside a character)
                end += 1
            block[start:end].decode()
            start = end
    except UnicodeDecodeError:
        return False
    return True


def as_text(line: bytes) -> bytes:
    """Return the line with U+FFFD for whatever is not UTF-8."""
    return line if is_text(line) else line.decode(errors="replace").encode()


def _decode_lenient(line: bytes) -> Frame | Malformed:
    not_json: list[str] = []
    try:
        # As text: given bytes, json would also accept UTF-16, which no peer sends.
        value = json.loads(line.decode(), parse_constant=not_json.append)
    except RecursionError:
        return _decode_deep(line)
    except ValueError:
        return Malformed(line, MALFORMED_JSON)
    if not isinstance(value, dict):
        return Malformed(line, MALFORMED_OBJECT)
    if not_json:
        # NaN and Infinity, which Python writes and JSON does not allow, have become null.
        line = json.dumps(value).encode()
    method = value.get("method")
    if not isinstance(method, str) and "id" not in value:
        return Malformed(line, MALFORMED_MESSAGE)
    params: Params | UnsetType = UNSET
    members = value.get("params")
    if isinstance(members, dict):
        update = members.get("update")
        params = Params(
            session_id=_text(members, "sessionId"),
            update=Update(
                session_update=_text(update, "sessionUpdate") or "",
                tool_call_id=_text(update, "toolCallId"),
                status=_text(update, "status"),
                kind=_text(update, "kind"),
                title=_text(update, "title"),
                state=_text(update, "state"),
                stop_reason=_text(update, "stopReason"),
                content=_raw(update, "content"),
                raw_input=_raw(update, "rawInput"),
            )
            if isinstance(update, dict)
            else UNSET,
            request_id=_raw(members, "requestId"),
            terminal_id=_text(members, "terminalId"),
        )
    message = Envelope(
        id=_raw(value, "id"),
        method=method if isinstance(method, str) else None,
        params=params,
        result=_raw(value, "result"),
        error=_raw(value, "error"),
    )
    return Frame(line, message)


def _decode_deep(line: bytes) -> Frame | Malformed:
    """Decode a line that is nested deeper than the parsers go."""
    shallow = without_depths(line)
    if shallow is None or shallow == line:
        return Malformed(line, MALFORMED_JSON)
    read = decode(shallow)
    if isinstance(read, Malformed):
        return Malformed(line, read.reason)
    if read.line != shallow:
        return Malformed(line, MALFORMED_JSON)  # NaN: it cannot become null where all else stays
    return Frame(line, read.message, shallow)


def _text(members: dict[str, Any], key: str) -> str | None:
    value = members.get(key)
    return value if isinstance(value, str) else None


def _raw(members: dict[str, Any], key: str) -> Raw | UnsetType:
    return Raw(json.dumps(members[key]).encode()) if key in members else UNSET


Json: TypeAlias = Any
"""A decoded JSON value: dict, list, str, int, float, bool or None."""


def loads(raw: bytes | Raw | UnsetType) -> Json:
    """Decode a member's bytes; return `None` if there are none, or if they cannot be read."""
    if isinstance(raw, UnsetType):
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return json.loads(as_text(bytes(raw)))
    except (ValueError, RecursionError):
        return None


def params_of(frame: Frame) -> dict[str, Any]:
    """Return every member of the message's `params`, read in full; empty unless it is an object."""
    value = loads(frame.readable)
    params = value.get("params") if isinstance(value, dict) else None
    return params if isinstance(params, dict) else {}


def dumps(value: Json) -> bytes:
    """Encode a JSON value, writing lone surrogates as the escapes in which they arrived.

    Raises:
        TypeError: The value holds something that neither msgspec nor `json` accepts. Only `json`
            accepts subclasses of `str`, `int` and `float` (numpy's numbers, HTML libraries' text).
    """
    try:
        return msgspec.json.encode(value)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return json.dumps(value, default=_decoded).encode()


def without_surrogates(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with a question mark for each lone surrogate, which JSON allows."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False)
        value = json.loads(text.encode(errors="replace"))
    return value


def _decoded(value: object) -> Json:
    """Convert a type that `json` does not know: the bytes of a member, such as an id."""
    if isinstance(value, Raw):
        return loads(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def notification(method: str, params: dict[str, Any]) -> bytes:
    """Return a notification as a line without its line end."""
    return dumps({"jsonrpc": "2.0", "method": method, "params": params})


def request(request_id: bytes, method: str, params: dict[str, Any]) -> bytes:
    """Return a request; `request_id` is JSON text."""
    return dumps({"jsonrpc": "2.0", "id": Raw(request_id), "method": method, "params": params})


def result(request_id: bytes, value: dict[str, Any]) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": Raw(request_id), "result": value})


def error(request_id: bytes, error_object: dict[str, Any]) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": Raw(request_id), "error": error_object})


def with_id(frame: Frame, request_id: bytes) -> bytes:
    """Return the frame's line with another id and every other member unchanged."""
    line = frame.line
    if not frame.shallow:
        try:
            members = msgspec.json.decode(line, type=dict[str, Raw])
            members["id"] = Raw(request_id)
            return msgspec.json.encode(members)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            value = json.loads(line)
            value["id"] = json.loads(request_id)
            return json.dumps(value).encode()
    # A line that is nested too deeply for a parser keeps every other byte.
    depth, id_value = 0, None
    for match in _BRACKET.finditer(line):
        byte = line[match.start()]
        if byte in _OPENING:
            depth += 1
        elif byte in _CLOSING:
            depth -= 1
        elif depth == 1:
            member = _VALUE.match(line, match.end())
            if member is not None and json.loads(match[0]) == "id":
                id_value = member
    if id_value is None:
        return line
    return line[: id_value.start(1)] + request_id + line[id_value.end(1) :]


_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)")


def only_same(request_id: bytes, open_ids: Iterable[bytes]) -> bytes | None:
    """Return the one open id that differs only in its JSON type (`"2"` for 2)."""
    read = _plain_id(request_id)
    same = [open_id for open_id in open_ids if _plain_id(open_id) == read]
    return same[0] if len(same) == 1 else None


def _plain_id(request_id: bytes) -> bytes:
    """Return a number's text without its quotes; any other text keeps them."""
    text = request_id[1:-1]
    return text if request_id[:1] == b'"' and _NUMBER.fullmatch(text) else request_id
