"""The tests' client as the attacks need it: it judges each run, and never waits to be read.

Owns what holds for every run: no request is answered twice. It writes without waiting for its bytes
to be taken, so that a peer which does not read is seen as one.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tests.kit.client import Client, Frame, unread_bytes, update_of
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


KEY = "sk-proj-Wm4kT8vQ2xLr7NpZ9cJdY6sB"
"""A key that no provider gave, in the environment of each agent that is watched."""

END_TURN = {"stopReason": "end_turn"}
CANCELLED = {"stopReason": "cancelled"}

_NUMBERS = itertools.count()


class AttackClient(Client):
    """One run of a command that speaks ACP on its standard streams."""

    info: ClassVar[Frame] = {"name": "strict-client", "version": "1"}

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__(command, environment=environment)
        self.command = [*command]

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

    def turn(self, text: str = "Hello", session: str = "s1") -> Any:  # type: ignore[override]
        """One whole turn; gives its answer."""
        return self.answer(self.prompt(text, session))

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
        self.peer.frames.clear()
        self.peer.moments.clear()

    def _judge(self) -> None:
        """What holds for the frames of every run."""
        answered = [json.dumps(f["id"]) for f in self.frames if "method" not in f]
        twice = [i for i, times in Counter(answered).items() if times > 1 and i != "null"]
        assert not twice, self.story(f"answered more than once: {twice}")


def scoped(door: str) -> list[str]:
    """The command of an agent on structured concurrency, behind an in-process door."""
    return [sys.executable, "-m", "tests.process.attacks.scoped", door]


def serves_on(client: AttackClient, session: str) -> bool:
    """Hold that the next turn of a session is an ordinary one."""
    answer = client.turn("say", session=session)
    assert answer.get("result") == END_TURN, client.story("it does not serve on")
    return True


def leave(client: AttackClient, status: int | None = 0, *, tells_its_author: bool = False) -> None:
    """Leave as a client does, and judge what the run was.

    Args:
        client: The client.
        status: The exit status that is right, `None` for any.
        tells_its_author: May a traceback of the author's own code be on stderr?
    """
    client.close_stdin()
    ended = client.wait()
    client.read_until_true(lambda: not client.peer.stdout.open, "the end of stdout")
    assert status is None or ended == status, client.story(f"it ended with {ended}")
    whole = not client.stdout.data or client.stdout.data.endswith(b"\n")
    assert whole, client.story("half a frame")
    assert KEY.encode() not in client.stdout.data, client.story("the key reached the client")
    if not tells_its_author:
        assert b"Traceback" not in client.stderr.data, client.story("a traceback")
        assert KEY.encode() not in client.stderr.data, client.story("the key is on stderr")


def ask(client: AttackClient, method: str, params: Any, *, request_id: Any = None) -> Any:
    """Send a request whose params may be anything; gives its id."""
    request_id = f"asked-{next(_NUMBERS)}" if request_id is None else request_id
    client.send(id=request_id, method=method, params=params)
    return request_id


def payload_of(answer: Frame) -> Frame:
    """The typed payload of a failed answer."""
    assert "error" in answer, answer
    payload: Frame = answer["error"]["data"]["agent_error"]
    return payload


def _answers(frame: Frame, request_id: object) -> bool:
    given = frame.get("id", ...)
    return "method" not in frame and type(given) is type(request_id) and given == request_id
