"""A fleet whose parts are killed in mid-turn, over and over, with editors before it.

    python -m tests.long.kill_fleet --kills 100 --seed 1 [--sessions 4] [--kinds reload,node,…]

Three NATS servers and three nodes with the same files run on loopback, and each session has an
editor before `lastword connect` at one of the nodes. In each turn one part is replaced, dies or
stands still: `reload`, the session's gateway or the editor's, which its agents outlive;
`node`, the session's own gateway, killed with its agents and started again; `server`, one of the
NATS servers; `stop`, the session's gateway and its agents, which stand still for longer than their
lease, and go on when another node has the session. There are as many of each kind. A turn whose
gateway was replaced, or that lost a server, ends as ever, with every word once; one that lost its
node ends typed, with a part of the words that has no hole, and the next turn of the session works.

At the end an editor at another node reads each session: it is shown all that the first one was, in
the same order. The sessions' streams are read, too: terms ascend, and no number is written twice.

The last line counts: `reload=… server=… node=… stop=… lost=0 double=0 unanswered=0
untyped=0 mixed=0 left=0`, where the first four are turns that something befell. Status 1 where any
of the others is not 0.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.gateway.fleet.key import REPLICAS
from lastword.gateway.fleet.records import LEASE_SECONDS
from lastword.gateway.fleet.streams import Streams
from tests.kit.fleet.connected import connected as fleet_connection
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.servers import Cluster
from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.link_bug import with_site
from tests.kit.gateway.serving import is_running
from tests.kit.patience import FUSE_SECONDS
from tests.long.kill_gateway import NO_LOOP, WORDS, WRONG, Killing, Score, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.kit.fleet.nodes import Node

KINDS = ("reload", "server", "node", "stop")
PAUSE_MS = 8
LOSE_NODE = ("node", "stop")
LOST = {("agent_crash", "holder_died"), ("agent_crash", "machine_lost")}
"""With what turns end that have lost their node: their types and reasons."""

STOP_SECONDS = LEASE_SECONDS + 8.0
LOOK_SECONDS = 0.1


class Owner(NamedTuple):
    """The node that has a session, and the session's agent."""

    node: Node
    agent_pid: int


class Player:
    def __init__(self, editor: Editor, session: str, node: Node, name: str) -> None:
        self.editor = editor
        self.session = session
        self.node = node
        """To which the editor is connected."""
        self.name = name
        self.turns = 0

    def next_turn(self) -> str:
        self.turns += 1
        return f"{self.name}t{self.turns}"


