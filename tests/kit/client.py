"""The tests' client: the kit's strict one, doing nothing unasked, with every wait under a fuse.

Owns the frames of one run and how they are waited for: what does not come in time fails the test
with what had been seen until then. What a frame should say is the tests'.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import sys
import termios
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lastword.kit.peer import Frame, Stream, StrictClient
from tests.kit import left_behind
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LAST_WORDS_SECONDS = 0.5
"""Streams of an ended process that stay open and silent for this long are held by a child."""

NESTED_LIMIT = 20_000
_LOOK_SECONDS = 0.01

TYPED: Frame = {"_meta": {"agent_error": {"version": 1}}}
RETRY: Frame = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
NOTICES: Frame = {"session": {"notices": {}}}
PLAIN: Frame = {}


@dataclass(slots=True)
class Turn:
    """One turn as its client saw it: the answer, and the updates before it."""

    answer: Frame
    updates: list[Frame]

    def of_kind(self, kind: str) -> list[Frame]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self) -> str:
        """What the agent said, and was said before where a session was replayed."""
        return "".join(u["content"]["text"] for u in self.updates if "chunk" in u["sessionUpdate"])

    @property
    def error(self) -> Frame:
        payload: Frame = self.answer["error"]["data"]["agent_error"]
        return payload


class Ears(StrictClient):
    """The kit's client as the tests use it: it keeps every byte, and stands for no odd line."""

    replies = False
    variable = left_behind.VARIABLE
    stderr_tail_bytes = sys.maxsize
    max_line_bytes = sys.maxsize

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.frames: list[Frame] = []
        self.takes_noise = False
        """Then what is no frame becomes `{"noise": …}`, and the end of stdout `{"end": True}`."""
        super().__init__(command, environment)

    def _receive(self, data: bytes) -> None:
        self.stdout.data += data
        # A line without an end is none, and `Client.is_whole` tells of it.
        if data or self.takes_noise:
            super()._receive(data)
        if not data and self.takes_noise:
            self._add({"end": True})

    def _receive_line(self, line: bytes) -> None:
        frame = frame_of(line)
        if frame is None:
            assert self.takes_noise, f"no JSON object: {line[:300]!r}"
            end = b"\n" if self.stdout.open else b""
            frame = {"noise": repr((line + end)[:40])}
        self._add(frame)

    def _add(self, frame: Frame) -> None:
        self.frames.append(frame)
        self._hear(frame)

    def _note(self, *_: Any, **__: Any) -> None:
        """Keep nothing twice."""

    def forget(self) -> None:
        """Let go of all that has come: what lives long must not fill memory."""
        self.frames.clear()
        self.stdout.data.clear()
        self.stderr.data.clear()


