"""A node of a fleet: which sessions it takes over from one that has gone, how it gets its name."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.fleet.errors import FleetError, OutcomeUnknownError
from lastword.gateway.fleet.owned_records import OwnedRecords
from lastword.gateway.fleet.records import NodeRecord
from lastword.gateway.fleet.replica import EMPTY, ReplicaBatch
from lastword.gateway.fleet.services import FleetServices
from lastword.gateway.front import fleet_node, fleet_sessions
from lastword.gateway.front.fleet_node import FleetNode
from lastword.gateway.front.fleet_sessions import Takeovers
from lastword.gateway.settings.values import FleetSettings
from tests.kit.fleet.connected import node
from tests.kit.fleet.in_memory import MemoryBucket, MemoryReplicaStore, owned, owner
from tests.kit.gateway.entries_made import end, out, said
from tests.kit.patience import fused
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Mapping
    from weakref import WeakSet

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.buckets import Mirror, StoredRecord
    from lastword.gateway.fleet.ownership import Ownership
    from lastword.gateway.fleet.records import OwnerRecord, SessionRecord
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.log.entries import LogEntry


class TwoNodes:
    """The node and the sessions of a front whose other node has gone."""

    name = "two"
    is_settled = True
    note_session = FleetServices.note_session
    note_shown = FleetServices.note_shown

    def __init__(self) -> None:
        self.services = self
        self.shown: dict[str, dict[str, int]] = {}
        self.owned = OwnedRecords(MemoryBucket(), "of two")
        self.replicas = MemoryReplicaStore()
        self.owners: dict[str, OwnerRecord] = {}
        self.nodes: dict[str, Any] = {}
        self.restored: list[str] = []

    async def session(self, session_id: str) -> None:
        """No session has ended."""

    async def of_session(self, session_id: str, client: Mapping[str, Any]) -> None:
        """Note that a session was restored."""
        del client
        self.restored.append(session_id)

    async def lose(
        self, state: SessionState, head: int, *entries: LogEntry, older_head: int | None = None
    ) -> list[str]:
        """Lose the owner whose record showed this of a log; return what is restored.

        With `older_head`, it was lost before, and restored servers then send its record again, as
        it was at that head.
        """
        claimed = await self.replicas.claim("s", EMPTY, "one")
        await self.replicas.publish("s", ReplicaBatch("e", 1, entries), claimed)
        takeovers = Takeovers(cast("FleetNode", self), cast("Directory", self))
        name = wire.name_of("s")
        others = asyncio.all_tasks()
        heads = [head] if older_head is None else [older_head, None, head, older_head]
        last = None
        for shown in [*heads, None]:
            record = None if shown is None else owned("one", state=state, head=shown)
            self.note_session(name, record or replace(owned("one"), owner=None))
            owner = None if record is None else record.owner
            takeovers.note(name, last, owner)
            last = owner
        await asyncio.gather(*asyncio.all_tasks() - others)
        return self.restored


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_node, "NAME_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(fleet_sessions, "SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr(fleet_sessions, "SPREAD_SECONDS", 0.0)


DONE = (said(1), out(), end(1))


@every(
    ("state", "head", "entries", "is_taken_over"),
    [
        (SessionState.IDLE, 0, (said(1), out()), True),  # a turn that the record did not show
        (SessionState.IDLE, 1, DONE, False),
        (SessionState.IDLE, 4, DONE, True),  # the log lacks an entry of the record's
        (SessionState.RUNNING, 1, (said(1),), True),
        (SessionState.RUNNING, 1, (said(1), end(1)), False),  # it ended since
    ],
)
@fused
async def test_a_session_is_taken_over_where_a_turn_is_open_or_entries_are_missing(
    state: SessionState, head: int, entries: tuple[LogEntry, ...], *, is_taken_over: bool
) -> None:
    assert await TwoNodes().lose(state, head, *entries) == ["s"] * is_taken_over


@fused
async def test_what_was_shown_once_counts_although_the_last_record_does_not_show_it() -> None:
    # Servers that were restored show an older record.
    assert await TwoNodes().lose(SessionState.IDLE, 4, *DONE, older_head=1) == ["s"]
    nodes = TwoNodes()
    nodes.note_shown(wire.name_of("s"), owner("one", head=4).view)
    assert await nodes.lose(SessionState.IDLE, 0, *DONE) == ["s"]


@fused
async def test_a_log_that_is_unreadable_at_first_is_read_again() -> None:
    nodes = TwoNodes()
    nodes.replicas.unreadable = 1
    assert await nodes.lose(SessionState.IDLE, 0, said(1)) == ["s"]
    assert nodes.replicas.unreadable == 0


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
        self._earlier = "of the program before"
        self._expiry = None
        self._renewed_at = -math.inf


@every("lost", [("create",), ("create",) * 3, ("read", "create"), ("renew", "read", "create")])
@every("earlier", ["", "1f", "of the program before", "another"])
@fused
async def test_a_request_without_an_answer_does_not_end_a_start(
    lost: tuple[str, ...], earlier: str
) -> None:
    records = Records(*lost)
    if earlier:
        host = "" if earlier == "another" else "box"
        await records.put("box", replace(node(), instance=earlier, host=host))
    await Node(records)._register()
    assert records.stored["box"].record == node()


@fused
async def test_a_start_does_not_wait_forever_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_node, "START_SECONDS", 0.0)
    with pytest.raises(OutcomeUnknownError):
        await Node(Records("create"))._register()


@fused
async def test_a_node_that_cannot_join_at_first_says_so_once_and_joins_before_its_lease_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Joining(Node):
        tries, joined = 3, asyncio.Event()

        async def _join(self) -> None:
            if self.tries:
                self.tries -= 1
                raise FleetError("no leader")

        async def _renew(self) -> None:
            self.joined.set()

    pauses, sleep = list[float](), asyncio.sleep

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("lastword.gateway.front.fleet_node.asyncio.sleep", pause)
    of = Joining(Records())
    await of._join_later()
    assert of.joined.is_set()
    assert sum(pauses) < fleet_node.LEASE_SECONDS
    assert capsys.readouterr().err == "lastword: no leader\n"


@fused
async def test_a_name_is_refused_while_its_node_renews_its_record() -> None:
    class Renewed(Records):
        async def read(self, name: str) -> StoredRecord[NodeRecord] | None:
            await self.put(name, other)
            return await super().read(name)

    other = replace(node(), instance="another", host="other")
    records = Renewed()
    await records.put("box", other)
    with pytest.raises(FleetError, match="another node box, on other"):
        await Node(records)._register()


@fused
async def test_why_no_server_can_be_reached_is_said_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fleet_node, "STREAMS_EVERY_SECONDS", 0.0)
    of = Node(Records())
    refused = SimpleNamespace(is_connected=False, failure="")
    of._broker = cast("Broker", refused)
    keeping = asyncio.create_task(of._keep_streams())
    said = ""
    for refused.failure in ("", "it does not accept the password", "", "it still does not"):
        await asyncio.sleep(0.01)
        said += capsys.readouterr().err
    assert said == "lastword: it does not accept the password\n"
    keeping.cancel()


class Held:
    """What a holder's ownership is told."""

    def __init__(self) -> None:
        self.told = asyncio.Event()

    def node_expiring(self) -> None:
        """Note it."""
        self.told.set()


