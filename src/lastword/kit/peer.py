"""An agent's process as a strict client sees it: bytes, then frames, then ACP messages.

Owns the process, its three pipes, and the record of both directions. It has no thread: it reads
only during a wait, every wait has a timeout, and closing it leaves nothing of the agent behind. The
doctor, the checks, the demo and the tests decide what to send, and judge the answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from lastword.core.protocol import acp
from lastword.platform import pipes, process
from lastword.platform.signals import SIGKILL, SIGTERM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Frame = dict[str, Any]
Environment = Mapping[str, str] | Callable[[int, int], Mapping[str, str]]
"""A process's environment, or a function of the descriptors of its stdin and stdout."""

MARK = "LASTWORD_KIT_RUN"
"""The environment variable by which the processes of a run are found."""

STDERR_TAIL_BYTES = 65536
STDERR_TIMES = 1000
EVIDENCE_BYTES = 65536
TERM_SECONDS = 1.0
"""How long a process may take to exit after SIGTERM, as in the sidecar's guardian."""

KILL_SECONDS = 5.0
LEFTOVER_GRACE_SECONDS = 2.0

_READ_BYTES = 1 << 20
_LOOK_SECONDS = 0.02
"""The polling interval: a process's exit is invisible on pipes that its child still holds open."""


@dataclass(slots=True)
class Stream:
    """One of the process's outputs.

    Attributes:
        fd: Our end of the pipe.
        open: Whether it is still open.
        reading: Whether we read it.
        data: The part that is retained.
        count: How many bytes were read.
    """

    fd: int
    open: bool = True
    reading: bool = True
    data: bytearray = field(default_factory=bytearray)
    count: int = 0


