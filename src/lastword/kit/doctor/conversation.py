"""A short conversation with an agent: hello, a session, goodbye. It leaves nothing behind.

Owns the requests, and what was observed. `doctor.diagnosis` interprets it; the peer owns the
process and its pipes.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.core.protocol import acp, glued, jsonrpc
from lastword.kit.peer import Frame, StrictClient, refused
from lastword.platform.process import Exit, guardian_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.peer import Environment

MAX_NOISE = 5
NOISE_CHARS = 120
LEAVE_SECONDS = 5.0
"""How long an agent may take to exit once its input has ended."""
LAST_WORDS_SECONDS = 0.25
CAPABILITIES = {"_meta": {"agent_error": {"version": 1}}}
INFO = {"name": "lastword-doctor", "version": __version__}


class ConversationResult(msgspec.Struct, kw_only=True):
    """The result of a conversation.

    Attributes:
        hello: The answer to `initialize`, as it came.
        hello_seconds: How long that took, from the start of the process.
        session: The answer to `session/new`.
        echoes: It wrote our own request back.
        noise: The first lines on stdout that are not JSON-RPC objects; `noise_lines` counts all.
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
    exit: Exit | None = None
    exited_early: bool = False
    leave_seconds: float | None = None


def converse(
    command: Sequence[str],
    *,
    timeout_seconds: float,
    version: int = 1,
    environment: Environment | None = None,
    at: Callable[[str], None] = lambda _: None,
) -> ConversationResult:
    """Start the agent, talk to it, and end it.

    Args:
        command: Its command; the working directory is ours.
        timeout_seconds: How long each answer may take.
        version: The protocol version to ask for; in any but the first no session
            is opened, and the agent's leave is not waited for.
        environment: Its environment, if it is not ours.
        at: Called with each step as it begins.

    Raises:
        OSError: It could not be started.
    """
    with _Visitor(command, environment) as visitor:
        guardian = guardian_of(visitor.agent)
        try:
            at("Waiting for the agent's first answer")
            visitor.hold(timeout_seconds, version, at)
            if version == 1:
                at("Ending the agent")
                visitor.leave()
        finally:
            visitor.result.stderr = bytes(visitor.stderr.data)
            visitor.close()
            if guardian is not None:
                guardian.disarm()
    return visitor.result


class _Visitor(StrictClient):
    """The doctor's own client, which notes what is odd and allows nothing."""

    first_id = 1

    def __init__(self, command: Sequence[str], environment: Environment | None) -> None:
        self.result = ConversationResult()
        super().__init__(command, environment, apart=False)

    def hold(self, timeout_seconds: float, version: int, at: Callable[[str], None]) -> None:
        """Initialize the agent, and open a session."""
        hello = self.initialize(CAPABILITIES, version=version, info=INFO)
        self.result.hello = self._answer(hello, timeout_seconds)
        self.result.hello_seconds = self.now
        if self.result.hello is not None and "result" in self.result.hello and version == 1:
            at("Waiting for the agent to open a session")
            self.result.session = self._answer(self.new_session(os.getcwd()), timeout_seconds)

    def leave(self) -> None:
        """Close the agent's input, and see how long it stays."""
        result, agent = self.result, self.agent
        result.exited_early = agent.poll() is not None
        if result.exited_early:
            self.listen(LAST_WORDS_SECONDS)
            result.exit = agent.poll()
            return
        closed = time.monotonic()
        self.close_stdin()
        if self.wait_for_exit(LEAVE_SECONDS):
            result.leave_seconds = time.monotonic() - closed
            result.exit = agent.poll()

    def _answer(self, request_id: object, timeout_seconds: float) -> Frame | None:
        """Return the answer; `None` where none came, or the agent is gone."""
        deadline = time.monotonic() + timeout_seconds

        def answered() -> Frame | None:
            answers = (event.frame for event in self.events if event.answers(request_id))
            return next(answers, None)

        self.wait(lambda: bool(answered() or self.result.echoes), timeout_seconds)
        if not answered() and not self.result.echoes:
            # Its end may take longer than the end of its output, and its last words are on the way.
            self.wait_for_exit(deadline - time.monotonic())
            self.listen(LAST_WORDS_SECONDS)
        return answered()

    def _receive_line(self, line: bytes) -> None:
        if not line.strip():
            return
        # As the relay reads it, which is not so strict as this client.
        for part in glued.decode_parts(line, may_quote=True):
            if isinstance(part, jsonrpc.Malformed):
                self._noise(part.line)
            else:
                super()._receive_line(part.line)

    def _note(self, raw: bytes, frame: Frame | None, problem: str, *, sent: bool) -> None:
        method = "" if sent or frame is None else frame.get("method", "")
        if not isinstance(method, str):
            self._noise(raw)
        elif method in acp.TO_AGENT_ONLY:
            self.result.echoes = True
        else:
            super()._note(raw, frame, problem, sent=sent)

    def _hear(self, message: Frame) -> None:
        method = message.get("method")
        if isinstance(method, str) and method not in acp.TO_AGENT_ONLY:
            super()._hear(message)

    def _reply(self, request: Frame) -> Frame:
        return refused(request, "The doctor offers nothing.")

    def _noise(self, line: bytes) -> None:
        self.result.noise_lines += 1
        if len(self.result.noise) < MAX_NOISE:
            text = line.decode("utf-8", "replace")[:NOISE_CHARS]
            self.result.noise.append("".join(c if c.isprintable() else " " for c in text))
