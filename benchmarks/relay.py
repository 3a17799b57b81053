"""What a relay between an editor and its agent costs: lastword, `cat` and none, side by side.

Run as ``python benchmarks/relay.py``; see README.md beside this file for what the figures mean.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import measures
from link import PROMPT, Relay
from measures import Bench, Table
from sdks import plain_relays
from traffic import Traffic, prose, write_mixed, write_small

if TYPE_CHECKING:
    from collections.abc import Callable

AGENTS = Path(__file__).parent / "agents"
AT_ONCE = Path(__file__).parent.parent / "tests" / "long" / "chaos_sidecar.py"
"""`lastword run` without the wait between a crash and the next start."""
STREAM = [sys.executable, "-I", "-S", str(AGENTS / "stream.py")]
KINDS = (
    *("bulk", "frames", "mixed", "turn", "long-prompt", "pingpong", "startup", "memory"),
    *("flood", "crash", "restart"),
)
LONG_PROMPTS = (1_000, 16_000)
"""The lengths of the prompts of `long-prompt`, in characters."""


def say(text: str) -> None:
    """Tell the person in front of the terminal."""
    print(text, flush=True)


OURS, AGAINST = "lastword", "against"


def relays(extra: list[str], against: Path | None, *, with_sdks: bool) -> list[Relay]:
    """The relays to compare: none, `cat`, `socat`, lastword where they are, the SDKs', `extra`.

    Raises:
        SystemExit: a relay cannot be used, with what to do.
    """
    found = [Relay("direct", "{agent}"), Relay("cat", """sh -c 'cat | "$@" | cat' sh {agent}""")]
    if shutil.which("socat"):
        found.append(Relay("socat", """sh -c 'exec socat - EXEC:"$*"' sh {agent}""", plain=True))
    else:
        say("socat is missing: measuring without it")
    script = Path(sys.executable).parent / "lastword"
    if script.exists():
        found.append(Relay(OURS, f"'{script}' run -- {{agent}}"))
    else:
        say("lastword is not installed beside this Python: measuring without it")
    if against is not None:
        other = against / "bin" / "lastword"
        if not other.exists():
            raise SystemExit(f"--against: {other} is missing; name a virtual environment")
        found.append(Relay(AGAINST, f"'{other}' run -- {{agent}}"))
    if with_sdks:
        found += plain_relays(say)
    for each in extra:
        name, _, command = each.partition("=")
        if "{agent}" not in command.split():
            raise SystemExit("--relay: expected NAME=COMMAND with the word {agent} in it")
        found.append(Relay(name, command))
    return found


def compile_pong(folder: Path) -> list[str] | None:
    """The C agent, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    target = str(folder / "pong")
    subprocess.run([compiler, "-O2", "-o", target, str(AGENTS / "pong.c")], check=True)
    return [target]


