"""A client on bare pipes, with the agent's process: frames as they come, every wait under a fuse.

Owns the process and its descriptors. Understands no frame but answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FUSE_SECONDS = 20.0

Frame = dict[str, Any]

TYPED: Frame = {"_meta": {"agent_error": {"version": 1}}}
RETRY: Frame = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


@dataclass(slots=True)
class Turn:
    """One turn as its client saw it."""

    answer: Frame
    updates: list[Frame] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """The kinds of its updates, in order."""
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self) -> str:
        """What the agent said."""
        chunks = [u for u in self.updates if u["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)

    @property
    def error(self) -> Frame:
        """The typed payload in the answer."""
        payload: Frame = self.answer["error"]["data"]["agent_error"]
        return payload


class ServeClient:
    """One agent's process, and a client that does nothing unasked."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        reads: bool = True,
    ) -> None:
        """Start the agent; without `reads` nothing is read until `read` is called."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment() | dict(environment or {}),
        )
        self.frames: list[Frame] = []
        self.said = ""
        self.session_id = ""
        self._next_id = 0
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._hear, daemon=True)]
        self._threads[0].start()
        if reads:
            self.read()

    def read(self) -> None:
        """Begin to read stdout."""
        self._threads.append(threading.Thread(target=self._read, daemon=True))
        self._threads[-1].start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            frame = json.loads(line)
            assert isinstance(frame, dict)
            with self._changed:
                self.frames.append(frame)
                self._changed.notify_all()

    def _hear(self) -> None:
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 65536):
            with self._changed:
                self.said += data.decode(errors="replace")
                self._changed.notify_all()

    def _until(self, seen: Callable[[], Any], what: str, fuse: float) -> Any:
        with self._changed:
            found = self._changed.wait_for(seen, fuse)
        assert found, (
            f"not within {fuse} s: {what}\n{self.frames[-5:]}\nstderr:\n{self.said[-3000:]}"
        )
        return found

    def send_bytes(self, data: bytes) -> None:
        """Write bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **members: Any) -> None:
        """Write one frame."""
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def request(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        self._next_id += 1
        self.send(id=self._next_id, method=method, params=params)
        return self._next_id

    def prompt(self, text: str) -> int:
        """Send a prompt; gives its id."""
        content = [{"type": "text", "text": text}]
        return self.request("session/prompt", sessionId=self.session_id, prompt=content)

    def cancel(self) -> None:
        """Cancel the session's turn."""
        self.send(method="session/cancel", params={"sessionId": self.session_id})

    def go_on(self) -> None:
        """Let a handler go on that waits to be told."""
        self.send(method="_test/go", params={})

    def expect(self, wanted: Callable[[Frame], Any], *, fuse: float = FUSE_SECONDS) -> Frame:
        """The first frame that is wanted."""
        found: Frame = self._until(
            lambda: next((frame for frame in self.frames if wanted(frame)), None),
            "the frame that was expected",
            fuse,
        )
        return found

    def answer(self, request_id: object, *, fuse: float = FUSE_SECONDS) -> Frame:
        """The answer to a request."""
        return self.expect(lambda f: "method" not in f and f.get("id") == request_id, fuse=fuse)

    def expect_text(self, text: str) -> None:
        """Wait for a piece of the agent's text."""
        self.expect(lambda frame: update_of(frame).get("content") == {"type": "text", "text": text})

    def expect_stderr(self, text: str) -> None:
        """Wait for words on stderr."""
        self._until(lambda: text in self.said, f"{text!r} on stderr", FUSE_SECONDS)

    def open(self, **capabilities: Any) -> Frame:
        """Initialize and open a session; gives the answer to `initialize`."""
        hello = self.request(
            "initialize",
            protocolVersion=1,
            clientCapabilities=capabilities,
            clientInfo={"name": "raw"},
        )
        answer = self.answer(hello)
        new = self.answer(self.request("session/new", cwd="/", mcpServers=[]))
        self.session_id = new["result"]["sessionId"]
        return answer

    def turn(self, text: str) -> Turn:
        """One whole turn."""
        since = len(self.frames)
        return self.end_of(self.prompt(text), since)

    def end_of(self, prompt: int, since: int) -> Turn:
        """The rest of a turn whose prompt was sent when there were `since` frames."""
        answer = self.answer(prompt)
        before = self.frames[since : self.frames.index(answer)]
        return Turn(answer, [update_of(frame) for frame in before if update_of(frame)])

    def close_stdin(self) -> None:
        """The client leaves."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Leave, and give the agent's exit status, all that it wrote having been read."""
        self.close_stdin()
        return self.wait()

    def wait(self) -> int:
        """The agent's exit status, all that it wrote having been read."""
        status = self.process.wait(FUSE_SECONDS)
        for thread in self._threads:
            thread.join(FUSE_SECONDS)
        return status

    def kill(self) -> None:
        """Teardown."""
        self.process.kill()
        self.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def update_of(frame: Frame) -> Frame:
    """The `update` of a `session/update`, else an empty object."""
    if frame.get("method") != "session/update":
        return {}
    update: Frame = frame["params"]["update"]
    return update


def clean_environment() -> dict[str, str]:
    """The environment without anybody's own options; the record stays out of the user's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LASTWORD_")}
    return kept | {"LASTWORD_STATE_DIR": os.environ["LASTWORD_STATE_DIR"]}
