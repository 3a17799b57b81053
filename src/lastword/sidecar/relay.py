"""Frames through the core: lines from one side, and what is written to either side.

Owns the path of a line from its bytes to the core's effects, and the writing of unchanged lines
in runs. It reads no descriptor.

The file of `--frames`: what both sides sent, and what lastword made of it, for a bug report. Owns
the file, which is this user's alone, and its lines. A line is a JSON object with the time `at`
(seconds since 1970), the `pid` of the process that wrote it, who sent a message (`from`), who got
it (`to`: null for nobody), and the message (`frame`, or `text` if it is not JSON or is too long).
`was` is the message as it came, if lastword changed it. Secrets are removed. Several processes may
write one file. It is loaded if the option is given.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.effects import AGENT, CLIENT, Ends, FrameSink, Spend
from lastword.core.protocol import glued, jsonrpc
from lastword.core.redact.redactor import Redactor
from lastword.platform.files import CREATE, NO_LINK, is_own, restrict
from lastword.platform.framing import whole_lines
from lastword.platform.identity import IMPLEMENTATION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.core.link.effects import Effect, Order, Side
    from lastword.core.link.failopen import FailOpen
    from lastword.core.timeline.entry import Entry
    from lastword.platform.framing import FrameWriter


MAX_NOISE_BYTES = 1024 * 1024


class Relay:
    """Carries lines between a client, the core, and an agent."""

    def __init__(
        self,
        connection: FailOpen,
        to_client: FrameWriter,
        to_agent: FrameWriter | None,
        recorder: Callable[[Entry], None],
    ) -> None:
        self._connection = connection
        self._to_client = to_client
        self._to_agent = to_agent
        # What goes to either while one block is worked on: written with one call at its end.
        self._client_run: list[bytes] = []
        self._agent_run: list[bytes] = []
        self.orders: list[Order] = []
        """The core's requests about the agent's process; `drain_orders` returns each once."""
        self._ends = Ends(
            client=FrameSink(self._client_run.append),
            agent=FrameSink(self._agent_run.append),
            record=recorder,
            order=self._order,
        )
        self.spend: Callable[[Spend], object] | None = None
        """Called with each further cost, at once: the limit holds for the next frame already."""
        self.before_end: Callable[[float], list[Effect]] | None = None
        """Called with the time where an answer is held back, before the line behind it; returns
        what comes of the answer."""
        self.client_spoke: bool = False
        self.noise: bytearray = bytearray()
        """The output, before the client's first message, of a program that is not an agent."""
        self.noise_cut: bool = False
        self.frames: Callable[[Side | None, bytes, list[bytes], list[bytes]], object] | None = None
        """Called with what came from one side, and what is written to the client and the agent."""

    def attach_agent(self, to_agent: FrameWriter | None) -> None:
        """Write to this agent from now on; `None` for no agent."""
        self._to_agent = to_agent

    def _order(self, order: Order) -> None:
        if not isinstance(order, Spend):
            self.orders.append(order)
        elif self.spend is not None:
            self.spend(order)

    def drain_orders(self) -> list[Order]:
        """Return the core's requests since the last call, for the sidecar to carry out."""
        orders = self.orders.copy()
        self.orders.clear()
        return orders

    def from_agent(self, block: bytes, now: float) -> None:
        messages = jsonrpc.decode_block(block)
        # A response has no method: it always takes the long path.
        passed = 0
        if messages and messages[0].method is not None:
            passed = self._connection.observe(messages, 0, now)
        if messages and passed == len(messages):
            if self.frames is not None:
                self.frames(AGENT, block, jsonrpc.split_block(block, messages) or [block], [])
            self._to_client.write(block)
            return
        lines = jsonrpc.split_block(block, messages) if messages else None
        if messages is None or lines is None:
            for line in block.removesuffix(b"\n").split(b"\n"):
                if line.strip():
                    self._agent_line(line, now)
                else:
                    self._note(line)
        else:
            run = self._client_run
            run += lines[:passed]
            while passed < len(lines):
                self._agent_frame(jsonrpc.frame(lines[passed], messages[passed]), now)
                start = passed = passed + 1
                if start < len(lines):
                    passed += self._connection.observe(messages, start, now)
                    run += lines[start:passed]
        self._write_runs(AGENT, block)

    def _agent_line(self, line: bytes, now: float) -> None:
        for part in glued.decode_parts(line, may_quote=True):
            self._agent_frame(part, now)

    def _agent_frame(self, frame: jsonrpc.Frame | jsonrpc.Malformed, now: float) -> None:
        if isinstance(frame, jsonrpc.Malformed):
            self._note(frame.line)
        effects = self._connection.receive(AGENT, frame, now)
        self._ends.carry_out(effects, AGENT, frame)
        if not effects and self.before_end is not None:
            self._ends.carry_out(self.before_end(now))

    def _note(self, line: bytes) -> None:
        """Keep a line that is not a frame, for users who ran a command such as `agent --help`."""
        if self.client_spoke or self.noise_cut:
            return
        self.noise_cut = len(self.noise) + len(line) >= MAX_NOISE_BYTES
        if not self.noise_cut:
            self.noise += line + b"\n"

    def from_client(self, block: bytes, now: float) -> None:
        for line in whole_lines(block):
            self.client_spoke = True
            frame = jsonrpc.decode(line)
            if isinstance(frame, jsonrpc.Frame):
                self._client_frame(frame, now)
            else:
                for part in glued.parts(frame, may_quote=False):
                    self._client_frame(part, now)
        self._write_runs(CLIENT, block)

    def _client_frame(self, frame: jsonrpc.Frame | jsonrpc.Malformed, now: float) -> None:
        effects = self._connection.receive(CLIENT, frame, now)
        self._ends.carry_out(effects, CLIENT, frame)

    def apply(self, effects: list[Effect]) -> None:
        """Carry out effects that were not caused by a line."""
        if effects:
            self._ends.carry_out(effects)
            self._write_runs()

    def _write_runs(self, sender: Side | None = None, block: bytes = b"") -> None:
        if self.frames is not None:
            self.frames(sender, block, self._client_run, self._agent_run)
        if self._client_run:
            _write(self._to_client, self._client_run)
        if self._agent_run:
            if self._to_agent is not None:
                _write(self._to_agent, self._agent_run)
            else:
                self._agent_run.clear()


