"""`odd_agent.py MODE [FOLDER]`: a small agent whose one oddity is allowed, or hard to catch.

Each mode is what an agent in the field does: what JSON-RPC and ACP allow, deaths that come late or
now and then, turns that last and can be stopped, questions that stay open.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

Frame = dict[str, Any]

TURN_SECONDS = 2.5
PARSE_ERROR = {"code": -32700, "message": "Parse error"}
INVALID_REQUEST = {"code": -32600, "message": "Invalid Request"}
NOW_AND_THEN = {"dies-once": {1}, "prints-often": {1, 3, 5}}
"""Modes that fail now and then, and the plays in which they do."""


class OddAgent:
    """One process of it."""

    def __init__(self, mode: str, folder: str = "") -> None:
        self.mode = mode
        self.folder = Path(folder)
        self.lock = threading.Lock()
        self.sessions = 0
        self.begun: set[str] = set()
        self.cancelled: dict[str, threading.Event] = {}
        self.asked: dict[object, tuple[str, object]] = {}
        self.asking = threading.Lock()
        self.greeted = False
        self.dying = False
        self.kept: list[Frame] = []

    def run(self) -> None:
        for line in sys.stdin.buffer:
            self.hear(line)
        if self.mode == "turns-deaf":
            time.sleep(600)

    def write(self, message: object) -> None:
        with self.lock:
            os.write(1, json.dumps(message).encode() + b"\n")

    def send(self, **members: object) -> None:
        self.write({"jsonrpc": "2.0", **members})

    def refuse(self, error: Frame) -> None:
        data = {"data": None} if self.mode == "keeps-early" else {}
        self.send(id=None, error=error | data)

    def hear(self, line: bytes) -> None:
        try:
            message = json.loads(line.decode())
        except ValueError:
            if line.strip():
                self.misread(PARSE_ERROR)
            return
        if isinstance(message, dict):
            self.take(message)
        elif self.mode == "dies-late" and message is None:
            self.dying = True
        elif self.mode == "batches" and isinstance(message, list) and message:
            self.write([{"jsonrpc": "2.0", "id": None, "error": INVALID_REQUEST} for _ in message])
        else:
            self.misread(INVALID_REQUEST)

    def misread(self, error: Frame) -> None:
        if self.mode in NOW_AND_THEN and self.count_plays() in NOW_AND_THEN[self.mode]:
            if self.mode == "prints-often":
                os.write(1, b"What was that?\n")
            else:
                os._exit(1)
        self.refuse(error)

    def count_plays(self) -> int:
        """Count the processes that came here, beginning with 1."""
        with (self.folder / "plays").open("a+") as plays:
            plays.write("x")
            return plays.tell()

    def take(self, message: Frame) -> None:
        if "method" not in message:
            if message["id"] in self.asked:
                self.answered(message)
            return
        if "id" not in message:
            if message["method"] == "session/cancel":
                self.cancelled[message["params"]["sessionId"]].set()
            return
        if self.mode == "keeps-early" and not self.greeted and message["method"] != "initialize":
            self.kept.append(message)
            return
        self.serve(message)
        if self.dying:
            os._exit(1)

    def serve(self, message: Frame) -> None:
        asked, params = message["method"], message.get("params")
        if asked == "initialize":
            self.greet(message)
        elif asked == "session/new":
            self.open(message)
        elif asked == "session/prompt" and params.get("sessionId") in self.cancelled:
            self.cancelled[params["sessionId"]].clear()
            target = self.ask if self.mode.startswith("asks") else self.play
            threading.Thread(
                target=target, args=(params["sessionId"], message["id"]), daemon=True
            ).start()
        elif asked == "session/prompt":
            self.send(id=message["id"], error={"code": -32602, "message": "There is none."})
        else:
            self.send(id=message["id"], error={"code": -32601, "message": "Method not found"})

    def greet(self, message: Frame) -> None:
        self.greeted = True
        info = {"name": "odd", "version": "1"}
        result = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {}}
        self.send(id=message["id"], result=result)
        for kept in self.kept:
            self.serve(kept)

    def open(self, message: Frame) -> None:
        params = message.get("params")
        if self.mode == "wants-login":
            error = {"code": -32000, "message": "Authentication required"}
            self.send(id=message["id"], error=error)
        elif not isinstance(params, dict) or "cwd" not in params:
            self.send(id=message["id"], error={"code": -32602, "message": "Invalid params"})
        else:
            self.sessions += 1
            session = f"odd-{os.getpid()}-{self.sessions}"
            self.cancelled[session] = threading.Event()
            self.send(id=message["id"], result={"sessionId": session})

    # --- turns

    def update(self, session: str, **members: object) -> None:
        self.send(method="session/update", params={"sessionId": session, "update": members})

    def say(self, session: str, text: str) -> None:
        content = {"type": "text", "text": text}
        self.update(session, sessionUpdate="agent_message_chunk", content=content)

    def end(self, prompt: object, reason: str) -> None:
        self.send(id=prompt, result={"stopReason": reason})

    def play(self, session: str, prompt: object) -> None:
        """A turn that lasts where the mode says so, and in a second session until a cancel."""
        if not self.mode.startswith("turns"):
            self.say(session, "Here.")
            self.end(prompt, "end_turn")
            return
        lasts = len(self.cancelled) > 1 and session not in self.begun
        self.begun.add(session)
        self.say(session, "And on. ")
        heard = self.cancelled[session].wait(600 if lasts else TURN_SECONDS)
        self.say(session, "And on. ")
        self.end(prompt, "cancelled" if heard and self.mode == "turns" else "end_turn")

    def ask(self, session: str, prompt: object) -> None:
        """A turn that asks for leave."""
        if self.mode == "asks-in-turn":
            self.asking.acquire()
        self.update(session, sessionUpdate="tool_call", toolCallId="t", title="x", status="pending")
        number = f"ask-{prompt}"
        self.asked[number] = (session, prompt)
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        params = {"sessionId": session, "toolCall": {"toolCallId": "t"}, "options": options}
        self.send(id=number, method="session/request_permission", params=params)

    def answered(self, message: Frame) -> None:
        session, prompt = self.asked.pop(message["id"])
        chosen = message["result"]["outcome"]["outcome"] == "selected"
        if chosen:
            self.update(
                session, sessionUpdate="tool_call_update", toolCallId="t", status="completed"
            )
            self.say(session, "Done.")
        self.end(prompt, "cancelled" if self.mode == "asks" and not chosen else "end_turn")
        if self.mode == "asks-in-turn":
            self.asking.release()


if __name__ == "__main__":
    OddAgent(*sys.argv[1:]).run()
