"""Ownership: new sessions, takeovers, and what becomes of an owner that has been replaced."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.buckets import StoredRecord
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.owned_records import OwnedRecords
from lastword.gateway.fleet.ownership import Ownership, Takeover
from lastword.gateway.fleet.services import FleetServices
from lastword.gateway.log import files
from lastword.gateway.log.entries import LogEntry, LogKind
from lastword.gateway.log.files import LogOwnedError
from lastword.gateway.settings.values import FleetSettings, HolderSettings
from tests.kit.fleet.connected import node
from tests.kit.fleet.in_memory import MemoryBucket, MemoryReplicas, MemoryReplicaStore, owner
from tests.kit.patience import FUSE_SECONDS, fused

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.records import NodeRecord, OwnerRecord, SessionRecord
    from lastword.gateway.log.store import Log


class NoBroker(Broker):
    """A connection that is there."""

    def __init__(self) -> None:
        self._listeners = []

    async def open(self, seconds: float = 0.0) -> None:
        """Do nothing."""


class MemoryFleet:
    """What the nodes of a fleet share."""

    def __init__(self) -> None:
        self.nodes: MemoryBucket[NodeRecord] = MemoryBucket()
        self.sessions: MemoryBucket[SessionRecord] = MemoryBucket()
        self.memory = MemoryReplicas()
        self.replicas = MemoryReplicaStore(self.memory)
        self.shown: dict[str, dict[str, int]] = {}

    def owner(self) -> OwnerRecord | None:
        """Return the owner of the session."""
        return self.sessions.stored[NAME].record.owner


class NodeServices(FleetServices):
    """What one node has of a fleet."""

    def __init__(self, fleet: MemoryFleet, name: str) -> None:
        self.broker = NoBroker()
        self.nodes, self.sessions, self.replicas = fleet.nodes, fleet.sessions, fleet.replicas
        self.shown = fleet.shown
        self.owned = OwnedRecords(fleet.sessions, f"of {name}")


class OwningNode:
    """A holder of one node, as its ownership knows it."""

    def __init__(self, fleet: MemoryFleet, folder: Path, name: str, workspace: str = "") -> None:
        state = folder / name
        state.mkdir(exist_ok=True)
        root = folder / "shared" if workspace else state
        root.mkdir(exist_ok=True)
        self.settings = HolderSettings(
            log_folder=str(state),
            root=str(root),
            fleet=FleetSettings(
                urls=["nats://x"], node=name, instance=f"of {name}", workspace=workspace
            ),
        )
        self.services = NodeServices(fleet, name)
        record = msgspec.structs.replace(node(name), instance=f"of {name}")
        fleet.nodes.stored[name] = StoredRecord(record, 1)
        self.left: list[tuple[str, int, int]] = []
        self.has_left = asyncio.Event()
        self.has_left_all = False
        self.ownership = Ownership(self.services, self)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve nobody."""

    def fenced(self, session_id: str, term: int, entries: int) -> None:
        self.left.append((session_id, term, entries))
        self.has_left.set()

    def leave_all(self) -> None:
        self.has_left_all = True

    def path(self, session_id: str) -> str:
        return files.path_in(self.settings.log_folder, wire.name_of(session_id))

    def has_file(self, session_id: str) -> bool:
        """Whether the session's log is here."""
        return os.path.exists(self.path(session_id))

    def open(self, session_id: str) -> OwnedHere:
        """Return a session whose log is open."""
        return OwnedHere(session_id, self.ownership.open_log(session_id, self.path(session_id)))


class OwnedHere:
    """A session, as its ownership knows it."""

    def __init__(self, session_id: str, log: Log) -> None:
        self.id = session_id
        self.agents_id = session_id
        self.log = log
        self.is_finished = False
        self.notices: list[str] = []

    def say(self, *texts: str) -> None:
        self.log.append([LogEntry(LogKind.OUT, 1, text.encode()) for text in texts])

    def said(self) -> list[str]:
        """What is in the log, as whoever reads it sees it."""
        return [entry.frame.decode() for _, entry in self.log.read(0)]

    def view(self) -> SessionView:
        state = SessionState.ENDED if self.is_finished else SessionState.RUNNING
        return msgspec.structs.replace(owner("").view, id=self.id, state=state, cwd="/work")

    def show_outage(self, line: str, times: int) -> None:
        self.notices.append(f"{times}: {line}")

    def finish(self) -> None:
        self.is_finished = True
        self.log.finish()


NAME = wire.name_of("s")


async def begun(node: OwningNode) -> OwnedHere:
    """A new session of a node, with two entries that are replicated."""
    await node.ownership.start("")
    session = node.open("s")
    await node.ownership.opened(session)
    session.say("one", "two")
    await replicated(session)
    return session


