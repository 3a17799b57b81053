"""What a gateway costs: lastword's, `websocketd`, and the official servers, side by side.

Run as ``python benchmarks/gateway.py``; see README.md beside this file for what the figures mean.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crowd import SMALL_BUFFER_BYTES, Reader, allow_descriptors, read_all

AGENT = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    result, method = {}, asked["method"]
    if method == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif method == "session/new":
        result = {"sessionId": "bench"}
    elif method == "session/prompt":
        count, turn, *size = asked["params"]["prompt"][0]["text"].split()
        content = {"type": "text", "text": "%d" + "x" * (int(size[0] if size else 160) - 8)}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": asked["params"]["sessionId"], "update": update}
        frame = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}) + "\\n"
        began = time.monotonic()
        for at in range(10_000_000, 10_000_000 + int(count), 16):
            sys.stdout.write(frame * 16 % tuple(range(at, at + 16)))
            sys.stdout.flush()
        sys.stdout.write(frame.replace("%d", f"turn {turn} ends", 1))
        result = {"stopReason": "end_turn", "_meta": {"took": time.monotonic() - began}}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
"""Answers at once, and says as much in a turn as its prompt asks for, in frames of 300 bytes."""

FUSE_SECONDS = 60.0
READ_BYTES = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")
HERE = Path(__file__).resolve().parent
SERVERS = HERE / "servers"
NODE_MODULES = HERE.parent / "tests" / "interop" / "node_modules"
SERVING = re.compile(rb"serving at ws://127\.0\.0\.1:(\d+)")


class Socket:
    """A WebSocket that only counts: its own cost is none of what is measured."""

    def __init__(self, port: int, path: str, headers: str = "") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), FUSE_SECONDS)
        self._socket.settimeout(FUSE_SECONDS)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"{headers}\r\n".encode()
        )
        self._last = 0
        self._seen = b""
        self.until(b"\r\n\r\n")

    def send(self, message: dict[str, object]) -> None:
        """Send a text frame."""
        data = json.dumps({"jsonrpc": "2.0"} | message).encode()
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2)
        self._socket.sendall(b"\x81" + size + b"\0\0\0\0" + data)

    def request(self, method: str, params: dict[str, object]) -> bytes:
        """Send a request; gives what begins its answer."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return b'"id":%d' % self._last

    def ask(self, method: str, params: dict[str, object]) -> bytes:
        """Send a request and wait for its answer."""
        return self.until(self.request(method, params))

    def until(self, mark: bytes) -> bytes:
        """Read until something has come, with or without a blank after its colon."""
        marks = (mark, mark.replace(b":", b": "))
        tail = self._seen
        while not any(each in tail for each in marks):
            data = self._socket.recv(READ_BYTES)
            if not data:
                raise SystemExit("the connection has ended")
            tail = tail[-64:] + data
        self._seen = b""
        return tail

    def detach(self, receive_bytes: int = 0) -> socket.socket:
        """The bare socket, with a receive buffer of so many bytes where one is given."""
        if receive_bytes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        return self._socket

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def cpu_seconds(pids: list[int]) -> float:
    """What these processes have spent on a CPU."""
    spent = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / TICKS


def resident_bytes(pid: int) -> int:
    """What of a process is in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Lastword:
    """A gateway of lastword's."""

    name = "lastword gateway"

    def __init__(self, folder: Path, agent: list[str], *options: str) -> None:
        self.folder = folder
        self._options = options
        self._environment = os.environ | {
            "LASTWORD_STATE_DIR": str(folder / "state"),
            "XDG_RUNTIME_DIR": str(folder),
        }
        self._agent = agent
        self.port = 0
        self.start()
        token = self._run("token").strip()
        self.headers = f"Authorization: Bearer {token}\r\n"

    def _run(self, *words: str) -> str:
        command = [sys.executable, "-m", "lastword", "gateway", *words]
        return subprocess.check_output(command, env=self._environment, text=True)

    def start(self) -> None:
        """Start it."""
        command = [sys.executable, "-m", "lastword", "gateway", "--listen"]
        # What only counts answers no ping.
        command += [f"127.0.0.1:{self.port}", "--root", str(self.folder), "--ping", "3600"]
        command += [*self._options, "--", *self._agent]
        self.front = subprocess.Popen(command, env=self._environment, stderr=subprocess.PIPE)
        assert self.front.stderr is not None
        found = SERVING.search(self.front.stderr.readline())
        assert found
        self.port = int(found[1])

    def socket(self) -> Socket:
        """A viewer's connection, greeted."""
        made = Socket(self.port, "/acp", self.headers)
        made.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return made

    @property
    def processes(self) -> dict[str, int]:
        """Those that a frame goes through, by name."""
        return {"gateway": self.front.pid}

    @property
    def has_session(self) -> bool:
        """Whether an agent here has one."""
        status = json.loads(self._run("status", "--json", "--port", str(self.port)))
        return any(each["sessions"] for each in status["holders"])

    def close(self) -> None:
        """End all of it."""
        self._run("stop", "--agents", "--port", str(self.port))
        self.front.wait()


