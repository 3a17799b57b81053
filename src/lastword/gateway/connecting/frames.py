"""The connector's frames: what it adds towards the gateway, and removes towards the editor.

Owns the place of the gateway's facts, `_meta.lastword`. The editor sees none of them: apart from
that, a frame reaches it as the agent wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of, raw_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.log.entries import Cursor

META = "lastword"
_MARK = b'"lastword"'


def greeting(frame: Frame, number: int, viewer: str, secret: str) -> bytes:
    """Return the editor's `initialize` for the gateway, with cursors and the earlier viewer."""
    ours = {"replay": 1} | ({"viewer": viewer, "secret": secret} if viewer else {})
    return _with_ours(jsonrpc.with_id(frame, b"%d" % number), ours)


def from_cursor(line: bytes, cursor: Cursor) -> bytes:
    """Return a request that attaches, beginning at this position."""
    return _with_ours(line, {"after": {"epoch": cursor.epoch, "seq": cursor.seq}})


def with_compact_past(line: bytes) -> bytes:
    """Return a request that attaches, with a compact past unless the editor chose."""
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
    """Return a frame without the gateway's facts, and those facts.

    Args:
        line: The frame.
        member: Where the facts are: `params` or `result`.
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
    """Return the number of an entry, if a frame has one."""
    seq = ours.get("seq")
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None


def cancel_of(frame: Frame) -> bytes | None:
    """Return the id (JSON text) of the request that a `$/cancel_request` names."""
    params = frame.message.params
    raw = params.request_id if isinstance(params, jsonrpc.Params) else msgspec.UNSET
    return None if isinstance(raw, msgspec.UnsetType) else jsonrpc.same_id(bytes(raw))


def count_of(value: object) -> int:
    """Return a value that is a whole number, and 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def number_in(request_id: bytes | None) -> int:
    """Return the number in an id of the connector; 0 for any other id."""
    return int(request_id) if request_id and request_id.isdigit() else 0


def with_id(line: bytes, request_id: bytes) -> bytes:
    """Return the line with another id."""
    frame = jsonrpc.decode(line)
    return jsonrpc.with_id(frame, request_id) if isinstance(frame, jsonrpc.Frame) else line


def folder_of(line: bytes) -> dict[str, Raw]:
    """Return what a request says about where its session works, unchanged."""
    params = raw_members(msgspec.json.decode(line, type=dict[str, Raw]).get("params"))
    names = ("cwd", "mcpServers", "additionalDirectories")
    return {name: params[name] for name in names if name in params}


def attach_request(session_id: str, folder: Mapping[str, Raw], method: str, number: int) -> bytes:
    """Return a request of the connector's own that attaches a session."""
    params = {"sessionId": session_id, "mcpServers": []} | dict(folder)
    return jsonrpc.request(b"%d" % number, method, params)


def with_param(line: bytes, name: str, value: dict[str, Any]) -> bytes:
    """Return the line with one more member in its params."""
    members = msgspec.json.decode(line, type=dict[str, Raw])
    params = raw_members(members.get("params"))
    params[name] = Raw(msgspec.json.encode(value))
    members["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(members)


def with_result(line: bytes, name: str, value: str) -> bytes:
    """Return the line with one more member in its result, in first place."""
    members = msgspec.json.decode(line, type=dict[str, Raw])
    result = {name: Raw(msgspec.json.encode(value))} | raw_members(members.get("result"))
    members["result"] = Raw(msgspec.json.encode(result))
    return msgspec.json.encode(members)