async def replicated(session: OwnedHere) -> None:
    """Wait until all that was written counts."""
    last = session.log.append([])
    grown = asyncio.Event()
    session.log.observers.append(lambda _: grown.set())
    while session.log.head < last:
        await grown.wait()
        grown.clear()


@fused
async def test_a_new_session_is_registered_in_the_fleet_with_its_first_term(tmp_path: Path) -> None:
    fleet = MemoryFleet()
    session = await begun(OwningNode(fleet, tmp_path, "one"))
    record, held = fleet.sessions.stored[NAME].record, fleet.owner()
    assert (record.node, record.term, record.cwd, record.ended) == ("one", 1, "/work", None)
    assert held is not None
    assert (held.node, held.instance) == ("one", "of one")
    assert session.said() == ["one", "two"]


@fused
async def test_a_session_of_a_live_owner_or_one_that_the_fleet_cannot_know_of_is_refused(
    tmp_path: Path,
) -> None:
    fleet = MemoryFleet()
    await begun(OwningNode(fleet, tmp_path, "one"))
    two = OwningNode(fleet, tmp_path, "two")
    with pytest.raises(LogOwnedError):
        await two.ownership.start("s")
    assert not two.has_file("s")
    await two.ownership.start("")
    fleet.sessions.is_away = True
    with pytest.raises(FleetError):
        await two.ownership.opened(two.open("new"))


@pytest.mark.parametrize("workspace", ["", "team"])
@fused
async def test_a_session_of_a_lost_node_is_read_from_the_fleet_by_the_next_one(
    tmp_path: Path, workspace: str
) -> None:
    fleet = MemoryFleet()
    one = OwningNode(fleet, tmp_path, "one", workspace)
    session = await begun(one)
    fleet.nodes.expire("one")
    two = OwningNode(fleet, tmp_path, "two", workspace)
    assert await two.ownership.start("s") == Takeover(has_files=bool(workspace))
    assert fleet.sessions.stored[NAME].record.term == 2
    after = two.open("s")
    await two.ownership.opened(after)
    assert after.said() == ["one", "two"]
    home = "two" if workspace else "one"
    assert fleet.sessions.stored[NAME].record.node == home
    session.say("three")  # by the node that is not lost after all
    await one.has_left.wait()
    assert one.left == [("s", 1, 1)]
    assert session.said() == ["one", "two"]
    after.say("four")
    await replicated(after)
    assert after.said() == ["one", "two", "four"]


@fused
async def test_a_holder_that_dies_is_followed_by_another_on_its_node_at_once(
    tmp_path: Path,
) -> None:
    fleet = MemoryFleet()
    before = OwningNode(fleet, tmp_path, "one")
    session = await begun(before)
    held = fleet.owner()
    session.log.close()
    after = OwningNode(fleet, tmp_path, "one")
    assert await after.ownership.start("s") is None
    assert (fleet.owner(), fleet.sessions.stored[NAME].record.term) == (held, 2)
    assert after.open("s").said() == ["one", "two"]


@fused
async def test_an_agent_that_runs_on_waits_for_servers_that_elect_a_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastword.gateway.fleet.ownership.PAUSE_SECONDS", 0.0)
    fleet = MemoryFleet()
    before = OwningNode(fleet, tmp_path, "one")
    (await begun(before)).log.close()
    await before.ownership.close(goes_on=True)
    after, now = OwningNode(fleet, tmp_path, "one"), asyncio.get_running_loop().time()
    fleet.replicas.unreadable = 3
    with pytest.raises(FleetError):
        await after.ownership.reclaim("s", now)
    await after.ownership.reclaim("s", now + FUSE_SECONDS)
    assert fleet.sessions.stored[NAME].record.term == 2


@fused
async def test_a_returning_node_continues_a_session_that_another_only_showed(
    tmp_path: Path,
) -> None:
    fleet = MemoryFleet()
    session = await begun(OwningNode(fleet, tmp_path, "one"))
    session.log.close()
    fleet.nodes.expire("one")
    two = OwningNode(fleet, tmp_path, "two")
    assert await two.ownership.start("s") == Takeover(has_files=False)
    shown = two.open("s")
    await two.ownership.opened(shown)
    shown.say("three")
    await replicated(shown)
    await two.ownership.close()
    assert fleet.owner() is None
    one = OwningNode(fleet, tmp_path, "one")
    assert await one.ownership.start("s") == Takeover(has_files=True)
    assert one.open("s").said() == ["one", "two", "three"]


