"""A client that is nothing but bytes.

Owns: playing one fixed session to a command over its stdin, and keeping every byte of both
directions. Its frames have key orders, spaces and `_meta` that no SDK would write, so that whoever
re-encodes a frame on the way is found out. Does not own: comparing (`test_healthy`).
"""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FUSE_SECONDS = 60.0
END_SECONDS = 15.0
SETTLE_SECONDS = 0.7
"""How long late frames of a healthy turn (titles, usage) may take."""

INITIALIZE = (
    b'{"id": 70, "jsonrpc":"2.0","method":"initialize" , "params":{"protocolVersion":1,'
    b'"clientCapabilities":{ "fs": {"readTextFile":false, "writeTextFile":false} },'
    b'"clientInfo": {"version":"1.0.0","name":"interop-recorder"},'
    b'"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}\n'
)
TRACE = '"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"}'


@dataclass(frozen=True, slots=True)
class Recording:
    """Both directions of a session, byte for byte."""

    sent: bytes
    received: bytes
    returncode: int


def record(command: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> Recording:
    """Run one session of one prompt and return its bytes.

    Args:
        command: The agent, bare or wrapped.
        env: Its whole environment.
        cwd: The session's working directory.
        log: Where its stderr goes.
    """
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=cwd
        ) as process,
    ):
        fuse = threading.Timer(FUSE_SECONDS, process.kill)
        fuse.start()
        try:
            session = _Session(process)
            session.play(cwd)
            returncode = session.end()
        finally:
            fuse.cancel()
            if process.poll() is None:
                process.kill()
    return Recording(bytes(session.sent), bytes(session.received), returncode)


class _Session:
    """One conversation: writes frames, reads lines, answers permission requests."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.sent = bytearray()
        self.received = bytearray()
        self._process = process
        self._stdin: IO[bytes] = process.stdin
        self._stdout: IO[bytes] = process.stdout

    def play(self, cwd: Path) -> None:
        """Initialize, open a session, prompt once."""
        self._send(INITIALIZE)
        self._await(70)
        new = (
            '{"params":{"mcpServers":[ ],"cwd":%s},"method":"session/new","jsonrpc":"2.0","id":71}'
        )
        self._send((new % json.dumps(str(cwd)) + "\n").encode())
        session_id = self._await(71)["result"]["sessionId"]
        prompt = (
            '{"jsonrpc":"2.0","id":72,"method":"session/prompt","params":{"sessionId":%s,%s,'
            '"prompt":[{"type":"text", "text":"Say \\u0068ello, then print a line."}]}}\n'
        )
        self._send((prompt % (json.dumps(session_id), TRACE)).encode())
        self._await(72)

    def end(self) -> int:
        """Let late frames come, close stdin, read to the end, and return the exit status."""
        closing = threading.Timer(SETTLE_SECONDS, self._stdin.close)
        closing.start()
        for line in self._stdout:
            self.received += line
        return self._process.wait(timeout=END_SECONDS)

    def _send(self, frame: bytes) -> None:
        self.sent += frame
        self._stdin.write(frame)
        self._stdin.flush()

    def _await(self, request_id: int) -> dict[str, Any]:
        """Read up to the answer to one of our requests."""
        for line in self._stdout:
            self.received += line
            message: dict[str, Any] = json.loads(line)
            if message.get("method") == "session/request_permission":
                self._allow(message)
            elif "method" not in message and message.get("id") == request_id:
                return message
        msg = f"the stream ended before the answer to request {request_id}"
        raise AssertionError(msg)

    def _allow(self, request: dict[str, Any]) -> None:
        options = request["params"]["options"]
        chosen = next(option for option in options if option["kind"] == "allow_once")
        outcome = {"outcome": "selected", "optionId": chosen["optionId"]}
        answer = {"result": {"outcome": outcome}, "id": request["id"], "jsonrpc": "2.0"}
        self._send(json.dumps(answer, separators=(" ,", " : ")).encode() + b"\n")
