"""Replicated logs over a store that fails: what is replicated, and what a takeover finds."""

from __future__ import annotations

import asyncio
import sqlite3
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from lastword.gateway.fleet import replicated_log, replication, replicator
from lastword.gateway.fleet.errors import (
    FencedError,
    FleetError,
    NotStoredError,
    OutcomeUnknownError,
    RefusedError,
)
from lastword.gateway.fleet.replica import BUCKET_ENTRIES, EMPTY, ReplicaBatch, StreamEnd
from lastword.gateway.fleet.replica_pages import ReplicaLog
from lastword.gateway.fleet.replicated_log import open_claimed, open_new
from lastword.gateway.fleet.replicator import Replicator, claim
from lastword.gateway.log import sqlite
from lastword.gateway.log.session_log import session_log
from lastword.gateway.wire import name_of
from tests.kit.fleet.in_memory import Listening, MemoryReplicaStore
from tests.kit.fleet.replica_rules import RULES, batch, entries_of
from tests.kit.gateway.entries_made import ask, out, said, told
from tests.kit.patience import FUSE_SECONDS, fused, fused_with
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.gateway.fleet.replicated_log import ReplicatedLog
    from lastword.gateway.fleet.streams import Streams
    from lastword.gateway.log.entries import LogEntry

SESSION = "s1"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are short."""
    monkeypatch.setattr(replicator, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(replication, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(replication, "LONGEST_PAUSE_SECONDS", 0.002)
    monkeypatch.setattr(replicated_log, "LOOK_SECONDS", 0.001)


class Node:
    """A node with a folder, and the store that all share."""

    def __init__(self, store: MemoryReplicaStore, folder: Path, name: str = "a") -> None:
        folder.mkdir(exist_ok=True)
        self.store = store
        self.name = name
        self.path = str(folder / "log.db")
        self.listening = Listening()
        self.replicator = self.publishing()

    def publishing(self, claimed: tuple[StreamEnd, StreamEnd] | None = None) -> Replicator:
        """Return what publishes the session's log, after a claim if it is not new."""
        self.replicator = Replicator(
            self.store, SESSION, self.name, self.listening, claimed=claimed
        )
        return self.replicator

    def begin(self) -> ReplicatedLog:
        """Open a new session's log."""
        return open_new(self.path, self.replicator)

    async def take_over(self) -> tuple[ReplicatedLog, str]:
        """Claim the session and open its log; return it, and the file that was set aside."""
        inherited = await self.store.last(SESSION)
        claimed = await claim(self.store, SESSION, inherited, self.name)
        log = await open_claimed(self.path, self.publishing((inherited, claimed)), {})
        return log, min(glob(f"{self.path}.*"), default="")

    async def settle(self) -> None:
        """Wait until all is replicated."""
        async with asyncio.timeout(FUSE_SECONDS):
            await self.replicator.settled()


played = fused_with(MemoryReplicaStore)


async def replica_of(store: MemoryReplicaStore) -> list[LogEntry]:
    """Return all entries of the replica, whose numbers are dense."""
    found = await entries_of(store, SESSION)
    assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
    return [entry for _, entry in found]


