"""Frames of made-up agents and clients, as lines written by template, and one reader for all.

Owns what a frame looks like, and lines that cannot be read, each with the truth about it: whose id
it bears, and what it would have been. Where that is not certain the truth says so: then nobody may
be taken for the one that it was for. The reader is the simulator's own: it shares no code with the
core that it helps to judge.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lastword.platform.framing import LineReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEY = "sk-" + "ant-api03-" + "a7Kq2Zx9Wm4Rt6Yb1Nc8" * 4 + "AA"
"""Looks like a secret wherever it stands."""

TOLD_SECRET = "plainvalue" + "0x5ecret77"
"""A secret that the core was told of by value."""

SECRETS = (KEY[:30].encode(), TOLD_SECRET.encode())
"""No frame of ours may hold one of these."""


class _Update(msgspec.Struct, rename="camel"):
    session_update: str = ""
    status: str | None = None
    state: str | None = None
    stop_reason: Any = None
    tool_call_id: str | None = None
    current_mode_id: str | None = None


class _Params(msgspec.Struct, rename="camel"):
    session_id: str | None = None
    update: _Update | UnsetType = UNSET
    request_id: Raw | UnsetType = UNSET
    mode_id: str | None = None
    config_id: str | None = None
    value: Any = None


class _Line(msgspec.Struct):
    id: Raw | UnsetType = UNSET
    method: str | None = None
    params: _Params | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


STOP_REASONS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})


def _ends_well(result: bytes) -> bool:
    value = json.loads(result) if b'"stopReason"' in result else None
    stop = value.get("stopReason") if isinstance(value, dict) else None
    return isinstance(stop, str) and stop in STOP_REASONS


class Read:
    def __init__(self, line: _Line, raw: bytes) -> None:
        self.id = None if line.id is UNSET else plain_id(bytes(line.id))
        self.method = line.method
        params = None if line.params is UNSET else line.params
        self.session = params.session_id if params else None
        update = params.update if params and params.update is not UNSET else None
        self.kind = update.session_update if update else ""
        self.state = update.state if update else None
        self.stop = update.stop_reason if update else None
        """Of an idle state; a result's is read where it matters."""
        named = None if params is None or params.request_id is UNSET else params.request_id
        self.named = None if named is None else plain_id(bytes(named))
        chosen = params.mode_id if params else None
        self.mode = update.current_mode_id if update else chosen
        """The mode that is told of or asked for."""
        is_choice = params is not None and params.config_id == "model"
        asked_for = params.value if params is not None and is_choice else None
        self.model = model_in(raw) if self.kind == "config_option_update" else asked_for
        """The same of models."""
        self.result = None if line.result is UNSET else bytes(line.result)
        self.error = None if line.error is UNSET else bytes(line.error)
        self.ends_well = self.result is not None and _ends_well(self.result)
        """The result of a prompt, as version 1 knows it."""


_decoder = msgspec.json.Decoder(_Line)
_KEPT_BYTES = 100_000


def read(line: bytes) -> Read | None:
    """Read a frame; `None` for a line that is none, or that only a lenient reader can read."""
    return _read(line) if len(line) < _KEPT_BYTES else _read.__wrapped__(line)


@lru_cache(maxsize=8192)
def _read(line: bytes) -> Read | None:
    try:
        found = _decoder.decode(line)
    except (msgspec.MsgspecError, ValueError):
        found = _leniently(line)
    if found.method is None and found.id is UNSET:
        return None
    return Read(found, line)


def _leniently(line: bytes) -> _Line:
    """JSON allows half a surrogate pair, which no text can hold."""
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return _decoder.decode(text.encode(errors="replace"))
    except (msgspec.MsgspecError, ValueError):
        return _Line()


def plain_id(raw: bytes) -> bytes:
    """An id in the one spelling that stands for all: 8 for 8.0, é for its escape."""
    if raw.isdigit() or (raw[:1] == b'"' and raw.isascii() and b"\\" not in raw):
        return raw
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    if isinstance(value, float) and value.is_integer():
        return b"%d" % value
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


_MODEL = re.compile(rb'"category":"model","currentValue":"(\w*)"')
_OFFERED = b",".join(b'{"value":"%b"}' % each for each in (b"big", b"small", b"tiny"))


def models(current: bytes) -> bytes:
    """The config options of a session with this model."""
    option = b'{"id":"model","category":"model","currentValue":"%b","options":[%b]}'
    return b'"configOptions":[%b]' % (option % (current, _OFFERED))


def model_in(line: bytes | None) -> str | None:
    """The model in force by such a list, ours or the agent's."""
    found = _MODEL.search(line or b"")
    return found[1].decode() if found else None


_NUMBER = re.compile(rb'"(-?(?:0|[1-9][0-9]*))"')


def bare_id(raw: bytes) -> bytes:
    """An id without its JSON type, where it is a whole number or the text of one."""
    return _NUMBER.sub(rb"\1", raw) if _NUMBER.fullmatch(raw) else raw