class Piped:
    """A process on three pipes: bytes in, bytes out.

    Attributes:
        agent: The process.
        mark: The value by which the processes that it starts are identified.
        stdout: Its output; a subclass decides what is retained.
        stderr: Its stderr, of which the end is retained.
        stderr_times: The latest reads of stderr: the time in seconds, and the bytes read by then.
        stdin_open: Whether it can be written to.
        unsent: Bytes that are queued and not yet written.
    """

    variable: ClassVar[str] = MARK
    stderr_tail_bytes: ClassVar[int] = STDERR_TAIL_BYTES

    def __init__(
        self,
        command: Sequence[str],
        environment: Environment | None = None,
        *,
        apart: bool = True,
    ) -> None:
        """Start the process, in our own working directory, which its command may be relative to.

        Args:
            command: The command.
            environment: Its whole environment, if it is not ours. With a mark in it (`variable`),
                the processes that it starts are found and killed too, whatever their group.
            apart: Whether it inherits no open files; else as under `lastword run`.

        Raises:
            OSError: It cannot be started.
        """
        marked = environment if isinstance(environment, Mapping) else {}
        self.mark: str = marked.get(self.variable, "")
        self.started_at: float = time.monotonic()
        self.agent: process.Agent = process.spawn(command, environment=environment, apart=apart)
        self.stdout: Stream = Stream(self.agent.stdout)
        self.stderr: Stream = Stream(self.agent.stderr)
        self.stderr_times: list[tuple[float, int]] = []
        self.stdin_open: bool = True
        self.unsent: bytearray = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Its process id, which is not reused until it is closed."""
        return self.agent.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit status, negative for a signal; `None` while it runs."""
        ended = self.agent.poll()
        if ended is None:
            return None
        return -ended.signal if ended.signal is not None else ended.code or 0

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_at

    # --- writing

    def queue(self, data: bytes) -> None:
        """Write bytes as far as possible now, and the rest during later waits."""
        self.unsent += data
        self._flush()

    def write(self, data: bytes, seconds: float) -> int:
        """Write bytes, and read meanwhile; the rest is dropped after this time.

        Returns:
            How many were written.

        Raises:
            BrokenPipeError: The process has closed its stdin.
        """
        self.queue(data)
        deadline = time.monotonic() + seconds
        while self.unsent and time.monotonic() < deadline:
            self.pump(deadline - time.monotonic())
        if not self.stdin_open:
            raise BrokenPipeError
        left = len(self.unsent)
        self.unsent.clear()
        return len(data) - left

    def close_stdin(self) -> None:
        self.unsent.clear()
        self.stdin_open = False
        if self.agent.stdin >= 0:
            pipes.close(self.agent.stdin)
            self.agent.stdin = -1

    def _flush(self) -> None:
        if not self.stdin_open:
            self.unsent.clear()
            return
        try:
            while self.unsent:
                del self.unsent[: pipes.write(self.agent.stdin, self.unsent[:_READ_BYTES])]
        except BlockingIOError:
            return
        except OSError:
            self.stdin_open = False
            self.unsent.clear()

    # --- reading and waiting

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until `done` is true, the output has ended, or the time has passed."""
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0 or not self.stdout.open:
                return done()
            self.pump(min(left, _LOOK_SECONDS))
        return True

    def wait_for_exit(self, seconds: float) -> bool:
        """Return whether the process exits within this time."""
        deadline = time.monotonic() + seconds
        while self.agent.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.pump(min(left, _LOOK_SECONDS))
        return True

    def listen(self, seconds: float) -> None:
        """Read all output during this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and (self.stdout.open or self.stderr.open):
            self.pump(left)

    def pump(self, seconds: float) -> None:
        """Wait until a pipe is ready, then read or write it."""
        poll = pipes.Poller()
        streams = {s.fd: s for s in (self.stdout, self.stderr) if s.open and s.reading}
        for fd in streams:
            poll.register(fd, pipes.POLLIN)
        writing = bool(self.unsent) and self.stdin_open
        if writing:
            poll.register(self.agent.stdin, pipes.POLLOUT)
        for fd, _events in poll.poll(max(0.0, seconds) * 1000 + 1):
            if fd not in streams:
                if writing:
                    self._flush()
                continue
            stream = streams[fd]
            try:
                data = pipes.read(stream.fd, _READ_BYTES)
            except BlockingIOError:
                continue
            stream.open = bool(data)
            stream.count += len(data)
            if stream is self.stdout:
                self._receive(data)
            else:
                stream.data += data
                del stream.data[: -self.stderr_tail_bytes]
                self.stderr_times.append((self.now, stream.count))
                del self.stderr_times[:-STDERR_TIMES]

    def _receive(self, data: bytes) -> None:
        """Process bytes of stdout, empty at its end."""
        self.stdout.data += data

    # --- ending

    def kill(self) -> None:
        """Kill it and the processes that it started, from any thread; our pipes stay open."""
        self.agent.signal_group(SIGKILL)
        for pid in dict(processes(self.mark, variable=self.variable)):
            with suppress(OSError):
                os.kill(pid, SIGKILL)

    def close(self) -> None:
        """End the process and everything that it started, and close the pipes."""
        self.close_stdin()
        if self.agent.poll() is None:
            self.agent.signal_group(SIGTERM)
            self.wait_for_exit(TERM_SECONDS)
        self.kill()
        self.wait_for_exit(KILL_SECONDS)
        self.release()

    def release(self) -> None:
        """Close the pipes of a process that has exited, without killing its children."""
        self.close_stdin()
        self.agent.reap()
        for stream in (self.stdout, self.stderr):
            self.let_go(stream)

    def let_go(self, stream: Stream) -> None:
        """Close our end of a stream."""
        if stream.fd >= 0:
            pipes.close(stream.fd)
        stream.fd, stream.open = -1, False


@dataclass(frozen=True, slots=True)
class PeerEvent:
    """One line in either direction.

    Attributes:
        at: When, in seconds since the process was started.
        sent: Whether we sent it.
        raw: The line without its end; cut if it is not a message.
        frame: The message, if it is one.
        problem: Why it is not a message.
    """

    at: float
    sent: bool
    raw: bytes
    frame: Frame | None = None
    problem: str = ""

    @property
    def is_answer(self) -> bool:
        return not self.sent and self.frame is not None and "method" not in self.frame

    @property
    def is_permission_request(self) -> bool:
        frame = self.frame or {}
        return not self.sent and frame.get("method") == acp.PERMISSION and "id" in frame

    def requests_permission_in(self, session: object) -> bool:
        """Return whether the agent asks for a permission in a session."""
        return self.is_permission_request and self.session == session

    def answers(self, request_id: object) -> bool:
        """Return whether it is the agent's answer to this id, of the same type."""
        given = (self.frame or {}).get("id")
        return self.is_answer and type(given) is type(request_id) and given == request_id

    @property
    def update(self) -> Frame:
        """The agent's update, empty if it has none."""
        params = (self.frame or {}).get("params")
        update = params.get("update") if isinstance(params, dict) else None
        return update if isinstance(update, dict) and not self.sent else {}

    @property
    def kind(self) -> str:
        """The kind of the update, empty if it has none."""
        kind = self.update.get("sessionUpdate")
        return kind if isinstance(kind, str) else ""

    @property
    def session(self) -> object:
        """The id of its session, `None` if it has none."""
        return _session_of(self.frame or {})


