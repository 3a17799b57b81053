"""Lines nested deeper than the parsers can go: whether they are JSON, and their top members.

Owns cutting such a line into layers, each of which a parser can take. Imported when the first such
line arrives.
"""

from __future__ import annotations

import json
import re

import msgspec

LAYER = 100
"""Parsers count in the calls that led to them, of which a guard's host may have hundreds."""

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BRACKET = re.compile(_STRING + rb'|["{}\[\]]', re.DOTALL)
_VALUE = re.compile(rb'\s*:\s*(%s|[^\s"{}\[\],:]+)' % _STRING, re.DOTALL)
_OPENING, _CLOSING, _QUOTE = frozenset(b"{["), frozenset(b"}]"), ord('"')


def shallow(line: bytes) -> bytes | None:
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
    try:
        # `json` accepts the escape of a lone surrogate, which msgspec does not.
        json.loads(text, parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(constant: str) -> None:
    """Reject NaN and Infinity, which `json` accepts as JSON.

    Raises:
        ValueError: Always.
    """
    raise ValueError(constant)


def with_id(line: bytes, request_id: bytes) -> bytes:
    """Return the line, which is JSON, with another id and every other byte unchanged."""
    depth, id_value = 0, None
    for match in _BRACKET.finditer(line):
        byte = line[match.start()]
        if byte in _OPENING:
            depth += 1
        elif byte in _CLOSING:
            depth -= 1
        elif depth == 1:
            value = _VALUE.match(line, match.end())
            if value is not None and json.loads(match[0]) == "id":
                id_value = value
    return (
        line
        if id_value is None
        else line[: id_value.start(1)] + request_id + line[id_value.end(1) :]
    )
