"""Handing a holder over to the program that replaces this one, with its agent and its open turns.

Owns what of a holder outlives the replacement beside its logs, and what the new link to the agent
has to know of the past: what is open at the agent, from the logs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.effects import PastLine, Side
from lastword.core.link.handshake import EXTENSION
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway.holder.agent_process import HandedAgent, monotonic_at
from lastword.gateway.holder.effects import waiting_turn
from lastword.gateway.log.entries import LogEntry, LogKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lastword.gateway.holder.session import HeldSession

FLEET_SECONDS = 15.0
"""How long an agent that runs on waits for a fleet's servers: an election takes them up to 9 s."""


class OpenedBy(msgspec.Struct, frozen=True):
    """Which request of a viewer opened a session."""

    viewer: str
    request_id: bytes
    session: str


class HandedHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A holder that continues in the program which replaces this one.

    Attributes:
        name: its name.
        suits: which clients it suits while it is a spare; empty once it has a session.
        client: the `initialize` params of the client that it was started for.
        initialized: the agent's answer to `initialize`.
        run: the run that it is recorded in.
        numbers: the last number of a request to the agent.
        turns: how many turns there have been.
        sessions: its sessions.
        clocks: the clocks of these.
        opened: the requests that opened them.
        agent: the agent.
    """

    name: str
    suits: str = ""
    client: dict[str, Any]
    initialized: dict[str, Any]
    run: str
    numbers: int
    turns: int
    sessions: list[str]
    clocks: dict[str, float] = {}
    opened: list[OpenedBy]
    agent: HandedAgent


def past_lines(
    initialize: dict[str, Any], handed: HandedHolder, sessions: Iterable[HeldSession]
) -> list[PastLine]:
    """Return what a new link to the agent has to know of the past, in order.

    A turn that waits for the end of a limit is left out: it is resumed separately.

    Args:
        initialize: The params of `initialize`.
        handed: The holder.
        sessions: The sessions.
    """
    dialect = acp.dialect(handed.initialized.get("protocolVersion"))
    capabilities = dict(object_of(handed.initialized.get(dialect.agent_capabilities)))
    meta = dict(object_of(capabilities.get("_meta")))
    if not handed.agent.speaks_typed:  # the link has added it for its client
        meta.pop(EXTENSION, None)
    capabilities["_meta"] = meta
    initialized = handed.initialized | {dialect.agent_capabilities: capabilities}
    open_entries: list[PastLine] = []
    greeting = jsonrpc.request(b"0", acp.INITIALIZE, initialize)
    first = [
        PastLine(Side.CLIENT, greeting, 0.0),
        PastLine(Side.AGENT, jsonrpc.result(b"0", initialized), 0.0),
    ]
    for session in sessions:
        params = session.recall("params") | {"sessionId": session.agents_id}
        result = session.recall("result")
        first += [
            PastLine(Side.CLIENT, jsonrpc.request(b"0", acp.RESUME, params), 0.0),
            PastLine(Side.AGENT, jsonrpc.result(b"0", result), 0.0),
        ]
        for (method, _), setting in session.choices().made.items():
            params = setting | {"sessionId": session.agents_id}
            first += [
                PastLine(Side.CLIENT, jsonrpc.request(b"0", method, params), 0.0),
                PastLine(Side.AGENT, jsonrpc.result(b"0", {}), 0.0),
            ]
        waiting = waiting_turn(session.log)
        still_open = {
            seq: entry
            for seq, entry in (*session.log.pins.of("open:"), *session.log.pins.of("ask:"))
            if waiting is None
            or entry.kind is not LogKind.IN
            or entry.about.number != waiting.number
        }
        if not still_open:
            continue
        for seq, entry in sorted(still_open.items()):
            if seq < session.log.first:  # it has been trimmed, and what followed it
                open_entries += _lines_of(session, entry, is_open=True)
        after = max(min(still_open), session.log.first) - 1
        while entries := session.log.read(after):
            for seq, entry in entries:
                open_entries += _lines_of(session, entry, is_open=seq in still_open)
            after = entries[-1].seq
    open_entries.sort(key=lambda each: each.at)
    begins = open_entries[0].at if open_entries else time.monotonic()
    return [msgspec.structs.replace(each, at=begins) for each in first] + open_entries


def _lines_of(session: HeldSession, entry: LogEntry, *, is_open: bool) -> Iterator[PastLine]:
    at = monotonic_at(entry.at_ms, session.clock)
    frame = jsonrpc.decode(entry.frame) if entry.frame else None
    if not isinstance(frame, jsonrpc.Frame):
        return
    if entry.kind is LogKind.IN:
        if frame.message.method == acp.CANCEL:
            yield PastLine(Side.CLIENT, session.towards_agent(entry.frame), at)
        elif is_open:
            line = jsonrpc.with_id(frame, b"%d" % entry.about.number)
            yield PastLine(Side.CLIENT, session.towards_agent(line), at, entry.about.turn)
    elif entry.kind is LogKind.ASK and is_open:
        yield PastLine(Side.AGENT, entry.frame, at)
    elif entry.kind is LogKind.OUT:
        update = frame.message.update
        if update is None or update.session_update not in _OURS:
            yield PastLine(Side.AGENT, entry.frame, at)


_OURS = frozenset(
    {*(word for each in (acp.V1, acp.V2) for word in (each.error_kind, each.retry_kind)), "notice"}
)
"""Updates that the link itself sends: failures, retries, notices."""
