"""A gateway under reports, killed over and over: each report arrives once or is counted.

`python -m tests.long.outbox_kills --kills 100 --seed 1`: some minutes. Its last line is the sum;
the exit status is 1 where a failure that a viewer was told of neither arrived nor was counted as
dropped, or where the outbox's counts do not add up.

Owns who is killed and when, by a seed, how the collector behaves meanwhile, and the sum: processes
killed; failures with an incident that a viewer was told of, and those of them that arrived at the
collector; different reports that arrived, and those taken more than once under the same key; what
is counted as dropped; failures that neither arrived nor are counted; and whether the outbox's
counts account for every report that was put into it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from lastword.outbox.store import DROPPED, Outbox
from tests.kit.collector import OK, Collector, answer, cut, gone
from tests.kit.gateway.serving import Gateway, agent, is_running, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import FUSE_SECONDS
from tests.long.kill_gateway import children_of

FAILING: dict[str, Any] = {
    "turns": [[{"fail": {"error": {"code": -32603, "message": "429 Too Many Requests"}}}]]
}
VICTIMS = ("agent", "recorder", "gateway")
"""Which process is killed; with the gateway end its agents."""


def processes_of(state: Path) -> list[int]:
    found = []
    mark = f"LASTWORD_STATE_DIR={state}".encode()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0") and is_running(int(name)):
                    found.append(int(name))
    return found


def write_script(folder: Path, script: dict[str, Any]) -> Path:
    path = folder / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    return path


class Kills:
    def __init__(self, folder: Path, seed: int) -> None:
        self._lots = random.Random(seed)
        self._collector = Collector()
        self._told: set[str] = set()
        self.count = 0
        """Processes that were killed."""
        self._gateway = Gateway(
            folder,
            agent(str(write_script(folder, FAILING))),
            *("--report-to", self._collector.url, "--sessions", "64"),
            variables={"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
        )

    def round(self) -> None:
        """Some turns fail, and somebody is killed meanwhile."""
        ways = (OK, OK, answer(500), answer(429, b"", retry_after="1"), cut, gone)
        self._collector.turn_to(self._lots.choice(ways))
        victim = self._lots.choice(VICTIMS)
        with contextlib.ExitStack() as stack:
            viewer = stack.enter_context(ViewerClient(self._gateway, capabilities=TYPED))
            session = viewer.new(self._gateway.root)
            holder = next(
                each
                for each in self._gateway.holders()
                if session in {held["sessionId"] for held in each["sessions"]}
            )
            for _ in range(self._lots.randint(1, 3)):
                self._note(viewer.answer(viewer.prompt(session)))
            if self._lots.random() < 0.5:
                viewer.prompt(session)  # whoever is killed is in the midst of it
            self._kill(victim, holder["agent_pid"])

    def _note(self, failed: dict[str, Any]) -> None:
        told = failed["error"]["data"]["agent_error"]
        if "incident_id" in told:
            self._told.add(told["incident_id"])

    def _kill(self, victim: str, agent_pid: int) -> None:
        if victim == "gateway":
            self._gateway.crash()
            self.count += 1
            return
        for pid in [agent_pid] if victim == "agent" else self._recorders():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.count += 1

    def _recorders(self) -> list[int]:
        """The processes that write the rows of the gateway's agents down."""
        return [
            pid
            for pid in children_of(self._gateway.front.pid)
            if b"recorder_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    def sum(self) -> dict[str, int]:
        """End all of it, let what waits be sent, and count."""
        self._collector.turn_to(OK)
        outbox = Outbox(str(self._gateway.state))
        # A last run sends what is left, as the next one does.
        with ViewerClient(self._gateway, capabilities=TYPED) as viewer:
            self._note(viewer.answer(viewer.prompt(viewer.new(self._gateway.root))))
            self._gateway.close()
            # A recorder outlives its run, and one that was killed is replaced at its run's end.
            until("all have ended", lambda: not processes_of(self._gateway.state))
            until("nothing waits", lambda: self._hurried(outbox))
        status = outbox.status()
        came = self._collector.accepted
        arrived = {each.facts.get("lastword.incident_id") for each in came}
        dropped = sum(status.counts[name] for name in DROPPED)
        missing = len(self._told - arrived)
        accounted = status.counts["sent"] + status.waiting + status.dead + dropped
        by_report = Counter(each.report_id for each in came)
        return {
            "kills": self.count,
            "told": len(self._told),
            "arrived": len(self._told & arrived),
            "reports": len(by_report),
            "doubled": sum(count > 1 for count in by_report.values()),
            "dropped": dropped,
            "untold": max(0, missing - dropped),
            "adds_up": accounted == status.counts["taken"],
        }

    def _hurried(self, outbox: Outbox) -> bool:
        if outbox.status().waiting:
            words = ("outbox", "--send", "--report-to", self._collector.url)
            subprocess.run(
                [sys.executable, "-m", "lastword", *words],
                env=self._gateway.environment,
                stdout=subprocess.DEVNULL,
                check=False,
                timeout=FUSE_SECONDS,
            )
        return not outbox.status().waiting

    def close(self) -> None:
        self._collector.close()


def main(arguments: list[str]) -> int:
    """Kill, count, and say what came of it; gives the exit status."""
    parser = argparse.ArgumentParser(prog="outbox_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(Path(folder), options.seed)
        try:
            while kills.count < options.kills:
                kills.round()
            found = kills.sum()
        finally:
            kills.close()
    print(" ".join(f"{name}={value}" for name, value in found.items()))
    return 0 if found["untold"] == 0 and found["adds_up"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
