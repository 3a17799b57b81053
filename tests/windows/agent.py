"""An agent whose argument says how it fails, for the tests of Windows."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

MODE = sys.argv[1]
ACCESS_VIOLATION = 0xC0000005 - (1 << 32)
SLEEPER = "import time; time.sleep(120)"


def say(**members: object) -> None:
    """Write a message, with the line end of Windows."""
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\r\n")
    sys.stdout.buffer.flush()


def prompt(number: object, session: str, text: str) -> None:
    """Answer a prompt, or fail."""
    if MODE == "crash" or (MODE == "crash once" and text == "crash"):
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(ACCESS_VIOLATION)
    if MODE == "orphan":
        subprocess.Popen([sys.executable, "-c", SLEEPER])
        os._exit(3)
    prompted.set()
    if MODE == "journal":
        write_journal(session)
    while MODE == "spin":
        pass
    if MODE in {"hang", "acp"}:
        time.sleep(120)
    if MODE != "silent":
        content = {"type": "text", "text": f"für {session}"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        say(method="session/update", params={"sessionId": session, "update": update})
    say(id=number, result={"stopReason": "end_turn"})


def serve_events() -> None:
    """Serve events as opencode does: one, that it waits to try again."""
    server = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
    stream, _ = server.accept()
    stream.recv(65_536)
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    prompted.wait()
    status = {"type": "retry", "attempt": 1, "message": "Rate limit reached"}
    status["next"] = (time.time() + 30) * 1000
    properties = {"sessionID": "s1", "status": status}
    event = {"payload": {"id": "e", "type": "session.status", "properties": properties}}
    stream.sendall(b"data: " + json.dumps(event).encode() + b"\n\n")
    time.sleep(120)


def write_journal(session: str) -> None:
    """Write down a failed call as qwen does, after a silence."""
    time.sleep(5)
    folder = Path(os.environ["QWEN_HOME"], "projects", "a", "chats")
    folder.mkdir(parents=True)
    failed = {"event.name": "qwen-code.api_error", "status_code": 429, "error_message": "slow"}
    line = {"subtype": "ui_telemetry", "systemPayload": {"uiEvent": failed}}
    line["timestamp"] = datetime.now(UTC).isoformat()
    folder.joinpath(f"{session}.jsonl").write_text(json.dumps(line) + "\n")
    time.sleep(120)


NAMES = {"acp": "OpenCode", "journal": "qwen-code"}
prompted = threading.Event()
if MODE == "acp":
    threading.Thread(target=serve_events, daemon=True).start()
print("argument:", "|".join(sys.argv[2:]), file=sys.stderr, flush=True)
sessions = 0
for line in sys.stdin.buffer:
    frame = json.loads(line)
    method, params = frame.get("method"), frame.get("params") or {}
    if method == "initialize":
        if MODE == "parent":
            subprocess.Popen([sys.executable, "-c", SLEEPER])
        info = {"name": NAMES.get(MODE, "agent"), "version": "1"}
        hello = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info}
        say(id=frame["id"], result=hello)
    elif method == "session/new":
        sessions += 1
        say(id=frame["id"], result={"sessionId": f"s{sessions}"})
    elif method == "session/prompt":
        prompt(frame["id"], params["sessionId"], params["prompt"][0]["text"])