class Suite:
    """The measurements by kind, at full length or `--quick`."""

    def __init__(
        self, bench: Bench, folder: Path, *, quick: bool, flood_megabytes: int | None = None
    ) -> None:
        self.bench, self.folder, self.quick = bench, folder, quick
        self.flood_megabytes = flood_megabytes or (50 if quick else 500)
        self._traffic: dict[str, Traffic] = {}

    def run(self, kind: str) -> dict[str, Table]:
        """Run one kind; a table for each of its variants."""
        methods: dict[str, Callable[[], dict[str, Table]]] = {
            "bulk": lambda: {"bulk": self._throughput("bulk", self.small())},
            "frames": lambda: {"frames": self._throughput("frame", self.small())},
            "mixed": lambda: {"mixed": self._throughput("bulk", self.mixed())},
            "turn": lambda: self._turns({"turn": PROMPT}),
            "long-prompt": lambda: self._turns(
                {
                    f"turn, prompt of {length:,} characters": prose(random.Random(1), length)
                    for length in LONG_PROMPTS
                }
            ),
            "pingpong": self._ping_pong,
            "startup": self._start_up,
            "memory": self._memory,
            "flood": self._flood,
            "crash": self._crash,
            "restart": self._restart,
        }
        return methods[kind]()

    def small(self) -> Traffic:
        """The small frames, made once."""
        if "small" not in self._traffic:
            count = 100_000 if self.quick else 500_000
            self._traffic["small"] = self._described(write_small(self.folder / "small", count))
        return self._traffic["small"]

    def mixed(self) -> Traffic:
        """The mixed traffic, made once."""
        if "mixed" not in self._traffic:
            size = 40 if self.quick else 180
            self._traffic["mixed"] = self._described(write_mixed(self.folder / "mixed", size))
        return self._traffic["mixed"]

    @staticmethod
    def _described(traffic: Traffic) -> Traffic:
        say(
            f"{traffic.path.name}: {traffic.frames:,} frames, {len(traffic.data) / 1e6:.0f} MB, "
            f"{traffic.middle_bytes} bytes in the middle"
        )
        return traffic

    def _throughput(self, mode: str, traffic: Traffic) -> Table:
        agent = [*STREAM, mode, str(traffic.path)]
        return measures.throughput(self.bench, agent, traffic, 5 if self.quick else 9)

    def _turns(self, prompts: dict[str, str]) -> dict[str, Table]:
        traffic = self._described(write_small(self.folder / "update", 1))
        unrecorded = [
            replace(relay, name=f"{relay.name}, no record", command=command)
            for relay in self.bench.relays
            if (command := relay.command.replace(" run --", " run --no-record --")) != relay.command
        ]
        bench = replace(self.bench, relays=[*self.bench.relays, *unrecorded])
        agent = [*STREAM, "bulk", str(traffic.path)]
        return measures.turns(bench, agent, traffic, prompts, 3 if self.quick else 10)

    def _ping_pong(self) -> dict[str, Table]:
        agent = compile_pong(self.folder) or [*STREAM, "hang"]
        trips = 2_000 if self.quick else 10_000
        tables = {"pingpong, unpinned": measures.ping_pong(self.bench, agent, trips, pinned=False)}
        if hasattr(os, "sched_setaffinity"):
            pinned = measures.ping_pong(self.bench, agent, trips, pinned=True)
            tables["pingpong, one CPU"] = pinned
        return tables

    def _start_up(self) -> dict[str, Table]:
        runs = 20 if self.quick else 40
        tables = {}
        if node := shutil.which("node"):
            agent = [node, str(AGENTS / "pong.js")]
            tables["startup, Node agent"] = measures.start_up(self.bench, agent, runs)
        else:
            say("node is missing: no start-up in front of a Node agent")
        if pong := compile_pong(self.folder):
            tables["startup, C agent"] = measures.start_up(self.bench, pong, runs)
        else:
            say("a C compiler is missing: no start-up in front of a C agent")
        return tables

    def _memory(self) -> dict[str, Table]:
        agent = [*STREAM, "bulk", str(self.small().path)]
        return {"memory": measures.memory(self.bench, agent, self.small(), 2)}

    def _flood(self) -> dict[str, Table]:
        size = self.flood_megabytes
        agents = {name: [*STREAM, name, str(size)] for name in ("quiet", "flood")}
        return {"flood": measures.flood(self.bench, agents, size)}

    def _crash(self) -> dict[str, Table]:
        agents = {"alone": [*STREAM, "hang"], "grandchild": [*STREAM, "hang", "grandchild"]}
        return {"crash": measures.crash(self.bench, agents, 15 if self.quick else 60)}

    def _restart(self) -> dict[str, Table]:
        agent, runs = [*STREAM, "hang"], 3 if self.quick else 20
        at_once = Relay("lastword, no wait", f"'{sys.executable}' '{AT_ONCE}' -- {{agent}}")
        without_wait = replace(self.bench, relays=[at_once])
        return {
            "restart": measures.restart(self.bench, agent, runs, 1),
            "restart, no wait": measures.restart(without_wait, agent, 2, 20 * runs),
        }


def show(title: str, table: Table, rows: str = "relay") -> None:
    """Print a table as Markdown; `rows` says what its rows are."""
    if not table:
        return
    columns = list(dict.fromkeys(column for row in table.values() for column in row))
    say(f"\n### {title}\n| {rows} | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, row in table.items():
        say(f"| {name} | {' | '.join(_cell(row.get(column)) for column in columns)} |")


def compared(table: Table) -> dict[str, float]:
    """How many times the figure of the installation of `--against` ours is, by column."""
    ours, other = table.get(OURS, {}), table.get(AGAINST, {})
    pairs = ((column, ours.get(column), other.get(column)) for column in ours)
    return {column: a / b for column, a, b in pairs if a is not None and b}


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def machine() -> str:
    """The machine in general terms, and how busy it is."""
    load = os.getloadavg()[0]
    return (
        f"{platform.system()}, {os.cpu_count()} cores, {platform.python_implementation()} "
        f"{platform.python_version()}, load {load:.1f} at the start"
    )


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relay", action="append", default=[], metavar="'NAME=CMD {agent}'")
    parser.add_argument(
        "--sdks", action="store_true", help="relays made of the SDKs and the Rust conductor, too"
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="DIR",
        help="the lastword of another virtual environment, too, and ours as a ratio to it",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the traffic, fewer rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there, too")
    parser.add_argument(
        "--flood-megabytes", type=int, metavar="N", help="how much `flood` writes to stderr"
    )
    parser.add_argument(
        "--only", action="append", choices=KINDS, metavar="KIND", help=", ".join(KINDS)
    )
    options = parser.parse_args()
    say(machine())
    figures: dict[str, Table] = {}
    with tempfile.TemporaryDirectory(prefix="lastword-bench-") as name:
        folder = Path(name)
        chosen = relays(options.relay, options.against, with_sdks=options.sdks)
        bench = Bench(chosen, folder / "state")
        suite = Suite(bench, folder, quick=options.quick, flood_megabytes=options.flood_megabytes)
        for kind in options.only or KINDS:
            for title, table in suite.run(kind).items():
                figures[title] = table
                show(title, table)
                if ratios := compared(table):
                    say(
                        f"{OURS} / {AGAINST}: "
                        + ", ".join(f"{c} {r:.2f}" for c, r in ratios.items())
                    )
    if options.json:
        document = {"machine": machine(), "quick": options.quick, "figures": figures}
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
