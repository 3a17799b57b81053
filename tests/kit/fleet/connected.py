"""Processes of a fleet as a test has them: connections to its servers, and buckets over these."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.records import NodeRecord, Records
from lastword.gateway.fleet.start import prepare
from lastword.gateway.settings.values import FleetSettings
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

LOOK_SECONDS = 0.01
KEY_BYTES = bytes(range(200, 232))
KEY = FleetKey(KEY_BYTES)


@asynccontextmanager
async def connected(urls: Sequence[str], *, replicas: int = 0) -> AsyncIterator[Broker]:
    """Connect, and with a number of replicas make what a fleet needs there."""
    broker = Broker(FleetSettings(urls=list(urls)), "test")
    await broker.open()
    try:
        if replicas:
            await prepare(broker, Records(KEY), replicas)
        yield broker
    finally:
        await broker.close()


async def until(what: str, holds: Callable[[], Any]) -> None:
    try:
        async with asyncio.timeout(FUSE_SECONDS):
            while not holds():  # noqa: ASYNC110 - whatever it is that is waited for
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(f"the fuse burned: {what}") from None


def node(name: str = "box", used: int = 0) -> NodeRecord:
    return NodeRecord(
        node=name,
        instance="1f",
        roots=["/srv"],
        workspace="",
        slots=4,
        used=used,
        version="0",
        wire=2,
        started_epoch_ms=1,
    )
