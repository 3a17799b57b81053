"""How long a session's turn takes beside one that asks for much, in one gateway.

Run as ``python benchmarks/fairness.py``; see README.md beside this file for what the figures mean.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from crowd import allow_descriptors
from gateway import AGENT, READ_BYTES, Lastword, Socket, say

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE_TEXT = """
import json, sys
rest = sys.stdin.readline
def one_line():
    line = rest()
    asked = json.loads(line) if line else {}
    if asked.get("method") != "session/prompt":
        return line
    words = asked["params"]["prompt"][0]["text"].split()
    if words[0] == "fail":
        error = {"code": -32603, "message": "The model has failed. " * (int(words[1]) // 22)}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
        return one_line()
    if words[0] == "log":
        print("Authorization: Bearer abcdefghijk 429 " * (int(words[1]) // 40), file=sys.stderr)
        asked["params"]["prompt"][0]["text"] = "16 0"
    return json.dumps(asked)
sys.stdin = iter(one_line, "")
"""
"""Has the agent fail with a long text, and log one, as a prompt asks for."""

QUIET_TURNS = 400
MOST_TURNS = 2000


class Session:
    """A session, and a viewer of its own."""

    def __init__(self, gateway: Lastword, folder: Path) -> None:
        self._folder = folder
        self._gateway = gateway
        self._viewer = gateway.socket()
        made = self._viewer.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        while not (found := re.findall(rb'"sessionId": ?"([^"]+)"', made)):
            made += self._viewer.detach().recv(READ_BYTES)
        self.id = found[-1].decode()

    def turn(self, text: str = "16 0") -> None:
        """Have the agent take a turn."""
        prompt = [{"type": "text", "text": text}]
        self._viewer.ask("session/prompt", {"sessionId": self.id, "prompt": prompt})

    def loaded(self) -> Socket:
        """Another viewer, which has been sent the whole log."""
        viewer = self._gateway.socket()
        meta = {"lastword": {"replay": "full"}}
        place = {"sessionId": self.id, "cwd": str(self._folder), "mcpServers": [], "_meta": meta}
        viewer.ask("session/load", place)
        return viewer

    def stand_still(self) -> None:
        """Have the agent stream before a viewer that reads nothing."""
        viewer = self.loaded()
        self.turn("60000 0 1000")
        viewer.close()

    def replay(self) -> None:
        """Have the log sent three times."""
        for _ in range(3):
            self.loaded().close()


HOSTILE: dict[str, Callable[[Session], object]] = {
    "200,000 updates of 160 characters": lambda one: one.turn("200000 0 160"),
    "60,000 of 3,000, beyond the log's limit": lambda one: one.turn("60000 0 3000"),
    "3,000 of 100,000": lambda one: one.turn("3000 0 100000"),
    "a viewer that stands still": Session.stand_still,
    "the log sent three times": Session.replay,
    "100 failures of 1,000 characters": lambda one: [one.turn("fail 1000") for _ in range(100)],
    "50 failures of 1,000,000": lambda one: [one.turn("fail 1000000") for _ in range(50)],
    "10 MB on stderr": lambda one: one.turn("log 10000000"),
}
"""What one session does, and how."""


def milliseconds(session: Session) -> float:
    """How long a turn of 16 updates takes."""
    began = time.perf_counter()
    session.turn()
    return (time.perf_counter() - began) * 1000


def tell(what: str, times: list[float]) -> None:
    """Print what the others have waited."""
    p99 = statistics.quantiles(times, n=100)[98] if len(times) > 1 else times[0]
    say(
        f"  {what}: {statistics.median(times):.1f} ms at the median, {p99:.1f} at p99, "
        f"{max(times):.1f} at most ({len(times)} turns)"
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    sessions = parser.parse_args().sessions
    allow_descriptors(16 * sessions)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        agent = folder / "agent.py"
        agent.write_text(
            LARGE_TEXT + AGENT.replace("import json, sys, time", "import time").strip()
        )
        gateway = Lastword(folder, [sys.executable, str(agent)], "--sessions", str(sessions + 1))
        try:
            hostile, *others = [Session(gateway, folder) for _ in range(sessions)]
            each = cycle(others)
            say(f"{sessions} sessions; a turn of another one beside")
            tell("nothing", [milliseconds(next(each)) for _ in range(QUIET_TURNS)])
            for what, act in HOSTILE.items():
                busy = Thread(target=act, args=(hostile,))
                busy.start()
                times = [milliseconds(next(each))]
                while busy.is_alive() and len(times) < MOST_TURNS:
                    times.append(milliseconds(next(each)))
                busy.join()
                tell(what, times)
        finally:
            gateway.close()


if __name__ == "__main__":
    main()
