"""Wishes: a member added to the request that opens a session, asking for an agent's extra events.

Owns which agent is asked for what (a row of `quirks.wire`), the frame with the wish in it, and a
second, plain request to an agent that refuses the first. Events that only we asked for are held
back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.link import retries
from lastword.core.link.effects import FORWARD, Drop, Effect, Send, Side
from lastword.core.protocol import acp
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
    if options.evidence != "auto" or options.in_process or link.wishes_refused:
        return None
    key = agent_key(link.agent.name)
    return next((row for row in wire.OPT_IN_EVENTS if row.agent == key), None)


def line_with_wish(link: Link, frame: Frame) -> bytes | None:
    """Return the client's request with the wish in it; `None` if there is none, or a client's."""
    row = row_for(link)
    if row is None:
        return None
    vendor, member = row.path
    try:
        message = msgspec.json.decode(frame.line, type=dict[str, Raw])
        params = raw_members(message.get("params"))
        meta = raw_members(params.get("_meta"))
        told = raw_members(meta.get(vendor))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if member in told:
        link.note_client_wishes()
        return None
    told[member] = Raw(msgspec.json.encode(row.request))
    meta[vendor] = Raw(msgspec.json.encode(told))
    params["_meta"] = Raw(msgspec.json.encode(meta))
    message["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(message)


def with_wish(link: Link, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of our own request that opens a session, with the wish in them."""
    row = row_for(link)
    meta = object_of(params.get("_meta"))
    told = object_of(meta.get(row.path[0])) if row is not None else {}
    if row is None or row.path[1] in told:
        return dict(params)
    wished = {row.path[1]: list(row.request)}
    return {**params, "_meta": {**meta, row.path[0]: {**told, **wished}}}


def asked_plainly(link: Link, request_id: bytes, request: OpenRequest, error: object) -> bytes:
    """Return the client's own request, to be sent again; empty if there is no reason to.

    A missing login is not the fault of the wish.
    """
    line, code = request.plain, object_of(error).get("code")
    if line is None or code == acp.AUTH_REQUIRED:
        return b""
    link.note_wishes_refused()
    link.client_asks(request_id, msgspec.structs.replace(request, plain=None))
    return line


def received(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """Take in an event, which the client gets only if it asked for such events itself."""
    passes: list[Effect] = [FORWARD] if link.client_wishes else [Drop("asked_for_by_lastword")]
    return [*passes, *retries.told(link, session, frame)]


def sent(line: bytes) -> Effect:
    """Send the agent a request from the client in another form."""
    return Send(Side.AGENT, line)
