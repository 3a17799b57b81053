"""What the record costs: a relayed frame, a turn, and whoever reads a million entries.

Run as ``python benchmarks/record.py``; see README.md beside this file for what the figures mean.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from measures import Table
from relay import machine, say, show

from lastword.core.link.connection import Connection, Side
from lastword.core.link.effects import Record
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from lastword.record import intake
from lastword.record.paths import Limits
from lastword.record.recorder import Recorder
from lastword.record.run import Row, this_run
from lastword.record.run_file import RunFile
from lastword.record.sink import StoreSink
from lastword.record.threaded import ThreadedRecorder

KINDS = ("frame", "turn", "read", "write")
ENTRIES_A_TURN = 10
BATCH_TURNS = 500
COMMANDS = {
    "log": ("log",),
    "log --errors": ("log", "--errors"),
    "log SESSION": ("log", "--last"),
    "log --json": ("log", "--json"),
    "stats": ("stats",),
}
PROMPT = (
    b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
)
UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word %d "}}}}'
)
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}'
HELLO = (
    (Side.CLIENT, b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'),
    (Side.AGENT, b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'),
    (Side.CLIENT, b'{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/"}}'),
    (Side.AGENT, b'{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}'),
)


class Link:
    """The core with a recorder or without one, fed as the sidecar feeds it."""

    def __init__(self, folder: Path | None) -> None:
        self.core = Connection()
        self._words = 0
        self.recorder = None
        if folder is not None:
            path = str(folder / "record.db")
            run = this_run("01BENCHMARK", door="run", program="agent")
            sinks = partial(StoreSink, path, run, Limits())
            self.recorder = Recorder(lambda: ThreadedRecorder(sinks))
        for side, line in HELLO:
            self.feed(side, line)

    def feed(self, side: Side, line: bytes) -> None:
        """One frame, and what the sidecar does after it."""
        now = time.monotonic()
        for effect in self.core.receive(side, jsonrpc.decode(line), now):
            if type(effect) is Record and self.recorder is not None:
                self.recorder.record(effect.entry)
        if self.recorder is not None:
            self.recorder.flush()

    def prompt(self) -> None:
        """A turn begins, and shows something."""
        self.feed(Side.CLIENT, PROMPT)
        self.update()

    def update(self) -> None:
        """One more update; each another text: one that repeats itself is taken for a runaway."""
        self._words += 1
        self.feed(Side.AGENT, UPDATE % self._words)

    def end(self) -> None:
        """The turn is over."""
        self.feed(Side.AGENT, ANSWER)

    def close(self) -> None:
        """Let the recorder finish."""
        if self.recorder is not None:
            self.recorder.close()


def beside(rounds: int, times: int, unit: float, one: Callable[[Link], None]) -> Table:
    """The same with and without a recorder, taking turns; the median of the rounds."""
    taken: dict[str, list[float]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as folder:
        links = {"without": Link(None), "with": Link(Path(folder))}
        for link in links.values():
            link.prompt()
        for _ in range(rounds):
            for name, link in links.items():
                began = time.perf_counter()
                for _ in range(times):
                    one(link)
                taken[name].append((time.perf_counter() - began) / times * unit)
        for link in links.values():
            link.end()
            link.close()
    pairs = zip(taken["with"], taken["without"], strict=True)
    added = median(mine - theirs for mine, theirs in pairs)
    table: Table = {name: {"us": median(each)} for name, each in taken.items()}
    table["with"]["added_us"] = added
    return table


def frame(rounds: int) -> Table:
    """An update in a turn that is running: nothing is recorded of it."""
    return beside(rounds * 40, 500, 1e6, Link.update)


def turn(rounds: int) -> Table:
    """A turn with one update: four entries."""

    def one(link: Link) -> None:
        link.end()
        link.prompt()

    return beside(rounds * 10, 50, 1e6, one)


def rows(turns: int, began_ms: int) -> Iterator[list[Row]]:
    """Turns as an agent at work leaves them, one in twenty with a failure; in batches."""
    batch: list[Row] = []
    for number in range(1, turns + 1):
        session, at = f"session-{number // 50:06}", number * 10.0
        batch += (row(entry, began_ms) for entry in entries(session, number, at))
        if number % BATCH_TURNS == 0 or number == turns:
            yield batch
            batch = []


def row(entry: Entry, began_ms: int) -> Row:
    """The entry as the recorder sends it."""
    at_ms = began_ms + int(entry.at_seconds * 1000)
    where = (entry.session_id, entry.turn, entry.request_id)
    return Row(entry.kind.value, entry.level.value, at_ms, entry.at_seconds, *where, entry.facts)


def entries(session: str, number: int, at: float) -> Iterator[Entry]:
    """One turn's ten entries."""
    told: list[tuple[Kind, dict[str, object]]] = [(Kind.PROMPT, {}), (Kind.FIRST_PROGRESS, {})]
    told.append((Kind.FIRST_OUTPUT, {}))
    for call in range(3):
        told.append((Kind.TOOL_STARTED, {"call": f"call_{call}", "tool": "read"}))
        told.append((Kind.TOOL_ENDED, {"call": f"call_{call}", "status": "completed"}))
    failed = {"type": "rate_limit", "reason": "tokens_per_minute", "phase": "after_tool"}
    ended = (Kind.ANSWER, {"stop_reason": "end_turn", "by": "agent"})
    told.append((Kind.ERROR, dict(failed)) if number % 20 == 0 else ended)
    for step, (kind, facts) in enumerate(told):
        yield Entry(
            kind=kind, at_seconds=at + step * 0.5, session_id=session, turn=number, facts=facts
        )


