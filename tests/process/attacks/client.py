"""The tests' client as the attacks need it: it judges each run, and never waits to be read.

Owns what holds for every run: no request is answered twice, or that was never asked. It writes
without waiting for its bytes to be taken, so that a peer which does not read is seen as one.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tests.kit.client import Client, Frame, unread_bytes, update_of
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


class AttackClient(Client):
    """One run of a command that speaks ACP on its standard streams."""

    info: ClassVar[Frame] = {"name": "strict-client", "version": "1"}

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__(command, environment=environment)
        self.command = [*command]
        self._asked: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        peer = self.peer
        peer.close_stdin()
        try:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if peer.exit_code is None:
                    os.kill(peer.pid, number)
                peer.wait_for_exit(FUSE_SECONDS / 2)
        finally:
            peer.release()
        if error is None:
            self._judge()

    @property
    def memory(self) -> int:
        """The process's resident bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    # --- what is sent

    def send_bytes(self, data: bytes, *, fuse: float = 0.0) -> int:
        """Have bytes written, whenever they are taken."""
        self.peer.queue(data)
        self.peer.pump(fuse)
        return len(data)

    def send_line(self, line: bytes) -> None:
        """Send a line as it is."""
        self.send_bytes(line + b"\n")

    def request(self, method: str, /, *, request_id: Any = None, **params: Any) -> Any:
        """Send a request; gives its id."""
        request_id = super().request(method, request_id=request_id, **params)
        self.expect_answer_to(request_id)
        return request_id

    def expect_answer_to(self, request_id: Any) -> None:
        """A request of this id was, or will be, sent as a line."""
        self._asked.add(json.dumps(request_id))

    def prompt(self, *blocks: str | Frame, session: str = "s1", request_id: Any = None) -> Any:
        """Send a prompt; gives its id."""
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        return self.request(
            "session/prompt", request_id=request_id, sessionId=session, prompt=content
        )

    def until_taken(self) -> None:
        """Wait until the peer has read all that was sent."""
        self.read_until_true(
            lambda: not self.peer.unsent and not unread_bytes(self.peer.agent.stdin),
            "a peer that reads",
        )

    # --- what comes

    def open(self, *, capabilities: Frame | None = None, sessions: int = 1) -> Frame:
        """Say hello, and open sessions; gives the answer to `initialize`."""
        answer = self.initialize(**capabilities or {})
        assert "result" in answer, self.story("initialize failed")
        for _ in range(sessions):
            self.new_session()
        return answer

    def new_session(self) -> str:
        """Open a session; gives its id."""
        opened = self.call("session/new", cwd="/", mcpServers=[])
        assert "result" in opened, self.story("no session opens")
        return str(opened["result"]["sessionId"])

    def turn(self, *blocks: str | Frame, session: str = "s1") -> Frame:
        """One whole turn; gives its answer."""
        return self.answer(self.prompt(*blocks or ("Hello",), session=session))

    def answer(self, request_id: Any, *, fuse: float = FUSE_SECONDS) -> Frame:
        """The answer under this very id, of this type."""
        return self.expect(lambda f: _answers(f, request_id), fuse=fuse)

    def answers(self, request_id: Any) -> list[Frame]:
        """What has come so far as answers to a request."""
        return [frame for frame in self.frames if _answers(frame, request_id)]

    def updates(self) -> list[Frame]:
        """The agent's updates so far."""
        return [update for update in map(update_of, self.frames) if update]

    def begin_anew(self) -> None:
        """Judge what came so far, and forget it: the next story of this run is its own."""
        self._judge()
        self._asked.clear()
        self.peer.frames.clear()
        self.peer.moments.clear()

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


def _answers(frame: Frame, request_id: object) -> bool:
    given = frame.get("id", ...)
    return "method" not in frame and type(given) is type(request_id) and given == request_id
