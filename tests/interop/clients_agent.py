"""The agent that `clients` plays against every client: plain ACP, in version 1 and in version 2.

Owns how a plain agent tells a failure: as SDKs do, in an error of its own and untyped, for it has
never heard of lastword. What befalls a turn is asked for by `/scenario NAME` in a prompt: one of
the errors of `clients_failures.json`, or of what befalls a process. It brings a session back.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NoReturn

from lastword.kit.agent.plain import STDERR, STDOUT, Output, PlainAgent, text_of, write_all

COMMAND = "/scenario"
HEALTHY = "healthy"
CRASH_BETWEEN = "crash_between"
POLL_SECONDS = 0.005
INTERNAL_ERROR = -32603
FLOOD = b"DEBUG provider.stream: chunk without data, trying again\n" * 4096

Json = dict[str, Any]

ERRORS: dict[str, tuple[str, int | None, str]] = json.loads(
    Path(__file__).with_name("clients_failures.json").read_text(encoding="utf-8")
)
"""What providers' packages raise: the class, the status of the provider's answer, and the text."""


def scenario_of(params: Json) -> str:
    words = text_of(params).split()
    return words[words.index(COMMAND) + 1] if COMMAND in words else HEALTHY


def plain_error(kind: str) -> Json:
    """What a provider's package raised, as the error of an agent that passes on what it has."""
    name, status, details = ERRORS[kind]
    data: Json = {"details": details, "errorName": name}
    if status is not None:
        data["statusCode"] = status
    return {"code": INTERNAL_ERROR, "message": "Internal error", "data": data}


def die_within(line: bytes) -> NoReturn:
    """Be killed in the middle of a line, whose rest a child writes.

    The answer is then whole, and the last thing that comes from an agent that is already dead, so
    that the client's next prompt finds it so, however fast it is.
    """
    agent, half = os.getpid(), len(line) // 2
    write_all(STDOUT, line[:half])
    if os.fork():
        os.kill(agent, signal.SIGKILL)
    while os.getppid() == agent:
        time.sleep(POLL_SECONDS)
    write_all(STDOUT, line[half:])
    os._exit(0)


class DyingOutput(Output):
    """stdout on which the next frame may be the last thing that this process does."""

    last = False

    def write(self, data: bytes) -> None:
        if self.last:
            die_within(data)
        super().write(data)


class Agent(PlainAgent):
    """Sessions are names; a turn that waits for its cancel is left open."""

    reply = "The parser reads past the end of its input."

    def __init__(self) -> None:
        self.out = DyingOutput()
        super().__init__(sys.stdin.buffer, self.out)
        self.version = 1
        self.requests["session/load"] = self.requests["session/resume"] = self.bring_back

    def initialize(self, request_id: object, params: Json) -> None:
        """Take the client's version, up to 2."""
        info = {"name": "plain-agent", "version": "1.0.0"}
        self.version = 2 if params["protocolVersion"] > 1 else 1
        result: Json = {"protocolVersion": self.version, "agentInfo": info}
        result["agentCapabilities"] = {"loadSession": True}
        if self.version > 1:
            result = {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
        self.wire.frame(id=request_id, result=result)

    def name_session(self, _number: int) -> str:
        """One that no other process of this agent has."""
        return uuid.uuid4().hex

    def bring_back(self, request_id: object, _params: Json) -> None:
        self.wire.frame(id=request_id, result={})

    def prompt(self, request_id: object, params: Json) -> None:
        self.begin_turn(request_id, params)
        kind = scenario_of(params)
        if self.version > 1:
            self.wire.frame(id=request_id, result={"messageId": f"prompt-{request_id}"})
            self.update("state_update", state="running")
        if kind in ERRORS:
            self.answer(request_id, error=plain_error(kind))
            return
        if kind != "silent_success":
            self.say(self.reply)
        if kind in {"agent_crash", "crash_after_text"}:
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "stderr_overflow":
            threading.Thread(target=self.flood, daemon=True).start()
        elif kind == "protocol_error":
            self.answer(request_id, result=None)
        elif kind != "agent_stalled":
            self.out.last = kind == CRASH_BETWEEN
            self.end_turn(request_id)

    def flood(self) -> None:
        while self.unanswered:
            write_all(STDERR, FLOOD)

    def update(self, kind: str, /, **members: Any) -> None:
        """Send an update; version 2 numbers its messages."""
        if self.version > 1 and kind == "agent_message_chunk":
            members["messageId"] = "said"
        super().update(kind, **members)

    def answer(self, request_id: object, **result_or_error: Any) -> None:
        """End a turn, in version 2 with the session's state."""
        if self.version == 1:
            super().answer(request_id, **result_or_error)
            return
        self.unanswered = [each for each in self.unanswered if each[0] != request_id]
        error = result_or_error.get("error")
        ending = {"stopReason": "error", "error": error} if error else result_or_error["result"]
        self.update("state_update", state="idle", **ending)


if __name__ == "__main__":
    Agent().run()
