"""A running fleet gets new gateways and a new server, and is restored from a copy."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from lastword.gateway import wire
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.servers import Cluster
from tests.kit.gateway.editor import Editor, connected, counting
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

MORE = 20
"""So many words have come between two steps."""


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
                leader = await asyncio.to_thread(cluster.leader_of, "KV_lw_owners")
                await asyncio.to_thread(leader.terminate)
                await grows(first, second)
                cluster.start(leader)
                await asyncio.to_thread(cluster.wait_until_ready)
                await grows(first, second)
                await asyncio.gather(stops(first, in_older), stops(second, in_session))

        asyncio.run(play())
