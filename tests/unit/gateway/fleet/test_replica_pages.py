"""Pages of a session that only the fleet's streams have."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lastword.gateway.api.requests import EventQuery
from lastword.gateway.fleet import replica_pages
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.replica import BUCKET_ENTRIES, EMPTY, LogState, ReplicaBatch
from lastword.gateway.fleet.replica_pages import ReplicaLog, replica_page
from lastword.gateway.log.entries import Numbered
from lastword.gateway.log.store import LogUnavailableError
from lastword.gateway.viewing.reader import CursorError
from tests.kit.fleet.in_memory import MemoryReplicaStore
from tests.kit.fleet.replica_rules import batch
from tests.kit.gateway.entries_made import ask, out, said, told
from tests.kit.patience import FUSE_SECONDS, fused_with

SESSION = "s1"


async def filled(store: MemoryReplicaStore, *sizes: int) -> None:
    end = await store.claim(SESSION, EMPTY, "a")
    first = 1
    for size in sizes:
        end = await store.publish(SESSION, batch(first, size), end)
        first += size


played = fused_with(MemoryReplicaStore)


async def page_of(store: MemoryReplicaStore, query: EventQuery, wait_seconds: float = 0.0) -> Any:
    page = await replica_page(store, SESSION, query, wait_seconds)
    assert page is not None
    return page


@played
async def test_a_replica_is_paged_to_its_end(store: MemoryReplicaStore) -> None:
    assert await replica_page(store, SESSION, EventQuery()) is None
    await filled(store, 100, 3, 200)
    page = await page_of(store, EventQuery(limit=90))
    assert (page["from"], page["head"], page["more"]) == (1, 303, True)
    assert [event["seq"] for event in page["events"]] == list(range(1, 91))
    page = await page_of(store, EventQuery(epoch="e1", seq=90))
    assert [event["seq"] for event in page["events"]] == list(range(91, 304))
    assert (page["next"], page["more"]) == ("e1:303", False)
    with pytest.raises(CursorError):
        await page_of(store, EventQuery(epoch="e1", seq=304))


@played
async def test_a_page_waits_for_an_entry(store: MemoryReplicaStore) -> None:
    await filled(store, 1)
    query = EventQuery(epoch="e1", seq=1)
    assert (await page_of(store, query, 0.01))["events"] == []
    waiting = asyncio.create_task(page_of(store, query, FUSE_SECONDS))
    await asyncio.sleep(0)
    await store.publish(SESSION, batch(2, 1), await store.last(SESSION))
    assert [event["seq"] for event in (await waiting)["events"]] == [2]


@played
async def test_a_replica_without_its_oldest_entries_begins_behind_them(
    store: MemoryReplicaStore,
) -> None:
    await filled(store, BUCKET_ENTRIES, 10)
    await store.trim(SESSION, BUCKET_ENTRIES + 1)
    page = await page_of(store, EventQuery())
    assert page["events"][0]["seq"] == BUCKET_ENTRIES + 1
    page = await page_of(store, EventQuery(epoch="e1", seq=7))
    assert page["gap"]["to"] == BUCKET_ENTRIES


@played
async def test_a_replica_reads_like_a_log(store: MemoryReplicaStore) -> None:
    claimed = await store.claim(SESSION, EMPTY, "a")
    state = LogState("e1", 0, {}, [("ask:9", Numbered(0, ask(9)))])
    entries = [ask(1), ask(2), said(3), told(1), *[out(text="x" * 1000)] * 5]
    end = await store.publish(SESSION, ReplicaBatch("e1", 1, entries, state), claimed)
    log = ReplicaLog(store, SESSION, end, asyncio.get_running_loop())

    def read() -> None:
        assert (log.epoch, log.head, log.first) == ("e1", 9, 1)
        assert [seq for seq, _ in log.pins.of("ask:")] == [0, 2]
        assert [seq for seq, _ in log.read(0, max_entries=2)] == [1, 2]
        assert [seq for seq, _ in log.read(4, max_bytes=2500)] == [5, 6]
        assert [seq for seq, _ in log.read(8, max_bytes=1)] == [9]
        assert log.read(9) == []

    await asyncio.to_thread(read)


@played
async def test_a_batch_that_replaces_others_is_read_in_their_place(
    store: MemoryReplicaStore,
) -> None:
    await filled(store, 3)
    end = await store.last(SESSION)
    replacing = ReplicaBatch("e2", 2, [said(2)])
    end = await store.publish(SESSION, replacing, end)
    log = ReplicaLog(store, SESSION, end, asyncio.get_running_loop())
    entries = await asyncio.to_thread(log.read, 0)
    assert entries == [Numbered(1, out()), Numbered(2, said(2))]


@played
async def test_a_server_that_is_behind_is_not_a_gap(
    store: MemoryReplicaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_pages, "LOOK_SECONDS", 0.001)
    await filled(store, 2)
    end = await store.last(SESSION)
    messages = store.replicas.of(SESSION).messages
    late = messages.pop()
    asyncio.get_running_loop().call_later(0.02, messages.append, late)
    log = ReplicaLog(store, SESSION, end, asyncio.get_running_loop())
    assert len(await asyncio.to_thread(log.read, 0)) == 2
    log = ReplicaLog(store, SESSION, end, asyncio.get_running_loop())
    messages.clear()
    monkeypatch.setattr(replica_pages, "LATE_SECONDS", 0.01)
    with pytest.raises(LogUnavailableError, match="cannot be read"):
        await asyncio.to_thread(log.read, 0)


@played
async def test_an_unreachable_broker_raises_what_logs_raise(
    store: MemoryReplicaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(store, 2)
    end = await store.last(SESSION)
    log = ReplicaLog(store, SESSION, end, asyncio.get_running_loop())

    async def away(*_: object, **__: object) -> list[Any]:
        raise FleetError("the NATS server does not answer")

    monkeypatch.setattr(store, "read", away)
    with pytest.raises(LogUnavailableError, match="does not answer"):
        await asyncio.to_thread(log.read, 0)