class Client:
    """A client of one agent's process, and of one session of it unless it is told otherwise."""

    info: ClassVar[Frame] = {"name": "raw-client", "version": "1"}
    go: ClassVar[str] = "_agent/go"
    """What an agent waits for that waits to be told."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        session: str = "s1",
    ) -> None:
        """Start a process."""
        self.session = session
        self.mark = left_behind.new_mark()
        given = os.environ if environment is None else environment
        self.peer = Ears(command, {**given, left_behind.VARIABLE: self.mark})
        self._next_id = 0

    # --- what there is

    @property
    def pid(self) -> int:
        return self.peer.pid

    @property
    def exit_status(self) -> int | None:
        """The process's exit status, negative for a signal; `None` while it runs."""
        return self.peer.exit_code

    @property
    def frames(self) -> list[Frame]:
        return self.peer.frames

    @property
    def stdout(self) -> Stream:
        return self.peer.stdout

    @property
    def stderr(self) -> Stream:
        return self.peer.stderr

    @property
    def said(self) -> str:
        return self.stderr.data.decode(errors="replace")

    @property
    def is_whole(self) -> bool:
        """Does what came on stdout end with a line's end?"""
        return self.stdout.data[-1:] in (b"", b"\n")

    # --- writing

    def send_bytes(self, data: bytes, *, fuse: float = FUSE_SECONDS) -> int:
        """Write bytes, reading meanwhile; gives how many were taken before the fuse blew."""
        return self.peer.write(data, fuse)

    def send(self, **members: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"
        assert self.send_bytes(line) == len(line), self.story("our frame is not taken")

    def request(self, method: str, /, *, request_id: Any = None, **params: Any) -> Any:
        """Send a request; gives its id, the next number unless it is given."""
        if request_id is None:
            request_id, self._next_id = self._next_id, self._next_id + 1
        self.send(id=request_id, method=method, params=params)
        return request_id

    def notify(self, method: str, /, **params: Any) -> None:
        self.send(method=method, params=params)

    def prompt(self, text: str, session: str | None = None) -> int:
        content = [{"type": "text", "text": text}]
        return self.request("session/prompt", sessionId=session or self.session, prompt=content)

    def cancel(self, session: str | None = None, **more: Any) -> None:
        self.notify("session/cancel", sessionId=session or self.session, **more)

    def go_on(self) -> None:
        self.notify(self.go)

    # --- reading

    def read_until(
        self, seen: Callable[[], bool], what: str, *, fuse: float = FUSE_SECONDS
    ) -> None:
        """Read until something has been seen, or fail with what was seen instead."""
        deadline = time.monotonic() + fuse
        while not seen():
            open_ = self.stdout.open or self.stderr.open
            assert open_, self.story(f"the process's streams ended: {what}")
            assert time.monotonic() < deadline, self.story(f"not within {fuse} s: {what}")
            self.peer.pump(deadline - time.monotonic())

    def read_until_true(
        self, holds: Callable[[], bool], what: str, *, fuse: float = FUSE_SECONDS
    ) -> None:
        """Read until something holds that the streams do not tell: it is looked at often."""
        deadline = time.monotonic() + fuse
        while not holds():
            assert time.monotonic() < deadline, self.story(f"not within {fuse} s: {what}")
            self.peer.pump(_LOOK_SECONDS)

    def listen(self, seconds: float) -> None:
        self.peer.listen(seconds)

    def read_to_end(self) -> bytes:
        """Everything on stdout, once the process has closed its streams."""
        ended = lambda: not (self.stdout.open or self.stderr.open)  # noqa: E731
        self.read_until_true(ended, "the end of the streams")
        return bytes(self.stdout.data)

    def expect(
        self, wanted: Callable[[Frame], Any], *, since: int = 0, fuse: float = FUSE_SECONDS
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
        return self.expect(lambda f: "method" not in f and f.get("id") == request_id, fuse=fuse)

    def call(self, method: str, **params: Any) -> Frame:
        return self.answer(self.request(method, **params))

    def expect_method(self, method: str, *, since: int = 0) -> Frame:
        return self.expect(lambda frame: frame.get("method") == method, since=since)

    def expect_text(self, text: str) -> Frame:
        return self.expect(lambda f: update_of(f).get("content") == {"type": "text", "text": text})

    def expect_stderr(self, text: str) -> None:
        wanted = text.encode()
        self.read_until(lambda: wanted in self.stderr.data, f"{text!r} on stderr")

    # --- the protocol

    def initialize(self, /, **client_capabilities: Any) -> Frame:
        return self.call(
            "initialize",
            protocolVersion=1,
            clientInfo=self.info,
            clientCapabilities=client_capabilities,
        )

    def open(self, /, **client_capabilities: Any) -> Frame:
        """Initialize and open the session; gives the answer to `initialize`."""
        answer = self.initialize(**client_capabilities)
        opened = self.call("session/new", cwd="/", mcpServers=[])
        self.session = opened["result"]["sessionId"]
        return answer

    def turn(self, text: str, *, fuse: float = FUSE_SECONDS) -> Turn:
        since = len(self.frames)
        return self.end_of(self.prompt(text), since, fuse=fuse)

    def end_of(self, prompt: int, since: int, *, fuse: float = FUSE_SECONDS) -> Turn:
        """The rest of a turn whose prompt was sent when there were `since` frames."""
        answer = self.answer(prompt, fuse=fuse)
        before = self.frames[since : self.frames.index(answer)]
        return Turn(answer, [update_of(frame) for frame in before if update_of(frame)])

    # --- the end

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def close_stdin(self) -> None:
        self.peer.close_stdin()

    def close(self, stream: Stream) -> None:
        """The client reads no more of this one, ever."""
        self.peer.let_go(stream)

    def wait(self, *, fuse: float = FUSE_SECONDS) -> int:
        """The process's exit status, all that it wrote having been read."""
        assert self.peer.wait_for_exit(fuse), self.story("the process does not end")
        streams = (self.stdout, self.stderr)
        deadline = time.monotonic() + fuse
        came = None
        while any(s.open and s.reading for s in streams) and time.monotonic() < deadline:
            before, came = came, [(s.open, s.count) for s in streams]
            if came == before:
                break
            self.peer.pump(LAST_WORDS_SECONDS)
        status = self.exit_status
        assert status is not None
        return status

    def end(self) -> int:
        """Close our side, and give the process's exit status."""
        self.close_stdin()
        return self.wait()

    def kill(self) -> None:
        if self.exit_status is None:
            self.signal(signal.SIGKILL)
        self.peer.close()

    def story(self, problem: str) -> str:
        """What went wrong, and what had been seen until then."""
        last = self.stdout.data[-2000:].decode(errors="replace")
        said = self.said[-3000:]
        return f"{problem}\nexit status: {self.exit_status}\nstdout:\n{last}\nstderr:\n{said}"


def unread_bytes(pipe: int) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(count)


def frame_of(line: bytes) -> Frame | None:
    """The JSON object that a line must be, by the standard and not only for Python."""
    constants: list[str] = []
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, NESTED_LIMIT))
        frame = json.loads(line.decode(), parse_constant=constants.append)
    except ValueError:
        return None
    finally:
        sys.setrecursionlimit(limit)
    return frame if isinstance(frame, dict) and not constants else None


def update_of(frame: Frame) -> Frame:
    """The `update` of a `session/update`, else an empty object."""
    if frame.get("method") != "session/update":
        return {}
    update: Frame = frame["params"]["update"]
    return update


def is_retry(frame: Frame) -> bool:
    """Whether it reports that a model call is tried again."""
    return bool(update_of(frame).get("sessionUpdate") == "agent_retry")


def texts(frames: Sequence[Frame]) -> list[str]:
    contents = [update_of(frame).get("content") for frame in frames]
    return [content["text"] for content in contents if isinstance(content, dict)]


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without anybody's own options; the record stays out of the user's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LASTWORD_")}
    return kept | {"LASTWORD_STATE_DIR": os.environ["LASTWORD_STATE_DIR"]} | more
