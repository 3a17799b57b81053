"""A client on bare pipes: it writes and reads frames itself, and does nothing unasked.

Owns the frames of one run, and what holds for them in every run: each line of stdout is a JSON
object, no request is answered twice. What a frame should say is the tests'.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from piped import FUSE_SECONDS, Piped, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FAIL = "fail"
SESSION = "s1"
GO = "_agent/go"

Frame = dict[str, Any]


@dataclass(slots=True)
class Turn:
    """One prompt's frames: updates before the answer, the answer, how long it took."""

    updates: list[Frame]
    answer: Frame
    seconds: float

    @property
    def kinds(self) -> list[str]:
        """The kinds of its updates."""
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self) -> str:
        """The agent's text."""
        return "".join(u["content"]["text"] for u in self.updates if "chunk" in u["sessionUpdate"])


class RawClient(Piped):
    """A client of one session, `s1`."""

    def __init__(self, command: Sequence[str], **settings: Any) -> None:
        self.frames: list[Frame] = []
        self.cut_allowed = False
        """May the last line be cut? Only where a client does not take what it is sent."""
        self._parsed_bytes = 0
        self._piece: bytearray | None = None
        self._next_id = 0
        super().__init__(command, **settings)

    def send(self, **members: Any) -> None:
        """Write one frame."""
        line = json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"
        if self._piece is not None:
            self._piece += line
            return
        assert self.send_bytes(line) == len(line), self._story("our frame is not taken")

    @contextlib.contextmanager
    def in_one_piece(self, *, fuse: float = FUSE_SECONDS) -> Iterator[None]:
        """What is sent meanwhile is written at once, at the end."""
        self._piece = bytearray()
        yield
        piece, self._piece = bytes(self._piece), None
        sent = self.send_bytes(piece, fuse=fuse)
        assert sent == len(piece), self._story("our frames are not taken")

    def request(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        request_id, self._next_id = self._next_id, self._next_id + 1
        self.send(id=request_id, method=method, params=params)
        return request_id

    def prompt(self, text: str = FAIL) -> int:
        """Send a prompt; gives its id."""
        content = [{"type": "text", "text": text}]
        return self.request("session/prompt", sessionId=SESSION, prompt=content)

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def cancel(self) -> None:
        """Cancel the session's turn."""
        self.notify("session/cancel", sessionId=SESSION)

    def go_on(self) -> None:
        """Let an agent go on that waits to be told."""
        self.notify(GO)

    def expect(
        self, wanted: Callable[[Frame], bool], *, since: int = 0, fuse: float = FUSE_SECONDS
    ) -> Frame:
        """The first frame, from number `since` on, that is wanted."""
        looked_at, found = since, since

        def seen() -> bool:
            nonlocal looked_at, found
            news = range(looked_at, len(self.frames))
            found = next((number for number in news if wanted(self.frames[number])), -1)
            looked_at = max(looked_at, len(self.frames))
            return found >= 0

        self.read_until(seen, "the frame that was expected", fuse=fuse)
        return self.frames[found]

    def answer(self, request_id: object, *, fuse: float = FUSE_SECONDS) -> Frame:
        """The answer to a request."""
        return self.expect(lambda f: "method" not in f and f.get("id") == request_id, fuse=fuse)

    def expect_method(self, method: str, *, since: int = 0) -> Frame:
        """The first message of a method."""
        return self.expect(lambda frame: frame.get("method") == method, since=since)

    def expect_text(self, text: str) -> Frame:
        """The first chunk whose text is this."""
        return self.expect(lambda f: update_of(f).get("content") == {"type": "text", "text": text})

    def expect_stderr(self, text: str, *, fuse: float = FUSE_SECONDS) -> None:
        """Read until stderr holds a text."""
        wanted = text.encode()
        self.read_until(lambda: wanted in self.stderr.data, f"{text!r} on stderr", fuse=fuse)

    def initialize(self, **client_capabilities: Any) -> Frame:
        """Say hello; gives the answer."""
        request_id = self.request(
            "initialize",
            protocolVersion=1,
            clientInfo={"name": "raw-client", "version": "1"},
            clientCapabilities=client_capabilities,
        )
        return self.answer(request_id)

    def open(self, **client_capabilities: Any) -> Frame:
        """Initialize and open the session; gives the answer to `initialize`."""
        answer = self.initialize(**client_capabilities)
        assert "result" in self.answer(self.request("session/new", cwd="/", mcpServers=[]))
        return answer

    def turn(self, text: str = FAIL, *, fuse: float = FUSE_SECONDS) -> Turn:
        """One whole turn."""
        since = len(self.frames)
        return self.end_of(self.prompt(text), since, fuse=fuse)

    def end_of(self, prompt: int, since: int, *, fuse: float = FUSE_SECONDS) -> Turn:
        """The rest of a turn whose prompt was sent when there were `since` frames."""
        started = time.monotonic()
        answer = self.answer(prompt, fuse=fuse)
        before = self.frames[since : self.frames.index(answer)]
        updates = [update_of(frame) for frame in before if update_of(frame)]
        return Turn(updates, answer, time.monotonic() - started)

    def finish(self) -> None:
        """Teardown, and what holds for the frames of every run."""
        super().finish()
        whole = self.stdout.data[-1:] in (b"", b"\n")
        assert whole or self.cut_allowed, self._story("the last line is cut")
        answers = Counter(f["id"] for f in self.frames if "method" not in f)
        twice = {i for i, times in answers.items() if times > 1 and i is not None}
        assert not twice, self._story(f"answered more than once: {twice}")

    def _read(self, stream: Stream) -> None:
        super()._read(stream)
        if stream is not self.stdout:
            return
        # Only from where a line may have ended: a frame of 3 MB comes in many reads.
        end = stream.data.rfind(b"\n", self._parsed_bytes) + 1
        if not end:
            return
        lines = bytes(stream.data[self._parsed_bytes : end - 1]).split(b"\n")
        self._parsed_bytes = end
        self.frames += map(_frame, lines)


def _frame(line: bytes) -> Frame:
    """The JSON object that each line must be, by the standard and not only for Python."""
    constants: list[str] = []
    try:
        frame = json.loads(line.decode(), parse_constant=constants.append)
    except ValueError as error:
        raise AssertionError(f"no JSON ({error}): {line[:300]!r}") from error
    assert not constants, f"no JSON: {constants} in {line[:300]!r}"
    assert isinstance(frame, dict), f"no JSON object: {line[:300]!r}"
    return frame


def update_of(frame: Frame) -> Frame:
    """The `update` of a `session/update`, else an empty object."""
    if frame.get("method") != "session/update":
        return {}
    update: Frame = frame["params"]["update"]
    return update
