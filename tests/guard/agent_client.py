"""A client on bare pipes in front of an agent's process: frames as they come, with their times.

Owns the process, and that every wait for it is under a fuse. Understands no frame but answers.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FUSE_SECONDS = 20.0

Frame = dict[str, Any]

TYPED: Frame = {"_meta": {"agent_error": {"version": 1}}}
RETRY: Frame = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
NOTICES: Frame = {"session": {"notices": {}}}
PLAIN: Frame = {}


@dataclass(slots=True)
class Turn:
    """One turn as its client saw it."""

    answer: Frame
    updates: list[Frame] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Frame]:
        """Its updates of one kind."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def kinds(self) -> list[str]:
        """The kinds of its updates, in order."""
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self) -> str:
        """What it said."""
        return "".join(u["content"]["text"] for u in self.of_kind("agent_message_chunk"))

    @property
    def error(self) -> Frame:
        """The typed error in the answer."""
        payload: Frame = self.answer["error"]["data"]["agent_error"]
        return payload


class AgentClient:
    """One agent's process, and a client that is asked for nothing."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._frames: queue.Queue[tuple[float, Frame]] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._next_id = 0
        self.seen: list[tuple[float, Frame]] = []
        """Every frame with the moment at which it came, in monotonic seconds."""

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._frames.put((time.monotonic(), json.loads(line)))

    def _send(self, **members: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        request_id, self._next_id = self._next_id, self._next_id + 1
        self._send(id=request_id, method=method, params=params)
        return request_id

    def cancel(self) -> float:
        """Cancel the turn; gives when."""
        at = time.monotonic()
        self._send(method="session/cancel", params={"sessionId": "s1"})
        return at

    def await_frame(self, wanted: Callable[[Frame], bool]) -> tuple[float, Frame]:
        """Read on until this frame has come."""
        deadline = time.monotonic() + FUSE_SECONDS
        while True:
            try:
                frame = self._frames.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"not within {FUSE_SECONDS} s; seen: {self.seen}") from None
            self.seen.append(frame)
            if wanted(frame[1]):
                return frame

    def answer(self, request_id: int) -> tuple[float, Frame]:
        """The answer to a request, and when it came."""
        return self.await_frame(lambda f: "method" not in f and f["id"] == request_id)

    def open(self, capabilities: Frame) -> None:
        """Initialize as this client, and open the session."""
        self.answer(self.request("initialize", protocolVersion=1, clientCapabilities=capabilities))
        self.answer(self.request("session/new", cwd="/", mcpServers=[]))

    def prompt(self, plan: Mapping[str, Any]) -> int:
        """Send a plan; gives the request's id."""
        text = [{"type": "text", "text": json.dumps(plan)}]
        return self.request("session/prompt", sessionId="s1", prompt=text)

    def turn(self, plan: Mapping[str, Any]) -> Turn:
        """One whole turn."""
        since = len(self.seen)
        return self.rest_of(self.prompt(plan), since)

    def rest_of(self, prompt: int, since: int) -> Turn:
        """A turn that was begun when there were so many frames."""
        _, answer = self.answer(prompt)
        frames = [frame for _, frame in self.seen[since:]]
        return Turn(answer, [f["params"]["update"] for f in frames if "params" in f])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=FUSE_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._thread.join(timeout=FUSE_SECONDS)
            self._process.stdout.close()