def _session_of(message: Frame) -> object:
    params = message.get("params")
    return params.get("sessionId") if isinstance(params, dict) else None


def read(line: bytes) -> tuple[Frame | None, str]:
    """Return the JSON-RPC message in a line if it has one, and what is wrong with the line."""
    try:
        message = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError:
        return None, "it is not UTF-8"
    except (ValueError, RecursionError):
        return None, "it is not JSON"
    if not isinstance(message, dict):
        return None, "it is not an object"
    if message.get("jsonrpc") != "2.0":
        return message, 'it has no "jsonrpc": "2.0"'
    if "method" not in message and ("result" in message) is ("error" in message):
        return message, "it is neither request nor answer"
    return message, ""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


class Peer(Piped):
    """A process that speaks JSON-RPC, a message a line. It sends nothing by itself.

    Attributes:
        events: Every line on stdin and stdout, in order.
    """

    first_id: ClassVar[int] = 0
    max_events: ClassVar[int] = 20_000
    """The limit of recorded lines; beyond it, only answers are recorded."""

    max_event_bytes: ClassVar[int] = 256 * 1024 * 1024
    """The same for their total size."""

    max_line_bytes: ClassVar[int] = 64 * 1024 * 1024
    """No client accepts a longer line; its beginning is recorded as evidence."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Environment | None = None,
        *,
        apart: bool = True,
    ) -> None:
        """Start the process; the arguments are `Piped`'s."""
        self.events: list[PeerEvent] = []
        self._event_bytes = 0
        self._pieces: list[bytes] = []
        self._length = 0
        self._next_id = self.first_id
        super().__init__(command, environment, apart=apart)

    def go_on_from(self, earlier: Peer) -> None:
        """Continue the record, the ids and the clock of the process before."""
        self.started_at: float = earlier.started_at
        self.events[:0] = earlier.events
        self._next_id = max(self._next_id, earlier._next_id)
        self.stderr.data[:0] = earlier.stderr.data
        self.stderr.count += earlier.stderr.count
        self.stderr_times[:0] = earlier.stderr_times

    # --- writing

    def send_bytes(self, data: bytes) -> None:
        """Queue bytes unchanged, and record their lines."""
        for line in data.split(b"\n"):
            if line.strip():
                self._note(line, *read(line), sent=True)
        self.queue(data)

    def send(self, **members: object) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def request(self, method: str, params: object, request_id: object = None) -> object:
        if request_id is None:
            request_id, self._next_id = self._next_id, self._next_id + 1
        self.send(id=request_id, method=method, params=params)
        return request_id

    # --- reading and waiting

    def find(
        self, fits: Callable[[PeerEvent], bool], seconds: float, *, since: int = 0
    ) -> PeerEvent | None:
        """Return the first matching event from index `since` on, `None` if none comes in time."""
        matches: list[PeerEvent] = []
        index = since

        def look() -> bool:
            nonlocal index
            while index < len(self.events) and not matches:
                if fits(self.events[index]):
                    matches.append(self.events[index])
                index += 1
            return bool(matches)

        self.wait(look, seconds)
        return matches[0] if matches else None

    def answer_to(self, request_id: object, seconds: float) -> PeerEvent | None:
        """Return the answer with this id, `None` if none comes in time."""
        return self.find(lambda event: event.answers(request_id), seconds)

    def _receive(self, data: bytes) -> None:
        head, *rest = data.split(b"\n")
        if self._length < self.max_line_bytes:
            self._pieces.append(head)
            self._length += len(head)
        for part in rest:
            self._receive_line(b"".join(self._pieces))
            self._pieces, self._length = [part], len(part)
        if not data and self._length:
            self._receive_line(b"".join(self._pieces))
            self._pieces, self._length = [], 0

    def _receive_line(self, line: bytes) -> None:
        if not line.strip():
            return  # clients ignore blank lines
        frame, problem = None, f"it is longer than {self.max_line_bytes >> 20} MiB"
        if len(line) < self.max_line_bytes:
            frame, problem = read(line)
        # A line that is not a message is only evidence.
        raw = line if frame is not None else line[:EVIDENCE_BYTES]
        self._note(raw, frame, problem, sent=False)
        if frame is not None:
            self._hear(frame)

    def _hear(self, message: Frame) -> None:
        """React to a received message."""

    def _note(self, raw: bytes, frame: Frame | None, problem: str, *, sent: bool) -> None:
        event = PeerEvent(self.now, sent, raw, frame, problem)
        room = len(self.events) < self.max_events and self._event_bytes < self.max_event_bytes
        if room or event.is_answer:
            self.events.append(event)
            self._event_bytes += len(raw)


