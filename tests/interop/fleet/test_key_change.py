"""The change of a fleet's key, as the documentation has it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.interop.fleet.test_tokens import status_of
from tests.kit.fleet.connected import connected
from tests.kit.fleet.nodes import Fleet
from tests.kit.gateway.serving import agent
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.fleet.nodes import Node
    from tests.kit.fleet.servers import Cluster

OTHER_KEY = b"another key that is long enough for a fleet"


async def empty_streams(cluster: Cluster) -> None:
    async with asyncio.timeout(FUSE_SECONDS), connected(cluster.urls) as broker:
        for name in (await broker.call("STREAM.NAMES"))["streams"]:
            await broker.call(f"STREAM.PURGE.{name}", {})


def test_a_new_key_voids_tokens_and_a_session_continues_at_its_node(
    cluster: Cluster, tmp_path: Path
) -> None:
    with Fleet(tmp_path, cluster, agent("healthy")) as fleet:
        node = fleet.start("one")
        old = node.token()
        with ViewerClient(node) as viewer:
            session = viewer.new(node.root)
            viewer.answer(viewer.prompt(session))
            texts = viewer.updates("agent_message_chunk")
        assert texts
        assert status_of(f"{page_of(node)}/v1/sessions", old) == 200
        node.close()
        fleet.nodes.remove(node)
        asyncio.run(empty_streams(cluster))
        fleet.key.write_bytes(OTHER_KEY)
        again = fleet.start("one")
        assert status_of(f"{page_of(again)}/v1/sessions", old) == 401
        with ViewerClient(again) as viewer:
            viewer.load(session, again.root)
            shown = "".join(
                each["content"]["text"] for each in viewer.updates("agent_message_chunk")
            )
            assert shown.startswith("".join(each["content"]["text"] for each in texts))


def page_of(node: Node) -> str:
    return f"http://127.0.0.1:{node.port}"
