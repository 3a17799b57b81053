"""The NATS servers that the tests start: what they do when they are killed or stopped."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import nats
import pytest

from tests.kit.gateway.serving import until

if TYPE_CHECKING:
    from tests.kit.fleet.servers import Cluster, Server


def version(server: Server) -> Any:
    return until("it answers", lambda: server.report("varz"))["version"]


@pytest.mark.matrix
def test_a_killed_leader_is_replaced_and_has_its_stream_after_its_restart(cluster: Cluster) -> None:
    name = f"kept-{secrets.token_hex(4)}"  # the servers are those of an earlier try

    async def fill() -> None:
        connection = await nats.connect(cluster.urls)
        await connection.jetstream().add_stream(name=name, subjects=[name], num_replicas=3)
        await connection.jetstream().publish(name, b"1")
        await connection.close()

    async def messages() -> int:
        connection = await nats.connect(cluster.urls)
        info = await connection.jetstream().stream_info(name)
        await connection.close()
        return info.state.messages

    asyncio.run(fill())
    leader = cluster.leader_of(name)
    leader.kill()
    assert not leader.is_running
    assert cluster.leader_of(name) is not leader
    assert asyncio.run(messages()) == 1
    cluster.restore()
    assert version(leader) == "2.15.2"
    leader.stop()
    assert leader.report("varz") == {}
    cluster.restore()
    assert version(leader) == "2.15.2"
