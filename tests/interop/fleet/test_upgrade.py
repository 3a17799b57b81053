"""A running fleet gets new gateways and new servers one by one, and is restored from copies."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from lastword.gateway import wire
from tests.interop.fleet.playing import listed
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.servers import Cluster
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.places import ROOT, SOURCE

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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

MORE = 50
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


async def reloaded(gateway: Gateway) -> None:
    """Have a gateway's process replaced by the version that is installed now."""
    await asyncio.to_thread(gateway.reload)


def versions(gateway: Gateway) -> set[int]:
    """The versions of what a gateway sends other nodes."""
    return {holder["version"] for holder in gateway.holders()}


def test_turns_continue_while_each_gateway_and_each_server_is_replaced(
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
                await reloaded(one)
                await grows(first)
                session = await second.begin(one.root)
                in_session = second.prompt(session, FOR_EVER)
                assert await asyncio.to_thread(versions, one) == {wire.VERSION + 1}
                await grows(first, second)
                await reloaded(two)
                await grows(first, second)
                for node in (one, two):
                    await reloaded(node)
                    await grows(first, second)
                for server in cluster.servers:
                    await asyncio.to_thread(server.terminate)
                    await grows(first, second)
                    cluster.start(server)
                    await asyncio.to_thread(cluster.wait_until_ready)
                await grows(first, second)
                await asyncio.gather(stops(first, in_older), stops(second, in_session))

        asyncio.run(play())


def copy_of(cluster: Cluster, folder: Path) -> None:
    """Stop all servers in order, and copy what they keep."""
    for server in cluster.servers:
        server.terminate()
    for server in cluster.servers:
        shutil.copytree(server.store, folder / server.name)


def put_back(cluster: Cluster, copies: Path) -> None:
    """Have what was copied in place of what the servers keep."""
    for server in cluster.servers:
        shutil.rmtree(server.store, ignore_errors=True)
        shutil.copytree(copies / server.name, server.store)


def start(cluster: Cluster) -> None:
    for server in cluster.servers:
        cluster.start(server)
    cluster.wait_until_ready()


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
        one = fleet.start("one", *SINGLE)
        with ViewerClient(one, capabilities=TYPED) as viewer:
            session = viewer.new(one.root)

            def turn() -> None:
                answer = viewer.answer(viewer.prompt(session))
                assert answer["result"]["stopReason"] == "end_turn"

            turn()
            copy_of(cluster, older)
            start(cluster)
            turn()
            for server in cluster.servers:
                server.kill()
            put_back(cluster, older)
            start(cluster)
            turn()
        one.kill()
        copy_of(cluster, newest)
    elsewhere = Cluster(tmp_path / "elsewhere", 1)
    put_back(elsewhere, newest)
    with (
        elsewhere,
        Fleet(tmp_path / "elsewhere", elsewhere, agent(str(scenario))) as fleet,
        ViewerClient(fleet.start("other", *SINGLE), capabilities=TYPED) as reader,
    ):
        reader.load(session, one.root)
        reader.find(lambda frame: "Turn 3." in str(frame))
        said = [update["content"]["text"] for update in reader.updates("agent_message_chunk")]
        assert said == ["Turn 1.", "Turn 2.", "Turn 3."]


def test_a_log_whose_end_is_lost_with_its_node_and_servers_starts_again(
    tmp_path: Path,
) -> None:
    older, scenario = tmp_path / "older", tmp_path / "scenario.json"
    scenario.write_text(json.dumps(TALKS), encoding="utf-8")
    with (
        Cluster(tmp_path / "servers", 1) as cluster,
        Fleet(tmp_path, cluster, agent(str(scenario))) as fleet,
    ):
        one, two = fleet.start("one", *SINGLE), fleet.start("two", *SINGLE)
        with ViewerClient(one, capabilities=TYPED) as viewer:
            session = viewer.new(one.root)
            viewer.answer(viewer.prompt(session))
            before = listed(one, session)
            copy_of(cluster, older)
            start(cluster)
            viewer.answer(viewer.prompt(session))
            shown = listed(one, session)
            end = shown["head"]
            until("its lease shows it", lambda: listed(two, session).get("head", 0) >= end)
        one.kill()
        for server in cluster.servers:
            server.kill()
        put_back(cluster, older)
        start(cluster)
        known = {None, shown["epoch"]}
        until("it is taken over", lambda: listed(two, session).get("epoch") not in known)
        (reset,) = ApiClient(two).events(session, kinds="log_reset")
        assert reset["facts"]["reason"] == "lost"
        assert before["head"] < reset["seq"]
        assert "Turn 2." not in str(ApiClient(two).events(session, kinds="update"))