@pytest.mark.parametrize("lost", [0, 1])
@fused
async def test_an_end_that_the_servers_have_lost_is_noticed_by_the_next_owner(
    tmp_path: Path, lost: int
) -> None:
    fleet = MemoryFleet()
    services = NodeServices(fleet, "other")
    session = await begun(OwningNode(fleet, tmp_path, "one"))
    epoch = session.log.epoch
    for seen in (0, 2, 1):
        view = msgspec.structs.replace(session.view(), epoch=epoch, head=seen)
        record = fleet.sessions.stored[NAME].record
        held = msgspec.structs.replace(owner("one"), view=view)
        services.note_session(NAME, msgspec.structs.replace(record, owner=held))
    services.note_session(NAME, msgspec.structs.replace(record, owner=None))
    fleet.nodes.expire("one")
    if lost:
        fleet.memory.lose("s", lost)
    two = OwningNode(fleet, tmp_path, "two")
    await two.ownership.start("s")
    after = two.open("s")
    assert (after.log.epoch != epoch, after.log.reason) == ((True, "lost") if lost else (False, ""))
    services.note_session(NAME, None)
    assert not fleet.shown


@fused
async def test_only_one_of_several_nodes_takes_a_session_over(tmp_path: Path) -> None:
    fleet = MemoryFleet()
    await begun(OwningNode(fleet, tmp_path, "one"))
    fleet.nodes.expire("one")
    others = [OwningNode(fleet, tmp_path, f"other-{number}") for number in range(8)]
    results = await asyncio.gather(
        *(each.ownership.start("s") for each in others), return_exceptions=True
    )
    assert sum(isinstance(each, Takeover) for each in results) == 1
    assert sum(isinstance(each, LogOwnedError) for each in results) == 7
    assert fleet.sessions.stored[NAME].record.term == 2


@fused
async def test_a_session_that_ends_is_finished_once_the_fleet_has_it_all(tmp_path: Path) -> None:
    fleet = MemoryFleet()
    node = OwningNode(fleet, tmp_path, "one")
    session = await begun(node)
    session.say("the end")
    assert session.said() == ["one", "two"]
    node.ownership.ended(session)
    await node.ownership.close()
    assert session.is_finished
    assert session.said() == ["one", "two", "the end"]
    assert fleet.owner() is None
    assert fleet.sessions.stored[NAME].record.ended is not None


@fused
async def test_a_session_that_is_left_is_the_next_holders_while_another_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastword.gateway.fleet.ownership.DRAIN_SECONDS", 0.05)
    fleet = MemoryFleet()
    before, after = (OwningNode(fleet, tmp_path, "one") for _ in range(2))
    after.services.owned = before.services.owned
    left = await begun(before)
    ending = before.open("a fork")
    await before.ownership.opened(ending)
    fleet.replicas.faults.extend([FleetError("away")] * 100)
    ending.say("the end")
    left.log.close()
    before.ownership.ended(ending)
    closing = asyncio.create_task(before.ownership.close())
    for _ in range(5):
        await asyncio.sleep(0)
    fleet.replicas.faults.clear()
    await after.ownership.start("s")
    await closing
    assert fleet.owner() is not None
    assert fleet.sessions.stored[wire.name_of("a fork")].record.ended is not None


@fused
async def test_a_session_that_had_ended_has_still_ended_if_no_agent_takes_it_up(
    tmp_path: Path,
) -> None:
    fleet = MemoryFleet()
    node = OwningNode(fleet, tmp_path, "one")
    node.ownership.ended(await begun(node))
    await node.ownership.close()
    ended = fleet.sessions.stored[NAME].record.ended
    assert ended is not None
    after = OwningNode(fleet, tmp_path, "one")
    await after.ownership.start("s")
    await after.ownership.close()
    assert (fleet.owner(), fleet.sessions.stored[NAME].record.ended) == (None, ended)


@fused
async def test_a_broker_that_is_away_does_not_keep_a_session_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastword.gateway.fleet.ownership.DRAIN_SECONDS", 0.01)
    fleet = MemoryFleet()
    node = OwningNode(fleet, tmp_path, "one")
    session = await begun(node)
    fleet.sessions.is_away = True
    node.ownership.ended(session)
    await node.ownership.close()
    assert session.is_finished


@pytest.mark.parametrize("workspace", ["", "team"])
@fused
async def test_an_agent_ends_before_its_nodes_lease_only_if_others_share_its_files(
    tmp_path: Path, workspace: str
) -> None:
    node = OwningNode(MemoryFleet(), tmp_path, "one", workspace)
    await begun(node)
    node.ownership.node_expiring()
    assert node.has_left_all is bool(workspace)


@fused
async def test_viewers_are_notified_that_nothing_is_replicated(tmp_path: Path) -> None:
    node = OwningNode(MemoryFleet(), tmp_path, "one")
    session = await begun(node)
    node.ownership.stalled("s", "", 1)
    node.ownership.stalled("another", "", 1)
    (notice,) = session.notices
    assert notice.startswith("1: This machine cannot reach")
    session.say("three", "four")
    assert node.ownership.behind == 2
    await replicated(session)
    assert node.ownership.behind == 0
