"""What looks at a silent agent's processes and connections cost, as a share of a core.

Run as ``python benchmarks/silence.py``. The agent is a tree of 30 processes with a connection
each. Needs Linux, and nothing but lastword.
"""

import argparse
import json
import socket
import subprocess
import sys
import time

from lastword.core.link.evidence import SilentTurn
from lastword.sidecar.silence import SilenceLooks

PROCESSES = 30
AGENT = """
import os, socket, sys, time
count, port = int(sys.argv[1]), int(sys.argv[2])
connection = socket.create_connection(("127.0.0.1", port))
connection.sendall(b"x" * 40_000)
for _ in range(count):
    if os.fork() == 0:
        kept = [open("/dev/null") for _ in range(40)]
        own = socket.create_connection(("127.0.0.1", port))
        time.sleep(600)
time.sleep(600)
"""


def main() -> int:
    """Measure, print the figures, and fail if a look costs too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        command = [sys.executable, "-c", AGENT, str(PROCESSES - 1), str(server.getsockname()[1])]
        agent = subprocess.Popen(command, start_new_session=True)
        try:
            time.sleep(1.0)
            figures = measure(agent.pid, options.seconds)
        finally:
            subprocess.run(["kill", "-9", "--", f"-{agent.pid}"], check=False)
            agent.wait()
    if options.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:24} {value:10.3f}" for name, value in figures.items()))
    return 0 if figures["percent_of_a_core"] <= 0.2 else 1


def measure(root: int, seconds: float) -> dict[str, float]:
    """Look for this long, as often as a silent turn does."""
    began = time.monotonic()
    looks, turn, longest = SilenceLooks(), SilentTurn("s", began, began), 0.0
    count = 0
    while (now := time.monotonic()) < began + seconds:
        if looks.is_due(now):
            before = looks.seconds
            looks.look(root, [turn], now)
            longest = max(longest, looks.seconds - before)
            count += 1
        time.sleep(0.1)
    return {
        "looks": float(count),
        "longest_look_ms": longest * 1000,
        "mean_look_ms": looks.seconds / count * 1000,
        "percent_of_a_core": 100 * looks.seconds / seconds,
    }


if __name__ == "__main__":
    sys.exit(main())
