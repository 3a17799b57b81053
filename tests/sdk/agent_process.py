"""An agent in a process of its own, and a client on its bare pipes.

Owns the process, its frames, and every wait, each under a fuse. What a frame should say is the
tests'.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FUSE_SECONDS = 15.0
AGENTS = Path(__file__).resolve().parent / "agents.py"
OUR_LOGGER = "[lastword] "
CANARY = "sk-proj-Zq8vN3xT7rLm2KpW9sYb4HdC"
"""A key that no provider gave; handlers raise it, and no client may see it."""

Frame = dict[str, Any]


class AgentProcess:
    """One run of `agents.py KIND`."""

    def __init__(self, kind: str = "plain", **environment: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("LASTWORD_")}
        kept["LASTWORD_STATE_DIR"] = os.environ["LASTWORD_STATE_DIR"]
        self.process = subprocess.Popen(
            [sys.executable, str(AGENTS), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept | environment,
            bufsize=0,
        )
        self.frames: list[Frame] = []
        self.lines: list[str] = []
        self._next_id = 0
        self._news = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self._frame)),
            threading.Thread(target=self._read, args=(self.process.stderr, self._line)),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def said(self) -> list[str]:
        """What lastword told the author: its log lines so far, a line each."""
        with self._news:
            return [text.removeprefix(OUR_LOGGER) for text in self.lines if OUR_LOGGER in text]

    def send(self, **members: Any) -> None:
        """Write one frame."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def request(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        request_id, self._next_id = self._next_id, self._next_id + 1
        self.send(id=request_id, method=method, params=params)
        return request_id

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def prompt(self, text: str, session: str = "s1") -> int:
        """Send a prompt; gives its id."""
        block = {"type": "text", "text": text}
        return self.request("session/prompt", sessionId=session, prompt=[block])

    def turn(self, text: str, session: str = "s1") -> Frame:
        """The answer to a prompt."""
        return self.answer(self.prompt(text, session))

    def cancel(self, session: str = "s1") -> None:
        """Cancel the session's turn."""
        self.notify("session/cancel", sessionId=session)

    def call(self, method: str, **params: Any) -> Frame:
        """The answer to a request."""
        return self.answer(self.request(method, **params))

    def open(self, /, **capabilities: Any) -> AgentProcess:
        """Initialize, and open the session `s1`."""
        hello = self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)
        assert "result" in hello
        return self.open_session("s1")

    def open_session(self, session: str) -> AgentProcess:
        """Open a session of this name."""
        assert "result" in self.call("session/new", cwd=f"/{session}", mcpServers=[])
        return self

    def answer(self, request_id: int) -> Frame:
        """The answer to a request, once it is there."""
        return self.expect(lambda frame: "method" not in frame and frame.get("id") == request_id)

    def expect(self, wanted: Callable[[Frame], bool]) -> Frame:
        """The first frame that is wanted, once it is there."""
        self._wait(lambda: any(map(wanted, self.frames)), "the frame that was expected")
        return next(filter(wanted, self.frames))

    def expect_line(self, text: str) -> str:
        """The first line of stderr with this text, once it is there."""
        self._wait(lambda: any(text in line for line in self.lines), f"{text!r} on stderr")
        return next(line for line in self.lines if text in line)

    def expect_text(self, text: str) -> Frame:
        """The first chunk with this text."""
        return self.expect(lambda frame: text in texts([frame]))

    def updates(self, kind: str) -> list[Frame]:
        """The updates of a kind, so far."""
        with self._news:
            found = [update_of(frame) for frame in self.frames]
        return [update for update in found if update.get("sessionUpdate") == kind]

    def answers(self, request_id: int) -> list[Frame]:
        """Every answer to a request, so far."""
        with self._news:
            return [f for f in self.frames if "method" not in f and f.get("id") == request_id]

    def roundtrip(self) -> None:
        """Wait until all that was sent so far has been seen, and all that came of it is here."""
        assert "result" in self.call("_nothing")

    def end(self) -> int:
        """Close our side, read what is left, and give the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(FUSE_SECONDS)
        for reader in self._readers:
            reader.join(FUSE_SECONDS)
        return status

    def close(self) -> None:
        """Teardown: whatever a failed test leaves."""
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _wait(self, seen: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + FUSE_SECONDS
        with self._news:
            while not seen():
                left = deadline - time.monotonic()
                ended = not any(reader.is_alive() for reader in self._readers)
                assert left > 0, self._story(f"not within {FUSE_SECONDS} s: {what}")
                assert not ended, self._story(f"the agent ended: {what}")
                self._news.wait(min(left, 0.5))

    def _read(self, pipe: Any, take: Callable[[bytes], None]) -> None:
        for line in pipe:
            with self._news:
                take(line)
                self._news.notify_all()

    def _frame(self, line: bytes) -> None:
        self.frames.append(json.loads(line))

    def _line(self, line: bytes) -> None:
        self.lines.append(line.decode(errors="replace").rstrip("\n"))

    def _story(self, problem: str) -> str:
        frames = "\n".join(map(str, self.frames[-10:]))
        lines = "\n".join(self.lines[-30:])
        return f"{problem}\nexit status {self.process.poll()}\nframes:\n{frames}\nstderr:\n{lines}"


def update_of(frame: Frame) -> Frame:
    """The `update` of a `session/update`, else an empty object."""
    if frame.get("method") != "session/update":
        return {}
    update: Frame = frame["params"]["update"]
    return update


def texts(frames: list[Frame]) -> list[str]:
    """The texts of the chunks among these frames."""
    contents = [update_of(frame).get("content") for frame in frames]
    return [content["text"] for content in contents if isinstance(content, dict)]
