"""Records that expire, and their mirrors, over real servers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.fleet.buckets import Bucket, Mirror
from lastword.gateway.fleet.errors import FencedError, NotStoredError, OutcomeUnknownError
from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.records import NODES, SESSIONS, NodeRecord, Records
from tests.kit.fleet.connected import KEY, connected, node, until
from tests.kit.patience import FUSE_SECONDS, fused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.gateway.fleet.broker import Broker
    from tests.kit.fleet.servers import Cluster

TTL_SECONDS = 2
LEASE_SECONDS = 6
"""Of a record that is renewed in time, whatever else runs."""


def bucket_of(broker: Broker, seconds: float = 0.0, key: FleetKey = KEY) -> Bucket[NodeRecord]:
    return Bucket(broker, NODES, NodeRecord, Records(key), seconds)


@fused
async def test_a_renewed_record_survives_and_an_expired_one_can_be_created_again(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        bucket = bucket_of(broker, LEASE_SECONDS)
        ends: asyncio.Queue[str] = asyncio.Queue()
        mirror = Mirror(bucket)
        mirror.listen(lambda name, record: None if record else ends.put_nowait(name))
        following = asyncio.create_task(mirror.run())
        revision = await bucket.create("leased", node("leased"))
        for used in range(LEASE_SECONDS + 1):
            await asyncio.sleep(1)
            revision = await bucket.renew("leased", node("leased", used), revision)
        with pytest.raises(FencedError):
            await bucket.create("leased", node("leased", 9))
        async with asyncio.timeout(FUSE_SECONDS):
            assert await ends.get() == "leased"
        assert await bucket.read("leased") is None
        with pytest.raises(FencedError):
            await bucket.renew("leased", node("leased", 8), revision)
        # The server's mark of the expired record is still there.
        assert await bucket.create("leased", node("leased", 9)) > revision
        following.cancel()


class _Deaf(Bucket[NodeRecord]):
    """A bucket whose next answers are lost."""

    def lose(self, answers: int) -> None:
        store = self.broker.store

        async def stored(
            subject: str, payload: bytes, headers: Mapping[str, str] | None = None
        ) -> int:
            nonlocal answers
            sequence = await store(subject, payload, headers)
            answers -= 1
            if answers >= 0:
                raise OutcomeUnknownError("lost")
            return sequence

        self.broker.store = stored  # type: ignore[method-assign]


@fused
async def test_a_node_that_loses_an_answer_keeps_its_record(cluster: Cluster) -> None:
    async with connected(cluster.urls, replicas=3) as broker, connected(cluster.urls) as other:
        bucket = _Deaf(broker, NODES, NodeRecord, Records(KEY))
        bucket.lose(2)
        with pytest.raises(OutcomeUnknownError):
            await bucket.create("deaf", node("deaf", 1))
        with pytest.raises(FencedError):
            await bucket_of(other).create("deaf", node("deaf", 2))
        with pytest.raises(OutcomeUnknownError):
            await bucket.create("deaf", node("deaf", 3))
        revision = await bucket.create("deaf", node("deaf", 4))
        bucket.lose(1)
        with pytest.raises(OutcomeUnknownError):
            await bucket.renew("deaf", node("deaf", 5), revision)
        await bucket.renew("deaf", node("deaf", 6), revision)
        stored = await bucket.read("deaf")
        assert stored is not None
        assert stored.record.used == 6
        # Once it is another's, no lost answer makes it one's own again.
        await bucket_of(other).delete("deaf")
        await bucket_of(other).create("deaf", node("deaf", 7))
        with pytest.raises(FencedError):
            await bucket.renew("deaf", node("deaf", 8), stored.revision)


@fused
async def test_a_record_of_another_key_blocks_nothing_where_it_may_be_replaced(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        forger = bucket_of(broker, key=FleetKey(b"another" * 8))
        own = Bucket(broker, NODES, NodeRecord, Records(KEY), replaces_invalid=True)
        await forger.create("forged", node("forged"))
        with pytest.raises(FencedError):
            await bucket_of(broker).create("forged", node("forged", 1))
        revision = await own.create("forged", node("forged", 2))
        with pytest.raises(FencedError):  # a valid one is another's
            await own.create("forged", node("forged", 3))
        await forger.put("forged", node("forged"))
        with pytest.raises(FencedError):
            await own.renew("forged", node("forged", 4), revision)
        await own.create("forged", node("forged", 5))
        stored = await own.read("forged")
        assert stored is not None
        assert stored.record.used == 5


@fused
async def test_one_of_two_creates_a_record_and_only_its_last_revision_is_deleted(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls, replicas=3) as broker, connected(cluster.urls) as other:
        bucket = bucket_of(broker)
        results = await asyncio.gather(
            bucket.create("once", node("once", 1)),
            bucket_of(other).create("once", node("once", 2)),
            return_exceptions=True,
        )
        assert [type(each) for each in results].count(FencedError) == 1
        (first,) = [each for each in results if isinstance(each, int)]
        second = await bucket.renew("once", node("once", 3), first)
        with pytest.raises(FencedError):
            await bucket.delete("once", first)
        await bucket.delete("once", second)
        assert await bucket.read("once") is None
        await bucket.create("once", node("once", 4))


@fused
async def test_a_mirror_has_the_existing_records_and_follows_new_ones(cluster: Cluster) -> None:
    async with connected(cluster.urls, replicas=3) as broker, connected(cluster.urls) as other:
        written = Bucket(other, SESSIONS, NodeRecord, Records(KEY))
        many = 1500
        await asyncio.gather(*(written.put(f"n{n}", node(used=n)) for n in range(many)))
        bucket = Bucket(broker, SESSIONS, NodeRecord, Records(KEY))
        mirror = Mirror(bucket)
        following = asyncio.create_task(mirror.run())
        async with asyncio.timeout(FUSE_SECONDS):
            await mirror.complete()
        assert {name: each.used for name, each in mirror.records.items()} == {
            f"n{n}": n for n in range(many)
        }
        await written.put("n7", node(used=9999))
        await written.delete("n8")
        await until("changed", lambda: mirror.records["n7"].used == 9999)
        await until("deleted", lambda: "n8" not in mirror.records)
        # Whoever has another key writes nothing that counts.
        false = Bucket(other, SESSIONS, NodeRecord, Records(FleetKey(b"other" * 8)))
        await false.put("false", node())
        await false.put("n9", node())
        await written.put("last", node())
        await until("the last record", lambda: "last" in mirror.records)
        assert {"false", "n9"} & mirror.records.keys() == set()
        following.cancel()


@fused
async def test_a_mirror_misses_nothing_when_the_server_of_its_connection_dies(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls, replicas=3) as broker:
        mirror = Mirror(bucket_of(broker, TTL_SECONDS))
        seen: set[str] = set()
        mirror.listen(lambda name, _: seen.add(name))
        following = asyncio.create_task(mirror.run())
        async with asyncio.timeout(FUSE_SECONDS):
            await mirror.complete()
        (struck,) = [each for each in cluster.servers if each.address == broker.server]
        others = [each.url for each in cluster.servers if each is not struck]
        async with connected(others) as other:
            bucket, lasting = bucket_of(other, TTL_SECONDS), bucket_of(other)
            await bucket.put("ends", node("ends"))
            await lasting.put("stays", node("stays"))
            await until("both", lambda: {"ends", "stays"} <= seen)
            struck.kill()
            await until("the end of one", lambda: "ends" not in mirror.records)
            is_stored = False
            async with asyncio.timeout(FUSE_SECONDS):
                while not is_stored:  # the servers elect a leader
                    with contextlib.suppress(OutcomeUnknownError, NotStoredError):
                        is_stored = bool(await lasting.put("comes", node("comes")))
            await until("a new one", lambda: "comes" in mirror.records)
            assert "stays" in mirror.records
        following.cancel()


@fused
async def test_a_reconnected_mirror_drops_records_that_vanished_without_a_trace(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls, replicas=3) as broker, connected(cluster.urls) as other:
        mirror = Mirror(bucket_of(broker))
        following = asyncio.create_task(mirror.run())
        await bucket_of(other).put("purged", node("purged"))
        await until("it is there", lambda: "purged" in mirror.records)
        purged = {"filter": bucket_of(other).subject("purged")}
        await other.call(f"STREAM.PURGE.KV_{NODES}", purged)
        assert broker._connection is not None
        await broker._connection.close()
        await until("it is gone", lambda: "purged" not in mirror.records)
        following.cancel()
