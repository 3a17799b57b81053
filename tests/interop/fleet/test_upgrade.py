"""A running fleet gets new gateways and a new server, and is restored from a copy."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway import wire
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.servers import Cluster
from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.serving import agent
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.places import ROOT, SOURCE

if TYPE_CHECKING:
    from pathlib import Path

_SITE = """
import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.node_link import NodeLink
from lastword.gateway.fleet.records import Records

_control = NodeLink.control

def control(self, word, **facts):
    return _control(self, word, **facts, of_the_next_version={"more": 1})

def encode(self, bucket, name, record):
    members = msgspec.to_builtins(record) | {"of_the_next_version": [1]}
    content = msgspec.json.encode(members)
    code = self._code(bucket, name, content)
    return msgspec.json.encode({"code": code, "record": msgspec.Raw(content)})

wire.VERSION += 1
NodeLink.control = control
Records.encode = encode
"""
"""What an interpreter runs as it starts, to be of the next version."""


FOR_EVER = "1000000 10"
"""A prompt of the agent that counts: a word each 10 ms."""

SINGLE = ("--fleet-replicas", "1")
"""The options of nodes at one server, which starts sooner than three."""

MORE = 20
"""So many words have come between two steps."""

TALKS: dict[str, Any] = {
    "turns": [[{"say": f"Turn {number}."}, {"result": "end_turn"}] for number in (1, 2, 3)],
    "sessions": "resume",
}


async def grows(*editors: Editor) -> None:
    for editor in editors:
        count = len(editor.words())
        await editor.wait_for(lambda editor, count=count: len(editor.words()) > count + MORE)


async def stops(editor: Editor, request: int) -> None:
    """End the turn, and look at its words: each once, and in order."""
    editor.send({"method": "$/cancel_request", "params": {"requestId": request}})
    assert "result" in await editor.answer(request)
    words = editor.words()
    assert words == [f"{words[0].partition('.')[0]}.{number}" for number in range(len(words))]


def test_turns_continue_while_each_gateway_and_a_server_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(site), str(SOURCE), str(ROOT))))
    with (
        Cluster(tmp_path / "servers") as cluster,
        Fleet(tmp_path, cluster, counting(str(tmp_path / "prompts"))) as fleet,
    ):
        one, two = fleet.start("one"), fleet.start("two")

        async def play() -> None:
            # Both come by node two, whose root has none of their folders.
            async with (
                connected(f"http://127.0.0.1:{two.port}", two.token()) as first,
                connected(f"http://127.0.0.1:{two.port}", two.token()) as second,
            ):
                older = await first.begin(one.root)
                in_older = first.prompt(older, FOR_EVER)
                await grows(first)
                (site / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
                await asyncio.to_thread(one.reload)
                await grows(first)
                session = await second.begin(one.root)
                in_session = second.prompt(session, FOR_EVER)
                held = await asyncio.to_thread(one.holders)
                assert {each["version"] for each in held} == {wire.VERSION + 1}
                await grows(first, second)
                await asyncio.to_thread(two.reload)
                await grows(first, second)
                leader = await asyncio.to_thread(cluster.leader_of, "KV_lw_nodes")
                await asyncio.to_thread(leader.terminate)
                await grows(first, second)
                cluster.start(leader)
                await asyncio.to_thread(cluster.wait_until_ready)
                await grows(first, second)
                await asyncio.gather(stops(first, in_older), stops(second, in_session))

        asyncio.run(play())


@pytest.mark.matrix
def test_servers_restored_from_an_older_copy_get_the_missing_entries_from_the_node(
    tmp_path: Path,
) -> None:
    older, newest = tmp_path / "older", tmp_path / "newest"
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(TALKS), encoding="utf-8")
    with (
        Cluster(tmp_path / "servers", 1) as cluster,
        Fleet(tmp_path, cluster, agent(str(scenario))) as fleet,
    ):
        (server,) = cluster.servers
        one = fleet.start("one", *SINGLE)
        with ViewerClient(one, capabilities=TYPED) as viewer:
            session = viewer.new(one.root)

            def turn() -> None:
                answer = viewer.answer(viewer.prompt(session))
                assert answer["result"]["stopReason"] == "end_turn"

            turn()
            server.terminate()
            shutil.copytree(server.store, older)
            cluster.restore()
            turn()
            server.kill()
            shutil.rmtree(server.store)
            shutil.copytree(older, server.store)
            cluster.restore()
            turn()
        one.kill()
        server.terminate()
        shutil.copytree(server.store, newest)
    elsewhere = Cluster(tmp_path / "elsewhere", 1)
    shutil.copytree(newest, elsewhere.servers[0].store)
    with (
        elsewhere,
        Fleet(tmp_path / "elsewhere", elsewhere, agent(str(scenario))) as fleet,
        ViewerClient(fleet.start("other", *SINGLE), capabilities=TYPED) as reader,
    ):
        reader.load(session, one.root)
        reader.find(lambda frame: "Turn 3." in str(frame))
        said = [update["content"]["text"] for update in reader.updates("agent_message_chunk")]
        assert said == ["Turn 1.", "Turn 2.", "Turn 3."]
