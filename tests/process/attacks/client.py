"""The tests' strict client as the attacks need it: it reads everything, and takes nothing amiss.

Owns what holds for every run: no request is answered twice, or that was never asked. It writes
without waiting for its bytes to be taken, so that a peer which does not read is seen as one.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
import termios
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kit.client import Ears, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

FUSE_SECONDS = 30.0
"""No measure: what does not come within it is not coming."""

TOLD_SECONDS = 4.0


class AttackClient:
    """One run of a command that speaks ACP on its standard streams."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.peer = Ears(command, environment)
        self._asked: set[str] = set()
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: object,
        error: BaseException | None,
        _traceback: object,
    ) -> None:
        peer = self.peer
        peer.close_stdin()
        try:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if peer.exit_code is None:
                    os.kill(peer.pid, number)
                peer.wait_for_exit(TOLD_SECONDS)
        finally:
            peer.release()
        if error is None:
            self._judge()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.peer.pid

    @property
    def memory(self) -> int:
        """The process's resident bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    @property
    def frames(self) -> list[Frame]:
        """Every frame that came."""
        return self.peer.frames

    @property
    def stdout(self) -> bytearray:
        """Every byte that came on stdout."""
        return self.peer.stdout.data

    @property
    def stderr(self) -> bytearray:
        """Every byte that came on stderr."""
        return self.peer.stderr.data

    # --- what is sent

    def send(self, **members: Any) -> None:
        """Send a frame."""
        self.send_line(json.dumps({"jsonrpc": "2.0", **members}).encode())

    def send_line(self, line: bytes) -> None:
        """Send a line as it is."""
        self.peer.queue(line + b"\n")
        self.peer.pump(0.0)

    def request(self, method: str, params: object, *, request_id: Any = None) -> Any:
        """Send a request; gives its id."""
        if request_id is None:
            request_id, self._next_id = self._next_id, self._next_id + 1
        self.expect_answer_to(request_id)
        self.send(id=request_id, method=method, params=params)
        return request_id

    def expect_answer_to(self, request_id: Any) -> None:
        """A request of this id was, or will be, sent as a line."""
        self._asked.add(json.dumps(request_id))

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def prompt(self, *blocks: str | Frame, session: str = "s1", request_id: Any = None) -> Any:
        """Send a prompt; gives its id."""
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        params = {"sessionId": session, "prompt": content}
        return self.request("session/prompt", params, request_id=request_id)

    def cancel(self, session: str = "s1") -> None:
        """Cancel a session's turn."""
        self.notify("session/cancel", {"sessionId": session})

    def until_taken(self) -> None:
        """Wait until the peer has read all that was sent."""
        self.until(
            lambda: not self.peer.unsent and not _unread_bytes(self.peer.agent.stdin),
            "a peer that reads",
        )

    def close_stdin(self) -> None:
        """The client has nothing more to say."""
        self.peer.close_stdin()

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        os.kill(self.peer.pid, number)

    # --- what comes

    def open(self, *, capabilities: Frame | None = None, sessions: int = 1) -> Frame:
        """Say hello, and open sessions; gives the answer to `initialize`."""
        hello = self.request(
            "initialize",
            {
                "protocolVersion": 1,
                "clientInfo": {"name": "strict-client", "version": "1"},
                "clientCapabilities": capabilities or {},
            },
        )
        answer = self.answer(hello)
        assert "result" in answer, self.story("initialize failed")
        for _ in range(sessions):
            opened = self.answer(self.request("session/new", {"cwd": "/", "mcpServers": []}))
            assert "result" in opened, self.story("no session opens")
        return answer

    def turn(self, *blocks: str | Frame, session: str = "s1") -> Frame:
        """One whole turn; gives its answer."""
        return self.answer(self.prompt(*blocks or ("Hello",), session=session))

    def answer(self, request_id: Any, *, fuse: float = FUSE_SECONDS) -> Frame:
        """The answer to a request."""
        return self.expect(
            lambda f: "method" not in f and _same(f.get("id", ...), request_id),
            f"the answer to {request_id!r}",
            fuse=fuse,
        )

    def answers(self, request_id: Any) -> list[Frame]:
        """What has come so far as answers to a request."""
        return [f for f in self.frames if "method" not in f and _same(f.get("id", ...), request_id)]

    def asked(self, method: str) -> Frame:
        """The agent's first request or notification of a method."""
        return self.expect(lambda f: f.get("method") == method, method)

    def updates(self) -> list[Frame]:
        """The agent's updates so far."""
        told = [f for f in self.frames if f.get("method") == "session/update"]
        return [frame["params"]["update"] for frame in told]

    def expect(
        self, wanted: Callable[[Frame], bool], what: str, *, fuse: float = FUSE_SECONDS
    ) -> Frame:
        """The first frame that is wanted."""
        looked_at, found = 0, -1

        def seen() -> bool:
            nonlocal looked_at, found
            news = range(looked_at, len(self.frames))
            found = next((number for number in news if wanted(self.frames[number])), -1)
            looked_at = len(self.frames)
            return found >= 0

        self.until(seen, what, fuse=fuse)
        return self.frames[found]

    def until(self, holds: Callable[[], bool], what: str, *, fuse: float = FUSE_SECONDS) -> None:
        """Read until something holds."""
        deadline = time.monotonic() + fuse
        while not holds():
            ended = self.peer.exit_code is not None
            ended = ended and not (self.peer.stdout.open or self.peer.stderr.open)
            late = ended or time.monotonic() > deadline
            assert not late or holds(), self.story(f"not within {fuse} s: {what}")
            self.peer.pump(0.02)

    def wait(self, *, fuse: float = FUSE_SECONDS) -> int:
        """The process's exit status, once it has ended."""
        self.until(lambda: self.peer.exit_code is not None, "the end of the process", fuse=fuse)
        status = self.peer.exit_code
        assert status is not None
        return status

    def story(self, problem: str) -> str:
        """What went wrong, and what had been seen until then."""
        frames = "\n".join(json.dumps(frame)[:600] for frame in self.frames[-12:])
        said = self.stderr[-2000:].decode(errors="replace")
        return f"{problem}\nexit status: {self.peer.exit_code}\n{frames}\nstderr:\n{said}"

    def _judge(self) -> None:
        """What holds for the frames of every run."""
        answered = [json.dumps(f["id"]) for f in self.frames if "method" not in f]
        twice = [i for i, times in Counter(answered).items() if times > 1 and i != "null"]
        assert not twice, self.story(f"answered more than once: {twice}")
        unasked = set(answered) - self._asked - {"null"}
        assert not unasked, self.story(f"answered, and never asked: {unasked}")


def payload_of(answer: Frame) -> Frame:
    """The typed payload of a failed answer."""
    assert "error" in answer, answer
    payload: Frame = answer["error"]["data"]["agent_error"]
    return payload


def _unread_bytes(fd: int) -> int:
    """How much waits in a pipe for its reader."""
    count = bytearray(4)
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other
