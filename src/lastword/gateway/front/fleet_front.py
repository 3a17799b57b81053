"""The parts of a front that only a fleet has, put together.

Owns their start and their end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.front.fleet_directory import FleetDirectory
from lastword.gateway.front.fleet_source import FleetSource
from lastword.gateway.front.fleet_takeovers import Takeovers

if TYPE_CHECKING:
    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.front.holders import Holders


class FleetFront:
    """A front as that of one node of a fleet.

    Attributes:
        node: the node.
        directory: finds the sessions of the fleet.
        source: reads them and their logs.
    """

    def __init__(self, node: FleetNode, own: Holders) -> None:
        """Put it together with this machine's holders."""
        self.node: FleetNode = node
        self.directory: FleetDirectory = FleetDirectory(own, node)
        self.source: FleetSource = FleetSource(self.directory, node)
        self._own = own
        self._takeovers = Takeovers(node, self.directory)
        node.listen_to_owners(self._takeovers.note)

    async def start(self, *, waits: bool) -> None:
        """Join the fleet, at once or as soon as that is possible.

        Raises:
            FleetError: It cannot be joined.
        """
        handlers = self.directory.handlers()
        await self.node.start(handlers, self._own.count_busy, waits=waits)

    async def close(self) -> None:
        """Leave the fleet."""
        self._takeovers.close()
        await self.node.close()
