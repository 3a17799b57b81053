"""The connection to a fleet's servers: what is sent once or not at all, and the next connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import nats.errors
import pytest

from lastword.gateway.fleet.errors import NotStoredError, OutcomeUnknownError
from tests.kit.fleet.connected import connected, until
from tests.kit.fleet.servers import Cluster
from tests.kit.patience import FUSE_SECONDS, fused, patient

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.fleet.broker import Broker
    from tests.kit.fleet.servers import Server

SILENT = "nobody.answers.here"
PIECE = bytes(512 * 1024)


def server_of(broker: Broker, cluster: Cluster) -> Server:
    (server,) = [each for each in cluster.servers if each.address == broker.server]
    return server


@fused
async def test_a_request_fails_when_its_server_dies_and_the_next_goes_to_another(
    cluster: Cluster,
) -> None:
    async with connected(cluster.urls) as broker, connected(cluster.urls) as listening:
        await listening.subscribe(SILENT)
        await listening.request("$JS.API.INFO")
        changes: list[bool] = []
        broker.listen(changes.append)
        first = broker.server
        waiting = asyncio.create_task(broker.store(SILENT, b""))
        await asyncio.sleep(0)
        began = time.monotonic()
        server_of(broker, cluster).kill()
        with pytest.raises((OutcomeUnknownError, NotStoredError)):
            await waiting
        assert time.monotonic() - began < patient(1.0)
        await until("reconnected", lambda: changes[-1:] == [True])
        await asyncio.to_thread(cluster.leader_of, "")  # it may have been the one that died
        while True:
            with contextlib.suppress(OutcomeUnknownError):  # a new leader may not answer yet
                info = await broker.call("INFO")
                break
        assert info["streams"] == 0
        assert changes == [False, True]
        assert broker.server != first


@pytest.mark.matrix
@fused
async def test_a_stopped_server_is_given_up_even_with_much_to_send(cluster: Cluster) -> None:
    async with connected(cluster.urls) as broker:
        first = broker.server
        changes: list[bool] = []
        broker.listen(changes.append)
        server_of(broker, cluster).stop()
        began = time.monotonic()

        async def send() -> None:
            while not changes:
                await broker.publish("unread", PIECE)

        sending = asyncio.create_task(send())
        await until("reconnected", lambda: changes[-1:] == [True])
        assert time.monotonic() - began < patient(12.0)
        sending.cancel()
        await asyncio.wait((sending,))
        await broker.call("INFO")
        assert broker.server != first


@fused
async def test_a_message_never_outlives_the_connection_that_it_was_sent_on(tmp_path: Path) -> None:
    with Cluster(tmp_path, 1) as alone:
        async with connected(alone.urls, replicas=1) as broker:
            changes: list[bool] = []
            broker.listen(changes.append)
            alone.servers[0].kill()
            await until("lost", lambda: changes == [False])
            began = time.monotonic()
            with pytest.raises(NotStoredError, match="no connection"):
                await broker.store("lw.0.s.x.0", b"late")
            with pytest.raises(nats.errors.ConnectionClosedError):
                await broker.publish("lw.0.s.x.0", b"late")
            assert time.monotonic() - began < patient(0.5)
            alone.start(alone.servers[0])
            async with asyncio.timeout(FUSE_SECONDS):
                await broker.connected()
            info = await broker.call("STREAM.INFO.LW0")
            assert info["state"]["messages"] == 0
