"""What the guard costs an agent of the SDK, with a record and without, beside `acp.run_agent`.

Run as ``python benchmarks/guard.py``; see README.md beside this file for what the figures mean.
"""

import argparse
import asyncio
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

from link import FUSE_SECONDS, frame
from measures import Table, one_cpu, p99
from relay import machine, say, show

BARE, GUARDED = "acp.run_agent", "lastword.run_agent"
UNRECORDED = "lastword.run_agent, no record"
NAMES = (BARE, UNRECORDED, GUARDED)
KINDS = ("turns", "updates", "import")
SESSION = "s1"
READ_BYTES = 1 << 16
BATCH = 100
STATE = "LASTWORD_STATE_DIR"
LOADED = "import anyio, pydantic, acp, asyncio, logging"
OURS = "import lastword; lastword.run_agent"


def agent(name: str) -> None:
    """Be the agent: a prompt says how many updates it wants."""
    import acp  # noqa: PLC0415  (so that what measures loads neither)

    import lastword  # noqa: PLC0415

    done = acp.PromptResponse(stop_reason="end_turn")

    class Agent(acp.Agent):
        client: Any

        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
            return acp.InitializeResponse(protocol_version=protocol_version)

        async def new_session(self, **_: Any) -> acp.NewSessionResponse:
            return acp.NewSessionResponse(session_id=SESSION)

        async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
            for number in range(int(prompt[0].text)):
                # Each another text: one that repeats itself without end is taken for a runaway.
                update = acp.update_agent_message_text(f"word {number} of an answer ")
                await self.client.session_update(session_id, update)
            return done

    run = acp.run_agent if name == BARE else lastword.run_agent
    asyncio.run(run(Agent()))


