"""The agent that `clients` plays against every client: plain ACP, in version 1 and in version 2.

Owns how a plain agent tells a failure: as SDKs do, in an error of its own and untyped, for it has
never heard of lastword. What befalls a turn is asked for by `/scenario NAME` in a prompt: one of
the errors of `clients_failures`, or of what befalls a process. It brings a session back.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
import uuid
from contextlib import suppress
from typing import Any, NoReturn

from tests.interop.clients_failures import ERRORS

COMMAND = "/scenario"
HEALTHY = "healthy"
CRASH_BETWEEN = "crash_between"
POLL_SECONDS = 0.005
INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601
CANCELLED = {"stopReason": "cancelled"}
END_TURN = {"stopReason": "end_turn"}
FLOOD = b"DEBUG provider.stream: chunk without data, trying again\n" * 4096

Json = dict[str, Any]


def write(data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def encoded(**members: Any) -> bytes:
    """One frame."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def send(**members: Any) -> None:
    """Write one frame."""
    write(encoded(**members))


def update(session_id: str, kind: str, /, **members: Any) -> Json:
    """The members of one `session/update`."""
    params = {"sessionId": session_id, "update": {"sessionUpdate": kind, **members}}
    return {"method": "session/update", "params": params}


def say(session_id: str, version: int, text: str) -> None:
    """Send text to the user."""
    message = {"messageId": "said"} if version > 1 else {}
    content = {"type": "text", "text": text}
    send(**update(session_id, "agent_message_chunk", content=content, **message))


def plain_error(kind: str) -> Json:
    """What a provider's package raised, as the error of an agent that passes on what it has."""
    name, status, details = ERRORS[kind]
    data: Json = {"details": details, "errorName": name}
    if status is not None:
        data["statusCode"] = status
    return {"code": INTERNAL_ERROR, "message": "Internal error", "data": data}


async def befall(kind: str, session_id: str, version: int) -> Json | None:
    """A turn that ends well, in a lie, or not at all; the prompt's result."""
    if kind == "silent_success":
        return END_TURN
    say(session_id, version, "The parser reads past the end of its input.")
    if kind == "protocol_error":
        return None
    if kind == "agent_stalled":
        await asyncio.Event().wait()
    if kind == "stderr_overflow":
        while True:
            await asyncio.to_thread(os.write, 2, FLOOD)
    if kind in {"agent_crash", "crash_after_text"}:
        os.kill(os.getpid(), signal.SIGKILL)
    return END_TURN


def scenario_of(params: Json) -> str:
    """The scenario that a prompt asks for."""
    words = " ".join(block.get("text", "") for block in params["prompt"]).split()
    return words[words.index(COMMAND) + 1] if COMMAND in words else HEALTHY


def die_within(line: bytes) -> NoReturn:
    """Be killed in the middle of a line, whose rest a child writes.

    The answer is then whole, and the last thing that comes from an agent that is already dead, so
    that the client's next prompt finds it so, however fast it is.
    """
    agent, half = os.getpid(), len(line) // 2
    write(line[:half])
    if os.fork():
        os.kill(agent, signal.SIGKILL)
    while os.getppid() == agent:
        time.sleep(POLL_SECONDS)
    write(line[half:])
    os._exit(0)


class Agent:
    """Sessions are names; a turn is a task, so that a cancel reaches it."""

    def __init__(self) -> None:
        self._version = 1
        self._turns: dict[str, asyncio.Task[None]] = {}

    def receive(self, message: Json) -> None:
        """Take in one frame of the client's."""
        method, params = message.get("method"), message.get("params", {})
        if method == "session/prompt":
            turn = asyncio.ensure_future(self._turn(message["id"], params))
            self._turns[params["sessionId"]] = turn
        elif method == "session/cancel" and params["sessionId"] in self._turns:
            self._turns[params["sessionId"]].cancel()
        elif "id" in message and method is not None:
            self._answer(message["id"], method, params)

    def _answer(self, request_id: object, method: str, params: Json) -> None:
        if method == "initialize":
            self._version = 2 if params["protocolVersion"] > 1 else 1
            send(id=request_id, result=self._welcome())
        elif method == "session/new":
            send(id=request_id, result={"sessionId": uuid.uuid4().hex})
        elif method in {"session/load", "session/resume"}:
            send(id=request_id, result={})
        else:
            error = {"code": METHOD_NOT_FOUND, "message": f"no such method: {method}"}
            send(id=request_id, error=error)

    def _welcome(self) -> Json:
        info = {"name": "plain-agent", "version": "1.0.0"}
        if self._version > 1:
            return {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
        capabilities = {"loadSession": True}
        return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities}

    async def _turn(self, request_id: object, params: Json) -> None:
        session_id, name = params["sessionId"], scenario_of(params)
        if self._version > 1:
            send(id=request_id, result={"messageId": f"prompt-{request_id}"})
            send(**update(session_id, "state_update", state="running"))
        result, error = None, None
        try:
            if name in ERRORS:
                error = plain_error(name)
            else:
                result = await befall(name, session_id, self._version)
        except asyncio.CancelledError:
            result = CANCELLED
        last = self._ending(request_id, session_id, result, error)
        if name == CRASH_BETWEEN:
            die_within(encoded(**last))
        send(**last)

    def _ending(
        self, request_id: object, session_id: str, result: Json | None, error: Json | None
    ) -> Json:
        if self._version > 1:
            state = {"stopReason": "error", "error": error} if error else result or {}
            return update(session_id, "state_update", state="idle", **state)
        return {"id": request_id} | ({"result": result} if error is None else {"error": error})


async def main() -> None:
    """Serve until the end of input."""
    agent = Agent()
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        # A loop that a scenario blocks for good is closed by the kill that follows.
        with suppress(RuntimeError):
            for line in sys.stdin.buffer:
                loop.call_soon_threadsafe(agent.receive, json.loads(line))
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