@fused
async def test_holders_learn_that_their_nodes_record_ends_soon_unless_it_is_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records, held, now = Records(), Held(), asyncio.get_running_loop().time
    of = Node(records)
    assert not of.is_renewed
    of._ownerships = cast("WeakSet[Ownership]", {held})
    latest = fleet_node.LEASE_SECONDS - fleet_node.SPARE_SECONDS
    await of._register()
    first = of._expiry
    assert first is not None
    assert first.when() <= now() + latest
    await of._write(of._revision)
    renewed = of._expiry
    assert renewed is not None
    assert (first.cancelled(), renewed.cancelled(), of.is_renewed) == (True, False, True)
    records.is_away = True
    with pytest.raises(FleetError):
        await of._write(of._revision)
    assert (of._expiry, renewed.cancelled()) == (renewed, False)
    records.is_away = False
    assert not held.told.is_set()
    monkeypatch.setattr(fleet_node, "SPARE_SECONDS", fleet_node.LEASE_SECONDS)
    await of._write(of._revision)
    await held.told.wait()


def test_an_owner_counts_while_its_node_has_a_record_with_its_instance() -> None:
    of, noted = Node(Records()), list[str]()
    sessions = {name: owned(name) for name in ("one", "two", "box")}
    of._sessions = cast("Mirror[SessionRecord]", SimpleNamespace(records=sessions))
    of._instances, of.owners = {"box": "of box"}, {}
    of._owner_listeners = [
        lambda name, before, now: noted.append(f"{name}{' had' * bool(before)}{' has' * bool(now)}")
    ]

    def note(name: str, instance: str) -> list[str]:
        of._note_node(name, replace(node(name), instance=instance) if instance else None)
        return sorted(of.owners)

    for name, record in sessions.items():
        of._note_owner(name, record)
    assert noted == ["box has"]
    assert note("one", "of one") == ["box", "one"]
    assert note("one", "of one") == ["box", "one"]
    assert note("one", "a later one") == ["box"]
    assert note("one", "of one") == ["box", "one"]
    assert note("one", "") == ["box"]
    assert note("box", "a later one") == ["box"]  # which is still this node
    of._note_instance("box", "a later one")  # after a start
    of._note_owner("two", None)
    assert of.owners == {}
    assert noted[1:] == ["one has", "one had"] * 2 + ["box had"]
