"""One agent's process as a strict client sees it: bytes, frames, stderr, exit.

Owns the process, its pipes, and the record of what passed. Every wait is bounded, writing never
blocks, and nothing of the agent is left when it is closed. Does not own what is said (`stage`), or
what is thought of it (`checks`).
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Frame = dict[str, Any]

MARK = "LASTWORD_CHECK_RUN"
"""The environment variable by which the processes of a run are found."""

STDERR_TAIL_BYTES = 65536
MAX_EVENTS = 20_000
"""An agent that repeats itself for ever is heard so long; after that only its answers count."""

MAX_EVENT_BYTES = 256 * 1024 * 1024
"""The same for what they hold in all."""

MAX_LINE_BYTES = 64 * 1024 * 1024
"""What goes beyond it is no message to anybody; its beginning is kept as evidence."""

LEFTOVER_GRACE_SECONDS = 2.0
KILL_SECONDS = 5.0
POLL_SECONDS = 0.05
_READ_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Event:
    """One line, as it passed.

    Attributes:
        at: When, in seconds since the process was started.
        sent: Is it ours?
        raw: The line without its end; cut if nobody could read it anyway.
        frame: The message, where it is one.
        problem: Why it is none.
    """

    at: float
    sent: bool
    raw: bytes
    frame: Frame | None = None
    problem: str = ""

    @property
    def is_answer(self) -> bool:
        """Is it the agent's answer to something?"""
        return not self.sent and self.frame is not None and "method" not in self.frame

    @property
    def update(self) -> Frame:
        """The update in it, empty where there is none."""
        params = (self.frame or {}).get("params")
        update = params.get("update") if isinstance(params, dict) else None
        return update if isinstance(update, dict) and not self.sent else {}

    @property
    def kind(self) -> str:
        """The kind of the update in it, empty where there is none."""
        kind = self.update.get("sessionUpdate")
        return kind if isinstance(kind, str) else ""

    @property
    def session(self) -> object:
        """The session that it is about."""
        params = (self.frame or {}).get("params")
        return params.get("sessionId") if isinstance(params, dict) else None


def read(line: bytes) -> tuple[Frame | None, str]:
    """The JSON-RPC message that a line is, else why it is none."""
    try:
        message = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError:
        return None, "it is no UTF-8"
    except (ValueError, RecursionError):
        return None, "it is no JSON"
    if not isinstance(message, dict):
        return None, "it is no object"
    if message.get("jsonrpc") != "2.0":
        return message, 'it has no "jsonrpc": "2.0"'
    if "method" not in message and ("result" in message) is ("error" in message):
        return message, "it is neither request nor answer"
    return message, ""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


class Record:
    """What passes between us and an agent, in order, and waiting for it.

    Attributes:
        events: Every line on stdin and stdout.
        ended: Is the agent's stdout at its end?
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.ended = False
        self._bytes = 0
        self._changed = threading.Condition()
        self._started = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def add(self, raw: bytes, frame: Frame | None, problem: str, *, sent: bool) -> None:
        """Note a line."""
        event = Event(self.now, sent=sent, raw=raw, frame=frame, problem=problem)
        with self._changed:
            room = len(self.events) < MAX_EVENTS and self._bytes < MAX_EVENT_BYTES
            if room or event.is_answer:
                self.events.append(event)
                self._bytes += len(raw)
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing more will come."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wait(self, seconds: float, done: Callable[[], bool]) -> bool:
        """Wait until something holds, the agent's output ends, or the time has passed."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not done():
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    return done()
                self._changed.wait(min(left, 0.5))
        return True


