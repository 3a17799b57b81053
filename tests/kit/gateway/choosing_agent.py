"""An agent that has modes, commands and a context that fills.

`python -m tests.kit.gateway.choosing_agent` tells its commands with a session's first prompt and
how full its context is with each. It takes every mode but `locked`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MODES = {"ask": "Ask first", "code": "Write code", "locked": "Locked"}
COMMANDS = {"plan": "Make a plan", "test": "Run the tests", "<b>": "Markup is text"}
SIZE = 200_000


def _write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def _update(session_id: str, kind: str, **members: Any) -> None:
    update = {"sessionUpdate": kind} | members
    _write(method="session/update", params={"sessionId": session_id, "update": update})


def _set_mode(request_id: object, session_id: str, mode: str) -> None:
    if mode == "locked":
        _write(id=request_id, error={"code": -32602, "message": "It is locked."})
    else:
        _write(id=request_id, result={})
        _update(session_id, "current_mode_update", currentModeId=mode)


def _turn(request_id: object, session_id: str, turn: int, text: str) -> None:
    commands = [{"name": name, "description": about} for name, about in COMMANDS.items()]
    _update(session_id, "available_commands_update", availableCommands=commands)
    cost = {"amount": 0.25 * turn, "currency": "USD"}
    _update(session_id, "usage_update", used=50_000 * turn, size=SIZE, cost=cost)
    if text == "code":
        _update(session_id, "current_mode_update", currentModeId="code")
    _update(session_id, "agent_message_chunk", content={"type": "text", "text": f"Heard {text}"})
    _write(id=request_id, result={"stopReason": "end_turn"})


def _serve() -> None:
    turn = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        params = message.get("params", {})
        if method == "initialize":
            _write(id=request_id, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            known = [{"id": name, "name": about} for name, about in MODES.items()]
            modes = {"currentModeId": "ask", "availableModes": known}
            _write(id=request_id, result={"sessionId": "chooses-1", "modes": modes})
        elif method == "session/set_mode":
            _set_mode(request_id, params["sessionId"], params["modeId"])
        elif method == "session/prompt":
            turn += 1
            _turn(request_id, params["sessionId"], turn, params["prompt"][0]["text"])
        elif request_id is not None and method is not None:
            _write(id=request_id, result={})


if __name__ == "__main__":
    _serve()
