"""An agent that notes each line that reaches it, read as text, as agents in Python do.

`python -m tests.kit.gateway.noting_agent FILE WORD…` appends what it reads to the file, a JSON
string a line. Of the words, `close`, `fork` and `resume` are capabilities that it has; `id=JSON` is
how its first session is called. The prompt "wait" ends when it is cancelled or its session is
closed; "say FRAME" writes the frame, with SESSION as the session's id; every other is answered at
once.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

CAPABILITIES = ("close", "fork", "resume")


class _Agent:
    def __init__(self, path: str, words: list[str]) -> None:
        self._path = path
        self._words = words
        self._count = 0
        self._open: dict[str, Any] = {}

    def serve(self) -> None:
        for line in sys.stdin:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and "method" in message:
                self._take(message["method"], message.get("id"), message.get("params") or {})

    def _take(self, method: str, request_id: object, params: dict[str, Any]) -> None:
        session_id = params.get("sessionId", "")
        if method == "session/prompt":
            self._prompt(request_id, session_id, params["prompt"][0]["text"])
            return
        if method in {"session/cancel", "session/close"} and session_id in self._open:
            _write(id=self._open.pop(session_id), result={"stopReason": "cancelled"})
        if request_id is not None:
            _write(id=request_id, result=self._result(method))

    def _result(self, method: str) -> dict[str, Any]:
        if method == "initialize":
            sessions = {word: {} for word in CAPABILITIES if word in self._words}
            can = {"loadSession": True, "sessionCapabilities": sessions}
            return {"protocolVersion": 1, "agentCapabilities": can}
        if method in {"session/new", "session/fork"}:
            self._count += 1
            named = [json.loads(word[3:]) for word in self._words if word.startswith("id=")]
            made = named[0] if named and self._count == 1 else f"noted-{os.getpid()}-{self._count}"
            if "early" in self._words:
                _say(made, "early")
            return {"sessionId": made}
        return {}

    def _prompt(self, request_id: object, session_id: str, text: str) -> None:
        if text == "wait":
            self._open[session_id] = request_id
            return
        if text.startswith("say "):
            sys.stdout.write(text[4:].replace("SESSION", session_id) + "\n")
            text = "say"
        _say(session_id, f"Heard {text}")
        _write(id=request_id, result={"stopReason": "end_turn"})


def _say(session_id: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    _write(method="session/update", params={"sessionId": session_id, "update": update})


def _write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _Agent(sys.argv[1], sys.argv[2:]).serve()
