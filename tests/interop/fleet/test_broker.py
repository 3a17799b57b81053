"""The connection to a fleet's servers: what is sent once or not at all, and the next connection."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import nats.errors
import pytest

from lastword.gateway.fleet.errors import NotStoredError, OutcomeUnknownError
from tests.kit.fleet.connected import connected, until
from tests.kit.fleet.servers import Cluster
from tests.kit.patience import FUSE_SECONDS, patient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.fleet.servers import Server

SILENT = "nobody.answers.here"
PIECE = bytes(512 * 1024)


def server_of(cluster: Cluster, address: str) -> Server:
    (server,) = [each for each in cluster.servers if each.address == address]
    return server


def test_a_request_fails_when_its_server_dies_and_the_next_goes_to_another(
    cluster: Cluster,
) -> None:
    async def play() -> tuple[float, list[bool], str, str]:
        async with connected(cluster.urls) as broker, connected(cluster.urls) as listening:
            await listening.subscribe(SILENT)
            await listening.request("$JS.API.INFO")
            changes: list[bool] = []
            broker.listen(changes.append)
            first = broker.server
            waiting = asyncio.create_task(broker.store(SILENT, b""))
            await asyncio.sleep(0)
            began = time.monotonic()
            server_of(cluster, first).kill()
            with pytest.raises((OutcomeUnknownError, NotStoredError)):
                await waiting
            failed_after = time.monotonic() - began
            await until("reconnected", lambda: changes[-1:] == [True])
            await asyncio.to_thread(cluster.leader_of, "")  # it may have been the one that died
            assert (await broker.call("INFO"))["streams"] == 0
            return failed_after, changes, first, broker.server

    failed_after, changes, first, then = asyncio.run(play())
    assert failed_after < patient(1.0)
    assert changes == [False, True]
    assert first != then


@pytest.mark.matrix
def test_a_stopped_server_is_given_up_even_with_much_to_send(cluster: Cluster) -> None:
    async def play() -> tuple[float, str, str]:
        async with connected(cluster.urls) as broker:
            first = broker.server
            changes: list[bool] = []
            broker.listen(changes.append)
            server_of(cluster, first).stop()
            began = time.monotonic()

            async def send() -> None:
                while not changes:
                    await broker.publish("unread", PIECE)

            sending = asyncio.create_task(send())
            await until("reconnected", lambda: changes[-1:] == [True])
            took = time.monotonic() - began
            sending.cancel()
            await asyncio.wait((sending,))
            await broker.call("INFO")
            return took, first, broker.server

    took, first, then = asyncio.run(play())
    assert first != then
    assert took < patient(12.0)


def test_a_message_never_outlives_the_connection_that_it_was_sent_on(tmp_path: Path) -> None:
    async def play(alone: Cluster) -> int:
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
            return int(info["state"]["messages"])

    with Cluster(tmp_path, 1) as alone:
        assert asyncio.run(play(alone)) == 0
