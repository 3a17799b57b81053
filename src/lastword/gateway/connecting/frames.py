"""Frames of a connector: what it adds towards the gateway, and what it takes off towards the editor.

Owns the place of the gateway's own facts, `_meta.lastword`. The editor is shown none of them: a
frame reaches it as the agent wrote it, member for member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of, raw_members
from lastword.gateway.entries import Cursor

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame

META = "lastword"
_MARK = b'"lastword"'


def greeting(frame: Frame, number: int, viewer: str, secret: str) -> bytes:
    """The editor's `initialize` for the gateway: with cursors, by the viewer that it was before."""
    ours = {"replay": 1} | ({"viewer": viewer, "secret": secret} if viewer else {})
    return _with_ours(jsonrpc.with_id(frame, b"%d" % number), ours)


def from_cursor(line: bytes, cursor: Cursor) -> bytes:
    """A request that attaches, from this position on."""
    return _with_ours(line, {"after": {"epoch": cursor.epoch, "seq": cursor.seq}})


def _with_ours(line: bytes, ours: dict[str, Any]) -> bytes:
    members = msgspec.json.decode(line, type=dict[str, Raw])
    params = raw_members(members.get("params"))
    meta = raw_members(params.get("_meta"))
    meta[META] = Raw(msgspec.json.encode(ours))
    params["_meta"] = Raw(msgspec.json.encode(meta))
    members["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(members)


def stripped(line: bytes, member: str) -> tuple[bytes, dict[str, Any]]:
    """A frame without the gateway's facts, and those.

    Args:
        line: The frame.
        member: Where they stand: `params` or `result`.
    """
    if _MARK not in line:
        return line, {}
    try:
        members = msgspec.json.decode(line, type=dict[str, Raw])
        inner = raw_members(members.get(member))
        meta = raw_members(inner.get("_meta"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return line, {}
    ours = meta.pop(META, None)
    if ours is None:
        return line, {}
    if meta:
        inner["_meta"] = Raw(msgspec.json.encode(meta))
    else:
        del inner["_meta"]
    members[member] = Raw(msgspec.json.encode(inner))
    return msgspec.json.encode(members), object_of(jsonrpc.loads(ours))


def seq_of(ours: dict[str, Any]) -> int | None:
    """The number of an entry, where a frame has one."""
    seq = ours.get("seq")
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None


def cancel_of(frame: Frame) -> bytes | None:
    """The id (JSON text) of the request that a `$/cancel_request` names."""
    params = frame.message.params
    raw = params.request_id if isinstance(params, jsonrpc.Params) else msgspec.UNSET
    return None if isinstance(raw, msgspec.UnsetType) else jsonrpc.same_id(bytes(raw))


def is_update(frame: Frame) -> bool:
    """Is it a session's update?"""
    return frame.message.method == acp.UPDATE
