"""Leases: when they are renewed, and what becomes of one that another node has."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.fleet import buckets
from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.buckets import Bucket, StoredRecord
from lastword.gateway.fleet.errors import FencedError, OutcomeUnknownError
from lastword.gateway.fleet.leases import CHANGED_SECONDS, SPARE_SECONDS, Leases
from lastword.gateway.fleet.records import (
    LEASE_SECONDS,
    OWNERS,
    RENEW_SECONDS,
    OwnerRecord,
    Records,
)
from lastword.gateway.log.store import LogUnavailableError
from tests.kit.fleet.connected import KEY
from tests.kit.fleet.in_memory import MemoryBucket, owner
from tests.kit.patience import FUSE_SECONDS, fused, fused_with

if TYPE_CHECKING:
    from collections.abc import Mapping


class Play:
    """The leases of one holder, on a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.store: MemoryBucket[OwnerRecord] = MemoryBucket()
        self.lost: list[tuple[str, int]] = []
        self.expiring = 0
        self.record = owner("one")
        self.leases = Leases(self.store, self._lose, self._expire, lambda: self.now)

    def _lose(self, name: str, term: int) -> None:
        self.lost.append((name, term))

    def _expire(self) -> None:
        self.expiring += 1

    async def acquire(self, replaces: int | None = None) -> None:
        await self.leases.acquire("s", lambda: self.record, replaces)

    async def after(self, seconds: float) -> None:
        """Let time pass, and do what is due then."""
        self.now += seconds
        await self.leases.renew_due()


played = fused_with(Play)


@played
async def test_a_lease_is_renewed_every_five_seconds_and_not_before(of: Play) -> None:
    await of.acquire()
    await of.after(RENEW_SECONDS - 0.1)
    assert of.store.written == 1
    await of.after(0.1)
    assert of.store.written == 2
    await of.after(RENEW_SECONDS)
    assert (of.store.written, of.expiring) == (3, 0)


@played
async def test_a_changed_lease_is_published_soon_and_once_but_not_for_each_entry(of: Play) -> None:
    await of.acquire()
    of.record = owner("one", questions=1)
    for _ in range(3):
        of.leases.changed("s")
    await of.after(CHANGED_SECONDS)
    assert of.store.stored["s"].record.view.questions == 1
    for head in range(1, 20):
        of.record = owner("one", questions=1, head=head)
        of.leases.changed("s")
        await of.after(CHANGED_SECONDS)
    assert of.store.written == 2
    await of.after(RENEW_SECONDS)
    assert of.store.stored["s"].record.view.head == 19


@played
async def test_a_lease_is_renewed_although_its_view_cannot_be_read(of: Play) -> None:
    def unreadable() -> OwnerRecord:
        raise LogUnavailableError("the disk is gone")

    await of.acquire()
    of.leases.show("s", unreadable)
    await of.after(RENEW_SECONDS)
    assert of.store.stored["s"] == StoredRecord(owner("one"), 2)


@played
async def test_an_expired_lease_is_created_again_unless_another_node_has_it(of: Play) -> None:
    await of.acquire()
    of.store.expire("s")
    await of.after(LEASE_SECONDS + 1)
    assert (of.store.stored["s"].record.node, of.lost) == ("one", [])
    of.store.expire("s")
    await of.store.create("s", owner("two", term=2))
    for seconds in (LEASE_SECONDS + 1, RENEW_SECONDS):
        await of.after(seconds)
        assert (of.store.written, of.lost) == (3, [("s", 1)])
    assert of.store.stored["s"].record.node == "two"


@played
async def test_an_unrenewable_lease_is_reported_before_another_node_can_have_it(
    of: Play,
) -> None:
    await of.acquire()
    of.store.is_away = True
    while of.expiring == 0:
        await of.after(1.0)
    assert of.now <= 100.0 + LEASE_SECONDS - SPARE_SECONDS
    of.store.is_away = False
    await of.after(1.0)
    before = of.expiring
    await of.after(1.0)
    assert of.expiring == before


@played
async def test_a_node_replaces_only_its_own_earlier_lease(of: Play) -> None:
    revision = await of.store.create("s", owner("one"))
    with pytest.raises(FencedError):
        await of.acquire()
    with pytest.raises(FencedError):
        await of.acquire(replaces=revision + 1)
    of.record = owner("one", term=2)
    await of.acquire(replaces=revision)
    assert of.store.stored["s"].record.term == 2


class _Slow(Broker):
    """Servers that have a message, and store it later: until then they refuse every other one."""

    def __init__(self) -> None:
        self.stored = [b"an older record"]
        self.waiting: list[bytes] = []

    async def call(self, *_: Any, **__: Any) -> dict[str, Any]:
        data = base64.b64encode(self.stored[-1]).decode()
        return {"message": {"seq": len(self.stored), "data": data}}

    async def store(
        self, _: str, payload: bytes, headers: Mapping[str, str] | None = None, **__: Any
    ) -> int:
        assert headers is not None
        if self.waiting or headers[buckets.EXPECTED] != str(len(self.stored)):
            raise FencedError("another message is the last one, or is about to be")
        self.waiting.append(payload)
        raise OutcomeUnknownError("the NATS server does not answer")

    def catch_up(self) -> None:
        self.stored += self.waiting
        self.waiting.clear()


@fused
async def test_a_renewal_that_is_not_stored_yet_is_not_another_nodes_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buckets, "ANSWER_SECONDS", 0.0)
    servers = _Slow()
    leases = Bucket(servers, OWNERS, OwnerRecord, Records(KEY))
    for questions in range(3):
        with pytest.raises(OutcomeUnknownError):
            await leases.renew("s", owner("one", questions=questions), 1)
    servers.catch_up()
    with pytest.raises(OutcomeUnknownError):  # it is the next one's turn
        await leases.renew("s", owner("one", questions=3), 1)
    servers.catch_up()
    servers.stored.append(b"another node's")
    with pytest.raises(FencedError):
        await leases.renew("s", owner("one", questions=4), 3)


@played
async def test_a_released_lease_is_gone_at_once_unless_another_node_has_it(
    of: Play,
) -> None:
    await of.acquire()
    await of.leases.release("s")
    assert of.store.stored == {}
    await of.acquire()
    of.store.expire("s")
    await of.store.create("s", owner("two", term=2))
    await of.leases.release("s")
    assert of.store.stored["s"].record.node == "two"


def test_the_leases_are_renewed_while_they_run() -> None:
    async def run() -> None:
        store: MemoryBucket[OwnerRecord] = MemoryBucket()
        shown = [owner("one")]
        leases = Leases(store, lambda *_: None, lambda: None)
        running = asyncio.create_task(leases.run())
        await leases.acquire("s", lambda: shown[0])
        store.changed.clear()
        shown[0] = owner("one", questions=2)
        leases.changed("s")
        async with asyncio.timeout(FUSE_SECONDS):
            await store.changed.wait()
        assert store.stored["s"].record.view.questions == 2
        running.cancel()

    asyncio.run(run())