def members(line: bytes) -> dict[str, Any]:
    value = json.loads(line)
    return value if isinstance(value, dict) else {}


def body(line: bytes) -> bytes:
    """A frame without its id, the rest byte for byte."""
    raw = msgspec.json.decode(line, type=dict[str, Raw])
    raw.pop("id", None)
    return msgspec.json.encode(raw)


def prompt(request_id: bytes, session: bytes, text: bytes = b"hi") -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":%b,"method":"session/prompt","params":{"sessionId":"%b",'
        b'"prompt":[{"type":"text","text":"%b"}]}}' % (request_id, session, text)
    )


def request(request_id: bytes, method: bytes, session: bytes, more: bytes = b"") -> bytes:
    """A request about a session; `more` are further members of its params."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":{"sessionId":"%b"%b}}' % (
        request_id,
        method,
        session,
        more,
    )


def notification(method: bytes, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method, params)


def cancel(session: bytes) -> bytes:
    return notification(b"session/cancel", b'{"sessionId":"%b"}' % session)


def withdraw(request_id: bytes) -> bytes:
    return notification(b"$/cancel_request", b'{"requestId":%b}' % request_id)


def result(request_id: bytes, value: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, value)


def stopped(request_id: bytes, reason: bytes = b"end_turn") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":{"stopReason":"%b"}}' % (request_id, reason)


def error(request_id: bytes, value: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, value)


def update(session: bytes, kind: bytes, more: bytes = b"") -> bytes:
    """A session update; `more` are its further members."""
    return (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b",'
        b'"update":{"sessionUpdate":"%b"%b}}}' % (session, kind, more)
    )


def chunk(session: bytes, text: bytes, kind: bytes = b"agent_message_chunk") -> bytes:
    return update(session, kind, b',"content":{"type":"text","text":"%b"}' % text)


def tool(session: bytes, call: bytes, status: bytes, kind: bytes = b"tool_call") -> bytes:
    return update(session, kind, b',"toolCallId":"%b","title":"Run","status":"%b"' % (call, status))


def state(session: bytes, value: bytes, more: bytes = b"") -> bytes:
    """Version 2: how the session's foreground work stands."""
    return update(session, b"state_update", b',"state":"%b"%b' % (value, more))


_KEY, _TOLD = KEY.encode(), TOLD_SECRET.encode()
_LONG = b"word " * 2400

ERRORS = (
    b'{"code":-32603,"message":"Internal error"}',
    b'{"code":-32603,"message":"429 Too Many Requests: try again in 20s","data":null}',
    b'{"code":-32603,"message":"bad key %b","data":{"details":"x-api-key: %b"}}' % (_KEY, _TOLD),
    b'{"code":-32000,"message":"Authentication required"}',
    b'{"code":-32602,"message":"Invalid params","data":{"at":"prompt"}}',
    b'{"code":-32800,"message":"Request cancelled"}',
    b'{"code":429,"message":"rate limited","data":{"errorKind":"rate_limit"}}',
    b'{"code":"E_FAIL","message":"fetch failed"}',
    b'{"code":-32603,"message":""}',
    b'{"message":"no code at all"}',
    b'{"code":-32603,"message":"long","data":{"trace":"%b"}}' % (_LONG * 6),
    b'"boom"',
    b"[1]",
    b'{"code":-32603,"message":"see [log](http://x/?key=%b)","data":"text %b"}' % (_KEY, _TOLD),
    b'{"code":-32603,"message":"%b"}' % _LONG,
    b'{"code":1e400,"message":"huge","data":{"statusCode":503}}',
)
"""The `error` members that agents answer with."""

_SLOW = (
    b'{"type":"rate_limit","message":"Slow","retryable":true,"retry_safety":"auto",'
    b'"retry_after_seconds":2}'
)
PASSING = (
    b'{"code":-32603,"message":"429 Too Many Requests: try again in 20s","data":null}',
    b'{"code":-32603,"message":"429 Too Many Requests: try again in 1 hour"}',
    b'{"code":-32603,"message":"503 Service Unavailable %b"}' % _KEY,
    b'{"code":-32603,"message":"fetch failed: connect ECONNREFUSED"}',
    b'{"code":-32603,"message":"usage limit","data":{"errorKind":"budget","resets_at":1772406000}}',
    b'{"code":-32603,"message":"slow","data":{"agent_error":%b}}' % _SLOW,
)
"""Those among them that end by themselves, or that the agent calls so."""

ODD_RESULTS = (
    b"null",
    b"{}",
    b'"end_turn"',
    b'{"stopReason":"error"}',
    b'{"stopReason":"error","message":"401 %b"}' % _KEY,
    b'{"stopReason":"exploded"}',
    b'{"stopReason":null}',
    b'{"stopReason":7}',
    b"[]",
)
"""Results that are no healthy end of a prompt."""