class Link:
    """A running agent. Reads in threads of its own; answers what agents ask of clients.

    Attributes:
        record: What passed on stdin and stdout.
        mark: By what the processes that the agent starts are found.
        pid: The agent's own.
        stderr_bytes: How much the agent wrote to stderr.
        exit_code: As `subprocess` gives it, once it has exited.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        reads_stderr: bool = True,
    ) -> None:
        """Start the agent, in our own working directory, which its command may be relative to.

        Raises:
            OSError: It cannot be started.
        """
        self.record = Record()
        self.mark = env.get(MARK, "")
        self.stderr_bytes = 0
        self.stderr_tail = b""
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603  (the user's own command)
            list(command), stdin=pipe, stdout=pipe, stderr=pipe, env=dict(env),
            start_new_session=True, bufsize=0,
        )  # fmt: skip
        threads: list[Callable[[], None]] = [self._write, self._read]
        self.pid = self._process.pid
        targets = [*threads, self._drain] if reads_stderr else threads
        self._threads = [threading.Thread(target=target, daemon=True) for target in targets]
        for thread in self._threads:
            thread.start()

    @property
    def exit_code(self) -> int | None:
        """The agent's, negative for a signal; `None` while it runs."""
        return self._process.poll()

    def send(self, data: bytes) -> None:
        """Have bytes written as they are; what is a line of a message is recorded as such."""
        for line in data.split(b"\n"):
            if line.strip():
                frame, problem = read(line)
                self.record.add(line, frame, problem, sent=True)
        self._outbox.put(data)

    def send_piece(self, data: bytes) -> None:
        """Have part of a line written; it is not recorded."""
        self._outbox.put(data)

    def close_stdin(self) -> None:
        """Say that nothing more will come."""
        self._outbox.put(None)

    def wait_for_exit(self, seconds: float) -> bool:
        """Whether the process ends within a time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll() is not None

    def close(self) -> None:
        """End whatever is left of it."""
        self._outbox.put(None)
        _signal(self.pid, signal.SIGTERM)
        if not self.wait_for_exit(1.0):
            _signal(self.pid, signal.SIGKILL)
            self.wait_for_exit(KILL_SECONDS)
        _signal(self.pid, signal.SIGKILL)
        for pid in dict(processes(self.mark)):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for thread in self._threads:
            # With the process all ends of its pipes are gone, and whoever waits for them goes on.
            thread.join(KILL_SECONDS)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    # --- the threads

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101  (asked for above)
        with suppress(OSError, ValueError):
            while (data := self._outbox.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[stdin.write(view) or 0 :]
        with suppress(OSError):
            stdin.close()

    def _read(self) -> None:
        for line in _lines(self._process.stdout):
            if not line.strip():
                continue  # every client skips these
            frame, problem = read(line)
            # A line that is none is kept for its evidence only.
            raw = line if frame is not None else line[:STDERR_TAIL_BYTES]
            self.record.add(raw, frame, problem, sent=False)
            if frame is not None and "method" in frame and "id" in frame:
                self.send(json.dumps(_reply(frame)).encode() + b"\n")
        self.record.end()

    def _drain(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101  (asked for above)
        with suppress(OSError, ValueError):
            while data := stderr.read(_READ_BYTES):
                self.stderr_bytes += len(data)
                self.stderr_tail = (self.stderr_tail + data)[-STDERR_TAIL_BYTES:]


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _reply(request: Frame) -> Frame:
    """Allow what the agent may ask for, and have nothing else."""
    params = request.get("params")
    reply: Frame = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "session/request_permission" and isinstance(params, dict):
        return {**reply, "result": {"outcome": _first_option(params.get("options"))}}
    return {**reply, "error": {"code": -32601, "message": "This client does not do that."}}


def _first_option(options: object) -> Frame:
    first = options[0] if isinstance(options, list) and options else {}
    if isinstance(first, dict) and "optionId" in first:
        return {"outcome": "selected", "optionId": first["optionId"]}
    return {"outcome": "cancelled"}


def _lines(stream: Any) -> Iterator[bytes]:
    """Lines without their ends; the last one also where it has none. The longest are cut."""
    pieces: list[bytes] = []
    length = 0
    with suppress(OSError, ValueError):
        while data := stream.read(_READ_BYTES):
            head, *rest = data.split(b"\n")
            if length < MAX_LINE_BYTES:
                pieces.append(head)
                length += len(head)
            for part in rest:
                yield b"".join(pieces)
                pieces, length = [part], len(part)
    if last := b"".join(pieces):
        yield last


def processes(mark: str, *, variable: str = MARK) -> Iterator[tuple[int, str]]:
    """Pid and command line of every live process with the mark in this variable (Linux)."""
    folder = Path("/proc")
    wanted = f"{variable}={mark}".encode()
    for entry in folder.iterdir() if mark and folder.is_dir() else ():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if wanted in environ:
            yield int(entry.name), command.decode("utf-8", "replace").strip()


def leftovers(mark: str) -> list[str]:
    """The command lines of what outlives its agent, after a moment's grace."""
    deadline = time.monotonic() + LEFTOVER_GRACE_SECONDS
    while (alive := dict(processes(mark))) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return list(alive.values())
