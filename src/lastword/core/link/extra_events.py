"""Extra events: a member added to the request that opens a session asks an agent for them.

Owns which agent is asked for what (a row of `quirks.wire`), the frame with the member in it, and a
second, plain request to an agent that refuses the first. Events that only we asked for are held
back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.link.effects import FORWARD, Drop, Effect
from lastword.core.link.retries import reporting
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of, raw_members
from lastword.quirks import wire
from lastword.quirks.agents import agent_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.link.session import Session
    from lastword.core.link.state import Link, OpenRequest
    from lastword.core.protocol.jsonrpc import Frame


def row_for(link: Link) -> wire.OptInEvent | None:
    """Return what this agent can be asked for."""
    options = link.options
    if options.evidence != "auto" or options.in_process or link.events_refused:
        return None
    key = agent_key(link.agent.name)
    return next((row for row in wire.OPT_IN_EVENTS if row.agent == key), None)


def extend(link: Link, frame: Frame, request: OpenRequest) -> tuple[OpenRequest, bytes | None]:
    """Return the client's request as it goes to the agent, and its line if that is another."""
    row = row_for(link)
    if row is None:
        return request, None
    vendor, member = row.path
    try:
        message = msgspec.json.decode(frame.line, type=dict[str, Raw])
        params = raw_members(message.get("params"))
        meta = raw_members(params.get("_meta"))
        members = raw_members(meta.get(vendor))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return request, None
    if member in members:
        return msgspec.structs.replace(request, requests_events=True), None
    members[member] = Raw(msgspec.json.encode(row.request))
    meta[vendor] = Raw(msgspec.json.encode(members))
    params["_meta"] = Raw(msgspec.json.encode(meta))
    message["params"] = Raw(msgspec.json.encode(params))
    extended = msgspec.structs.replace(request, plain=frame.line)
    return extended, msgspec.json.encode(message)


def extended_params(link: Link, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of our own request that opens a session, with the member in them."""
    row = row_for(link)
    meta = object_of(params.get("_meta"))
    members = object_of(meta.get(row.path[0])) if row is not None else {}
    if row is None or row.path[1] in members:
        return dict(params)
    requested = {row.path[1]: list(row.request)}
    return {**params, "_meta": {**meta, row.path[0]: {**members, **requested}}}


def send_plainly(link: Link, request_id: bytes, request: OpenRequest, error: object) -> bytes:
    """Return the client's own request to send instead; empty if that would not help.

    A missing login has nothing to do with what we added.
    """
    line, code = request.plain, object_of(error).get("code")
    if line is None or code == acp.AUTH_REQUIRED:
        return b""
    link.send_plainly(request_id, request)
    return line


def received(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """Take in an event, which the client gets only if it asked for such events itself."""
    passes: list[Effect] = (
        [FORWARD] if link.client_requested_events else [Drop("asked_for_by_lastword")]
    )
    if session is not None and states_limit(frame):
        session.read_account_limit(_message_of(frame))
        return passes
    return [*passes, *reporting.read_frame(link, session, frame)]


def states_limit(frame: Frame) -> bool:
    """Return whether a notification is an event that states the account's limit."""
    row = wire.EVENTS.get(frame.message.method or "")
    return row is not None and _message_of(frame).get("type") == row.limit_event["type"]


def _message_of(frame: Frame) -> dict[str, Any]:
    return object_of(jsonrpc.params_of(frame).get("message"))
