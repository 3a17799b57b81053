"""The parts of a front that only a fleet has, put together.

Owns their start and their end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lastword.gateway.front.fleet_directory import FleetDirectory
from lastword.gateway.front.fleet_source import FleetSource
from lastword.gateway.front.fleet_takeovers import Takeovers

if TYPE_CHECKING:
    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.front.holders import Holders

FORGET_EVERY_SECONDS = 3600.0


class FleetFront:
    """A front as that of one node of a fleet.

    Attributes:
        node: the node.
        directory: finds the sessions of the fleet.
        source: reads them and their logs.
    """

    def __init__(self, node: FleetNode, own: Holders, log_age_seconds: float) -> None:
        """Put it together.

        Args:
            node: The node.
            own: This machine's holders.
            log_age_seconds: How long a session's log is kept after its end.
        """
        self._log_age = log_age_seconds
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
        await self.node.start(self.directory.serve, self._own.count_busy, waits=waits)
        self._forgetting = asyncio.create_task(self._forget_old())

    async def _forget_old(self) -> None:
        while True:
            await self.node.forget_old(self._log_age)
            await asyncio.sleep(FORGET_EVERY_SECONDS)

    async def close(self, *, goes_on: bool) -> None:
        """Leave the fleet; where the program is replaced, the node's record stays for its time."""
        self._forgetting.cancel()
        self._takeovers.close()
        await self.node.close(stays=goes_on)
