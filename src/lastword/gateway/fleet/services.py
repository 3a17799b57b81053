"""What a holder reaches its fleet by: the broker's buckets and streams, and its own listener.

Owns how they are put together. The front of the node has seen to it that the buckets and streams
are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.expiring import Bucket
from lastword.gateway.fleet.key import LINKS, REPLICAS, FleetKey
from lastword.gateway.fleet.node_link import NodeListener
from lastword.gateway.fleet.records import (
    LEASE_SECONDS,
    OWNERS,
    SESSIONS,
    OwnerRecord,
    Records,
    SessionRecord,
)
from lastword.gateway.fleet.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.fleet.node_link import Serve
    from lastword.gateway.fleet.records import NodeAddress
    from lastword.gateway.settings.fleet import FleetSettings


class FleetServices:
    """What one holder reaches its fleet by.

    Attributes:
        leases: the leases of the fleet's sessions.
        sessions: their records, which last.
        replicas: the replicas of their logs.
    """

    def __init__(self, settings: FleetSettings, holder: str) -> None:
        """Put them together; nothing is connected yet.

        Args:
            settings: The fleet's.
            holder: The name of the holder.

        Raises:
            FleetError: The fleet's key cannot be used.
        """
        self._settings = settings
        self._key = FleetKey.at(settings.key_file)
        self._broker = Broker(settings, f"lastword {settings.node} {holder}")
        self._listener: NodeListener | None = None
        records = Records(self._key)
        self.leases: Bucket[OwnerRecord] = Bucket(
            self._broker, OWNERS, OwnerRecord, records, LEASE_SECONDS, replaces_invalid=True
        )
        self.sessions: Bucket[SessionRecord] = Bucket(
            self._broker, SESSIONS, SessionRecord, records
        )
        self.replicas: Streams = Streams(self._broker, self._key.derived(REPLICAS))

    async def open(self, serve: Serve, connection: Callable[[bool], None]) -> NodeAddress:
        """Connect to the fleet; return where its fronts connect to this process.

        Args:
            serve: Serves the connection of a front until it ends.
            connection: Called when the connection to the fleet is lost, and when there is one
                again.

        Raises:
            FleetError: No server can be reached, or no port is free.
        """
        await self._broker.open()
        self._broker.listen(connection)
        host, low, high = self._settings.listen
        host = host or self._settings.host or self._broker.own_host
        self._listener = NodeListener(self._key.derived(LINKS), host, range(low, high + 1))
        self._listener.start(serve)
        return self._listener.address

    async def close(self) -> None:
        """End the connection to the fleet's servers, and accept no more of fronts."""
        if self._listener is not None:
            self._listener.close()
        await self._broker.close()