def environment() -> dict[str, str]:
    """Default options, and bytecode that is cached, as an installer leaves it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LASTWORD_")}
    kept[STATE] = os.environ[STATE]
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


class Process:
    """An agent in a process of its own, and this end of its pipes.

    Bytes, not `lastword.kit.peer`'s frames, for the reason that `link` gives: turns of some hundred
    microseconds are measured to their tenth.
    """

    def __init__(self, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--agent", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment() | {"LASTWORD_NO_RECORD": str(int(name == UNRECORDED))},
        )
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._ask("initialize", {"protocolVersion": 1}, 0)
        self._ask("session/new", {"cwd": "/", "mcpServers": []}, 1)
        self._next_id = 2

    def __enter__(self) -> Self:
        """For `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the agent."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()

    def turn(self, updates: int) -> float:
        """Seconds from a prompt to its answer, with so many updates in between."""
        block = {"type": "text", "text": str(updates)}
        params = {"sessionId": SESSION, "prompt": [block]}
        request = frame("session/prompt", params, self._next_id)
        self._next_id += 1
        start = time.perf_counter()
        lines = self._answered(request)
        seconds = time.perf_counter() - start
        assert lines == updates + 1, f"{lines} frames for {updates} updates"
        return seconds

    def cpu(self) -> float:
        """Seconds that the agent has spent on a CPU, in all its threads."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in threads) / 1e9

    def _ask(self, method: str, params: object, id_: int) -> None:
        self._answered(frame(method, params, id_))

    def _answered(self, request: bytes) -> int:
        """Send a request; gives how many lines came until its answer."""
        os.write(self._in, request)
        lines, last = 0, b""
        while not (last.endswith(b"\n") and b'"result"' in last):
            ready, _, _ = select.select([self._out], [], [], FUSE_SECONDS)
            data = os.read(self._out, READ_BYTES) if ready else b""
            assert data, "the agent has ended, or says nothing"
            lines += data.count(b"\n")
            last = (b"" if last.endswith(b"\n") else last) + data
            last = last[last.rfind(b"\n", 0, -1) + 1 :]
        return lines


@contextmanager
def agents_at_once() -> Iterator[dict[str, Process]]:
    """The agents, up at the same time."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Process(name)) for name in NAMES}


def turns(count: int, *, pinned: bool) -> Table:
    """Microseconds of a turn with one update, the agents taking turns, a hundred each."""
    walls: dict[str, list[float]] = {name: [] for name in NAMES}
    cpus: dict[str, list[float]] = {name: [] for name in NAMES}
    with one_cpu(pinned=True) if pinned else nullcontext(), agents_at_once() as agents:
        for start in range(0, count + BATCH, BATCH):
            for name, process in agents.items():
                before = process.cpu()
                seconds = [process.turn(1) for _ in range(BATCH)]
                if start:  # the first batch warms up
                    walls[name] += [each * 1e6 for each in seconds]
                    cpus[name].append((process.cpu() - before) / BATCH * 1e6)
    return compared(walls, cpus, "us")


def updates(count: int, rounds: int) -> Table:
    """Microseconds of one update, in a turn of so many."""
    walls: dict[str, list[float]] = {name: [] for name in NAMES}
    cpus: dict[str, list[float]] = {name: [] for name in NAMES}
    with agents_at_once() as agents:
        for round_ in range(rounds + 1):
            for name, process in agents.items():
                before = process.cpu()
                seconds = process.turn(count)
                if round_:
                    walls[name].append(seconds / count * 1e6)
                    cpus[name].append((process.cpu() - before) / count * 1e6)
    return compared(walls, cpus, "us")


def compared(walls: dict[str, list[float]], cpus: dict[str, list[float]], unit: str) -> Table:
    """Medians, what the guard adds, and the ratio, each taken within a round."""
    table: Table = {}
    for name, wall in walls.items():
        row = {f"p50_{unit}": median(wall), f"p99_{unit}": p99(wall)}
        row |= {"ratio": _between(walls, name, lambda own, bare: own / bare)}
        row |= {f"added_{unit}": _between(walls, name, lambda own, bare: own - bare)}
        # The mean: what is recorded is written now and then, and has to be paid for as well.
        row |= {f"cpu_{unit}": fmean(cpus[name])}
        row |= {f"added_cpu_{unit}": fmean(cpus[name]) - fmean(cpus[BARE])}
        table[name] = row
    return table


def _between(
    samples: dict[str, list[float]], name: str, of: Callable[[float, float], float]
) -> float:
    return median(of(own, bare) for own, bare in zip(samples[name], samples[BARE], strict=True))


def imports(runs: int) -> Table:
    """Milliseconds of `lastword.run_agent` where the SDK and its own needs are loaded already."""
    own: list[float] = []
    seconds: dict[str, list[float]] = {LOADED: [], f"{LOADED}; {OURS}": []}
    for run in range(runs + 1):
        modules = imported()
        for code in seconds:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=environment())
            seconds[code] += [time.perf_counter() - start] if run else []
        own += [sum(modules.values()) / 1e3] if run else []
    loaded, with_ours = seconds.values()
    added = [(after - before) * 1e3 for before, after in zip(loaded, with_ours, strict=True)]
    row = {"importtime_ms": median(own), "added_ms": median(added), "modules": len(modules)}
    return {"lastword.run_agent": row}


def imported() -> dict[str, int]:
    """Microseconds of each module that is loaded for the guard alone, by `-X importtime`."""
    code = f"{LOADED}; import sys; sys.stderr.write('ours\\n'); {OURS}"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=environment(),
    )
    lines = done.stderr.partition("\nours\n")[2]
    found = re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", lines, re.MULTILINE)
    return {module: int(own) for own, module in found}


def slowest(modules: dict[str, int], count: int = 12) -> str:
    """The modules that take longest."""
    order = sorted(modules.items(), key=lambda each: -each[1])[:count]
    return ", ".join(f"{module} {own / 1e3:.1f}" for module, own in order)


def measure(kind: str, *, quick: bool) -> dict[str, Table]:
    """Run one kind; a table for each of its variants."""
    if kind == "turns":
        count = 1_000 if quick else 10_000
        return {
            "turn with one update, one CPU": turns(count, pinned=True),
            "turn with one update, all CPUs": turns(count, pinned=False),
        }
    if kind == "updates":
        return {"update in a turn of 10,000": updates(10_000, 3 if quick else 15)}
    return {"import": imports(5 if quick else 25)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the turns, fewer rounds")
    parser.add_argument("--only", action="append", choices=KINDS, metavar="KIND")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there, too")
    parser.add_argument("--agent", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.agent:
        agent(options.agent)
        return
    with tempfile.TemporaryDirectory(prefix="lastword-benchmark-") as state:
        os.environ[STATE] = state
        _measure_all(options)


def _measure_all(options: argparse.Namespace) -> None:
    say(machine())
    figures: dict[str, Table] = {}
    for kind in options.only or KINDS:
        for title, table in measure(kind, quick=options.quick).items():
            figures[title] = table
            show(title, table)
    if "import" in (options.only or KINDS):
        say(f"\nslowest to load, in ms: {slowest(imported())}")
    if options.json:
        document = {"machine": machine(), "quick": options.quick, "figures": figures}
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
