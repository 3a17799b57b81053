"""What a look at an agent's journal costs, and how late a retry is told by one.

Run as ``python benchmarks/journals.py``. Looks are timed in this process; lateness is taken through
``lastword run``, from the moment at which an agent has written its line to the moment at which a
client has read the retry. Needs Linux or macOS, and nothing but lastword.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from lastword.core.link.retries.hints import SilentTurn
from lastword.sidecar.event_stream import EventLines
from lastword.sidecar.journals import Journals

PROJECTS = 200
TALK = b'{"type":"assistant","message":"' + b"x" * 400 + b'"}\n'
AGENT = """
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": 1, "agentInfo": {"name": "claude-agent-acp", "version": "1"}}
    if message["method"] == "session/new":
        result = {"sessionId": "s1"}
    if message["method"] == "session/prompt":
        time.sleep(float(message["params"]["prompt"][0]["text"]))
        with open(sys.argv[1], "a") as journal:
            at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".999Z"
            journal.write(os.environ["LINE"].replace("@AT@", at) + "\\n")
        with open(sys.argv[1] + ".at", "w") as file:
            file.write(str(time.monotonic()))
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def line(at: str) -> str:
    """A retry as Claude Code writes it down."""
    body = '429 {"type":"error","error":{"type":"rate_limit_error","message":"Slow down."}}'
    told = {"type": "system", "subtype": "api_error", "error": {"message": body, "status": 429}}
    told |= {"retryInMs": 2000, "retryAttempt": 1, "maxRetries": 10, "timestamp": at}
    return json.dumps(told, separators=(",", ":"))


def microseconds(act: Callable[[], object], rounds: int, before: Callable[[], object]) -> float:
    """How long an act takes, the middle of several."""
    taken = []
    for _ in range(rounds):
        before()
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return median(taken) * 1e6


def looks(folder: Path, rounds: int) -> dict[str, float]:
    """What looks take, by what is found."""
    for number in range(PROJECTS):
        (folder / "projects" / f"p{number}").mkdir(parents=True)
    now = time.monotonic()
    turns = [SilentTurn("s1", now, now)]
    environment = {"CLAUDE_CONFIG_DIR": str(folder)}
    journals = Journals("claude-agent-acp", environment)

    def look() -> object:
        return journals.look(turns, time.monotonic())

    def nothing() -> None:
        return

    table = {f"no file in {PROJECTS} projects": microseconds(look, rounds, nothing)}
    path = folder / "projects" / "p7" / "s1.jsonl"
    path.write_bytes(TALK)
    look()

    def append(data: bytes) -> Callable[[], None]:
        def write() -> None:
            with path.open("ab") as file:
                file.write(data)

        return write

    marked = (line(datetime.now(UTC).isoformat()) + "\n").encode()
    table["nothing new"] = microseconds(look, rounds, nothing)
    table["256 KiB of conversation"] = microseconds(look, rounds, append(TALK * 600))
    append(marked)()
    look()
    table["a retry"] = microseconds(look, rounds, append(marked))
    lines, event = EventLines(), b'data: {"payload":{"type":"message.part.delta"}}\n\n'
    table["1 MiB of events"] = microseconds(
        lambda: [lines.feed(event * 1300) for _ in range(17)], rounds, nothing
    )
    return table


def lateness(folder: Path, delay: float) -> float:
    """How long after the agent wrote its line the client reads the retry."""
    path = folder / "projects" / "a" / "s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "lastword",
        "run",
        "--",
        sys.executable,
        "-c",
        AGENT,
        str(path),
    ]
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder), "LINE": line("@AT@")}
    environment["LASTWORD_STATE_DIR"] = str(folder / "state")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as run:
        asked = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
        prompt = [{"type": "text", "text": str(delay)}]
        for number, (method, params) in enumerate(
            (
                ("initialize", {"protocolVersion": 1, "clientCapabilities": asked}),
                ("session/new", {"cwd": "/", "mcpServers": []}),
                ("session/prompt", {"sessionId": "s1", "prompt": prompt}),
            )
        ):
            frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            run.stdin.write(json.dumps(frame).encode() + b"\n")
            run.stdin.flush()
            if method != "session/prompt":
                run.stdout.readline()
        while b"agent_retry" not in run.stdout.readline():
            pass
        told = time.monotonic()
        written = float(path.with_name("s1.jsonl.at").read_text())
        run.kill()
    return told - written


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, taken in looks(Path(folder) / "looks", options.rounds).items():
            print(f"{name:28} {taken:9.0f} µs")
        for delay in (0.0, 0.5, 1.5, 2.25):
            taken = [lateness(Path(folder) / f"{delay}-{n}", delay) for n in range(options.runs)]
            print(f"written {delay:4.2f} s after the prompt, told {median(taken):5.2f} s later")


if __name__ == "__main__":
    main()
