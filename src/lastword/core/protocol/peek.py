"""The members of a line that cannot be decoded: its own id, its own method.

Owns what is told of a line that is broken, or that was too long to be kept: only what stands at its
own level, never what it holds deeper down, which is somebody else's. What is not certain is not
told. Loaded with the first such line.
"""

from __future__ import annotations

import re

import msgspec

from lastword.core.protocol import jsonrpc

MAX_PEEKED_BYTES = 256 * 1024
"""Of a longer line the beginning is read: a healthy one names its id there."""

MAX_ID_BYTES = 800

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}:,]|[^][{}:,"\s]+|"')
_PLAIN_MEMBER = rb'\s*"(?:id|method|jsonrpc)"\s*:\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}:,"\s]+)\s*'
_LAST_MEMBERS = re.compile(rb"((?:,%s)+)\}\s*\Z" % _PLAIN_MEMBER)
_CLOSED_BY = {b"{": b"}", b"[": b"]"}
_ANSWERS = (b'"result"', b'"error"')


class Peeked(msgspec.Struct, frozen=True):
    """What is certain of a line.

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
        """The id of the request that it answers, where it is an answer."""
        return self.id if self.answers and self.method is None else None


def of_broken(line: bytes) -> Peeked:
    """Read a whole line that is no JSON, as far as it can be read."""
    return _peeked([_members(line[:MAX_PEEKED_BYTES])])


def of_skipped(ends: bytes) -> Peeked:
    """Read a line that was skipped: how it began and, behind a line end, how it ended.

    What it ended with is certain where only plain members stand before the brace that closes it.
    """
    head, _, tail = ends.partition(b"\n")
    found = _LAST_MEMBERS.search(tail)
    last = _members(b"{" + found[1][1:] + b"}") if found else {}
    return _peeked([_members(head), last])


def _peeked(parts: list[dict[bytes, set[bytes]]]) -> Peeked:
    def only(key: bytes) -> bytes:
        values = {value for part in parts for value in part.get(key, ())}
        return values.pop() if len(values) == 1 else b""

    method = jsonrpc.loads(only(b'"method"'))
    answers = any(key in part for part in parts for key in _ANSWERS)
    return Peeked(_id(only(b'"id"')), method if isinstance(method, str) else None, answers)


def _id(raw: bytes) -> bytes | None:
    """The id, where the text is one; `null` is none."""
    if len(raw) > MAX_ID_BYTES or not jsonrpc.is_text(raw):
        return None
    value = jsonrpc.loads(raw)
    whole = isinstance(value, float) and value.is_integer()
    fits = whole or (isinstance(value, str | int) and not isinstance(value, bool))
    return jsonrpc.same_id(raw) if fits else None


def _members(text: bytes) -> dict[bytes, set[bytes]]:
    """The members of the object that begins here, each with its plain values.

    Ends where the text does, and where what follows could be anything: in a text that is not
    closed, at a bracket that closes another.
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
