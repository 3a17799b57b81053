"""Frames of a connector: what it adds towards the gateway, and takes off towards the editor.

Owns the place of the gateway's own facts, `_meta.lastword`. The editor is shown none of them: a
frame reaches it as the agent wrote it, member for member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of, raw_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.entries import Cursor

META = "lastword"
_MARK = b'"lastword"'


def greeting(frame: Frame, number: int, viewer: str, secret: str) -> bytes:
    """The editor's `initialize` for the gateway: with cursors, by the viewer that it was before."""
    ours = {"replay": 1} | ({"viewer": viewer, "secret": secret} if viewer else {})
    return _with_ours(jsonrpc.with_id(frame, b"%d" % number), ours)


def from_cursor(line: bytes, cursor: Cursor) -> bytes:
    """A request that attaches, from this position on."""
    return _with_ours(line, {"after": {"epoch": cursor.epoch, "seq": cursor.seq}})


def with_compact_past(line: bytes) -> bytes:
    """A request that attaches, with a stock client's past where the editor names none."""
    members = raw_members(msgspec.json.decode(line, type=dict[str, Raw]).get("params"))
    if META in raw_members(members.get("_meta")):
        return line
    return _with_ours(line, {"replay": "compact"})


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


def count_of(value: object) -> int:
    """The whole number that a value is; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def number_in(request_id: bytes | None) -> int:
    """The number that an id of ours is; 0 for any other."""
    return int(request_id) if request_id and request_id.isdigit() else 0


def with_id(line: bytes, request_id: bytes) -> bytes:
    """The line with another id."""
    frame = jsonrpc.decode(line)
    return jsonrpc.with_id(frame, request_id) if isinstance(frame, jsonrpc.Frame) else line


def folder_of(line: bytes) -> dict[str, Raw]:
    """What a request says of where its session works, as it came."""
    params = raw_members(msgspec.json.decode(line, type=dict[str, Raw]).get("params"))
    names = ("cwd", "mcpServers", "additionalDirectories")
    return {name: params[name] for name in names if name in params}


def attach_request(session_id: str, folder: Mapping[str, Raw], method: str, number: int) -> bytes:
    """A request of our own that attaches a session."""
    params = {"sessionId": session_id, "mcpServers": []} | dict(folder)
    return jsonrpc.request(b"%d" % number, method, params)


def with_param(line: bytes, name: str, value: dict[str, Any]) -> bytes:
    """The line with one more member of its params."""
    members = msgspec.json.decode(line, type=dict[str, Raw])
    params = raw_members(members.get("params"))
    params[name] = Raw(msgspec.json.encode(value))
    members["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(members)


def with_result(line: bytes, name: str, value: str) -> bytes:
    """The line with one more member of its result, which comes first."""
    members = msgspec.json.decode(line, type=dict[str, Raw])
    result = {name: Raw(msgspec.json.encode(value))} | raw_members(members.get("result"))
    members["result"] = Raw(msgspec.json.encode(result))
    return msgspec.json.encode(members)
