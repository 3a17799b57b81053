"""How long a frame waits in the relay because a look at silent sessions is being made.

Run as ``python benchmarks/waits.py``. `lastword run` has 200 silent sessions, with and without
``--evidence wire`` in turns, while a client sends frames and one session after the other writes
that its call failed: the first of these loads the classifier. The time between two polls of the
relay's loop is measured inside of it, by the clock and as its own thread's time on a processor:
that is what a frame waits that comes meanwhile. Needs Linux, and nothing but lastword. It fails if
the median of the runs' own times is longer than 5 ms.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from journals import CROWD, HOMES, fill_home, fill_with_prompts, line, sender_to

LIMIT_SECONDS = 0.005
MEASURED = """
import json, os, sys, time
from lastword.sidecar import session
path = os.environ["WAITS"]
rounds = []
after_move = session.Sidecar._round

def round_(self, now, seconds):
    began = time.perf_counter(), time.thread_time()
    after_move(self, now, seconds)
    rounds.append((time.perf_counter() - began[0], time.thread_time() - began[1]))
    if len(rounds) % 50 == 0:
        with open(path, "w") as file:
            json.dump([max(r[0] for r in rounds), max(r[1] for r in rounds)], file)

session.Sidecar._round = round_
sys.argv[0] = "lastword"
from lastword.cli import main
sys.exit(main())
"""
"""`lastword run`, with a clock around each round of its loop after the bytes have been moved."""


class Waits(NamedTuple):
    """The longest waits of one run, in seconds.

    Attributes:
        clock: of a round of the loop, by the clock.
        own: of a round, the thread's own time.
        frame: of a frame that the agent answers at once, there and back.
        most: what 99 % of such frames waited at most.
    """

    clock: float
    own: float
    frame: float
    most: float


def crowd(home: Path, kind: str, evidence: str, sessions: int, seconds: float) -> Waits:
    """Have silent sessions, whose calls begin to fail after 2 s."""
    name, path = HOMES[kind]
    command = [sys.executable, "-c", MEASURED, "run", "--evidence", evidence]
    command += ["--", sys.executable, "-c", CROWD]
    file = home / f"waits-{time.monotonic_ns()}"
    environment = {**os.environ, "AGENT_NAME": name, "HOME": str(home), "WAITS": str(file)}
    environment |= {"CLAUDE_CONFIG_DIR": str(home), "LASTWORD_STATE_DIR": str(home / "state")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    waits: list[float] = []
    with subprocess.Popen(command, env=environment, **pipes) as run:
        send = sender_to(run)
        fill_with_prompts(send, sessions)
        number, failed, began = 3 * sessions, 0, time.monotonic()
        while time.monotonic() < began + seconds:
            number += 1
            waits.append(send("_ping", {}, number))
            time.sleep(0.002)
            if time.monotonic() > began + 2 + 0.5 * failed:
                failed += 1
                with (home / path.format(failed % 200, failed)).open("a") as journal:
                    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".999Z"
                    journal.write(line(at) + "\n")
        run.kill()
    clock, own = json.loads(file.read_text())
    return Waits(clock, own, max(waits), sorted(waits)[len(waits) * 99 // 100])


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for kind, (name, path) in HOMES.items():
            home = Path(folder) / name
            fill_home(home, path, options.sessions)
            runs: dict[str, list[Waits]] = {"auto": [], "wire": []}
            for _ in range(options.runs):
                for evidence, measured in runs.items():
                    measured.append(crowd(home, kind, evidence, options.sessions, options.seconds))
            print(f"{options.sessions} silent sessions with {kind}, longest (median of runs):")
            for field in Waits._fields:
                auto, wire = (
                    [getattr(each, field) * 1e3 for each in runs[key]] for key in ("auto", "wire")
                )
                ratio = median(auto) / median(wire)
                print(
                    f"  {field:6} {max(auto):7.1f} ms ({median(auto):.1f}), with the wire alone "
                    f"{max(wire):.1f} ms ({median(wire):.1f}): {ratio:.1f} of it"
                )
            longest = max(longest, median(each.own for each in runs["auto"]))
    return 0 if longest <= LIMIT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
