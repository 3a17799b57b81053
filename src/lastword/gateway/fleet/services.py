"""What a holder reaches its fleet by: the broker's buckets and streams.

Owns how they are put together. The front of the node has seen to it that the buckets and streams
are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.expiring import Bucket
from lastword.gateway.fleet.key import REPLICAS, FleetKey
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
        key = FleetKey.at(settings.key_file)
        self._broker = Broker(settings, f"lastword {settings.node} {holder}")
        records = Records(key)
        self.leases: Bucket[OwnerRecord] = Bucket(
            self._broker, OWNERS, OwnerRecord, records, LEASE_SECONDS, replaces_invalid=True
        )
        self.sessions: Bucket[SessionRecord] = Bucket(
            self._broker, SESSIONS, SessionRecord, records
        )
        self.replicas: Streams = Streams(self._broker, key.derived(REPLICAS))

    async def open(self, connection: Callable[[bool], None]) -> None:
        """Connect to the fleet.

        Args:
            connection: Called when the connection to the fleet is lost, and when there is one
                again.

        Raises:
            FleetError: No server can be reached.
        """
        await self._broker.open()
        self._broker.listen(connection)

    async def close(self) -> None:
        """End the connection to the fleet's servers."""
        await self._broker.close()
