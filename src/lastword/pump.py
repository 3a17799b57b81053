"""The sidecar's loop: descriptors that are ready, the core between them, timers.

Owns poll, and the order in which things are looked at. What a frame means is the core's to say;
when the session between the two processes is over is `sidecar`'s.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios
import time
from typing import TYPE_CHECKING

from lastword.core import jsonrpc
from lastword.core.effects import Answer, Effect, Forward, Record, Send, Side
from lastword.lines import READ_BYTES, LineReader, Outlet, StderrOutlet

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.timeline import Entry
    from lastword.fuse import FusedConnection

BLOCKED_SECONDS = 1.0
"""A client that takes no bytes for so long stops the clocks."""

LATE_SECONDS = 1.0
"""How much later than due a clock may be looked at while there is always something to read."""

MAX_NOISE_BYTES = 64 * 1024
MAX_ANSWERS_BYTES = 8 * 1024 * 1024


class Pump:
    """Moves frames between the client's descriptors, the core, and the agent's."""

    def __init__(
        self,
        connection: FusedConnection,
        *,
        client: tuple[int, int],
        agent: tuple[int, int, int] | None,
        line_limit_bytes: int,
        recorder: Callable[[Entry], None],
    ) -> None:
        """Take descriptors: the client's (to read, to write), the agent's (stdin, stdout, stderr).

        All but the client's reading end and our stderr are expected not to block.
        """
        self._connection = connection
        self._recorder = recorder
        self._poll = select.poll()
        self._interest: dict[int, int] = {}
        self.client = LineReader(line_limit_bytes)
        self.agent = LineReader(line_limit_bytes)
        self.to_client = Outlet(client[1])
        self.to_agent = Outlet(agent[0]) if agent else None
        self.stderr = StderrOutlet(2)
        self._client_fd = client[0]
        self._agent_fd = agent[1] if agent else -1
        self._stderr_fd = agent[2] if agent else -1
        self.client_open = True
        self.agent_open = agent is not None
        self.stderr_open = agent is not None
        self.client_spoke = False
        self.noise = bytearray()
        """What a program that is no agent printed before the client spoke."""
        self._blocked_since: float | None = None
        self.waited_seconds = 0.0
        self._busy = False

    def watch(self, fd: int) -> None:
        """Wake up when this descriptor is readable; its owner reads it."""
        self._poll.register(fd, select.POLLIN)

    def wait(self, wake_at: float | None) -> None:
        """Wait until something happens, `wake_at` at the latest, and move what is there."""
        self._update_interest()
        before = time.monotonic()
        due = self._connection.next_timeout()
        blocked = self.to_client.pending_bytes > 0
        wakes = [at for at in (wake_at, None if blocked else due) if at is not None]
        timeout = max(0.0, min(wakes) - before) if wakes else None
        ready = self._poll.poll(None if timeout is None else timeout * 1000 + 0.5)
        now = time.monotonic()
        self.waited_seconds = now - before
        self._busy = bool(ready)
        for fd, events in ready:
            self._dispatch(fd, events, now)
        self._note_blocking(now)

    def stood_still(self) -> None:
        """The last wait was no wait of the agent's: we were stopped, and it with us."""
        self._connection.stand_still(self.waited_seconds)

    def look_at_clocks(self, now: float) -> None:
        """Do what is due.

        What is ready has been read before: an agent that spoke in time must not look stalled
        because we were late. While the client takes nothing, no clock runs.
        """
        due = self._connection.next_timeout()
        late = LATE_SECONDS if self._busy else 0.0
        if due is not None and due + late <= now and not self.to_client.pending_bytes:
            self.apply(self._connection.handle_timeout(now))

    def _update_interest(self) -> None:
        wanted = {self.to_client.fd: select.POLLOUT if self.to_client.pending_bytes else 0}
        if self.client_open:
            full = self.to_agent is not None and self.to_agent.full
            # A client that writes without reading is still read, up to a bound: it may be waiting
            # for us to take its bytes before it takes ours.
            flooded = self.to_client.pending_bytes > MAX_ANSWERS_BYTES
            wanted[self._client_fd] = 0 if full or flooded else select.POLLIN
        if self.agent_open:
            wanted[self._agent_fd] = 0 if self.to_client.full else select.POLLIN
        if self.stderr_open:
            wanted[self._stderr_fd] = select.POLLIN
        if self.to_agent is not None and not self.to_agent.closed and self.to_agent.pending_bytes:
            wanted[self.to_agent.fd] = select.POLLOUT
        if self.stderr.pending:
            wanted[self.stderr.fd] = select.POLLOUT
        if self.to_client.broken or self.to_client.closed:
            del wanted[self.to_client.fd]
        if wanted == self._interest:
            return
        for fd in self._interest.keys() - wanted.keys():
            self._poll.unregister(fd)
        for fd, events in wanted.items():
            if self._interest.get(fd) != events:
                self._poll.register(fd, events)
        self._interest = wanted

    def _dispatch(self, fd: int, events: int, now: float) -> None:
        if fd == self._agent_fd and self.agent_open:
            self.read_agent(now)
        elif fd == self._client_fd and self.client_open:
            self._read_client(now)
        elif fd == self._stderr_fd and self.stderr_open:
            self.read_stderr(now)
        elif fd == self.to_client.fd:
            if events & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                self.to_client.give_up()
            else:
                self.to_client.flush()
        elif self.to_agent is not None and fd == self.to_agent.fd:
            self.to_agent.flush()
        elif fd == self.stderr.fd:
            self.stderr.flush()

    def _note_blocking(self, now: float) -> None:
        """While the client takes nothing, the agent cannot show progress: its clocks stand."""
        if not self.to_client.pending_bytes:
            if self._blocked_since is not None and now - self._blocked_since > BLOCKED_SECONDS:
                self._connection.stand_still(now - self._blocked_since)
            self._blocked_since = None
        elif self._blocked_since is None:
            self._blocked_since = now

    def read_agent(self, now: float) -> int:
        """Read once from the agent; gives how many bytes there were."""
        try:
            data = os.read(self._agent_fd, READ_BYTES)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self.agent_open = False
            return 0
        oversized, block = self.agent.feed(data)
        if oversized is not None:
            self.apply(self._connection.receive_oversized(Side.AGENT, oversized, now))
        if block:
            self._agent_lines(block, now)
        return len(data)

    def _agent_lines(self, block: bytes, now: float) -> None:
        is_run = block.find(b"\n") < len(block) - 1
        if is_run and jsonrpc.is_text(block):
            messages = jsonrpc.decode_block(block)
            if messages and self._connection.observe(messages, now):
                self.to_client.write(block)
                return
        out: list[bytes] = []
        for line in block.split(b"\n"):
            if line and not line.isspace():
                message = jsonrpc.decode(line)
                glued = isinstance(message, jsonrpc.Malformed) and jsonrpc.unglue(line)
                for part in map(jsonrpc.decode, glued) if glued else (message,):
                    self._agent_message(part, out, now)
        self._flush_run(self.to_client, out)

    def _agent_message(
        self, message: jsonrpc.Frame | jsonrpc.Malformed, out: list[bytes], now: float
    ) -> None:
        if isinstance(message, jsonrpc.Malformed):
            line = message.line
            if not self.client_spoke:
                self.noise += line[: MAX_NOISE_BYTES - len(self.noise)] + b"\n"
        elif self._connection.observe([message.message], now):
            out += (message.line, b"\n")
            return
        effects = self._connection.receive(Side.AGENT, message, now)
        for effect in effects:
            if isinstance(effect, Forward):
                out += (message.line, b"\n")
            elif isinstance(effect, Send | Answer) and effect.to is Side.CLIENT:
                out += (effect.frame, b"\n")
            else:
                self._apply_one(effect)

    def unread_bytes(self) -> int:
        """How much of the agent's output waits in its pipe."""
        count = bytearray(4)
        try:
            fcntl.ioctl(self._agent_fd, termios.FIONREAD, count)
        except OSError:
            return 0
        return int.from_bytes(count, sys.byteorder)

    def last_line(self, now: float) -> None:
        """The agent is gone: its last line counts even without a line end, if it is whole."""
        rest = self.agent.rest()
        if rest and not rest.isspace():
            self._agent_lines(rest + b"\n", now)

    def _read_client(self, now: float) -> None:
        try:
            data = os.read(self._client_fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.client_open = False
            data = self.client.rest()
            data += b"\n" if data else b""
        oversized, block = self.client.feed(data)
        if oversized is not None:
            self.apply(self._connection.receive_oversized(Side.CLIENT, oversized, now))
        out: list[bytes] = []
        for line in block.split(b"\n"):
            if line and not line.isspace():
                self._client_line(line, out, now)
        if self.to_agent is not None:
            self._flush_run(self.to_agent, out)

    def _client_line(self, line: bytes, out: list[bytes], now: float) -> None:
        self.client_spoke = True
        message = jsonrpc.decode(line)
        for effect in self._connection.receive(Side.CLIENT, message, now):
            if isinstance(effect, Forward):
                out += (message.line, b"\n")
            elif isinstance(effect, Send | Answer) and effect.to is Side.AGENT:
                out += (effect.frame, b"\n")
            else:
                self._apply_one(effect)

    def read_stderr(self, now: float) -> bool:
        """Read once from the agent's stderr; gives whether there was anything."""
        try:
            data = os.read(self._stderr_fd, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.stderr_open = False
            return False
        self.stderr.write(data)
        self.apply(self._connection.receive_stderr(data, now))
        return True

    def apply(self, effects: list[Effect]) -> None:
        """Carry out effects that came of no frame."""
        for effect in effects:
            self._apply_one(effect)

    def _apply_one(self, effect: Effect) -> None:
        if isinstance(effect, Record):
            self._recorder(effect.entry)
        elif isinstance(effect, Send | Answer):
            outlet = self.to_client if effect.to is Side.CLIENT else self.to_agent
            if outlet is not None:
                outlet.write(effect.frame + b"\n")

    def _flush_run(self, outlet: Outlet, out: list[bytes]) -> None:
        """Write a run of frames with one call."""
        outlet.write(out[0] if len(out) == 1 else b"".join(out))