TYPED = (
    b'{"type":"rate_limit","message":"Wait.","retryable":true}',
    b'{"type":"odd","message":"See [this](http://x) %b","retryable":null}' % _KEY,
    b'{"type":"auth","retry_after_seconds":1.5,"detail":{"text":"%b"}}' % (_LONG),
    b'{"type":"network","message":"gone","detail":{"a":{"b":"%b"}},"attempts":-1}' % _TOLD,
    _SLOW,
)
"""Payloads of agents that announce their failures themselves."""

JUNK = (
    b"npm warn deprecated",
    b"{",
    b"[]",
    b"null",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","id":1',
    b"\xff\xfe\x00",
    b'{"jsonrpc":"2.0","params":{"id":1}}',
    b'"%b"' % _KEY,
)
"""Lines that are no frames."""

STDERR = (
    b"Error: 529 overloaded\n",
    b"Traceback (most recent call last):\nValueError: key %b\n" % _KEY,
    b"password: %b\n" % _TOLD,
    b"info: at work\n",
    b"FATAL ERROR: JavaScript heap out of memory\n",
)
"""What agents write to stderr."""

# --- lines that cannot be read

ANSWER, REQUEST, OTHER = "answer", "request", "other"
"""What a spoiled line would have been; `OTHER` has no id of its own that is certain."""

FILLER = b"#"
"""Stands for the text that makes a line too long, in a schedule that a person is to read."""

_LIMIT = 8192
_READ = 1000
LONGEST_CERTAIN_ID = 600
"""Of a longer id nothing is promised where its line cannot be read."""

Spoiled = tuple[str, str, bytes, bytes, str]
"""An event: `broken` or `long`, the side, the line, its own id, and what it would have been."""


def ends_of(line: bytes) -> bytes:
    # In pieces, as it comes off a pipe: a line that is there in one read is never skipped.
    reader, whole = LineReader(_LIMIT), line.replace(FILLER, b"y" * 9000) + b"\n"
    found = [reader.feed(whole[at : at + _READ])[0] for at in range(0, len(whole), _READ)]
    return next(ends for ends in found if ends is not None)


def _joined(members: Sequence[bytes]) -> bytes:
    return b"{" + b",".join(members) + b"}"


_END = b'"end":[]'

_CERTAIN: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line[:-1] + b",}",
    lambda line: line.replace(_END, b'"end":[1,]'),
    lambda line: line.replace(_END, b'"end":"a\tb"'),
    lambda line: line.replace(_END, b'"end":undefined'),
    lambda line: line.replace(_END, b'"end":"\\q"'),
    lambda line: line + b"}",
    lambda line: line + b" [info] sent",
)
"""What breaks a line and leaves its own id where everybody can see it."""

_UNCERTAIN: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line.replace(_END, b'"end":[}'),
    lambda line: line.replace(_END, b'"end":{'),
)
"""What breaks it so that nobody knows from there on how deep a member stands."""


def _members_beside_id(what: str, decoy: bytes, session: bytes, *, filler: bool) -> list[bytes]:
    """The members beside the id: `decoy` is somebody else's, deeper down or in a text."""
    said = b'\\"id\\":%b,' % decoy.replace(b'"', b'\\"')
    meta = b'"_meta":{"id":%b,"said":"%b","a":{"id":%b}}' % (decoy, said, decoy)
    long = b',"text":"%b"' % FILLER if filler else b""
    inner = b'{"sessionId":"%b",%b%b,"end":[]}' % (session, meta, long)
    if what == ANSWER:
        return [b'"result":' + inner]
    method = b"fs/write_text_file" if what == REQUEST else b"session/update"
    return [b'"method":"%b"' % method, b'"params":' + inner]


def spoiled(  # noqa: PLR0913 - a line's parts, by name
    pick: Callable[[Sequence[Any]], Any],
    *,
    side: str,
    what: str,
    own: bytes,
    decoy: bytes,
    session: bytes,
) -> Spoiled:
    """A line that cannot be read, with its own id before or behind the rest."""
    how = pick(("broken", "broken", "long"))
    if len(own) > LONGEST_CERTAIN_ID:
        how, what = "broken", OTHER
    body = _members_beside_id(what, decoy, session, filler=how == "long")
    own_id = [] if what == OTHER else [b'"id":' + own]
    head = [b'"jsonrpc":"2.0"']
    places = ([*head, *own_id, *body], [*own_id, *head, *body], [*head, *body, *own_id])
    line = _joined(pick((*places, [*body, *own_id, *head])))
    if how == "long":
        return (how, side, line, own if what != OTHER else b"", what)
    if own_id and pick((True, False, False, False)):
        # The break stands before the id, which may be somebody else's by then.
        line = pick(_UNCERTAIN)(_joined([*head, *body, *own_id]))
        return (how, side, line, b"", OTHER)
    line = pick(_CERTAIN)(line)
    return (how, side, line, own if what != OTHER else b"", what)