class FleetKilling(Killing):
    pause_ms = PAUSE_MS
    latest_word = WORDS // 2

    def __init__(self, cluster: Cluster, nodes: Sequence[Node], seed: int, prompts: Path) -> None:
        super().__init__(Score(KINDS, (*WRONG[:-1], "mixed", "left")), seed, prompts)
        self._cluster = cluster
        self._nodes = nodes

    def may_fail(self, kind: str, failure: dict[str, Any]) -> bool:
        return kind in LOSE_NODE and (failure.get("type"), failure.get("reason")) in LOST

    async def run(self, kinds: Sequence[str], kills: int, sessions: int) -> None:
        async with contextlib.AsyncExitStack() as stack:
            players = []
            for number in range(sessions):
                node = self._nodes[number % len(self._nodes)]
                editor = await stack.enter_async_context(
                    connected(node.url, node.token(), hasty=True)
                )
                session = await editor.begin(node.root)
                players.append(Player(editor, session, node, f"s{number}"))
            for kind in kinds:
                await self._kill_all(kind, kills, players)
                print(self.score, file=sys.stderr, flush=True)
            for player in players:
                await self._look_at(player)
            await self._look_at_all(players)

    async def _kill_all(self, kind: str, kills: int, players: list[Player]) -> None:
        """Let it befall so many turns: of all the sessions of a node, or of one after the other."""
        while (number := self.score.counts[kind]) < kills:
            if kind in LOSE_NODE:
                await self._strike_node(kind, players)
            else:
                await self._kill(kind, players[number % len(players)])

    async def _kill(self, kind: str, player: Player) -> None:
        turn = await self._begin(kind, player)
        if turn is not None:
            turn.answer()
            strike = asyncio.create_task(self._strike(kind, player))
            try:
                await self.end(turn)
            finally:
                await strike

    async def _strike_node(self, kind: str, players: list[Player]) -> None:
        """Kill or stop a node in mid-turn with all that it owns."""
        owners = await asyncio.gather(*(self._owner(player.session) for player in players))
        node, _ = Counter(owner.node for owner in owners).most_common(1)[0]
        there = {p: o for p, o in zip(players, owners, strict=True) if o.node is node}
        turns = await asyncio.gather(*(self._begin(kind, player) for player in there))
        held = {owner.agent_pid for owner in there.values()}
        if kind == "node":
            await asyncio.to_thread(node.crash)
        else:
            await _stop([node.front.pid, *held])
        running = [turn for turn in turns if turn is not None]
        for turn in running:
            turn.answer()  # of an owner that nobody has replaced
        await asyncio.gather(*map(self.end, running))
        for _ in range(int(FUSE_SECONDS / LOOK_SECONDS)):
            if not any(map(is_running, held)):
                break
            await asyncio.sleep(LOOK_SECONDS)

    async def _owner(self, session: str) -> Owner:
        async with asyncio.timeout(FUSE_SECONDS):
            while True:
                for owner in await asyncio.gather(
                    *(asyncio.to_thread(_owner_on, node, session) for node in self._nodes)
                ):
                    if owner is not None:
                        return owner
                await asyncio.sleep(LOOK_SECONDS)

    async def _begin(self, kind: str, player: Player) -> Turn | None:
        return await self.begin(kind, player.editor, player.session, player.next_turn())

    async def _strike(self, kind: str, player: Player) -> None:
        if kind == "reload":
            owner = await self._owner(player.session)
            node = self.dice.choice((player.node, owner.node))
            await asyncio.to_thread(node.reload)
        else:
            server = self.dice.choice(self._cluster.servers)
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(self.dice.random())
            await asyncio.to_thread(self._cluster.start, server)
            await asyncio.to_thread(self._cluster.wait_until_ready)

    # At the end.

    async def _look_at(self, player: Player) -> None:
        """Read a session from another node, and its stream."""
        other = next(node for node in self._nodes if node is not player.node)
        shown = [word for word in player.editor.words() if _is_counted(word)]
        async with connected(other.url, other.token(), hasty=True) as reader:
            await reader.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            folder = {"cwd": str(other.root), "mcpServers": []}
            await reader.call("session/load", {"sessionId": player.session} | folder)
            with contextlib.suppress(TimeoutError):
                await reader.wait_for(
                    lambda reader: len([*filter(_is_counted, reader.words())]) >= len(shown)
                )
            kept = [word for word in reader.words() if _is_counted(word)]
        rest = iter(kept)
        if not all(word in rest for word in shown) or len({*kept}) < len(kept):
            missing = Counter(shown) - Counter(kept)
            self.score.add("lost", player.name, "at the end", [*missing], len(kept), len(shown))
        await self._read_stream(player)

    async def _read_stream(self, player: Player) -> None:
        term, last = 0, 0
        async with fleet_connection(self._cluster.urls) as broker:
            streams = Streams(broker, self._nodes[0].fleet_key.derived(REPLICAS))
            while batches := await streams.read(player.session, last):
                for batch in batches:
                    if batch.end.term < term or batch.first != last + 1:
                        self.score.add("mixed", player.name, batch.end, batch.first, last)
                    term, last = batch.end.term, batch.end.last

    async def _look_at_all(self, players: Sequence[Player]) -> None:
        self.score.look_for_doubles((each.editor for each in players), self.prompts)
        for player in players:
            there = [
                owner
                for owner in (_owner_on(node, player.session) for node in self._nodes)
                if owner is not None
            ]
            if len(there) > 1:
                self.score.add("left", player.name, there)


def _is_counted(word: str) -> bool:
    """Return whether a word is one of the agent's: `s0t1.5`."""
    turn, _, number = word.partition(".")
    return turn[:1] == "s" and "t" in turn and bool(number)


def _owner_on(node: Node, session: str) -> Owner | None:
    for holder in node.holders():
        if session in [each["sessionId"] for each in holder["sessions"]]:
            return Owner(node, holder["agent_pid"])
    return None


async def _stop(pids: Sequence[int]) -> None:
    """Stop processes for longer than a lease."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(STOP_SECONDS)
    finally:
        for pid in reversed(pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def played(folder: Path) -> Iterator[tuple[Cluster, list[Node], Path]]:
    """Three servers and three nodes with the same files."""
    prompts, root = folder / "prompts", folder / "root"
    root.mkdir()
    os.environ |= with_site(folder, NO_LOOP)
    with (
        Cluster(folder / "servers") as cluster,
        Fleet(folder, cluster, counting(str(prompts))) as fleet,
    ):
        for name in "abc":
            fleet.start(name, "--workspace-id", "kills", root=root)
        yield cluster, fleet.nodes, prompts


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills a fleet's parts in mid-turn.")
    parser.add_argument("--kills", type=int, default=100, help="of each kind")
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="lastword-") as folder,
        played(Path(folder)) as (cluster, nodes, prompts),
    ):
        killing = FleetKilling(cluster, nodes, options.seed, prompts)
        asyncio.run(killing.run(options.kinds.split(","), options.kills, options.sessions))
    print(killing.score)
    return killing.score.status


if __name__ == "__main__":
    sys.exit(main())
