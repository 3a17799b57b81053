"""One client-agent link: starts an agent behind a relay, and speaks to it as an editor does.

Everything here must be much faster than the relays: the reader fills one buffer again and again and
compares it in place with what the agent wrote, at 0.03 us a frame. `lastword.kit.peer`, the client
of doctor, checks and tests, keeps and decodes every line, at 20 us a frame: forty times what the
relay that is measured here spends on it.
"""

import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

BUFFER_BYTES = 1 << 20
FUSE_SECONDS = 60
CLIENT = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class LinkError(Exception):
    """The relay did not deliver what the agent sent, or not in time."""


@dataclass(frozen=True)
class Relay:
    """A name, and the command in which the word ``{agent}`` stands for the agent's own words.

    A `plain` relay knows no failures: it is left out where one is waited for. One that is not
    `verbatim` writes the same messages in other bytes.
    """

    name: str
    command: str
    plain: bool = False
    verbatim: bool = True

    def argv(self, agent: Sequence[str]) -> list[str]:
        """The words to start, for this agent."""
        words = shlex.split(self.command)
        return [new for word in words for new in (agent if word == "{agent}" else [word])]


def frame(method: str, params: object, id_: int) -> bytes:
    """One request."""
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


PROMPT = "Explain this project, please."
INITIALIZE = frame("initialize", CLIENT, 0)


@dataclass
class Link:
    """A started relay with its agent. A context manager: leaving it ends both."""

    process: subprocess.Popen[bytes]
    started_ns: int
    verbatim: bool = True
    agent_pid: int = 0
    grandchild_pid: int = 0
    session: str = ""
    next_id: int = 0
    _buffer: bytearray = field(default_factory=lambda: bytearray(BUFFER_BYTES))
    _held: bytes = b""

    @classmethod
    def start(
        cls, relay: Relay, agent: Sequence[str], state: Path, extra: dict[str, str] | None = None
    ) -> Self:
        """Spawn the relay; lastword keeps its records under `state`, and its bytecode is cached."""
        environment = os.environ | {"LASTWORD_STATE_DIR": str(state)} | (extra or {})
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        started = time.perf_counter_ns()
        process = subprocess.Popen(
            relay.argv(agent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
        return cls(process, started, relay.verbatim)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        if self.grandchild_pid:
            with suppress(ProcessLookupError):
                os.kill(self.grandchild_pid, signal.SIGKILL)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()

    @property
    def input(self) -> int:
        """The descriptor that leads to the agent."""
        assert self.process.stdin
        return self.process.stdin.fileno()

    @property
    def output(self) -> int:
        """The descriptor that comes from the agent."""
        assert self.process.stdout
        return self.process.stdout.fileno()

    def send(self, method: str, params: object) -> int:
        """Send a request, and return its id."""
        self.next_id += 1
        os.write(self.input, frame(method, params, self.next_id))
        return self.next_id

    def line(self) -> bytes:
        """The next frame from the agent, without its newline.

        Raises:
            LinkError: the stream ended, or nothing came for a minute.
        """
        pieces = [self._held]
        while b"\n" not in pieces[-1]:
            if not select.select([self.output], [], [], FUSE_SECONDS)[0]:
                raise LinkError("nothing came for a minute")
            piece = os.read(self.output, 65536)
            if not piece:
                raise LinkError("the stream ended")
            pieces.append(piece)
        line, _, self._held = b"".join(pieces).partition(b"\n")
        return line

    def answer(self, id_: int) -> dict[str, object]:
        """Read up to the answer with this id, whatever comes before it."""
        while True:
            message = json.loads(self.line())
            if message.get("id") == id_ and "method" not in message:
                return message

    def initialize(self) -> int:
        """Send `initialize`; the nanoseconds from the spawn to its answer."""
        os.write(self.input, INITIALIZE)
        answer = self.answer(0)
        ready = time.perf_counter_ns() - self.started_ns
        meta = answer["result"]["_meta"]  # type: ignore[index]
        self.agent_pid, self.grandchild_pid = meta["pid"], meta["grandchild"]
        return ready

    def open_session(self) -> Self:
        """Send `initialize` and `session/new`, and wait until the relay has started up."""
        self.initialize()
        result = self.answer(self.send("session/new", {"cwd": "/", "mcpServers": []}))["result"]
        self.session = result["sessionId"]  # type: ignore[index]
        time.sleep(0.3)
        return self

    def prompt(self, text: str = PROMPT) -> int:
        """Send a prompt, and return its id."""
        prompt = [{"type": "text", "text": text}]
        return self.send("session/prompt", {"sessionId": self.session, "prompt": prompt})

    def stream(self, expected: bytes, text: str = PROMPT) -> float:
        """One turn that must be exactly `expected` and its answer; the seconds it took.

        Raises:
            LinkError: other bytes came than the agent wrote, or other messages where the relay
                does not keep the bytes.
        """
        stream = self._stream_bytes if self.verbatim else self._stream_messages
        return stream(expected, text)

    def _stream_messages(self, expected: bytes, text: str) -> float:
        """The same in other bytes: compared message by message once the clock has stopped."""
        start = time.perf_counter()
        id_ = self.prompt(text)
        lines_left = expected.count(b"\n") + 1
        pieces = []
        while lines_left > 0:
            piece = os.read(self.output, BUFFER_BYTES)
            if not piece:
                raise LinkError("the stream ended")
            lines_left -= piece.count(b"\n")
            pieces.append(piece)
        seconds = time.perf_counter() - start
        *lines, answer = b"".join(pieces).splitlines()
        wanted = expected.splitlines()
        if any(json.loads(a) != json.loads(b) for a, b in zip(lines, wanted, strict=True)):
            raise LinkError("other messages than the agent's, or in another order")
        if json.loads(answer) != {
            "jsonrpc": "2.0",
            "id": id_,
            "result": {"stopReason": "end_turn"},
        }:
            raise LinkError("another answer than the agent's")
        return seconds

    def _stream_bytes(self, expected: bytes, text: str) -> float:
        start = time.perf_counter()
        id_ = self.prompt(text)
        tail = b'{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}\n' % id_
        offset, size = 0, len(expected)
        buffer, view, output = self._buffer, memoryview(self._buffer), self.output
        while offset < size + len(tail):
            count = os.readv(output, [buffer])
            if not count:
                raise LinkError("the stream ended")
            middle = max(0, min(count, size - offset))
            if middle and not expected.startswith(view[:middle], offset):
                raise LinkError("other bytes than the agent's")
            if middle < count and not tail.startswith(view[middle:count], offset + middle - size):
                raise LinkError("another answer than the agent's")
            offset += count
        return time.perf_counter() - start
