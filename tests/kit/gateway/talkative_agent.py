"""An agent that says a great deal, and nothing that a page should take for anything but text.

`python -m tests.kit.gateway.talkative_agent` takes a prompt `TOOLS TITLE_CHARS TEXT_CHARS`: so many
tool calls, one with a title so long, and one line of text so long.
"""

from __future__ import annotations

import json
import sys
from typing import Any

HOSTILE = (
    "<img src=x onerror='document.title=1'><script>document.title='hacked'</script>"
    "<a href='javascript:alert(1)'>a</a> \u202eevil\u202c "
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 &amp; {{7*7}} \x07\x1b[31m"
)
LAST = "That was all."


def _write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")


def _turn(session_id: str, tools: int, title_chars: int, text_chars: int) -> None:
    def say(update: dict[str, Any]) -> None:
        _write({"method": "session/update", "params": {"sessionId": session_id, "update": update}})

    def text(said: str, kind: str = "agent_message_chunk") -> None:
        say({"sessionUpdate": kind, "content": {"type": "text", "text": said}})

    call = {"sessionUpdate": "tool_call", "status": "completed", "kind": "read"}
    for number in range(tools):
        title = f"Read {number} {HOSTILE}"
        say({**call, "toolCallId": f"c{number}", "title": title, "rawInput": {"path": HOSTILE}})
    text(HOSTILE)
    if title_chars:
        title = HOSTILE + "x" * title_chars
        say({"sessionUpdate": "session_info_update", "title": title})
        say({**call, "toolCallId": "long", "title": title})
    text("l" * text_chars)
    text(HOSTILE, "agent_thought_chunk")
    text(LAST)


def _serve() -> None:
    sessions = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        result: dict[str, Any] = {}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
        elif method == "session/new":
            sessions += 1
            result = {"sessionId": f"talk-{sessions}"}
        elif method == "session/prompt":
            params = message["params"]
            numbers = [int(word) for word in params["prompt"][0]["text"].split()]
            _turn(params["sessionId"], *numbers)
            result = {"stopReason": "end_turn"}
        if request_id is not None and method is not None:
            _write({"id": request_id, "result": result})
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
