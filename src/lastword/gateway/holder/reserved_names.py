"""The gateway's own names, which no agent's frame may have.

Owns finding and removing them: methods below `_lastword/`, and `lastword` in a `_meta`. Viewers
trust both as the gateway's own account of a session's log.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway.viewing.render import META

METHODS = "_lastword/"

_PLACES = ((), ("params",), ("params", "update"), ("result",), ("error",))
"""The objects whose `_meta` clients read."""

_NAME = META.encode()
_ESCAPED_LETTER = re.compile(rb"\\u00[67]")
"""JSON allows a letter to be escaped, which no encoder does."""


def may_be_in(block: bytes) -> bool:
    """Return whether an agent's output may contain a reserved name; it rarely does."""
    return _NAME in block or (b"\\u00" in block and _ESCAPED_LETTER.search(block) is not None)


class Cleaned(NamedTuple):
    """An agent's frame without reserved names.

    Attributes:
        frame: the frame; `None` if it is to be dropped.
        used: the kind of name that it had, `method` or `meta`; empty for none.
    """

    frame: jsonrpc.Frame | None
    used: str = ""


def cleaned(frame: jsonrpc.Frame) -> Cleaned:
    """Return an agent's frame without reserved names."""
    if (frame.message.method or "").startswith(METHODS):
        return Cleaned(None, "method")
    if not may_be_in(frame.line):
        return Cleaned(frame)
    value = object_of(jsonrpc.loads(frame.readable))
    has_removed = False
    for place in _PLACES:
        inner = value
        for name in place:
            inner = object_of(inner.get(name))
        meta = object_of(inner.get("_meta"))
        if META in meta:
            del meta[META]
            has_removed = True
    if not has_removed:
        return Cleaned(frame)
    clean = jsonrpc.decode(jsonrpc.dumps(value))
    return Cleaned(clean if isinstance(clean, jsonrpc.Frame) else None, "meta")
