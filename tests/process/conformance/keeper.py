"""An agent that advertises every method of sessions, and keeps them in a file in its home.

It is driven by words, as `lastword agent` is: `/scenario cancelled` has it wait for a cancel after
some text, anything else has it answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Frame = dict[str, Any]
AS_2, ALONE = "second-version" in sys.argv, "second-version-alone" in sys.argv
"""It greets in version 2 whatever is asked for; it refuses to greet in any other."""

ECHOES = "echoes" in sys.argv
"""It repeats the version that it is asked for, and speaks version 1."""

ADVERTISED = {"list": {}, "resume": {}, "close": {}, "delete": {}}


class Keeper:
    """The agent."""

    def __init__(self) -> None:
        self.file = Path.home() / "keeper.json"
        self.kept: dict[str, Frame] = (
            json.loads(self.file.read_text()) if self.file.exists() else {}
        )
        self.open: dict[str, object] = {}

    def run(self) -> None:
        for line in sys.stdin.buffer:
            frame = json.loads(line)
            wanted = (frame.get("params") or {}).get("protocolVersion", 2)
            if ALONE and wanted != 2:
                error = {"code": -32022, "message": "Unsupported protocol version"}
                self.say(id=frame["id"], error=error)
            elif frame.get("method") == "session/cancel":
                self.cancel(frame["params"]["sessionId"])
            elif "id" in frame and "method" in frame:
                self.answer(frame["id"], frame["method"], frame.get("params"))

    def answer(self, request_id: object, method: str, params: Frame) -> None:
        session = params.get("sessionId")
        if method == "session/prompt":
            self.prompt(request_id, session, params["prompt"][0]["text"])
            return
        if session is not None and session not in self.kept:
            self.say(id=request_id, error={"code": -32002, "message": "There is no such session."})
            return
        result = getattr(self, "on_" + method.replace("session/", ""), None)
        if result is None:
            self.say(id=request_id, error={"code": -32601, "message": "Method not found"})
        else:
            self.say(id=request_id, result=result(params))

    def on_initialize(self, params: Frame) -> Frame:
        if ALONE or AS_2:
            info = {} if "nameless" in sys.argv else {"info": {"name": "keeper", "version": "1"}}
            return {"protocolVersion": 2} | info
        capabilities = {"loadSession": True, "sessionCapabilities": ADVERTISED}
        info = {"name": "keeper", "version": "1"}
        version = params["protocolVersion"] if ECHOES else 1
        return {"protocolVersion": version, "agentCapabilities": capabilities, "agentInfo": info}

    def on_new(self, params: Frame) -> Frame:
        session = f"kept-{len(self.kept) + 1}"
        self.kept[session] = {"cwd": params["cwd"], "said": []}
        self.save()
        return {"sessionId": session}

    def on_list(self, params: Frame) -> Frame:
        """One session a page."""
        number = int(params.get("cursor") or 0)
        listed = [{"sessionId": name, "cwd": kept["cwd"]} for name, kept in self.kept.items()]
        more = {"nextCursor": str(number + 1)} if number + 1 < len(listed) else {}
        return {"sessions": listed[number : number + 1], **more}

    def on_load(self, params: Frame) -> Frame:
        for text in self.kept[params["sessionId"]]["said"]:
            self.show(params["sessionId"], text)
        return {}

    def on_resume(self, _: Frame) -> Frame:
        return {}

    def on_close(self, params: Frame) -> Frame:
        self.cancel(params["sessionId"])
        return {}

    def on_delete(self, params: Frame) -> Frame:
        self.kept.pop(params["sessionId"])
        return {}

    def prompt(self, request_id: object, session: str, text: str) -> None:
        self.show(session, "Hello.")
        self.kept[session]["said"].append("Hello.")
        self.save()
        if "/scenario cancelled" in text:
            self.open[session] = request_id
        else:
            self.say(id=request_id, result={"stopReason": "end_turn"})

    def cancel(self, session: str) -> None:
        if session in self.open:
            self.say(id=self.open.pop(session), result={"stopReason": "cancelled"})

    def show(self, session: str, text: str) -> None:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        self.say(method="session/update", params={"sessionId": session, "update": update})

    def save(self) -> None:
        self.file.write_text(json.dumps(self.kept))

    def say(self, **members: object) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    Keeper().run()
