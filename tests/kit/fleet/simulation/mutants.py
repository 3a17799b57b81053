"""Fleets that are put together wrongly: the referee has to see each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lastword.gateway.fleet.replication import Visible
from tests.kit.fleet.simulation.world import FleetMachine

if TYPE_CHECKING:
    from lastword.gateway.fleet.replica import LogState, ReplicaBatch, StoredBatch, StreamEnd
    from lastword.gateway.fleet.replication import Effect, Replication
    from tests.kit.fleet.simulation.broker import Broker
    from tests.kit.fleet.simulation.owner import Owner


class ShowsBeforeReplicated(FleetMachine):
    """Entries are visible once they are in the owner's file."""

    def committed(self, replication: Replication, last: int, now: float) -> list[Effect]:
        return [Visible(last), *super().committed(replication, last, now)]


class LeaseForFence(FleetMachine):
    """Whoever believes to have the record may write, whatever the stream's end is."""

    def publish(self, broker: Broker, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        return broker.publish(batch, replace(after, sequence=broker.end.sequence))


class RenewsWithoutExpiry(FleetMachine):
    """A renewed record does not expire."""

    def renew(self, broker: Broker, node: str, term: int) -> bool:
        lease = broker.lease
        is_renewal = lease is not None and (lease.node, lease.term) == (node, term)
        return broker.renew(node, term, expires=not is_renewal)


class ResendsUnsettled(FleetMachine):
    """What has no outcome is sent again behind whatever is there."""

    def unknown(self, owner: Owner, now: float) -> list[Effect]:
        assert owner.replication is not None
        expected = replace(owner.replication.end, sequence=owner.broker.end.sequence)
        return owner.replication.end_read(expected, now)


class AcknowledgedByAnother(FleetMachine):
    """The last message's numbers count, whosever it is."""

    def end_read(self, replication: Replication, end: StreamEnd, now: float) -> list[Effect]:
        own = replication.end
        return replication.end_read(replace(end, term=own.term, node=own.node), now)


class RebuildsTooLittle(FleetMachine):
    """A new owner leaves out the stream's last batch."""

    def read(self, broker: Broker) -> tuple[StreamEnd, LogState | None, list[StoredBatch]]:
        end, state, batches = super().read(broker)
        return end, state, batches[:-1]


FLEET_MUTANTS = {
    "shows_before_replicated": ShowsBeforeReplicated,
    "lease_for_fence": LeaseForFence,
    "renews_without_expiry": RenewsWithoutExpiry,
    "resends_unsettled": ResendsUnsettled,
    "acknowledged_by_another": AcknowledgedByAnother,
    "rebuilds_too_little": RebuildsTooLittle,
}