@played
async def test_a_new_session_is_claimed_and_replicated_in_batches(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    node = Node(store, tmp_path)
    log = node.begin()
    log.remember("id", SESSION)
    for _ in range(100):
        log.append([out(), out()])
    await node.settle()
    assert (log.head, node.replicator.term) == (200, 1)
    assert await replica_of(store) == [out()] * 200
    state = await store.state(SESSION)
    assert state is not None
    assert state.facts == {"id": SESSION}
    assert len(store.batches) <= 3


@pytest.mark.parametrize(
    "fault",
    [
        OutcomeUnknownError("lost"),
        NotStoredError("maximum bytes exceeded"),
        FencedError("busy"),
        AttributeError("of the client's library"),
    ],
    ids=["no answer", "refused", "another under way", "unforeseen"],
)
@played
async def test_each_entry_is_replicated_once_despite_any_fault(
    store: MemoryReplicaStore, tmp_path: Path, fault: Exception
) -> None:
    node = Node(store, tmp_path)
    store.faults += [fault, None, fault, fault, None, None, fault]
    log = node.begin()
    for count in range(1, 20):
        log.append([out(text=str(count))])
        store.loses_answers += count % 3 == 0
        store.unreadable += count % 5 == 0
        await node.settle()
        assert log.head == count
    assert await replica_of(store) == [out(text=str(count)) for count in range(1, 20)]
    assert not node.listening.is_fenced.is_set()


@played
async def test_a_failing_observer_delays_no_entry(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    node = Node(store, tmp_path)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    log = node.begin()
    await node.settle()
    log.observers.append(lambda _: 1 // 0)
    for _ in range(3):
        assert await store.wait(SESSION, log.append([out()]) - 1, FUSE_SECONDS)
    log.observers.clear()
    log.append([out()])
    await node.settle()
    assert log.head == 4


@played
async def test_a_stall_is_reported_with_its_reason(
    store: MemoryReplicaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replication, "STALL_SECONDS", 0.5)
    node = Node(store, tmp_path)
    log = node.begin()
    await node.settle()
    store.faults += [RefusedError(10077, "maximum bytes exceeded")] * 100_000
    log.append([out()])
    while not node.listening.stalls:  # noqa: ASYNC110 - it is a list
        await asyncio.sleep(0.001)
    store.faults.clear()
    await node.settle()
    assert node.listening.stalls == ["maximum bytes exceeded"]


@played
async def test_an_owner_that_was_taken_over_stops_and_its_tail_is_lost(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    old, new = Node(store, tmp_path / "a"), Node(store, tmp_path / "b", "b")
    log = old.begin()
    log.remember("id", SESSION)
    log.append([ask(1), out(text="shown")])
    await old.settle()
    taken_over, aside = await new.take_over()
    assert (aside, taken_over.reason, taken_over.epoch) == ("", "", log.epoch)
    assert (taken_over.head, taken_over.remembered("id")) == (2, SESSION)
    assert [seq for seq, _ in taken_over.pins.of("ask:")] == [1]
    log.append([out(text="late")])
    await old.listening.is_fenced.wait()
    assert log.head == 2
    taken_over.append([told(1)])
    await new.settle()
    assert await replica_of(store) == [ask(1), out(text="shown"), told(1)]
    log.close()
    back, aside = await Node(store, tmp_path / "a").take_over()
    assert aside.endswith("fenced-1")
    assert (back.head, back.pins.of("ask:"), back.epoch) == (3, [], log.epoch)


@played
async def test_a_session_that_another_node_has_is_not_started(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    Node(store, tmp_path / "a").begin()
    await asyncio.sleep(0)
    second = Node(store, tmp_path / "b", "b")
    second.begin()
    await second.listening.is_fenced.wait()
    assert (await store.last(SESSION)).node == "a"


@played
async def test_a_successor_on_the_same_node_publishes_the_unpublished_entries(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    first = Node(store, tmp_path)
    log = first.begin()
    log.append([ask(1), out()])
    await first.settle()
    store.faults += [OutcomeUnknownError("away")] * 1000
    log.append([told(1), out()])
    log.close()
    store.faults.clear()
    second = Node(store, tmp_path)
    after, aside = await second.take_over()
    assert (aside, after.reason, after.epoch) == ("", "", log.epoch)
    assert (after.head, after.pins.of("ask:")) == (4, [])
    assert len(await replica_of(store)) == 4
    assert second.replicator.term == 2


def change(path: str, tail: list[LogEntry] | None) -> None:
    """Append to a log's file, or make it one that is no log."""
    if tail is None:
        Path(path).write_bytes(b"no log")
        return
    log = session_log(path)
    log.append(tail)
    log.close()


@pytest.mark.parametrize(
    ("tail", "named"),
    [
        ([], ""),
        ([out(text="other")], "fenced-1"),
        ([out(text="2"), out(text="3")], "fenced-1"),
        (None, "broken"),
    ],
)
@played
async def test_a_local_file_is_made_from_the_stream_and_set_aside_if_that_has_not_all_of_it(
    store: MemoryReplicaStore, tmp_path: Path, tail: list[LogEntry] | None, named: str
) -> None:
    node = Node(store, tmp_path)
    log = node.begin()
    log.append([out(text="1")])
    await node.settle()
    log.close()
    change(node.path, tail)
    end = await store.last(SESSION)
    if tail != []:  # without a claim, it is the file's own writer that went on
        end = await claim(store, SESSION, end, "b")
    await store.publish(SESSION, ReplicaBatch(log.epoch, 2, [out(text="2")]), end)
    after, aside = await node.take_over()
    assert bool(aside) is bool(named)
    assert named in aside
    assert [entry for _, entry in after.read(0)] == [out(text="1"), out(text="2")]


@played
async def test_a_session_without_its_oldest_entries_is_made_from_its_state_and_the_rest(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    node = Node(store, tmp_path / "a")
    log = node.begin()
    log.append([ask(1), ask(2)])
    for _ in range(3 * BUCKET_ENTRIES // 512):
        log.append([out()] * 512)
        await node.settle()
    log.append([told(2)])
    await node.settle()
    assert log.trim(limit_bytes=2 * BUCKET_ENTRIES * out().size) > BUCKET_ENTRIES - 1024
    first = log.first
    await asyncio.sleep(0)
    after, _ = await Node(store, tmp_path / "b", "b").take_over()
    assert BUCKET_ENTRIES <= after.first <= first
    assert [seq for seq, _ in after.pins.of("ask:")] == [1]
    assert after.head == log.head
    after.append([out()])


@played
async def test_a_replica_keeps_the_entries_that_its_state_does_not_cover(
    store: MemoryReplicaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replication, "STATE_ENTRIES", 10**9)
    node = Node(store, tmp_path)
    log = node.begin()
    await node.settle()
    log.append([ask(1)])
    for _ in range(2 * BUCKET_ENTRIES // 512):
        log.append([out()] * 512)
        await node.settle()
    assert log.trim(limit_bytes=1) > BUCKET_ENTRIES
    await asyncio.sleep(0)
    assert len(await replica_of(store)) == log.head


@played
async def test_a_session_whose_disk_was_full_continues_from_its_stream(
    store: MemoryReplicaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    node = Node(store, tmp_path)
    log = node.begin()
    log.append([out(text="1")])
    await node.settle()
    first = log.epoch
    with sqlite3.connect(node.path) as disk:  # as a disk that takes no more: it is locked
        disk.execute("BEGIN IMMEDIATE")
        log.append([out(text="2"), ask(1)])
        disk.rollback()
    await node.settle()
    second = log.epoch
    assert (log.head, second == first) == (3, False)
    log.close()
    after, aside = await node.take_over()
    assert (aside, after.epoch, after.head) == ("", second, 3)
    assert [seq for seq, _ in after.pins.of("ask:")] == [3]
    after.append([told(1)])
    await node.settle()
    assert len(await replica_of(store)) == 4


@played
async def test_an_owner_whose_stream_was_emptied_publishes_its_log_again_from_the_start(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    node = Node(store, tmp_path)
    log = node.begin()
    for _ in range(10):
        log.append([out()])
        await node.settle()
    await store.forget(name_of(SESSION))
    log.append([out()])
    await node.settle()
    assert await replica_of(store) == [out()] * 11
    assert (log.head, (await store.last(SESSION)).term) == (11, 2)
    store.replicas.lose(SESSION, 1)
    log.close()
    await store.forget(name_of(SESSION))
    after, aside = await node.take_over()
    assert (aside, after.head, len(await replica_of(store))) == ("", 11, 11)


@played
async def test_a_batch_that_begins_before_the_end_replaces_the_entries_there(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    end = await store.claim(SESSION, EMPTY, "a")
    for first, count in ((1, 3), (4, 2), (3, 1), (4, 1)):
        end = await store.publish(SESSION, batch(first, count), end)
    log, _ = await Node(store, tmp_path, "b").take_over()
    assert (log.first, log.head) == (1, 4)
    assert [seq for seq, _ in log.read(0)] == [1, 2, 3, 4]
    log.close()


@played
async def test_a_batch_of_an_earlier_term_than_one_before_it_does_not_count(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    old = await store.claim(SESSION, EMPTY, "a")
    old = await store.publish(SESSION, batch(1, 1), old)
    new = await store.claim(SESSION, old, "b")
    stale = ReplicaBatch("e1", 2, [said(2)])
    refused = structs.replace(new, term=old.term, node=old.node)
    end = await store.publish(SESSION, stale, refused)  # as if the fence had failed
    end = await store.publish(SESSION, batch(2, 1), structs.replace(end, term=2, node="b"))
    refused = structs.replace(end, term=old.term, node=old.node)
    end = await store.publish(SESSION, stale, refused)
    end = await store.publish(SESSION, batch(3, 1), structs.replace(end, term=2, node="b"))
    log, _ = await Node(store, tmp_path, "c").take_over()
    assert [entry for _, entry in log.read(0)] == [out()] * 3
    replica = ReplicaLog(store, SESSION, end, asyncio.get_running_loop())
    assert await asyncio.to_thread(replica.read, 0) == log.read(0)


@played
async def test_a_log_begins_behind_the_last_gap_of_its_stream(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    end = await store.claim(SESSION, EMPTY, "a")
    for first in (1, 7, 9):
        end = await store.publish(SESSION, batch(first, 2), end)
    log, _ = await Node(store, tmp_path, "b").take_over()
    assert (log.first, log.head) == (7, 10)


@played
async def test_a_stream_without_its_end_is_not_taken_over(
    store: MemoryReplicaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicated_log, "READ_SECONDS", 0.01)
    end = await store.claim(SESSION, EMPTY, "a")
    await store.publish(SESSION, batch(1, 2), end)
    node = Node(store, tmp_path, "b")
    far = StreamEnd(sequence=9, term=1, node="a", epoch="e1", last=5)
    with pytest.raises(FleetError, match="ends with 2 and not with 5"):
        await open_claimed(node.path, node.publishing((far, far)), {})


@played
async def test_a_claim_counts_although_its_answer_is_lost_and_another_nodes_does_not(
    store: MemoryReplicaStore,
) -> None:
    store.loses_answers, store.unreadable = 1, 1
    store.faults += [FencedError("another under way"), NotStoredError("no leader")]
    claimed = await claim(store, SESSION, EMPTY, "a")
    assert (claimed.term, claimed.node) == (1, "a")
    assert await store.last(SESSION) == claimed
    with pytest.raises(FencedError):
        await claim(store, SESSION, EMPTY, "b")


@played
async def test_a_restored_connection_checks_its_stream(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    node = Node(store, tmp_path)
    node.replicator.connected()
    log = node.begin()
    log.append([out()])
    await node.settle()
    node.replicator.disconnected()
    await store.forget(name_of(SESSION))
    node.replicator.connected()
    assert await store.wait(SESSION, 0, FUSE_SECONDS)
    log.close()


@played
async def test_a_log_from_before_the_fleet_is_published_with_its_pinned_entries(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    local = session_log(str(tmp_path / "log.db"))
    local.append([ask(1)])
    for _ in range(5):
        local.append([out(text="x" * 1000)])
    local.trim(limit_bytes=3000)
    local.close()
    log, aside = await Node(store, tmp_path).take_over()
    assert (aside, log.head, log.epoch) == ("", 6, local.epoch)
    assert [seq for seq, _ in log.pins.of("ask:")] == [1]
    log.close()
    other, _ = await Node(store, tmp_path / "b", "b").take_over()
    assert (other.first, other.head) == (local.first, 6)
    assert [seq for seq, _ in other.pins.of("ask:")] == [1]


@played
async def test_a_session_that_another_node_claims_in_the_meantime_is_not_opened(
    store: MemoryReplicaStore, tmp_path: Path
) -> None:
    node = Node(store, tmp_path)
    claimed = await claim(store, SESSION, EMPTY, "a")
    await claim(store, SESSION, claimed, "b")
    with pytest.raises(FencedError, match="another node"):
        await open_claimed(node.path, node.publishing((EMPTY, claimed)), {})
    assert node.listening.is_fenced.is_set()


@played
async def test_a_closed_log_waits_for_nothing(store: MemoryReplicaStore, tmp_path: Path) -> None:
    node = Node(store, tmp_path)
    log = node.begin()
    await node.settle()
    store.faults += [OutcomeUnknownError("away")] * 1000
    log.append([out()])
    log.close()
    assert not await node.replicator.settled()


@every("rule", RULES)
@fused
async def test_replicas_in_memory_keep_what_every_store_keeps(
    rule: Callable[[Streams, str], Awaitable[None]],
) -> None:
    await rule(MemoryReplicaStore(), "session")
