"""What it costs to replicate a session's log, beside a log that is only on this machine.

Run as ``python benchmarks/replication.py``; see README.md beside this file for what the figures
mean.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gateway import cpu_seconds, resident_bytes, say  # noqa: E402

from lastword.gateway.fleet.key import REPLICAS  # noqa: E402
from lastword.gateway.fleet.replicated_log import open_new  # noqa: E402
from lastword.gateway.fleet.replicator import Replicator  # noqa: E402
from lastword.gateway.fleet.streams import Streams  # noqa: E402
from lastword.gateway.log.entries import LogEntry, LogKind  # noqa: E402
from lastword.gateway.log.session_log import session_log  # noqa: E402
from tests.kit.fleet.connected import KEY, connected  # noqa: E402
from tests.kit.fleet.in_memory import Listening  # noqa: E402
from tests.kit.fleet.servers import Cluster  # noqa: E402

if TYPE_CHECKING:
    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.replicated_log import ReplicatedLog
    from lastword.gateway.log.store import Committed, Log

READ = 64
"""Entries that an agent's busy output puts into one commit."""

FRAME = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"4bdeb4a9-6e3f-4e0e-a3f4",'
    b'"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}'
)
ENTRY = LogEntry(LogKind.OUT, 1, FRAME % (b"x" * 150), is_text=True)


class Bench:
    """A fleet's servers, and a node that uses them."""

    def __init__(self, servers: Cluster, broker: Broker, folder: Path) -> None:
        self._store = Streams(broker, KEY.derived(REPLICAS))
        self.cluster = servers
        self.servers = servers.servers
        self._folder = folder
        self._made = 0

    @property
    def pids(self) -> list[int]:
        """The servers' processes."""
        return [server.pid for server in self.servers]

    def resident(self) -> int:
        """Return what the servers have in memory, in bytes."""
        return sum(map(resident_bytes, self.pids))

    def path(self) -> str:
        """Return a path that no log has had."""
        self._made += 1
        return str(self._folder / f"{self._made}.db")

    async def replicated(self) -> tuple[ReplicatedLog, Replicator]:
        """Open a session's log, and return it with what publishes it."""
        path = self.path()
        replicator = Replicator(self._store, path, "a", Listening())
        log = open_new(path, replicator)
        await replicator.settled()
        return log, replicator


async def written(log: Log, count: int) -> None:
    """Write entries as a holder does: it pauses the agent while the log is behind."""
    for _ in range(count // READ):
        log.append([ENTRY] * READ)
        await asyncio.sleep(0)
        while log.is_behind:  # noqa: ASYNC110 - as a holder looks
            await asyncio.sleep(0.001)


async def bulk(bench: Bench, count: int, tries: int) -> None:
    """Compare how fast both logs take what a busy agent writes."""
    rows: list[list[float]] = []
    for _ in range(tries):
        local = session_log(bench.path())
        began, spent = time.perf_counter(), time.process_time()
        await written(local, count)
        rows.append([time.perf_counter() - began, time.process_time() - spent])
        local.close()
        log, replicator = await bench.replicated()
        began, spent, others = time.perf_counter(), time.process_time(), cpu_seconds(bench.pids)
        await written(log, count)
        await replicator.settled()
        rows[-1] += [time.perf_counter() - began, time.process_time() - spent]
        rows[-1].append(cpu_seconds(bench.pids) - others)
        log.close()
    here, here_cpu, there, there_cpu, servers = map(statistics.median, zip(*rows, strict=True))
    say(f"  {count} entries: {count / here:,.0f} a second here, {count / there:,.0f} replicated")
    micros = [each / count * 1e6 for each in (here_cpu, there_cpu, servers)]
    ratio = there_cpu / here_cpu
    say(
        f"    CPU an entry: {micros[0]:.2f} us here, {micros[1]:.2f} replicated ({ratio:.1f} times)"
        f", and {micros[2]:.2f} in the three servers"
    )


async def delays(bench: Bench, count: int) -> None:
    """Compare when an entry counts that is written alone."""
    log, replicator = await bench.replicated()
    local = session_log(bench.path())
    seconds: tuple[list[float], list[float]] = ([], [])
    shown = asyncio.Event()

    def note(committed: Committed) -> None:
        seconds[1].append(committed.seconds)
        shown.set()

    local.observers.append(lambda committed: seconds[0].append(committed.seconds))
    log.observers.append(note)
    for _ in range(count):
        shown.clear()
        local.append([ENTRY])
        log.append([ENTRY])
        await shown.wait()
        await asyncio.sleep(0.005)
    await replicator.settled()
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        here, there = (sorted(each)[int(len(each) * part)] * 1000 for each in seconds)
        say(f"  an entry counts after, {name}: {here:.2f} ms here, {there:.2f} replicated")
    local.close()
    log.close()


async def idle(bench: Bench, count: int, seconds: float) -> None:
    """Measure what sessions take of the servers in which nothing happens.

    What a server has written lately stays in its buffers, of up to 4 MiB for each stream, until its
    memory is collected some minutes later. A restart shows what the sessions themselves take.
    """
    before = bench.resident()
    for _ in range(count):
        log, replicator = await bench.replicated()
        log.remember("params", '{"cwd": "/srv/project", "mcpServers": []}')
        log.append([ENTRY] * 20)
        await replicator.settled()
        log.close()
    opened = bench.resident()
    for server in bench.servers:
        server.kill()
        bench.cluster.start(server)
        await asyncio.to_thread(bench.cluster.wait_until_ready)
    await asyncio.sleep(seconds)
    after, spent = bench.resident(), cpu_seconds(bench.pids)
    await asyncio.sleep(seconds)
    share = (cpu_seconds(bench.pids) - spent) / seconds
    say(
        f"  three servers: {before / 1e6:.0f} MB at first, {opened / 1e6:.0f} when {count} "
        f"have been opened, {after / 1e6:.0f} after a restart, and {share:.1%} of a CPU"
    )


async def measure(arguments: argparse.Namespace, servers: Cluster, folder: Path) -> None:
    """Measure one after the other over one connection."""
    async with connected(servers.urls, replicas=3) as broker:
        bench = Bench(servers, broker, folder)
        await idle(bench, arguments.sessions, arguments.seconds)
        await bulk(bench, arguments.entries, arguments.tries)
        await delays(bench, arguments.delays)


def main() -> None:
    """Measure three servers and one node on this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000, help="entries of a busy session")
    parser.add_argument("--tries", type=int, default=5, help="busy sessions")
    parser.add_argument("--delays", type=int, default=1000, help="entries that are written alone")
    parser.add_argument("--sessions", type=int, default=1000, help="idle sessions")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long they are watched")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Cluster(Path(name) / "nats") as servers:
        asyncio.run(measure(arguments, servers, Path(name)))


if __name__ == "__main__":
    main()
