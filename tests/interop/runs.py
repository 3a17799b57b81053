"""Running one client against one command, and looking at what is left.

Owns: starting a client (`client_py.py`, `client_ts.mjs`, `client_raw.py`) with a fuse, reading its
lines as they come, and the sidecar in front. Does not own: what the lines should say.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kit import left_behind
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HERE = Path(__file__).resolve().parent

FUSE_OF_ALL_TURNS_SECONDS = 15 * FUSE_SECONDS

Event = dict[str, Any]
OUTCOMES = ("answer", "error", "exception", "hang")


def sidecar(argv: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """The command that puts lastword in front of an agent."""
    return [sys.executable, "-m", "lastword", "run", *options, "--", *argv]


@dataclass(slots=True)
class Run:
    """Everything that one client reported.

    Attributes:
        stderr: What the client, and everything under it, wrote to stderr.
        exit_code: The client's own; 3 is its fuse.
        leftovers: Command lines of processes that outlived the client.
    """

    events: list[Event] = field(default_factory=list)
    stderr: str = ""
    exit_code: int | None = None
    leftovers: list[str] = field(default_factory=list)

    def named(self, event: str) -> list[Event]:
        return [line for line in self.events if line["event"] == event]

    def delivered(self, kind: str) -> list[Event]:
        """Updates of a kind that the SDK handed to user code."""
        return [line["update"] for line in self.named("update") if line["kind"] == kind]

    def received(self) -> list[Event]:
        """Every frame that came over the pipe, whatever the SDK made of it."""
        return [
            line["message"]
            for line in self.named("wire")
            if line["direction"] == "in" and "message" in line
        ]

    def updates_on_the_wire(self, kind: str) -> list[Event]:
        updates = [
            frame["params"]["update"]
            for frame in self.received()
            if frame.get("method") == "session/update"
        ]
        return [update for update in updates if update.get("sessionUpdate") == kind]

    def answers_on_the_wire(self) -> list[Event]:
        sent = [line["message"] for line in self.named("wire") if line["direction"] == "out"]
        ids = [frame["id"] for frame in sent if frame.get("method") == "session/prompt"]
        return [
            frame for frame in self.received() if "method" not in frame and frame.get("id") in ids
        ]

    def outcomes(self) -> list[Event]:
        return [line for line in self.events if line["event"] in OUTCOMES]


def prompting(*texts: str) -> list[str]:
    """The options of a client that prompts with these texts, one after the other."""
    return [word for text in texts for word in ("--prompt", text)]


def client(kind: str, *options: str) -> list[str]:
    """The command of one of the clients `py`, `ts` and `raw`."""
    python = [sys.executable, str(HERE / f"client_{kind}.py")]
    node = [shutil.which("node") or "node", str(HERE / "client_ts.mjs")]
    return [*(node if kind == "ts" else python), *options]


def run(
    client: Sequence[str],
    command: Sequence[str],
    env: Mapping[str, str],
    folder: Path,
    *,
    on_event: Callable[[Event], object] = lambda _event: None,
) -> Run:
    """Run one client to its end and return what it reported.

    Its environment has the mark of `left_behind`. `on_event` is called with each line as it
    arrives; where it returns true, a client goes on that waits to be told.
    """
    result = Run()
    log = folder.parent / "client.stderr"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [*client, "--cwd", str(folder), "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=dict(env),
            cwd=folder,
        ) as process,
    ):
        fuse = threading.Timer(FUSE_OF_ALL_TURNS_SECONDS, process.kill)
        fuse.start()
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            result.events.append(json.loads(line))
            if on_event(result.events[-1]):
                with suppress(BrokenPipeError):
                    os.write(process.stdin.fileno(), b"\n")
        result.exit_code = process.wait()
        fuse.cancel()
    result.stderr = log.read_text("utf-8", "replace")
    mark = env[left_behind.VARIABLE]
    result.leftovers = list(left_behind.wait_for_none(mark).values())
    left_behind.kill_all(mark)
    return result