def _write(outlet: FrameWriter, lines: list[bytes]) -> None:
    lines.append(b"")
    outlet.write(b"\n".join(lines))
    lines.clear()


MAX_FRAME_BYTES = 64 * 1024
"""A longer message is cut."""

MAX_FILE_BYTES = 16 * 1024 * 1024
"""At this size the file is renamed, with `.1` at its end, and another is begun."""

Line = dict[str, Any]


class Frames:
    """A file that messages are appended to."""

    def __init__(
        self, path: str, secrets: Sequence[str] = (), *, max_bytes: int = MAX_FILE_BYTES
    ) -> None:
        """Open it.

        Args:
            path: Where it is.
            secrets: Values that are removed wherever they occur.
            max_bytes: The size at which another is begun.

        Raises:
            OSError: It cannot be written, is not a file, or is another user's.
        """
        self._path = os.path.abspath(os.path.expanduser(path))
        self._max_bytes = max_bytes
        self._redactor = Redactor(values=tuple(secrets))
        self._fd = _opened(self._path)
        self._append([{"at": time.time(), "pid": os.getpid(), "lastword": IMPLEMENTATION}])

    def note(
        self, sender: Side | None, block: bytes, to_client: list[bytes], to_agent: list[bytes]
    ) -> None:
        """Append what one side sent, if anything, and what either side got for it.

        Raises:
            OSError: The file cannot be written; no part of a line is left in it.
        """
        came = [line for line in block.split(b"\n") if line.strip()]
        lines: list[Line] = []
        for side, got in (("client", to_client), ("agent", to_agent)):
            passes = sender is not None and sender.other.value == side
            for sent in got:
                line: Line = {"from": "lastword", "to": side}
                origin = _origin(sent, came) if passes and sender is not None else None
                if sender is not None and origin is not None:
                    came.remove(origin)
                    line["from"] = sender.value
                line |= self._content("frame", sent)
                if origin is not None and origin != sent:
                    line |= self._content("was", origin)
                lines.append(line)
        for withheld in came:
            name = (sender or CLIENT).value
            lines.append({"from": name, "to": None} | self._content("frame", withheld))
        head = {"at": time.time(), "pid": os.getpid()}
        self._append([head | line for line in lines])

    def _content(self, name: str, line: bytes) -> Line:
        value = _decoded(line) if len(line) <= MAX_FRAME_BYTES else None
        if value is not None:
            return {name: self._redactor.json(value)}
        text = self._redactor(line.decode(errors="replace"))
        return {"text" if name == "frame" else "was": text, "bytes": len(line)}

    def _append(self, lines: Sequence[Line]) -> None:
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        size = self._size()
        if size and size + len(data) > self._max_bytes:
            os.close(self._fd)
            os.replace(self._path, f"{self._path}.1")
            self._fd = _opened(self._path)
        written = os.write(self._fd, data)
        if written < len(data):
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise OSError(errno.ENOSPC, "the disk is full")

    def _size(self) -> int:
        """Return the size of the file, opened again if another process has begun a new one."""
        status = os.fstat(self._fd)
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(status, there):
            os.close(self._fd)
            self._fd = _opened(self._path)
            status = os.fstat(self._fd)
        return status.st_size


def _opened(path: str) -> int:
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        raise OSError(errno.EPERM, "a queue, which would wait for its reader")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | CREATE | NO_LINK, 0o600)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or not is_own(status):
        os.close(fd)
        raise OSError(errno.EPERM, "not a file of yours")
    restrict(fd)
    return fd


def _origin(sent: bytes, came: Sequence[bytes]) -> bytes | None:
    """Return the message that this one is, or was made of."""
    if sent in came:
        return sent
    key = _key(sent)
    return next((line for line in came if key is not None and _key(line) == key), None)


def _key(line: bytes) -> tuple[object, ...] | None:
    """Return what a message keeps when lastword changes it."""
    value = _decoded(line)
    if not isinstance(value, dict):
        return None
    update = value.get("params", {}).get("update") if isinstance(value.get("params"), dict) else {}
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return repr(value.get("id")), value.get("method"), kind


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
