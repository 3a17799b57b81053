"""An agent whose provider has a limit, and which notes each prompt that reaches it.

`python -m tests.kit.gateway.limited_agent FILE COUNT SECONDS [silent]` appends each prompt to FILE,
a line of JSON. The first COUNT prompts of a session, over all processes, fail of a limit that ends
after SECONDS (`never`: at an unknown time), and all others are answered. Unless it is `silent`,
it says something before it fails. A new process resumes a session and knows its past.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def prompts_in(path: Path) -> list[dict[str, Any]]:
    """Return the prompts that reached such an agent: `session`, `text` and `at`, in order."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def _say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    _write(method="session/update", params={"sessionId": session, "update": update})


def _prompt(request_id: object, session: str, text: str) -> None:
    path, count, seconds = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    earlier = sum(prompt["session"] == session for prompt in prompts_in(path))
    with path.open("a", encoding="utf-8") as file:
        noted = {"session": session, "text": text, "at": time.time()}
        file.write(json.dumps(noted) + "\n")
    if earlier >= count:
        _say(session, "Done.")
        _write(id=request_id, result={"stopReason": "end_turn"})
        return
    if "silent" not in sys.argv:
        _say(session, "Half. ")
    when = "later" if seconds == "never" else f"in {seconds}s"
    error = {"code": -32603, "message": f"429: Rate limited: try again {when}"}
    _write(id=request_id, error=error)


def _serve() -> None:
    can = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        params = message.get("params", {})
        if method == "session/prompt":
            _prompt(request_id, params["sessionId"], params["prompt"][0]["text"])
        elif method == "initialize":
            _write(id=request_id, result={"protocolVersion": 1, "agentCapabilities": can})
        elif method == "session/new":
            _write(id=request_id, result={"sessionId": f"limited-{time.time_ns()}"})
        elif request_id is not None:
            _write(id=request_id, result={})


if __name__ == "__main__":
    _serve()