class StrictClient(Peer):
    """An ACP client without any capability.

    It allows every permission request and refuses all others, unless `replies` is off. While it
    `ponders`, it leaves permission requests open.
    """

    replies: bool = True
    ponders: bool = False
    _dialogs: tuple[Frame, ...] = ()
    _allowed: tuple[str, ...] = ()

    def initialize(
        self,
        capabilities: Frame | None = None,
        *,
        version: int = 1,
        info: Frame | None = None,
        dialect: acp.Dialect | None = None,
    ) -> object:
        """Send `initialize`, with version 1's names unless `version` is 2; return its id."""
        dialect = dialect or (acp.V2 if version == acp.V2.version else acp.V1)
        params: Frame = {
            "protocolVersion": version,
            dialect.client_capabilities: capabilities or {},
        }
        if info is not None:
            params[dialect.client_info] = info
        return self.request(acp.INITIALIZE, params)

    def new_session(self, cwd: str) -> object:
        """Send `session/new`; return the request's id."""
        return self.request("session/new", {"cwd": cwd, "mcpServers": []})

    def prompt(self, session: str, text: str) -> object:
        """Begin a turn; return the request's id."""
        blocks = [{"type": "text", "text": text}]
        return self.request(acp.PROMPT, {"sessionId": session, "prompt": blocks})

    def cancel(self, session: str) -> None:
        self.send(method=acp.CANCEL, params={"sessionId": session})

    def leave_dialogs(self) -> None:
        """Answer every open permission request as cancelled, as if the user had cancelled."""
        self.ponders = False
        for request in self._dialogs:
            self.send(id=request["id"], result={"outcome": {"outcome": "cancelled"}})
        self._dialogs = ()

    def allow_dialogs(self, session: str) -> None:
        """Allow a session's open permission requests, the latest first, and all later ones."""
        self._allowed = (*self._allowed, session)
        own = [request for request in self._dialogs if _session_of(request) == session]
        self._dialogs = tuple(request for request in self._dialogs if request not in own)
        for request in reversed(own):
            self.send(**self._reply(request))

    def _hear(self, message: Frame) -> None:
        is_dialog = message.get("method") == acp.PERMISSION and "id" in message
        if self.ponders and is_dialog and _session_of(message) not in self._allowed:
            self._dialogs = (*self._dialogs, message)
            return
        if self.replies and "method" in message and "id" in message:
            self.send(**self._reply(message))

    def _reply(self, request: Frame) -> Frame:
        """Allow a permission, once if that is offered; refuse everything else."""
        params = request.get("params")
        if request["method"] != acp.PERMISSION or not isinstance(params, dict):
            return refused(request, "This client does not do that.")
        options = params.get("options")
        listed = options if isinstance(options, list) else []
        usable = [each for each in listed if isinstance(each, dict) and "optionId" in each]
        once = [each for each in usable if each.get("kind") == "allow_once"]
        allowing = [each for each in usable if str(each.get("kind")).startswith("allow")]
        outcome: Frame = {"outcome": "cancelled"}
        if usable:
            option = (*once, *allowing, *usable)[0]
            outcome = {"outcome": "selected", "optionId": option["optionId"]}
        return {"id": request["id"], "result": {"outcome": outcome}}


def refused(request: Frame, message: str) -> Frame:
    """Return the answer to a request for an unsupported method."""
    return {"id": request["id"], "error": {"code": acp.METHOD_NOT_FOUND, "message": message}}


# --- remaining processes


def processes(mark: str, *, variable: str = MARK) -> Iterator[tuple[int, str]]:
    """Yield pid and command line of every live process with this mark (Linux)."""
    folder = Path("/proc")
    marker = f"{variable}={mark}".encode()
    for entry in folder.iterdir() if mark and sys.platform == "linux" else ():
        if not entry.name.isdigit():
            continue
        try:
            # Zombies have no environment; a process may exit meanwhile.
            environ = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if marker in environ:
            yield int(entry.name), command.decode("utf-8", "replace").strip()


def leftovers(
    mark: str, seconds: float = LEFTOVER_GRACE_SECONDS, *, variable: str = MARK
) -> dict[int, str]:
    """Return the command lines of processes that outlive their agent by this time, by pid."""
    deadline = time.monotonic() + seconds
    while (alive := dict(processes(mark, variable=variable))) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    return alive
