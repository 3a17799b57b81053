"""An agent that advertises every method of sessions, and keeps them in a file in its home.

It is driven by words, as `lastword agent` is: `/scenario cancelled` has it wait for a cancel after
some text, anything else has it answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lastword.kit.agent.plain import Output, PlainAgent, session_of, text_of

Frame = dict[str, Any]
AS_2, ALONE = "second-version" in sys.argv, "second-version-alone" in sys.argv
"""It greets in version 2 whatever is asked for; it refuses to greet in any other."""

ECHOES = "echoes" in sys.argv
"""It repeats the version that it is asked for, and speaks version 1."""

ADVERTISED = {"list": {}, "resume": {}, "close": {}, "delete": {}}
INFO = {"name": "keeper", "version": "1"}


class Keeper(PlainAgent):
    """The agent."""

    reply = "Hello."

    def __init__(self) -> None:
        super().__init__(sys.stdin.buffer, Output())
        self.file = Path.home() / "keeper.json"
        self.kept: dict[str, Frame] = (
            json.loads(self.file.read_text()) if self.file.exists() else {}
        )
        for word in (*ADVERTISED, "load"):
            self.requests[f"session/{word}"] = getattr(self, f"{word}_session")

    def handle_request(self, request_id: object, method: str, params: Frame) -> None:
        session = params.get("sessionId")
        if ALONE and params.get("protocolVersion", 2) != 2:
            error = {"code": -32022, "message": "Unsupported protocol version"}
            self.answer(request_id, error=error)
        elif session is not None and session not in self.kept:
            error = {"code": -32002, "message": "There is no such session."}
            self.answer(request_id, error=error)
        else:
            super().handle_request(request_id, method, params)

    def initialize(self, request_id: object, params: Frame) -> None:
        if ALONE or AS_2:
            result: Frame = {"protocolVersion": 2}
            result |= {} if "nameless" in sys.argv else {"info": INFO}
        else:
            capabilities = {"loadSession": True, "sessionCapabilities": ADVERTISED}
            result = {"agentCapabilities": capabilities, "agentInfo": INFO}
            result["protocolVersion"] = params["protocolVersion"] if ECHOES else 1
        self.answer(request_id, result=result)

    def new_session(self, request_id: object, params: Frame) -> None:
        session = f"kept-{len(self.kept) + 1}"
        self.kept[session] = {"cwd": params["cwd"], "said": []}
        self.save()
        self.answer(request_id, result={"sessionId": session})

    def list_session(self, request_id: object, params: Frame) -> None:
        """One session a page."""
        number = int(params.get("cursor") or 0)
        listed = [{"sessionId": name, "cwd": kept["cwd"]} for name, kept in self.kept.items()]
        more = {"nextCursor": str(number + 1)} if number + 1 < len(listed) else {}
        self.answer(request_id, result={"sessions": listed[number : number + 1], **more})

    def load_session(self, request_id: object, params: Frame) -> None:
        self.session_id = session_of(params)
        for text in self.kept[self.session_id]["said"]:
            self.say(text)
        self.answer(request_id, result={})

    def resume_session(self, request_id: object, _: Frame) -> None:
        self.answer(request_id, result={})

    def close_session(self, request_id: object, params: Frame) -> None:
        self.cancel(params)
        self.answer(request_id, result={})

    def delete_session(self, request_id: object, params: Frame) -> None:
        self.kept.pop(params["sessionId"])
        self.answer(request_id, result={})

    def prompt(self, request_id: object, params: Frame) -> None:
        self.begin_turn(request_id, params)
        self.say(self.reply)
        self.kept[self.session_id]["said"].append(self.reply)
        self.save()
        if "/scenario cancelled" not in text_of(params):
            self.end_turn(request_id)

    def save(self) -> None:
        self.file.write_text(json.dumps(self.kept))


if __name__ == "__main__":
    Keeper().run()
