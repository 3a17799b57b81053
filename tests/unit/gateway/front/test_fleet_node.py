"""How a node of a fleet gets its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.gateway.fleet.errors import FleetError, OutcomeUnknownError
from lastword.gateway.fleet.records import NodeRecord
from lastword.gateway.front import fleet_node
from lastword.gateway.front.fleet_node import FleetNode
from lastword.gateway.settings.values import FleetSettings
from tests.kit.fleet.connected import node
from tests.kit.fleet.leases_in_memory import MemoryBucket
from tests.kit.patience import fused
from tests.kit.rows import every

if TYPE_CHECKING:
    from lastword.gateway.fleet.buckets import StoredRecord


class Records(MemoryBucket[NodeRecord]):
    """The records of nodes, at servers of which some answers are lost."""

    def __init__(self, *lost: str) -> None:
        super().__init__()
        self._lost = list(lost)

    def _lose(self, request: str) -> None:
        if request in self._lost:
            self._lost.remove(request)
            raise OutcomeUnknownError("the NATS server does not answer")

    async def read(self, name: str) -> StoredRecord[NodeRecord] | None:
        """Return a record."""
        self._lose("read")
        return await super().read(name)

    async def create(self, name: str, record: NodeRecord) -> int:
        """Create a record."""
        self._lose("create")
        return await super().create(name, record)

    async def renew(self, name: str, record: NodeRecord, revision: int) -> int:
        """Renew a record."""
        self._lose("renew")
        return await super().renew(name, record, revision)


class Node(FleetNode):
    """A node of which there is its name and its record."""

    record = node()

    def __init__(self, records: Records) -> None:
        self.settings = FleetSettings(urls=["nats://x"], node="box", instance="1f")
        self._node_records = records  # type: ignore[assignment]
        self._revision = 0


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_node, "NAME_LOOK_SECONDS", 0.0)


@every("lost", [("create",), ("create",) * 3, ("read", "create"), ("renew", "read", "create")])
@every("earlier", [None, node(), msgspec.structs.replace(node(), instance="another")])
@fused
async def test_a_request_without_an_answer_does_not_end_a_start(
    lost: tuple[str, ...], earlier: NodeRecord | None
) -> None:
    records = Records(*lost)
    if earlier is not None:
        await records.put("box", earlier)
    await Node(records)._register()
    assert records.stored["box"].record == node()


@fused
async def test_a_start_does_not_wait_forever_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_node, "START_SECONDS", 0.0)
    with pytest.raises(OutcomeUnknownError):
        await Node(Records("create"))._register()


@fused
async def test_a_name_is_refused_while_its_node_renews_its_record() -> None:
    class Renewed(Records):
        async def read(self, name: str) -> StoredRecord[NodeRecord] | None:
            await self.put(name, other)
            return await super().read(name)

    other = msgspec.structs.replace(node(), instance="another", host="other")
    records = Renewed()
    await records.put("box", other)
    with pytest.raises(FleetError, match="another node box, on other"):
        await Node(records)._register()
