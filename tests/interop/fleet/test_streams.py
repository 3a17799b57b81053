"""Replicas of sessions in three real NATS servers, and what befalls these."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.key import REPLICAS, FleetKey
from lastword.gateway.fleet.records import SESSIONS, Records, SessionRecord
from lastword.gateway.fleet.replica import BUCKET_ENTRIES, EMPTY, LogState, ReplicaBatch
from lastword.gateway.fleet.replicated_log import open_claimed, open_new
from lastword.gateway.fleet.replicator import Replicator, claim
from lastword.gateway.fleet.services import forget_old
from lastword.gateway.fleet.stream_messages import Subjects, batch_messages, signed
from lastword.gateway.fleet.streams import Streams
from lastword.gateway.wire import name_of
from tests.kit.fleet.connected import KEY, connected
from tests.kit.fleet.in_memory import Listening
from tests.kit.fleet.in_memory import owner as owner_record
from tests.kit.fleet.replica_rules import RULES, entries_of
from tests.kit.gateway.entries_made import ask, out
from tests.kit.patience import fused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.replicated_log import ReplicatedLog
    from lastword.gateway.log.entries import LogEntry
    from tests.kit.fleet.servers import Cluster

MEGABYTE = 1024 * 1024


class Owner:
    def __init__(self, broker: Broker, folder: Path, name: str = "a", session: str = "") -> None:
        self.session = session or f"session-{secrets.token_hex(4)}"
        self.store = Streams(broker, KEY.derived(REPLICAS))
        self.listening = Listening()
        self.path = str(folder / f"{name}.db")
        self.name = name
        self.replicator = Replicator(self.store, self.session, name, self.listening)
        broker.listen(self._note)

    def _note(self, is_connected: bool) -> None:
        (self.replicator.connected if is_connected else self.replicator.disconnected)()

    async def begin(self) -> ReplicatedLog:
        log = open_new(self.path, self.replicator)
        await self.settle()
        return log

    async def take_over(self) -> ReplicatedLog:
        inherited = await self.store.last(self.session)
        claimed = await claim(self.store, self.session, inherited, self.name)
        self.replicator = Replicator(
            self.store, self.session, self.name, self.listening, claimed=(inherited, claimed)
        )
        return await open_claimed(self.path, self.replicator, {})

    async def settle(self) -> None:
        await self.replicator.settled()

    async def texts(self) -> list[bytes]:
        """Return the frames of the replica, whose numbers are dense."""
        found = await entries_of(self.store, self.session)
        assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
        return [entry.frame for _, entry in found]


@fused
async def test_the_rules_for_every_store_hold(cluster: Cluster) -> None:
    async with connected(cluster.urls, replicas=3) as broker:

        async def keep(rule: Callable[[Streams, str], Awaitable[None]]) -> None:
            store, session = Streams(broker, KEY.derived(REPLICAS)), f"rules-{secrets.token_hex(4)}"
            # This server may not know yet who leads a stream that was just made.
            await claim(store, session, EMPTY, "a")
            await store.forget(name_of(session))
            await rule(store, session)

        await asyncio.gather(*map(keep, RULES))


@pytest.mark.parametrize("megabytes", [3, pytest.param(65, marks=pytest.mark.matrix)])
@fused
async def test_an_entry_larger_than_any_message_is_one_entry(
    cluster: Cluster, megabytes: int
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        store, session = Streams(broker, KEY.derived(REPLICAS)), f"large-{secrets.token_hex(4)}"
        large = out(text=secrets.token_hex(megabytes * MEGABYTE // 2))
        end = await store.claim(session, EMPTY, "a")
        for first, entry in enumerate((out(), large, out()), 1):
            end = await store.publish(session, ReplicaBatch("e1", first, [entry]), end)
        assert [entry for _, entry in await entries_of(store, session, 0)] == [out(), large, out()]
        assert [entry for _, entry in await entries_of(store, session, 1)] == [large, out()]
        await store.forget(name_of(session))


async def read_of(store: Streams, session: str, count: int) -> list[LogEntry]:
    """Return the entries of a session, once the servers that are read have so many messages."""
    while True:
        entries = [entry for batch in await store.read(session, 0) for entry in batch.entries]
        if len(entries) >= count:
            return entries


@fused
async def test_a_message_of_a_stranger_or_of_another_session_counts_as_missing(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        store, session = Streams(broker, KEY.derived(REPLICAS)), f"forged-{secrets.token_hex(4)}"
        other = Streams(broker, FleetKey(bytes(32)).derived(REPLICAS))
        claimed = await store.claim(session, EMPTY, "a")
        ours = ReplicaBatch("e1", 1, [out(text="ours")])
        end = await store.publish(session, ours, claimed)
        state = LogState("e1", 2, {"id": session}, [])
        forged = ReplicaBatch("e1", 2, [out(text="forged")], state)
        after_forged = await other.publish(session, forged, end)
        assert await read_of(store, session, 1) == [out(text="ours")]
        assert await store.state(session) is None
        with pytest.raises(FleetError, match="not from a node of this fleet"):
            await store.last(session)
        await store.publish(session, ReplicaBatch("e1", 2, [out(text="next")]), after_forged)
        assert await read_of(store, session, 2) == [out(text="ours"), out(text="next")]
        # A true message of the one session, copied to the subject of another.
        another = f"another-{secrets.token_hex(4)}"
        (message,) = batch_messages(Subjects.of(name_of(session)), ours, claimed)
        copied = signed(KEY.derived(REPLICAS), message)
        own = {name: value for name, value in copied.headers.items() if name.startswith("LW-")}
        await broker.store(Subjects.of(name_of(another)).bucket(1), copied.payload, own)
        assert await read_of(store, another, 0) == []


@fused
async def test_a_killed_leader_delays_the_entries_and_loses_none(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        owner = Owner(broker, tmp_path)
        log = await owner.begin()
        stream = Subjects.of(name_of(owner.session)).stream
        for count in range(1, 61):
            log.append([out(text=f"{count}")])
            if count == 20:
                (await asyncio.to_thread(cluster.leader_of, stream)).kill()
            await asyncio.sleep(0.005)
        await owner.settle()
        assert log.head == 60
        assert await owner.texts() == [out(text=f"{count}").frame for count in range(1, 61)]
        assert not owner.listening.is_fenced.is_set()


@fused
async def test_a_full_stream_is_a_stall_with_the_servers_reason_until_there_is_room(
    cluster: Cluster, tmp_path: Path
) -> None:
    async def limit(broker: Broker, stream: str, size: int) -> None:
        config: dict[str, Any] = (await broker.call(f"STREAM.INFO.{stream}"))["config"]
        await broker.call(f"STREAM.UPDATE.{stream}", config | {"max_bytes": size})

    async with connected(cluster.urls, replicas=3) as broker:
        owner = Owner(broker, tmp_path)
        log = await owner.begin()
        stream = Subjects.of(name_of(owner.session)).stream
        await limit(broker, stream, MEGABYTE)
        for _ in range(8):
            log.append([out(text="x" * MEGABYTE)])
        while not owner.listening.stalls:  # noqa: ASYNC110 - it is told by a callback
            await asyncio.sleep(0.05)
        assert "maximum bytes" in owner.listening.stalls[0]
        assert log.head < 8
        await limit(broker, stream, -1)
        await owner.settle()
        assert log.head == 8
        assert await owner.texts() == [out(text="x" * MEGABYTE).frame] * 8


@fused
async def test_trimming_a_log_trims_its_stream_and_it_can_still_be_taken_over(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        owner = Owner(broker, tmp_path)
        log = await owner.begin()
        log.append([ask(7)])
        for _ in range(3 * BUCKET_ENTRIES // 1024):
            log.append([out()] * 1024)
            await owner.settle()
        assert log.trim(limit_bytes=1024 * out().size)
        while (await owner.store.read(owner.session, 0, max_bytes=1))[0].first == 1:  # noqa: ASYNC110 - the servers have no event
            await asyncio.sleep(0.01)
        follower = Owner(broker, tmp_path, "b", owner.session)
        followed = await follower.take_over()
        assert BUCKET_ENTRIES <= followed.first <= log.first
        assert followed.head == log.head
        assert [seq for seq, _ in followed.pins.of("ask:")] == [1]


@fused
async def test_an_old_stream_without_an_owner_is_dropped_with_its_record(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        owners = [Owner(broker, tmp_path, name) for name in ("old", "owned")]
        for owner in owners:
            (await owner.begin()).append([out()])
            await owner.settle()
        old, owned = names = [name_of(owner.session) for owner in owners]
        records = Bucket(broker, SESSIONS, SessionRecord, Records(KEY))
        listed = {
            name: SessionRecord(session=each.session, node="a", term=1, cwd="/", workspace="")
            for name, each in zip(names, owners, strict=True)
        }
        for name, record in listed.items():
            await records.put(name, record)
        store = Streams(broker, KEY.derived(REPLICAS))
        now = time.time()
        assert await forget_old(store, records, listed, {owned}, now - 60) == 0
        assert await forget_old(store, records, listed, {owned}, now + 60) == 1
        assert await store.last(owners[0].session) == EMPTY
        assert await records.read(old) is None
        assert (await store.last(owners[1].session)).last == 1
        assert await records.read(owned) is not None
        view = replace(owner_record("a").view, since_epoch_ms=int(now * 1000))
        ended = {owned: replace(listed[owned], ended=view)}
        assert await forget_old(store, records, ended, (), now - 60) == 0
