"""The demo's agent: `python -m lastword.kit.demo.agent rate-limit|crash [PROVIDER_URL]`.

A plain ACP agent that knows nothing of lastword. It fails as real ones do: its provider's error
becomes an internal error after its retries, or its process is killed in mid-turn.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import time
from typing import Any
from urllib.parse import urlsplit

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.1


def send(message: dict[str, Any]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask_provider(url: str) -> tuple[int, str]:
    """Call the model, retrying as agents do; gives the last status and body."""
    parts = urlsplit(url)
    status, body = 0, ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
        connection.request("POST", f"{parts.path}/chat/completions", body="{}")
        response = connection.getresponse()
        status, body = response.status, response.read().decode()
        connection.close()
        if status < 400:  # noqa: PLR2004  (HTTP's own border)
            break
    return status, body


def prompt(request_id: object, session_id: str, failure: str, url: str) -> None:
    """Take a turn, and fail."""
    if failure == "crash":
        content = {"type": "text", "text": "Let me look at the parser first."}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        send({"method": "session/update", "params": {"sessionId": session_id, "update": update}})
        sys.stderr.write("fatal: allocation of 3221225472 bytes failed\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    status, body = ask_provider(url)
    said = json.loads(body)["error"]["message"]
    error = {"code": -32603, "message": "Internal error", "data": {"details": f"{status} {said}"}}
    send({"id": request_id, "error": error})


def main() -> None:
    """Serve one client until it closes our input."""
    failure, url = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""  # noqa: PLR2004
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize":
            result: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}}
            send({"id": request_id, "result": result})
        elif method == "session/new":
            send({"id": request_id, "result": {"sessionId": "demo"}})
        elif method == "session/prompt":
            prompt(request_id, message["params"]["sessionId"], failure, url)


if __name__ == "__main__":
    main()
