"""What a fleet costs: a session at a foreign node beside the same session at its own.

Run as ``python benchmarks/fleet.py``; see README.md beside this file for what the figures mean.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gateway import READ_BYTES, Lastword, Socket, cpu_seconds, say  # noqa: E402

from tests.kit.fleet.servers import Cluster  # noqa: E402

AGENT = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    result, method = {}, asked["method"]
    if method == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif method == "session/new":
        result = {"sessionId": "4bdeb4a9-6e3f-4e0e-a3f4-6b3f5b2c9c1d"}
    elif method == "session/prompt":
        count, block, pause = json.loads(asked["params"]["prompt"][0]["text"])
        content = {"type": "text", "text": "@%020d " + "x" * 130}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": asked["params"]["sessionId"], "update": update}
        frame = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}) + "\\n"
        for _ in range(0, count, block):
            sys.stdout.write(frame * block % ((time.monotonic_ns(),) * block))
            sys.stdout.flush()
            time.sleep(pause)
        result = {"stopReason": "end_turn"}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
"""Says as many frames as its prompt asks for, each with the time, in blocks with pauses between."""

PAUSE_SECONDS = {16: 0.002, 1: 0.0005}
"""Between blocks, so that none is joined to the next on its way."""


STAMP = re.compile(rb'"@([0-9]{20}) ')


class Viewed:
    """The session of a fleet, as a viewer sees it at one of the nodes."""

    def __init__(self, node: Lastword, owner: Lastword, session: str) -> None:
        self.node = node
        self.owner = owner
        self.session = session
        self._processes = list({node.front.pid, owner.front.pid})
        """Those that a frame goes through on its way from the agent's link to the viewer."""

    def attached(self) -> Socket:
        """Connect, and go on from the session's end."""
        made = self.node.socket()
        params = {"sessionId": self.session, "cwd": str(self.owner.folder), "mcpServers": []}
        made.ask("session/resume", params)
        return made

    def play(self, count: int, block: int, pause: float) -> list[float]:
        """Have a turn played; return how long each frame was on its way, in milliseconds."""
        text = json.dumps([count, block, pause])
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
        viewer = self.attached()
        mark = viewer.request("session/prompt", params)
        connection, received = viewer.detach(), bytearray()
        ends, times = [], []
        while mark not in received[-2 * len(mark) - READ_BYTES :]:
            received += connection.recv(READ_BYTES)
            ends.append(len(received))
            times.append(time.monotonic_ns())
        viewer.close()
        return [
            (times[bisect_left(ends, each.end())] - int(each[1])) / 1e6
            for each in STAMP.finditer(received)
        ]

    def cpu_micros(self, count: int, block: int) -> float:
        """Return the CPU time of a frame, in microseconds."""
        before = cpu_seconds(self._processes)
        seen = len(self.play(count, block, PAUSE_SECONDS[block]))
        assert seen == count, f"{seen} frames of {count}"
        return (cpu_seconds(self._processes) - before) / count * 1e6

    def first_ms(self) -> float:
        """Return how long a new viewer waits for the first frame of the session's past."""
        began = time.perf_counter()
        made = self.node.socket()
        params = {"sessionId": self.session, "cwd": str(self.owner.folder), "mcpServers": []}
        made.request("session/load", params)
        made.until(b'"session/update"')
        took = time.perf_counter() - began
        made.close()
        return took * 1000


def ratio(name: str, own: list[float], foreign: list[float], unit: str) -> None:
    """Print a figure of both, each the middle of its tries."""
    here, there = statistics.median(own), statistics.median(foreign)
    say(f"  {name}: {here:.2f} {unit} at its own node, {there:.2f} at a foreign one")
    say(f"    {there / here:.2f} times, {there - here:+.2f} {unit}")


def measure(own: Viewed, foreign: Viewed, frames: int, tries: int) -> None:
    """Compare both nodes, in turns."""
    both = (own, foreign)
    for block in (16, 1):
        count = frames if block > 1 else frames // 4
        spent = [[each.cpu_micros(count, block) for each in both] for _ in range(tries)]
        mine, theirs = zip(*spent, strict=True)
        ratio(f"CPU a frame, {block} in a block", list(mine), list(theirs), "us")
    delays: list[list[float]] = [[], []]
    for _ in range(tries):
        for at, each in enumerate(both):
            delays[at] += each.play(400, 1, 0.005)
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        mine, theirs = ([sorted(each)[int(len(each) * part)]] for each in delays)
        ratio(f"a frame's way, {name}", mine, theirs, "ms")
    firsts = [[each.first_ms() for each in both] for _ in range(10 * tries)]
    mine, theirs = zip(*firsts, strict=True)
    ratio("first frame of a new viewer", list(mine), list(theirs), "ms")


def main() -> None:
    """Measure a fleet of two nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=32_000, help="frames of a turn")
    parser.add_argument("--tries", type=int, default=5, help="turns at each node")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        key = folder / "fleet.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(32))
        with Cluster(folder / "nats") as servers:
            nodes = [node(folder, letter, servers.option, key) for letter in ("a", "b")]
            opening = nodes[0].socket()
            made = opening.ask("session/new", {"cwd": str(nodes[0].folder), "mcpServers": []})
            session = made.partition(b'"sessionId":"')[2].partition(b'"')[0].decode()
            try:
                owner = next(each for each in nodes if each.has_session)
                others = [each for each in nodes if each is not owner]
                own, foreign = (Viewed(each, owner, session) for each in (owner, *others))
                measure(own, foreign, arguments.frames, arguments.tries)
            finally:
                for each in nodes:
                    each.close()


def node(folder: Path, letter: str, servers: str, key: Path) -> Lastword:
    """Start a node."""
    home = folder / letter
    home.mkdir()
    options = ["--fleet", servers, "--fleet-key-file", str(key), "--fleet-node", letter]
    return Lastword(home, [sys.executable, "-u", "-c", AGENT], *options)


if __name__ == "__main__":
    main()