def build(folder: Path, count: int) -> float:
    """Write that many entries of one run and bring them into a store; return the seconds."""
    turns = count // ENTRIES_A_TURN
    began = time.perf_counter()
    path = str(folder / "record.db")
    span_ms = turns * 10_000
    limits = Limits(days=0, size_bytes=0)
    writer = RunFile(path, this_run("01BENCHMARK", door="run", program="agent"), limits)
    for batch in rows(turns, int(time.time() * 1000) - span_ms - 60_000):
        writer.write(batch)
    writer.close()
    intake.opened(path).close()
    return time.perf_counter() - began


def environment(folder: Path) -> dict[str, str]:
    """Default options, and bytecode that is cached, as an installer leaves it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LASTWORD_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | {"LASTWORD_STATE_DIR": str(folder)}


def read(folder: Path, rounds: int) -> Table:
    """Each command as a user runs it, from its spawn to its end; and a bare Python."""
    table: Table = {}
    bare = [sys.executable, "-c", "import sqlite3, argparse"]
    command = [sys.executable, "-m", "lastword"]
    wanted = {"python -c 'import sqlite3, argparse'": bare}
    wanted |= {name: [*command, *words] for name, words in COMMANDS.items()}
    taken: dict[str, list[float]] = {name: [] for name in wanted}
    for _ in range(rounds + 1):
        for name, words in wanted.items():
            began = time.perf_counter()
            subprocess.run(words, env=environment(folder), check=True, stdout=subprocess.DEVNULL)
            taken[name].append((time.perf_counter() - began) * 1000)
    for name, each in taken.items():
        # The first filled the caches.
        table[name] = {"ms": median(each[1:]), "ms_max": max(each[1:])}
    return table


def start_up() -> Table:
    """What loading `lastword log` takes by Python's own count."""
    command = [sys.executable, "-X", "importtime", "-c", "import lastword.cli.log"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    own = [int(found) for found in re.findall(r"import time: +(\d+) \|", done.stderr)]
    return {"lastword log": {"importtime_ms": sum(own) / 1000, "modules": float(len(own))}}


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=KINDS)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    kinds, rounds = options.only or KINDS, 5 if options.quick else 15
    say(machine())
    tables: dict[str, Table] = {}
    if "frame" in kinds:
        tables["frame"] = frame(rounds)
    if "turn" in kinds:
        tables["turn"] = turn(rounds)
    if {"read", "write"} & set(kinds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            seconds = build(folder, options.entries)
            size = (folder / "record.db").stat().st_size
            written = {"entries_per_s": options.entries / seconds, "megabytes": size / 1e6}
            tables["write"] = {f"{options.entries:,} entries": written}
            if "read" in kinds:
                tables["start-up"] = start_up()
                tables["read"] = read(folder, rounds)
    for title, table in tables.items():
        show(title, table, "what")
    if options.json:
        Path(options.json).write_text(json.dumps(tables, indent=2) + "\n")


if __name__ == "__main__":
    main()
