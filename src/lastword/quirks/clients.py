"""Clients: how they treat a failure, as measured or as read in their source.

Rungs and treatments of `data.details` are words of `core.failure.ladder`.
"""

from __future__ import annotations

from typing import Any

from lastword.quirks import Quirk, rows


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
        capabilities: the relevant members of its `clientCapabilities`.
    """

    capabilities: dict[str, Any]


RULES = {row.name: row for row in rows("client_rules", ClientRule)}
"""By name. Each is in protocol/CLIENTS.md, with its evidence."""

(JETBRAINS,) = rows("client_offers", ClientOffer)

ROWS = (*RULES.values(), JETBRAINS)
