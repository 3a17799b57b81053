"""An agent that counts: what it says is numbered, so that a lost or a doubled word is seen.

`python -m tests.kit.gateway.counting_agent FILE` writes each prompt that it is sent to FILE. A
prompt's text is `COUNT MILLISECONDS [ask] [pad=BYTES] [as=NAME]`: so many chunks, so long apart and
of so many bytes beside their number, and in their middle a question whose answer is told as a
chunk. A chunk's words begin with NAME, or with the number of the turn in this process.
`$/cancel_request` ends a turn.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

_LOCK = threading.Lock()
_ANSWERS: dict[int, Any] = {}
_ANSWERED = threading.Condition()
_CANCELLED: set[Any] = set()
"""The ids of requests that are to end."""


def _write(message: dict[str, Any]) -> None:
    with _LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        sys.stdout.flush()


def _chunk(session_id: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    _write({"method": "session/update", "params": {"sessionId": session_id, "update": update}})


def _ask(session_id: str, number: int) -> str:
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    call = {"toolCallId": f"t{number}", "title": "count"}
    params = {"sessionId": session_id, "toolCall": call, "options": options}
    _write({"id": number, "method": "session/request_permission", "params": params})
    with _ANSWERED:
        _ANSWERED.wait_for(lambda: number in _ANSWERS, timeout=120)
        return str(_ANSWERS.get(number))


def _turn(request_id: Any, params: dict[str, Any], number_of_turn: int) -> None:
    session_id = params["sessionId"]
    words = params["prompt"][0]["text"].split()
    count, pause = int(words[0]), int(words[1]) / 1000
    turn = next((word[3:] for word in words if word.startswith("as=")), str(number_of_turn))
    pad = next((int(word[4:]) for word in words if word.startswith("pad=")), 0) * "x"
    for number in range(count):
        _chunk(session_id, f"{turn}.{number} {pad}")
        time.sleep(pause)
        if request_id in _CANCELLED:
            _write({"id": request_id, "error": {"code": -32800, "message": "Cancelled."}})
            return
        if "ask" in words and number == count // 2:
            _chunk(session_id, f"{turn}.answer={'yes' in _ask(session_id, 1000 + number_of_turn)} ")
    _write({"id": request_id, "result": {"stopReason": "end_turn"}})


def _serve(path: str) -> None:
    turn = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            with _ANSWERED:
                _ANSWERS[request_id] = message.get("result")
                _ANSWERED.notify_all()
        elif method == "$/cancel_request":
            _CANCELLED.add(message["params"]["requestId"])
        elif method == "initialize":
            can = {"loadSession": True}
            _write({"id": request_id, "result": {"protocolVersion": 1, "agentCapabilities": can}})
        elif method == "session/new":
            _write({"id": request_id, "result": {"sessionId": f"count-{time.time_ns()}"}})
        elif method == "session/prompt":
            turn += 1
            with open(path, "a", encoding="utf-8") as file:
                file.write(line)
            thread = threading.Thread(target=_turn, args=(request_id, message["params"], turn))
            thread.daemon = True
            thread.start()
        elif request_id is not None:
            _write({"id": request_id, "result": {}})


if __name__ == "__main__":
    _serve(sys.argv[1])
