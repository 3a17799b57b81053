"""The nodes that requests for new sessions went to: a viewer may send one again at any front.

Owns that of several fronts with the same request one decides.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import OPENINGS

if TYPE_CHECKING:
    from collections.abc import Container

    from lastword.gateway.fleet.services import FleetServices

OPENING_SECONDS = 24 * 3600.0
"""How long it is known which node a request for a new session went to."""


class OpeningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a new session.

    Attributes:
        node: the node whose holder has it.
        code: a random text, by which the writer knows its own record.
    """

    node: str
    code: str


class FleetOpenings:
    """The nodes that requests for new sessions went to."""

    def __init__(self, services: FleetServices) -> None:
        self._bucket = services.bucket(OPENINGS, OpeningRecord, OPENING_SECONDS)

    async def node_of(self, key: str) -> str:
        """Return the node that a request went to; empty if it has come for the first time.

        Raises:
            FleetError: It is not known, since no server answers.
        """
        stored = await self._bucket.read(wire.name_of(key))
        return stored.record.node if stored is not None else ""

    async def note(self, key: str, node: str, nodes: Container[str]) -> str:
        """Note the node that a request goes to; return the one that has it.

        Without a server that answers none is noted, and the request stays where it is.

        Args:
            key: The viewer and its request's id.
            node: The node.
            nodes: Those that are alive: the request of another one may go elsewhere.
        """
        name = wire.name_of(key)
        opening = OpeningRecord(node=node, code=secrets.token_hex(8))
        with contextlib.suppress(FleetError):
            try:
                await self._bucket.create(name, opening)
            except FencedError:
                earlier = await self.node_of(key)
                if earlier in nodes:
                    return earlier
                await self._bucket.put(name, opening)
        return node