class Foreign:
    """A server that is not lastword's, at a port: no log, no viewers beside the one."""

    name = ""
    path = "/acp"

    def __init__(self, _: Path, agent: list[str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process = subprocess.Popen(self._command(agent))
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            time.sleep(0.05)

    @staticmethod
    def missing() -> str:
        """How to get what it needs, where this machine lacks it."""
        raise NotImplementedError

    def _command(self, agent: list[str]) -> list[str]:
        raise NotImplementedError

    def socket(self) -> Socket:
        """A connection, greeted."""
        made = Socket(self.port, self.path)
        made.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return made

    @property
    def processes(self) -> dict[str, int]:
        """Those that a frame goes through, by name."""
        return {self.name: self._process.pid}

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


class Websocketd(Foreign):
    """A pipe to a WebSocket: a process a connection."""

    name = "websocketd"
    path = "/"

    @staticmethod
    def missing() -> str:
        """Where it is to be had."""
        found = shutil.which("websocketd")
        return "" if found else "websocketd is not on the PATH: Debian has it"

    def _command(self, agent: list[str]) -> list[str]:
        options = ["--address=127.0.0.1", f"--port={self.port}", "--loglevel=fatal"]
        return ["websocketd", *options, *agent]


class TypescriptServer(Foreign):
    """The official TypeScript SDK's server; its agent is in its process, as it has to be."""

    name = "TypeScript SDK"

    @staticmethod
    def missing() -> str:
        """How to install it."""
        if shutil.which("node") and (NODE_MODULES / "ws").exists():
            return ""
        return "the TypeScript SDK is missing: npm ci --prefix tests/interop --ignore-scripts"

    def _command(self, agent: list[str]) -> list[str]:  # noqa: ARG002 - it has its own
        return ["node", str(SERVERS / "typescript_server.mjs"), str(NODE_MODULES), str(self.port)]


class PythonServer(Foreign):
    """The official Python SDK's server on uvicorn; its agent is in its process, too."""

    name = "Python SDK"

    @staticmethod
    def missing() -> str:
        """How to install it."""
        found = all(map(importlib.util.find_spec, ("acp", "uvicorn", "websockets")))
        return "" if found else "the Python SDK is missing: pip install lastword[acp,gateway]"

    def _command(self, agent: list[str]) -> list[str]:  # noqa: ARG002 - it has its own
        return [sys.executable, str(SERVERS / "python_server.py"), str(self.port)]


def opened(gateway: Lastword | Foreign, folder: Path) -> Socket:
    """A connection with the session that everything is measured in."""
    made = gateway.socket()
    made.ask("session/new", {"cwd": str(folder), "mcpServers": []})
    return made


def prompt(count: int, turn: int = 0) -> dict[str, object]:
    """A prompt for so many updates, and one that says which turn this was."""
    text = {"type": "text", "text": f"{count} {turn}"}
    return {"sessionId": "bench", "prompt": [text]}


def stream(gateway: Lastword | Foreign, viewer: Socket, others: list[Socket], count: int) -> None:
    """One turn of many frames, to one viewer and to others."""
    before = {name: cpu_seconds([pid]) for name, pid in gateway.processes.items()}
    began = time.perf_counter()
    turn = 1 + len(others)
    mark = viewer.request("session/prompt", prompt(count, turn))
    with ThreadPoolExecutor(turn) as pool:
        ends = [pool.submit(other.until, b"turn %d ends" % turn) for other in others]
        viewer.until(mark)
        took = time.perf_counter() - began
        for end in ends:
            end.result()
    spent = {
        name: (cpu_seconds([pid]) - before[name]) / count * 1e6
        for name, pid in gateway.processes.items()
    }
    parts = ", ".join(f"{name} {micros:.1f}" for name, micros in spent.items())
    say(
        f"  {1 + len(others)} viewers: {sum(spent.values()):.1f} us CPU a frame ({parts}); "
        f"{count / took:,.0f} frames/s"
    )


def round_trips(viewer: Socket, count: int) -> float:
    """A prompt, 16 updates and its answer: milliseconds at the median."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        viewer.ask("session/prompt", prompt(16))  # a turn that shows nothing is looked into
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def say(text: str) -> None:
    """Tell the person in front of the terminal."""
    print(text, flush=True)


def measure(gateway: Lastword | Foreign, folder: Path, frames: int) -> None:
    """What both can be asked."""
    say(gateway.name)
    viewer = opened(gateway, folder)
    stream(gateway, viewer, [], frames)
    say(f"  request and answer: {round_trips(viewer, 300):.2f} ms at the median")
    if isinstance(gateway, Lastword):
        measure_sessions(gateway, viewer, folder, frames)
    if not isinstance(gateway, Websocketd):  # a connection to it is a process of the agent's
        measure_idle(gateway)
    for name, pid in gateway.processes.items():
        say(f"  {name}: {resident_bytes(pid) / 2**20:.0f} MB resident")
    if isinstance(gateway, Lastword):
        measure_return(gateway, viewer, folder)
    viewer.close()


def measure_idle(gateway: Lastword | Foreign) -> None:
    """What one who only looks costs the process that has the socket."""
    name, pid = next(iter(gateway.processes.items()))
    before = resident_bytes(pid)
    idle = [gateway.socket() for _ in range(100)]
    each = (resident_bytes(pid) - before) / len(idle) / 1024
    say(f"  an idle viewer: {each:.0f} KB in {name}")
    for viewer in idle:
        viewer.close()


def measure_sessions(gateway: Lastword, viewer: Socket, folder: Path, frames: int) -> None:
    """What only a gateway with a log has."""
    loading = {"sessionId": "bench", "cwd": str(folder), "mcpServers": []}
    late = gateway.socket()
    began = time.perf_counter()
    late.ask("session/load", loading)
    say(f"  {frames:,} entries replayed in {time.perf_counter() - began:.2f} s")
    others = [late]
    for _ in range(4):
        others.append(gateway.socket())
        others[-1].ask("session/load", loading)
    stream(gateway, viewer, others, frames)


def measure_return(gateway: Lastword, viewer: Socket, folder: Path) -> None:
    """How soon a viewer is back after a reload."""
    loading = {"sessionId": "bench", "cwd": str(folder), "mcpServers": []}
    began = time.perf_counter()
    gateway.front.send_signal(signal.SIGHUP)
    while viewer.detach().recv(READ_BYTES):
        pass
    again = gateway.socket()
    again.ask("session/resume", loading)
    took = time.perf_counter() - began
    say(f"  back {took:.2f} s after a reload was asked for")


CROWD = 1000
CROWD_UPDATES, CROWD_TEXT_BYTES = 2000, 3000
SILENT, SLOW = 100, 200


def crowd(agent: list[str], folder: Path) -> None:
    """A turn before a thousand, of whom some never read."""
    allow_descriptors(4 * CROWD)
    gateway = Lastword(folder, agent, "--viewers", str(CROWD + 1))
    try:
        say(f"lastword gateway, {CROWD} viewers of one session")
        first = opened(gateway, folder)
        turn = prompt(16)
        turn["prompt"] = [{"type": "text", "text": f"{CROWD_UPDATES} 0 {CROWD_TEXT_BYTES}"}]
        first.request("session/prompt", turn)
        say(f"  alone: the agent wrote its turn in {agent_seconds(first):.2f} s")
        loading = {"sessionId": "bench", "cwd": str(folder), "mcpServers": []}
        joined = [gateway.socket() for _ in range(CROWD)]
        for each in joined:
            each.ask("session/resume", loading)
        before = memory(gateway)
        first.request("session/prompt", turn)
        silent = [Reader(each.detach(SMALL_BUFFER_BYTES)) for each in joined[:SILENT]]
        slow = [Reader(each.detach()) for each in joined[SILENT : SILENT + SLOW]]
        brisk = [Reader(each.detach()) for each in joined[SILENT + SLOW :]]
        size = len(update_line(CROWD_TEXT_BYTES))
        took = read_all(list(brisk), list(slow), CROWD_UPDATES, size)
        after = memory(gateway)
        took_agent = agent_seconds(first)
        say(f"  before them: in {took_agent:.2f} s; who reads had all of it after {took[0]:.1f} s")
        say(f"  and who reads slowly after {took[1]:.1f} s")
        for name, size_before in before.items():
            grown = (after[name] - size_before) / CROWD / 1024
            say(f"  {name}: {size_before / 2**20:.0f} MB before the turn, ")
            say(f"    {after[name] / 2**20:.0f} MB behind it: {grown:.0f} KB a viewer")
        late = read_all(list(silent), [], CROWD_UPDATES, size)
        say(f"  those who had never read, {SILENT}, had all of it {late[0]:.1f} s later")
    finally:
        gateway.close()


def agent_seconds(viewer: Socket) -> float:
    """How long the agent says that the writing of its turn took."""
    return float(re.findall(rb'"took": ?([0-9.e-]+)', viewer.until(b'"took":'))[-1])


def update_line(size: int) -> bytes:
    """The update of a turn whose text has so many bytes, as the agent writes it."""
    content = {"type": "text", "text": "x" * size}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": "bench", "update": update}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(frame).encode()


def memory(gateway: Lastword) -> dict[str, int]:
    """What is in memory of each process that a frame goes through."""
    return {name: resident_bytes(pid) for name, pid in gateway.processes.items()}


IDLE_SESSIONS = 10
SETTLED_SECONDS = 3.0


def wake_ups(pids: list[int]) -> int:
    """How often the threads of these processes have left a CPU, by themselves or not."""
    counted = 0
    for pid in pids:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            counted += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", status.read_text())))
    return counted


def proportional_bytes(pid: int) -> int:
    """What of a process is in memory, pages that others have as well counted in parts."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.findall(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)[0]) * 1024


def role_of(pid: int) -> str:
    """What a process of a gateway's is, by its command line; what it has forked has the same."""
    line = Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
    return "guardian" if "lastword" in line else "agent"


def processes_of(gateway: int) -> dict[str, list[int]]:
    """The processes of a gateway, by what they are; agents and guardians are its children."""
    found: dict[str, list[int]] = {"gateway": [gateway]}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((path / "stat").read_text().rpartition(")")[2].split()[1]) == gateway:
                found.setdefault(role_of(int(path.name)), []).append(int(path.name))
    return found


def idle(agent: list[str], folder: Path, sessions: int, seconds: float, *, prompted: bool) -> None:
    """What sessions cost that nobody looks at, beside their agents."""
    gateway = Lastword(folder, agent, "--sessions", str(sessions + 1))
    try:
        empty = proportional_bytes(gateway.front.pid)
        began = time.monotonic()
        for _ in range(sessions):
            viewer = gateway.socket()
            made = viewer.ask("session/new", {"cwd": str(folder), "mcpServers": []})
            if prompted:
                session = re.findall(rb'"sessionId": ?"([^"]+)', made)[-1].decode()
                viewer.ask("session/prompt", prompt(16) | {"sessionId": session})
            viewer.close()
        took = time.monotonic() - began
        time.sleep(SETTLED_SECONDS)
        parts = processes_of(gateway.front.pid)
        before = {role: (wake_ups(pids), cpu_seconds(pids)) for role, pids in parts.items()}
        time.sleep(seconds)
        turns = "after a turn" if prompted else "without a turn"
        say(f"{sessions} sessions {turns} that nobody looks at, opened in {took:.1f} s")
        all_wakes = all_bytes = 0.0
        for role, pids in parts.items():
            wakes, spent = (wake_ups(pids), cpu_seconds(pids))
            rate = (wakes - before[role][0]) / seconds
            share = (spent - before[role][1]) / seconds
            resident = sum(map(resident_bytes, pids)) / len(pids)
            proportional = sum(map(proportional_bytes, pids)) / len(pids)
            say(
                f"  {role} ({len(pids)}): {rate:.1f} wake-ups/s, {share:.1%} of a core; "
                f"each {proportional / 2**20:.1f} MB (resident {resident / 2**20:.1f})"
            )
            if role != "agent":
                all_wakes += rate
                all_bytes += proportional * len(pids) - (empty if role == "gateway" else 0)
        say(
            f"  a session: {all_wakes / sessions:.2f} wake-ups/s, "
            f"{all_bytes / sessions / 2**20:.1f} MB beside its agent"
        )
    finally:
        gateway.close()


def agent_in(folder: Path) -> list[str]:
    """The agent's command, with its program in a folder."""
    agent = folder / "agent.py"
    agent.write_text(AGENT)
    return [sys.executable, "-I", "-S", str(agent)]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=60_000)
    parser.add_argument("--crowd", action="store_true", help="a thousand viewers instead")
    parser.add_argument("--idle", action="store_true", help="sessions without a viewer instead")
    parser.add_argument("--sessions", type=int, default=IDLE_SESSIONS, help="for --idle")
    parser.add_argument("--seconds", type=float, default=10.0, help="for --idle")
    options = parser.parse_args()
    frames = options.frames
    if options.idle:
        for prompted in (False, True):
            with tempfile.TemporaryDirectory(prefix="gw") as name:
                folder = Path(name)
                idle(agent_in(folder), folder, options.sessions, options.seconds, prompted=prompted)
        return
    if options.crowd:
        with tempfile.TemporaryDirectory(prefix="gw") as name:
            crowd(agent_in(Path(name)), Path(name))
        return
    kinds: list[type[Lastword | Foreign]] = [Lastword]
    for kind in (Websocketd, TypescriptServer, PythonServer):
        if missing := kind.missing():
            say(f"{missing}; measuring without it")
        else:
            kinds.append(kind)
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="gw") as name:
            folder = Path(name)
            gateway = kind(folder, agent_in(folder))
            try:
                measure(gateway, folder, frames)
            finally:
                gateway.close()


if __name__ == "__main__":
    main()
