"""An ACP agent on its standard streams that does everything right, for modes to break one thing of.

Owns reading and writing frames, and a healthy answer to everything a client asks. Standard library
only and quick to start. What goes wrong is in the `faults_*` modules.

A prompt whose text is `fail` runs the mode's fault; every other prompt is served well, so that a
test can see whether the session lives on. A notification `_agent/go` from the client lets an agent
go on that waits for it: tests need no sleep for "later". With a memory (`memory.py`) it supports
`session/load`, and each process knows how many there were before it.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.agents.memory import Memory

SESSION = "s1"
FAIL = "fail"
GO = "_agent/go"
RECALL = "recall"
"""A prompt that says so is answered with how many prompts the session has seen."""

REPLAYED = "This was said before."

Json = dict[str, object]


class Agent:
    """The healthy agent. Its `on_*` members are what a mode replaces."""

    def __init__(self, arguments: list[str], memory: Memory | None = None) -> None:
        self.arguments = arguments
        self.memory = memory
        self.life = memory.begin_life() if memory else 1
        """The how manieth process of this agent this is."""
        self.on_fail: Callable[[Agent, object], None] = lambda agent, prompt: agent.serve(prompt)
        self.on_cancel: Callable[[Agent], None] = Agent.confirm_cancel
        self.on_go: Callable[[Agent], None] = lambda _agent: None
        self.on_end: Callable[[Agent], None] = lambda _agent: None
        self.on_initialize: Callable[[Agent, object], None] = Agent.welcome
        self.on_new: Callable[[Agent, object], None] = Agent.open_session
        self.on_load: Callable[[Agent, object], None] = Agent.load_session
        self.exit_status = 0
        self.session = SESSION
        """The session of the latest prompt."""
        self.open_prompt: object = None
        self._requests = 0

    @property
    def argument(self) -> str:
        """The mode's own argument."""
        return self.arguments[0] if self.arguments else ""

    # --- frames

    def write(self, data: bytes, fd: int = 1) -> None:
        """Write all of it, whatever the reader takes at a time."""
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def send(self, **members: object) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def update(self, kind: str, /, **members: object) -> None:
        params = {"sessionId": self.session, "update": {"sessionUpdate": kind, **members}}
        self.send(method="session/update", params=params)

    def text(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def end_turn(self, prompt: object, stop_reason: str = "end_turn") -> None:
        self.open_prompt = None
        self.send(id=prompt, result={"stopReason": stop_reason})

    def ask(self, method: str, **params: object) -> str:
        """Send a request to the client, and give its id."""
        self._requests += 1
        request_id = f"agent-{self._requests}"
        self.send(id=request_id, method=method, params={"sessionId": self.session, **params})
        return request_id

    def receive(self) -> Json | None:
        """The next message, `None` at the end of input."""
        line = sys.stdin.buffer.readline()
        return json.loads(line) if line else None

    def await_answer(self, request_id: str) -> Json:
        """The client's answer to a request of ours; leaves when the client has gone."""
        while (message := self.receive()) is not None:
            if "method" not in message and message.get("id") == request_id:
                return message
        sys.exit(self.exit_status)

    def wait_for_go(self) -> None:
        """Read on until the client says so; leaves when it has gone."""
        while (message := self.receive()) is not None:
            if message.get("method") == GO:
                return
        sys.exit(self.exit_status)

    # --- the session

    def run(self) -> int:
        """Serve until the end of input."""
        while (message := self.receive()) is not None:
            self._dispatch(message)
        self.on_end(self)
        return self.exit_status

    def serve(self, prompt: object) -> None:
        """A turn as it should be."""
        self.text("Here is the answer.")
        self.end_turn(prompt)

    def welcome(self, request_id: object) -> None:
        """The answer to `initialize`."""
        result: Json = {"protocolVersion": 1, "agentInfo": {"name": "test-agent", "version": "1"}}
        if self.memory is not None:
            result["agentCapabilities"] = {"loadSession": True}
        self.send(id=request_id, result=result)

    def open_session(self, request_id: object) -> None:
        """The answer to `session/new`."""
        if self.memory is not None:
            self.memory.forget()
        self.send(id=request_id, result={"sessionId": SESSION})

    def load_session(self, request_id: object) -> None:
        """The answer to `session/load`: the past, and then that the session is there."""
        if self.memory is None:
            error = {"code": -32601, "message": "no such method: session/load"}
            self.send(id=request_id, error=error)
            return
        for prompt in self.memory.prompts():
            self.update("user_message_chunk", content={"type": "text", "text": prompt})
            self.text(REPLAYED)
        self.send(id=request_id, result={})

    def confirm_cancel(self) -> None:
        if self.open_prompt is not None:
            self.end_turn(self.open_prompt, "cancelled")

    def _dispatch(self, message: Json) -> None:
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize":
            self.on_initialize(self, request_id)
        elif method == "session/new":
            self.on_new(self, request_id)
        elif method == "session/load":
            self.on_load(self, request_id)
        elif method == "session/prompt":
            self._prompt(request_id, message["params"])
        elif method == "session/cancel":
            self.on_cancel(self)
        elif method == GO:
            self.on_go(self)
        elif method is not None and "id" in message:
            error = {"code": -32601, "message": f"no such method: {method}"}
            self.send(id=request_id, error=error)

    def _prompt(self, request_id: object, params: object) -> None:
        self.open_prompt = request_id
        blocks = params["prompt"] if isinstance(params, dict) else []
        self.session = params["sessionId"] if isinstance(params, dict) else SESSION
        text = str(blocks[0].get("text")) if blocks else ""
        if self.memory is not None:
            self.memory.note(text)
            if text == RECALL:
                self.text(f"{len(self.memory.prompts())} prompts")
        if text == FAIL:
            self.on_fail(self, request_id)
        else:
            self.serve(request_id)
