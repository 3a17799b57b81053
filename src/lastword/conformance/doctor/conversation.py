"""A short conversation with an agent: hello, a session, goodbye. Nothing of it stays behind.

Owns the process and the pipes, and what was seen. What it means is `doctor.diagnosis`'.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword import process
from lastword._version import __version__
from lastword.core import acp, jsonrpc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

READ_BYTES = 65536
MAX_LINE_BYTES = 16 * 1024 * 1024
STDERR_BYTES = 64 * 1024
MAX_NOISE = 5
NOISE_CHARS = 120
LEAVE_SECONDS = 5.0
"""How long an agent may take to exit once its input has ended."""
TERM_SECONDS = 2.0
LAST_WORDS_SECONDS = 0.25
METHOD_NOT_FOUND = -32601


class Seen(msgspec.Struct, kw_only=True):
    """What came of a conversation.

    Attributes:
        hello: The answer to `initialize`, as it came.
        hello_seconds: How long that took, from the start of the process.
        session: The answer to `session/new`.
        echoes: It wrote our own request back.
        noise: The first lines on stdout that are no JSON-RPC object; `noise_lines` counts them all.
        stderr: The end of stderr.
        exit: How the process ended, if it did so by itself.
        exited_early: It ended before its input did.
        leave_seconds: How long it took to exit once its input had ended; `None` if it did not.
    """

    hello: dict[str, Any] | None = None
    hello_seconds: float = 0.0
    session: dict[str, Any] | None = None
    echoes: bool = False
    noise: list[str] = []
    noise_lines: int = 0
    stderr: bytes = b""
    exit: process.Exit | None = None
    exited_early: bool = False
    leave_seconds: float | None = None


def converse(command: Sequence[str], *, timeout_seconds: float, version: int = 1) -> Seen:
    """Start the agent, talk to it, and end it.

    Args:
        command: Its command; environment and working directory are ours.
        timeout_seconds: How long each answer may take.
        version: The protocol version to ask for; in any but the first no session
            is opened, and the agent's leave is not waited for.

    Raises:
        OSError: It could not be started.
    """
    agent = process.spawn(command)
    guardian = process.guardian_of(agent)
    talk = _Talk(agent)
    try:
        talk.hold(timeout_seconds, version)
        if version == 1:
            talk.leave()
    finally:
        _end(agent)
        if guardian is not None:
            guardian.disarm()
        for fd in {agent.stdin, agent.stdout, agent.stderr} - {-1}:
            process.close(fd)
    return talk.seen


def _end(agent: process.Agent) -> None:
    """End whatever is left of the agent's group."""
    if agent.poll() is None:
        agent.signal_group(signal.SIGTERM)
        deadline = time.monotonic() + TERM_SECONDS
        while agent.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    agent.signal_group(signal.SIGKILL)
    while agent.poll() is None:
        time.sleep(0.02)
    agent.reap()


class _Talk:
    """One conversation while it lasts."""

    def __init__(self, agent: process.Agent) -> None:
        self.seen = Seen()
        self._agent = agent
        self._started = time.monotonic()
        self._answers: dict[int, dict[str, Any]] = {}
        self._rest = b""
        self._open = {agent.stdout, agent.stderr}

    def hold(self, timeout_seconds: float, version: int) -> None:
        """Say hello, and open a session."""
        dialect = acp.dialect(version)
        hello = {
            "protocolVersion": version,
            dialect.client_capabilities: {"_meta": {"agent_error": {"version": 1}}},
            dialect.client_info: {"name": "lastword-doctor", "version": __version__},
        }
        self.seen.hello = self._ask(1, acp.INITIALIZE, hello, timeout_seconds)
        self.seen.hello_seconds = time.monotonic() - self._started
        if self.seen.hello is not None and "result" in self.seen.hello and version == 1:
            opening = {"cwd": os.getcwd(), "mcpServers": []}
            self.seen.session = self._ask(2, "session/new", opening, timeout_seconds)

    def leave(self) -> None:
        """Close the agent's input, and see how long it stays."""
        seen, agent = self.seen, self._agent
        seen.exited_early = agent.poll() is not None
        if seen.exited_early:
            self._until(lambda: False, LAST_WORDS_SECONDS)
            seen.exit = agent.poll()
            return
        closed = time.monotonic()
        process.close(agent.stdin)
        agent.stdin = -1
        if self._until(lambda: agent.poll() is not None, LEAVE_SECONDS):
            seen.leave_seconds = time.monotonic() - closed
            seen.exit = agent.poll()

    def _ask(
        self, number: int, method: str, params: dict[str, Any], timeout_seconds: float
    ) -> dict[str, Any] | None:
        """The answer; `None` where none came, or the agent is gone."""
        self._send({"id": number, "method": method, "params": params})
        self._until(
            lambda: number in self._answers or self.seen.echoes or self._agent.poll() is not None,
            timeout_seconds,
        )
        if number not in self._answers:
            # Its last words may still be on the way.
            self._until(lambda: number in self._answers, LAST_WORDS_SECONDS)
        return self._answers.get(number)

    def _send(self, members: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"
        try:
            os.write(self._agent.stdin, line)
        except OSError:
            return  # it is gone, or does not read: no answer will come

    def _until(self, done: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # A process's end wakes nobody who waits for its pipes: a child may hold them.
            self._read(min(left, 0.05))
        return True

    def _read(self, seconds: float) -> None:
        if not self._open:
            time.sleep(seconds)
            return
        for fd in select.select(list(self._open), [], [], seconds)[0]:
            data = os.read(fd, READ_BYTES)
            if not data:
                self._open.discard(fd)
            elif fd == self._agent.stderr:
                self.seen.stderr = (self.seen.stderr + data)[-STDERR_BYTES:]
            else:
                self._take(data)

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:MAX_LINE_BYTES]
        for line in lines:
            if not line.strip():
                continue
            frame = jsonrpc.decode(line)
            if isinstance(frame, jsonrpc.Malformed):
                self._noise(line)
            else:
                self._frame(jsonrpc.loads(line))

    def _noise(self, line: bytes) -> None:
        self.seen.noise_lines += 1
        if len(self.seen.noise) < MAX_NOISE:
            text = line.decode("utf-8", "replace")[:NOISE_CHARS]
            self.seen.noise.append("".join(c if c.isprintable() else " " for c in text))

    def _frame(self, message: Any) -> None:
        if "method" not in message:
            number = message.get("id")
            if type(number) is int:  # ours are; to a client `true` is no answer to 1
                self._answers.setdefault(number, message)
        elif not isinstance(message["method"], str):
            self._noise(json.dumps(message).encode())
        elif message["method"] in acp.TO_AGENT_ONLY:
            self.seen.echoes = True
        elif "id" in message:
            error = {"code": METHOD_NOT_FOUND, "message": "The doctor offers nothing."}
            self._send({"id": message["id"], "error": error})
