"""The demo's clients: one turn on pipes, as a strict client and as a typed one see it.

A strict client knows the protocol and nothing else. A typed one advertises `agent_error`.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from typing import IO, Any

import msgspec

PATIENCE_SECONDS = 1.5
"""How long a client of the demo waits for a turn's end. Real ones wait for ever."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a client got out of one turn.

    Attributes:
        answer: the answer to the prompt, `None` when none came.
        typed: the `error` of the typed update, when one came to a client that asked for it.
        text: what the agent had said before.
        frames: every line that came, in order.
        seconds: from the prompt to its answer.
    """

    answer: dict[str, Any] | None
    typed: dict[str, Any] | None
    text: str
    frames: list[str]
    seconds: float


def take_turn(command: list[str], *, typed: bool) -> Seen:
    """Start the command, send one prompt, and see what comes of it."""
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(  # noqa: S603  (the demo's own command)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=_defaults()
        )
        try:
            return _turn(process, typed=typed)
        finally:
            process.kill()
            process.communicate()


def _defaults() -> dict[str, str]:
    """The environment without the user's own options: the demo shows what the defaults do.

    It is in nobody's record, and nobody's dashboard: its failures would be told of as the user's.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LASTWORD_")}
    return kept | {"LASTWORD_NO_RECORD": "1", "OTEL_SDK_DISABLED": "true"}


def _turn(process: subprocess.Popen[bytes], *, typed: bool) -> Seen:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ValueError("the process needs pipes on stdin and stdout")
    extension = {"_meta": {"agent_error": {"version": 1}}} if typed else {}
    reader = _Reader(stdout)
    params = {"protocolVersion": 1, "clientCapabilities": extension}
    _send(stdin, 0, "initialize", params)
    reader.answer_to(0, PATIENCE_SECONDS * 4)
    _send(stdin, 1, "session/new", {"cwd": os.getcwd(), "mcpServers": []})
    reader.answer_to(1, PATIENCE_SECONDS * 4)
    begin = time.monotonic()
    text = [{"type": "text", "text": "Why does the parser fail?"}]
    _send(stdin, 2, "session/prompt", {"sessionId": "demo", "prompt": text})
    answer = reader.answer_to(2, PATIENCE_SECONDS)
    seconds = time.monotonic() - begin
    typed_error, said = None, ""
    for line in reader.frames:
        update = json.loads(line).get("params", {}).get("update", {})
        if update.get("sessionUpdate") == "agent_error":
            typed_error = update["error"]
        elif update.get("sessionUpdate") == "agent_message_chunk":
            said += update["content"]["text"]
    return Seen(answer=answer, typed=typed_error, text=said, frames=reader.frames, seconds=seconds)


def _send(stdin: IO[bytes], request_id: int, method: str, params: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    try:
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
    except BrokenPipeError:
        return


class _Reader:
    """Lines as they come, kept."""

    def __init__(self, stdout: IO[bytes]) -> None:
        self._fd = stdout.fileno()
        self._rest = b""
        self._pending: list[str] = []
        self._open = True
        self.frames: list[str] = []

    def answer_to(self, request_id: int, patience_seconds: float) -> dict[str, Any] | None:
        """Read until the answer comes; `None` when it does not."""
        deadline = time.monotonic() + patience_seconds
        while (remaining := deadline - time.monotonic()) > 0:
            while self._pending:
                line = self._pending.pop(0)
                self.frames.append(line)
                message: dict[str, Any] = json.loads(line)
                if message.get("id") == request_id and "method" not in message:
                    return message
            if not self._open:
                # As most clients do: the end of the stream answers nothing, so it waits on.
                time.sleep(remaining)
            elif select.select([self._fd], [], [], remaining)[0]:
                self._read()
        return None

    def _read(self) -> None:
        data = os.read(self._fd, 65536)
        self._open = bool(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._pending += [line.decode() for line in lines if line]
