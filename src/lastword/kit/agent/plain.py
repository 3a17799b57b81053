"""A correct agent on stdin and stdout; others inherit from it and replace an answer by a fault.

Owns framing, the handler of each message with a healthy answer, and the end of the process. The
scripted agent plays a script at a prompt, the demo's agent fails as real ones do, and the tests'
agents replace any answer by a fault. It uses only the standard library, without `typing`: the tests
start thousands of these, and msgspec alone takes longer to load than all of this.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, NoReturn

    Json = dict[str, Any]

STDIN, STDOUT, STDERR = 0, 1, 2
FOR_EVER_SECONDS = 24 * 3600.0
PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601


class Output:
    """stdout in frames, for several threads."""

    def __init__(self, fd: int = STDOUT) -> None:
        self._fd = fd
        # Re-entrant: a signal's handler may write in the middle of a frame.
        self._lock = threading.RLock()
        self._numbers = itertools.count()

    def write(self, data: bytes) -> None:
        with self._lock:
            write_all(self._fd, data)

    def freeze(self) -> None:
        """Block all later writes forever."""
        self._lock.acquire()

    def when_free(self) -> None:
        """Wait until no write is in progress."""
        with self._lock:
            pass

    def frame(self, **members: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def update(self, session_id: str, update: Json) -> None:
        """Write a `session/update`."""
        self.frame(method="session/update", params={"sessionId": session_id, "update": update})

    def request(self, session_id: str, method: str, params: Json) -> int:
        """Write a request; return its id."""
        number = next(self._numbers)
        self.frame(id=number, method=method, params={"sessionId": session_id, **params})
        return number


class PlainAgent:
    """The healthy agent.

    Attributes:
        wire: stdout.
        requests: The handler of each method's requests, called with id and params. Entries may be
            replaced by faulty ones; a method without a handler is refused.
        notifications: The same for notifications, called with params; others are ignored.
        session_id: The session of the latest prompt.
        unanswered: The ids of prompts that have no answer yet, and their sessions.
    """

    reply = "Here is the answer."
    info: Json | None = None
    capabilities: Json | None = None

    def __init__(self, lines: Iterable[bytes], wire: Output) -> None:
        self._lines = self._read(lines)
        self.wire = wire
        self.session_id: str = ""
        self.unanswered: list[tuple[object, str]] = []
        self._sessions = 0
        self.requests: dict[str, Callable[[object, Json], object]] = {
            "initialize": self.initialize,
            "session/new": self.new_session,
            "session/prompt": self.prompt,
        }
        self.notifications: dict[str, Callable[[Json], object]] = {"session/cancel": self.cancel}

    def run(self) -> None:
        """Serve until the end of input."""
        while (message := self.receive()) is not None:
            self.handle(message)

    # --- receiving

    def receive(self) -> Json | None:
        """Return the client's next message, `None` at the end of input."""
        return next(self._lines, None)

    def _read(self, lines: Iterable[bytes]) -> Iterator[Json]:
        for line in lines:
            self.wire.when_free()
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                error = {"code": PARSE_ERROR, "message": "The line is not valid JSON."}
                self.wire.frame(id=None, error=error)
                continue
            if isinstance(message, dict):
                yield message
        self.wire.when_free()

    def handle(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params")
        members = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self.handle_answer(message)
        elif "id" in message:
            self.handle_request(message["id"], method, members)
        elif method in self.notifications:
            self.notifications[method](members)

    def handle_answer(self, message: Json) -> None:
        """Handle the client's answer to a request."""

    def handle_request(self, request_id: object, method: str, params: Json) -> None:
        if method in self.requests:
            self.requests[method](request_id, params)
            return
        error = {"code": METHOD_NOT_FOUND, "message": f'There is no method "{method[:200]}".'}
        self.wire.frame(id=request_id, error=error)

    # --- answering

    def initialize(self, request_id: object, _params: Json) -> None:
        own = {"agentInfo": self.info, "agentCapabilities": self.capabilities}
        members = {key: value for key, value in own.items() if value is not None}
        self.wire.frame(id=request_id, result={"protocolVersion": 1, **members})

    def new_session(self, request_id: object, _params: Json) -> None:
        self._sessions += 1
        name = self.name_session(self._sessions)
        self.wire.frame(id=request_id, result={"sessionId": name})

    def name_session(self, number: int) -> str:
        return f"s{number}"

    def prompt(self, request_id: object, params: Json) -> None:
        self.begin_turn(request_id, params)
        self.serve(request_id)

    def cancel(self, params: Json) -> None:
        """End a session's turns as cancelled."""
        for request_id, session_id in list(self.unanswered):
            if session_id == params.get("sessionId"):
                self.end_turn(request_id, "cancelled")

    def begin_turn(self, request_id: object, params: Json) -> None:
        self.session_id = session_of(params)
        self.unanswered.append((request_id, self.session_id))

    def serve(self, request_id: object) -> None:
        self.say(self.reply)
        self.end_turn(request_id)

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def update(self, kind: str, /, **members: Any) -> None:
        """Send an update of the latest prompt's session."""
        self.wire.update(self.session_id, {"sessionUpdate": kind, **members})

    def end_turn(self, request_id: object, stop_reason: str = "end_turn") -> None:
        self.answer(request_id, result={"stopReason": stop_reason})

    def answer(self, request_id: object, **result_or_error: Any) -> None:
        """Answer a request; a prompt is no longer unanswered."""
        self.unanswered = [each for each in self.unanswered if each[0] != request_id]
        self.wire.frame(id=request_id, **result_or_error)


def session_of(params: Json) -> str:
    session_id = params.get("sessionId")
    return session_id if isinstance(session_id, str) else ""


def text_of(params: Json) -> str:
    prompt = params.get("prompt")
    blocks = prompt if isinstance(prompt, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


# --- processes


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, even if the reader accepts few at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def hang() -> NoReturn:
    """Do nothing forever; signals have their usual effect."""
    while True:
        time.sleep(FOR_EVER_SECONDS)


def die(number: int) -> NoReturn:
    """Send this process a signal, and hang if it survives that.

    On Windows it exits with the status by which shells report the signal.
    """
    if os.name == "nt":
        os._exit(128 + number)
    os.kill(os.getpid(), number)
    hang()


def start_child(
    seconds: float,
    *,
    apart: bool = False,
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | None = None,
    stderr: int | None = None,
) -> int:
    """Start a process that sleeps, by default with our stdout and stderr.

    Args:
        seconds: How long it sleeps.
        apart: Whether it is in its own session, so that it outlives us and our group.
        stdin: Its stdin, `None` for ours.
        stdout: Its stdout.
        stderr: Its stderr.

    Returns:
        Its process id.
    """
    command = ["sleep", f"{seconds:g}"]
    if os.name == "nt":
        command = [sys.executable, "-c", f"import time; time.sleep({seconds})"]
    child = subprocess.Popen(  # noqa: S603  (our own command)
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=apart,
    )
    child.returncode = 0  # avoids Popen's warning that nobody waits for it
    return child.pid
