"""A client that is nothing but bytes.

Owns: playing one fixed session to a command over its stdin, and keeping every byte of both
directions. Its frames have key orders, spaces and `_meta` that no SDK would write, so that whoever
re-encodes a frame on the way is found out. Does not own: comparing (`test_healthy`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.kit.client import Client, within
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.kit.client import Frame
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
    session = _Session(within(cwd, command), environment=env)
    try:
        session.play(cwd)
        session.listen(SETTLE_SECONDS)
        session.close_stdin()
        status = session.wait(fuse=END_SECONDS)
    finally:
        session.kill()
        log.write_bytes(session.stderr.data)
    return Recording(bytes(session.sent), bytes(session.stdout.data), status)


class _Session(Client):
    """One conversation: writes frames, reads lines, answers permission requests."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        super().__init__(command, environment=environment)
        self.sent = bytearray()
        self._looked_at = 0

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

    def _send(self, frame: bytes) -> None:
        self.sent += frame
        assert self.send_bytes(frame, fuse=FUSE_SECONDS) == len(frame)

    def _await(self, request_id: int) -> Frame:
        """Read up to the answer to one of our requests, allowing what is asked for."""
        while True:
            frame = self.expect(lambda _: True, since=self._looked_at, fuse=FUSE_SECONDS)
            self._looked_at += 1
            if frame.get("method") == "session/request_permission":
                self._allow(frame)
            elif "method" not in frame and frame.get("id") == request_id:
                return frame

    def _allow(self, request: Frame) -> None:
        options = request["params"]["options"]
        chosen = next(option for option in options if option["kind"] == "allow_once")
        outcome = {"outcome": "selected", "optionId": chosen["optionId"]}
        answer = {"result": {"outcome": outcome}, "id": request["id"], "jsonrpc": "2.0"}
        self._send(json.dumps(answer, separators=(" ,", " : ")).encode() + b"\n")
