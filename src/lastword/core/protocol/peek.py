"""The members of a line that cannot be decoded: its own id and its own method.

Owns what can be said of a line that is broken, or that was too long to keep. It reads only the top
level, never nested objects, which have their own ids and methods. What is uncertain is left out.
Imported when the first such line arrives.
"""

from __future__ import annotations

import re

import msgspec

from lastword.core.protocol import jsonrpc

MAX_PEEKED_BYTES = 256 * 1024
"""Only the beginning of a longer line is read: a healthy one has its id there."""

MAX_ID_BYTES = 800

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}:,]|[^][{}:,"\s]+|"')
_PLAIN_MEMBER = rb'\s*"(?:id|method|jsonrpc)"\s*:\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}:,"\s]+)\s*'
_LAST_MEMBERS = re.compile(rb"((?:,%s)+)\}\s*\Z" % _PLAIN_MEMBER)
_CLOSED_BY = {b"{": b"}", b"[": b"]"}
_ANSWERS = (b'"result"', b'"error"')


class Peeked(msgspec.Struct, frozen=True):
    """The certain facts about a line.

    Attributes:
        id: its own id, as JSON text in the form of `jsonrpc.same_id`.
        method: its own method.
        answers: it has a `result` or an `error`.
    """

    id: bytes | None = None
    method: str | None = None
    answers: bool = False

    @property
    def answered(self) -> bytes | None:
        """The id of the request that the line answers, if it is a response."""
        return self.id if self.answers and self.method is None else None


def of_broken(line: bytes) -> Peeked:
    """Read as much as possible of a whole line that is not JSON."""
    return _peeked([_members(line[:MAX_PEEKED_BYTES].lstrip(jsonrpc.BLANKS))])


def of_skipped(ends: bytes) -> Peeked:
    """Read a line that was skipped, from its first bytes and, after a line end, its last ones.

    The last bytes count only if plain members alone stand before the closing brace.
    """
    head, _, tail = ends.partition(b"\n")
    members = _LAST_MEMBERS.search(tail)
    last = _members(b"{" + members[1][1:] + b"}") if members else {}
    return _peeked([_members(head.lstrip(jsonrpc.BLANKS)), last])


def _peeked(parts: list[dict[bytes, set[bytes]]]) -> Peeked:
    def only(key: bytes) -> bytes:
        values = {value for part in parts for value in part.get(key, ())}
        return values.pop() if len(values) == 1 else b""

    method = jsonrpc.loads(only(b'"method"'))
    answers = any(key in part for part in parts for key in _ANSWERS)
    raw, request_id = only(b'"id"'), None
    if len(raw) <= MAX_ID_BYTES and jsonrpc.is_text(raw):
        value = jsonrpc.loads(raw)
        is_whole = isinstance(value, float) and value.is_integer()
        if is_whole or (isinstance(value, str | int) and not isinstance(value, bool)):
            request_id = jsonrpc.same_id(raw)
    return Peeked(request_id, method if isinstance(method, str) else None, answers)


def _members(text: bytes) -> dict[bytes, set[bytes]]:
    """Return the members of the object at the text's beginning, with their plain values.

    Stops where the text ends, and where anything could follow: in an unterminated string, or at a
    bracket that closes another.
    """
    members: dict[bytes, set[bytes]] = {}
    closers: list[bytes] = []
    before, key = b"", b""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == b'"' or (token.end() == len(text) and word not in _CLOSED_BY.values()):
            break
        if len(closers) == 1 and key and word == b":":
            members.setdefault(key, set())
        elif len(closers) == 1 and key and before == b":" and word not in _CLOSED_BY:
            members[key].add(word)
        if word in _CLOSED_BY:
            closers.append(_CLOSED_BY[word])
        elif word in _CLOSED_BY.values():
            if not closers or closers.pop() != word or not closers:
                break
        elif not closers:
            break
        if len(closers) == 1 and word != b":":
            key = word if before in {b"{", b","} and word[:1] == b'"' else b""
        before = word
    return members
