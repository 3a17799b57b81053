"""Clients: what they do with a failure, as measured or as read in their source.

Rungs (`core.failure.ladder`) and treatments of `data.details` (`core.failure.ladder`) are
given as words.
"""

from __future__ import annotations

from typing import Any

from lastword.quirks import Quirk


class ClientRule(Quirk, frozen=True, kw_only=True):
    """A client's needs that it does not advertise; `name` is its `clientInfo.name`, lower case.

    Attributes:
        rung: the rung by which failures reach it.
        details: how it uses `data.details`.
    """

    rung: str
    details: str


class ClientOffer(Quirk, frozen=True, kw_only=True):
    """Members of a client's `initialize` that decide how failures reach it.

    Attributes:
        capabilities: its `clientCapabilities`, as far as they matter here.
    """

    capabilities: dict[str, Any]


RULES = {
    row.name: row
    for row in (
        ClientRule(
            name="zed",
            rung="error_with_meta",
            details="alone",
            evidence=(
                "its source: of a prompt's error of the code -32603 it shows data.details where "
                "that is the only key; to any other error's message it appends data as raw JSON. "
                "It resends nothing (protocol/CLIENTS.md has what a client `zed` is sent)"
            ),
            version="Zed at 0038d2e2cc9b: crates/agent_servers/src/acp.rs, `ErrorDetails`",
        ),
        ClientRule(
            name="acpx",
            rung="error_with_meta",
            details="told",
            evidence="prints data.details in the place of the message (protocol/CLIENTS.md)",
            version="acpx 0.19.1",
        ),
    )
}
"""By name. Each is in protocol/CLIENTS.md, with its evidence."""

JETBRAINS = ClientOffer(
    name="jetbrains",
    capabilities={
        "_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}
    },
    evidence="the capability that the agents look for which speak AIR (src/air-extension.ts)",
    version="version 1 of the convention: claude-agent-acp 0.100.0, codex-acp 2.6.0",
)

ROWS = (*RULES.values(), JETBRAINS)
