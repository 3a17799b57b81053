"""The table of kinds of clients, and the rung that each would get in front of this agent.

Owns what typical clients say in `initialize`. `core.link.handshake` reads it and
`core.failure.ladder.rung_for` chooses the rung, as in a real session.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from lastword.core.failure.ladder import Rung, rung_for
from lastword.core.failure.option_values import RUNGS, earlier_names
from lastword.core.link.handshake import read_client
from lastword.core.protocol import acp
from lastword.quirks import clients

TYPED: dict[str, Any] = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


class ClientKind(msgspec.Struct, frozen=True):
    """A kind of client.

    Attributes:
        name: Its name for --client.
        about: What characterises it.
        params: The params of its `initialize`.
    """

    name: str
    about: str
    params: dict[str, Any]


class ClientRow(msgspec.Struct, frozen=True):
    """What one kind of client gets: the rung of a failure, and how it shows waits.

    Waits are shown as a `retry`, a `notice` or a `thought`.
    """

    client: str
    about: str
    rung: Rung
    forced: bool
    waits: str

    def as_json(self) -> dict[str, Any]:
        """Return the row for a machine."""
        own: dict[str, Any] = msgspec.to_builtins(self)
        also = {"aliases": earlier_names(self.rung.value)}
        return own | also | {"means": RUNGS.get(self.rung.value, "")}


def _v1(name: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    info = {"name": name, "version": "1"}
    return {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": capabilities}


def _kinds() -> dict[str, ClientKind]:
    ruled = [
        ClientKind(name, "its current version, from lastword's table of clients", _v1(name, {}))
        for name in clients.RULES
    ]
    v2 = {"protocolVersion": 2, "info": {"name": "v2", "version": "1"}, "capabilities": {}}
    air = _v1("jetbrains", clients.JETBRAINS.capabilities)
    own = [
        ClientKind("jetbrains", "takes JetBrains' own failure records (sessionFailure)", air),
        ClientKind("typed", "negotiates agent_error", _v1("typed", TYPED)),
        ClientKind("older", "protocol version 1, negotiates nothing", _v1("older", {})),
        ClientKind("v2", "protocol version 2", v2),
    ]
    return {client.name: client for client in (*ruled, *own)}


CLIENTS = _kinds()


def table(name: str | None, *, option: str, speaks_v2: bool) -> list[ClientRow]:
    """Return the rows for one kind of client, or for all that are known.

    Args:
        name: A known kind, or any client's `clientInfo.name`.
        option: The user's choice of a rung (`LASTWORD_FALLBACK`), else `auto`.
        speaks_v2: Whether the agent speaks version 2 to a client that asks for it.
    """
    if name is None:
        chosen = list(CLIENTS.values())
    else:
        unknown = ClientKind(name, "unknown to lastword; negotiates nothing", _v1(name, {}))
        chosen = [CLIENTS.get(name.lower(), unknown)]
    return [_row(client, option, speaks_v2=speaks_v2) for client in chosen]


def _row(client: ClientKind, option: str, *, speaks_v2: bool) -> ClientRow:
    message = {"jsonrpc": "2.0", "id": 0, "method": acp.INITIALIZE, "params": client.params}
    profile = read_client(json.dumps(message).encode())
    # What the agent answers counts: a client that asks for more gets what the agent speaks.
    dialect = profile.dialect if speaks_v2 else acp.V1
    rung = rung_for(option, profile, dialect)
    about = client.about
    if profile.dialect is not dialect:
        about += "; this agent speaks only version 1"
    forced = rung_for("auto", profile, dialect) is not rung
    has_notices = profile.notices or not dialect.notice_needs_capability or rung is Rung.AIR
    waits = "retry" if profile.retry else "notice" if has_notices else "thought"
    return ClientRow(client.name, about, rung, forced, waits)
