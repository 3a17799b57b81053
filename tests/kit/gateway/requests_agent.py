"""An agent that notes what it is sent: each request is a line of a file.

`python -m tests.kit.gateway.requests_agent FILE [hang]` can open, load, resume, fork and close
sessions, and ends each turn at once; with `hang` it ends none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "sessionCapabilities": {"resume": {}, "fork": {}, "additionalDirectories": {}},
}


def _result(method: str, number: int) -> dict[str, Any] | None:
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "authMethods": []}
    if method in {"session/new", "session/fork"}:
        return {"sessionId": f"noted-{number}"}
    if method == "session/prompt":
        return None if "hang" in sys.argv else {"stopReason": "end_turn"}
    return {}


def main() -> None:
    """Answer until the input ends."""
    with open(sys.argv[1], "a", encoding="utf-8") as notes:
        for number, line in enumerate(sys.stdin):
            message = json.loads(line)
            notes.write(line)
            notes.flush()
            if "id" in message and "method" in message:
                result = _result(message["method"], number)
                if result is not None:
                    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                    sys.stdout.write(json.dumps(answer) + "\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
