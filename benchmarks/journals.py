"""What looks at an agent's journals cost, and how late a retry is told by one.

Run as ``python benchmarks/journals.py``. Looks are timed in this process; lateness is taken through
``lastword run``, from the moment at which an agent has written its line to the moment at which a
client has read the retry. Then ``lastword run`` has 200 silent sessions and one that talks, with
and without ``--evidence wire`` in turns: its share of a core, and the longest wait of a frame.
Needs Linux or macOS, and nothing but lastword; the crowd needs Linux.
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

from lastword.core.link.evidence import SilentTurn
from lastword.sidecar.event_stream import EventLines
from lastword.sidecar.journal_files import Attributions
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
    journals = Journals("claude-agent-acp", environment, Attributions(os.getpgrp))

    def look() -> object:
        return list(journals.look(turns, turns))

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


CROWD = """
import json, os, sys
number = 0
for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": 1, "agentInfo": {"name": os.environ["AGENT_NAME"], "version": "1"}}
    if message["method"] == "session/new":
        number += 1
        result = {"sessionId": f"session-{number:04}"}
    if message["method"] == "session/prompt":
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
HOMES = {
    "a journal": ("claude-agent-acp", "projects/p{}/session-{:04}.jsonl"),
    "own logs": ("newcomer", ".newcomer/s{}/session-{:04}/events.jsonl"),
}


def fill_home(home: Path, path: str, sessions: int) -> None:
    """Write the files of sessions: one for each, among those of as many others."""
    for number in range(1, 2 * sessions + 1):
        file = home / path.format(number % PROJECTS, number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(TALK * 20)


def sender_to(run: subprocess.Popen) -> Callable[[str, object, int], float]:
    """Return what sends a request and gives the seconds that its answer, if not a turn, took."""

    def send(method: str, params: object, number: int) -> float:
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        began = time.perf_counter()
        run.stdin.write(json.dumps(frame).encode() + b"\n")
        run.stdin.flush()
        if method != "session/prompt":
            while json.loads(run.stdout.readline()).get("id") != number:
                pass
        return time.perf_counter() - began

    return send


def fill_with_prompts(send: Callable[[str, object, int], float], sessions: int) -> list[float]:
    """Open sessions and prompt each; return what sending each prompt took."""
    send("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, 0)
    for number in range(1, sessions + 1):
        send("session/new", {"cwd": "/", "mcpServers": []}, number)
    waits = []
    for number in range(1, sessions + 1):
        text = [{"type": "text", "text": "x"}]
        prompt = {"sessionId": f"session-{number:04}", "prompt": text}
        waits.append(send("session/prompt", prompt, sessions + number))
    return waits


def crowd(
    home: Path, name: str, evidence: str, sessions: int, seconds: float
) -> tuple[float, list[float]]:
    """The share of a core that silent sessions take, and the waits of frames beside them."""
    command = [sys.executable, "-m", "lastword", "run", "--evidence", evidence]
    command += ["--", sys.executable, "-c", CROWD]
    environment = {**os.environ, "AGENT_NAME": name, "HOME": str(home)}
    environment |= {"CLAUDE_CONFIG_DIR": str(home), "LASTWORD_STATE_DIR": str(home / "state")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    waits: list[float] = []
    with subprocess.Popen(command, env=environment, **pipes) as run:
        send = sender_to(run)
        waits += fill_with_prompts(send, sessions)
        time.sleep(2)
        began, used = time.monotonic(), _cpu_seconds(run.pid)
        while time.monotonic() < began + seconds:
            time.sleep(0.5)
        share = (_cpu_seconds(run.pid) - used) / (time.monotonic() - began)
        number = 3 * sessions
        while time.monotonic() < began + 2 * seconds:
            number += 1
            waits.append(send("_ping", {}, number))
            time.sleep(0.002)
        run.kill()
    return share, waits[sessions:]


def _cpu_seconds(pid: int) -> float:
    """The time on a processor, from the scheduler's own account."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def print_crowds(folder: Path, sessions: int, seconds: float, runs: int) -> None:
    """Measure both kinds of evidence in turns, and print them beside each other."""
    for kind, (name, path) in HOMES.items():
        home = folder / name
        fill_home(home, path, sessions)
        results: dict[str, list[tuple[float, list[float]]]] = {"auto": [], "wire": []}
        for _ in range(runs):
            for evidence, measured in results.items():
                measured.append(crowd(home, name, evidence, sessions, seconds))
        shares = {key: median(share for share, _ in each) for key, each in results.items()}
        longest = {key: median(max(waits) for _, waits in each) for key, each in results.items()}
        tails = {
            key: median(sorted(waits)[len(waits) * 99 // 100] for _, waits in each)
            for key, each in results.items()
        }
        print(
            f"{sessions} silent sessions with {kind}: {shares['auto']:.2%} of a core "
            f"(wire {shares['wire']:.2%}), longest wait {longest['auto'] * 1e3:.1f} ms "
            f"({longest['auto'] / longest['wire']:.1f} of wire's), of 99 % at most "
            f"{tails['auto'] * 1e3:.1f} ms ({tails['auto'] / tails['wire']:.1f} of wire's)"
        )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--crowd", action="store_true", help="measure only the silent sessions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_crowds(Path(folder), options.sessions, options.seconds, max(1, options.runs // 2))
        if options.crowd:
            return
        for name, taken in looks(Path(folder) / "looks", options.rounds).items():
            print(f"{name:28} {taken:9.0f} µs")
        for delay in (0.0, 0.5, 1.5, 2.25):
            taken = [lateness(Path(folder) / f"{delay}-{n}", delay) for n in range(options.runs)]
            print(f"written {delay:4.2f} s after the prompt, told {median(taken):5.2f} s later")


if __name__ == "__main__":
    main()
