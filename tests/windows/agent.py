"""An agent whose argument says how it fails, for the tests of Windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

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
    if MODE == "flood":
        while True:
            sys.stderr.write("x" * 4000 + "\n")
    if MODE == "hang":
        time.sleep(120)
    if MODE in {"confirm", "late"} and text != "again":
        waiting.append((number, session))
        return
    if MODE != "silent":
        content = {"type": "text", "text": f"für {session}"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        say(method="session/update", params={"sessionId": session, "update": update})
    say(id=number, result={"stopReason": "end_turn"})


print("argument:", "|".join(sys.argv[2:]), file=sys.stderr, flush=True)
sessions = 0
waiting: list[tuple[object, str]] = []
for line in sys.stdin.buffer:
    frame = json.loads(line)
    method, params = frame.get("method"), frame.get("params") or {}
    if method == "initialize":
        if MODE == "parent":
            subprocess.Popen([sys.executable, "-c", SLEEPER])
        say(id=frame["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif method == "session/new":
        sessions += 1
        say(id=frame["id"], result={"sessionId": f"s{sessions}"})
    elif method == "session/cancel" and MODE == "confirm":
        say(id=waiting.pop()[0], result={"stopReason": "cancelled"})
    elif method == "_agent/answer":
        late, session = waiting.pop()
        content = {"type": "text", "text": "after all"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        say(method="session/update", params={"sessionId": session, "update": update})
        say(id=late, result={"stopReason": "end_turn"})
        say(id=frame["id"], result={})
    elif method == "session/prompt":
        prompt(frame["id"], params["sessionId"], params["prompt"][0]["text"])
