"""An agent that has never heard of lastword or OpenTelemetry, for behind the sidecar.

A turn `work` calls two tools, one of which fails, and says which `traceparent` it was given;
`limit` is refused by the provider; `die` ends the process; `leak` says the environment's
`LEAKED_TOKEN` wherever an agent can.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def send(**members: Any) -> None:
    """Write a frame."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def show(what: str, **members: Any) -> None:
    """Send an update."""
    update = {"sessionUpdate": what, **members}
    send(method="session/update", params={"sessionId": "s1", "update": update})


def work(traceparent: str) -> None:
    """Call two tools, and talk."""
    for call, tool, status in (("c1", "read", "completed"), ("c2", "execute", "failed")):
        show("tool_call", toolCallId=call, title="Look", kind=tool, status="pending")
        show("tool_call_update", toolCallId=call, status=status)
    show("agent_message_chunk", content={"type": "text", "text": f"given {traceparent}"})


def leak(secret: str, answer: dict[str, Any]) -> None:
    """Say it in tool input, on stderr and in an error."""
    sys.stderr.write(f"Authorization: Bearer {secret}\n")
    sys.stderr.flush()
    raw = {"env": {"TOKEN": secret}}
    show("tool_call", toolCallId="c1", title=secret, kind="read", status="pending", rawInput=raw)
    send(**answer, error={"code": -32603, "message": f"401 for {secret}", "data": raw})


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        method, answer = request.get("method"), {"id": request.get("id")}
        if method == "initialize":
            info = {"name": "plain", "version": "7"}
            send(**answer, result={"protocolVersion": 1, "agentInfo": info})
        elif method == "session/new":
            send(**answer, result={"sessionId": "s1"})
        elif method == "session/prompt":
            params = request["params"]
            text = params["prompt"][0]["text"]
            if text == "die":
                os._exit(3)
            if text == "leak":
                leak(os.environ["LEAKED_TOKEN"], answer)
                continue
            if text == "limit":
                send(**answer, error={"code": -32603, "message": "429 Too Many Requests"})
                continue
            work(params.get("_meta", {}).get("traceparent", "none"))
            send(**answer, result={"stopReason": "end_turn"})


main()
