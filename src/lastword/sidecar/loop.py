"""The sidecar's loop: ready descriptors, due timers, and the path of a line through the core.

Owns poll, the reading of descriptors, and the order: input that is ready is handled before a timer
that is due, and unchanged lines are written in runs. `session` decides when the session is over.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.effects import AGENT, CLIENT, Ends, FrameSink, Side, Spend
from lastword.core.protocol import glued, jsonrpc
from lastword.platform import pipes
from lastword.platform.framing import READ_BYTES, FrameWriter, LineReader, whole_lines
from lastword.platform.pipes import POLLIN, POLLOUT
from lastword.platform.standstill import BEAT_SECONDS, Standstill, beat_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.link.effects import Effect, Order
    from lastword.core.link.failopen import FailOpen
    from lastword.core.timeline.entry import Entry
    from lastword.platform.framing import StderrWriter
    from lastword.sidecar.child import Console
    from lastword.sidecar.sources import Sources


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
        self.to_agent: FrameWriter | None = to_agent
        """Where the agent reads; `None` for no agent."""
        # What goes to either side while one block is handled: written with one call at its end.
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
        """Called with each further cost at once: the limit applies to the very next frame."""
        self.before_end: Callable[[float], list[Effect]] | None = None
        """Called with the time if an answer may be held back, before the next line is handled;
        returns the effects that end the turn."""
        self.client_spoke: bool = False
        self.noise: bytearray = bytearray()
        """The output, before the client's first message, of a program that is not an agent."""
        self.noise_cut: bool = False
        self.frames: Callable[[Side | None, bytes, list[bytes], list[bytes]], object] | None = None
        """Called with what one side sent, and what is written to the client and to the agent."""

    def _order(self, order: Order) -> None:
        if not isinstance(order, Spend):
            self.orders.append(order)
        elif self.spend is not None:
            self.spend(order)

    def drain_orders(self) -> list[Order]:
        """Return the core's requests since the last call."""
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
                if not line.strip():
                    self._note(line)
                    continue
                for part in glued.decode_parts(line, may_quote=True):
                    self._agent_frame(part, now)
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

    def _agent_frame(self, frame: jsonrpc.Frame | jsonrpc.Malformed, now: float) -> None:
        if isinstance(frame, jsonrpc.Malformed):
            self._note(frame.line)
        effects = self._connection.receive(AGENT, frame, now)
        self._ends.carry_out(effects, AGENT, frame)
        if not effects and self.before_end is not None:
            self._ends.carry_out(self.before_end(now))

    def _note(self, line: bytes) -> None:
        """Keep a line that is not a frame: the user may have run `agent --help`."""
        if self.client_spoke or self.noise_cut:
            return
        self.noise_cut = len(self.noise) + len(line) >= MAX_NOISE_BYTES
        if not self.noise_cut:
            self.noise += line + b"\n"

    def from_client(self, block: bytes, now: float) -> None:
        for line in whole_lines(block):
            self.client_spoke = True
            for part in glued.decode_parts(line, may_quote=False):
                self._ends.carry_out(self._connection.receive(CLIENT, part, now), CLIENT, part)
        self._write_runs(CLIENT, block)

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
            if self.to_agent is not None:
                _write(self.to_agent, self._agent_run)
            else:
                self._agent_run.clear()


def _write(outlet: FrameWriter, lines: list[bytes]) -> None:
    lines.append(b"")
    outlet.write(b"\n".join(lines))
    lines.clear()


BLOCKED_SECONDS = 1.0
"""A client that reads nothing for this long stops the clocks."""

LATE_SECONDS = 1.0
"""How late a timer may be handled while there is always something to read."""

BREATH_SECONDS = 0.05

MAX_ANSWERS_BYTES = 8 * 1024 * 1024

MAX_AHEAD_BYTES = MAX_ANSWERS_BYTES
"""How much more is read from a client once the agent's pipe is full: a cancel may follow, or the
next prompt, which with pictures has some megabytes."""


class Descriptors(msgspec.Struct, frozen=True, kw_only=True):
    """The descriptors that the loop uses. All but the client's reading end are non-blocking.

    Attributes:
        client: for reading from and writing to the client.
        agent: the agent's stdin, stdout and stderr; `None` if the agent could not be started.
        wake: wakes the loop when readable; its owner reads it. -1 for none.
    """

    client: tuple[int, int]
    agent: tuple[int, int, int] | None
    wake: int


class PollLoop:
    """Moves bytes between the client's descriptors and the agent's."""

    read_bytes = READ_BYTES
    """How much is read at once from one descriptor; within a long line it may be `READ_BYTES`."""

    def __init__(  # noqa: PLR0913 - six options is our own limit
        self,
        connection: FailOpen,
        descriptors: Descriptors,
        console: Console,
        note: Callable[[Entry], None],
        *,
        line_limit_bytes: int,
        to_client: FrameWriter | None = None,
    ) -> None:
        """Create it; `to_client` replaces the writing end, for a client in this process."""
        client, agent = descriptors.client, descriptors.agent
        self._connection = connection
        self._poll = pipes.Poller()
        if descriptors.wake >= 0:
            self._poll.register(descriptors.wake, POLLIN)
        self._interest: dict[int, int] = {}
        self._client_fd = client[0]
        self._agent_fd = agent[1] if agent else -1
        self._stderr_fd = agent[2] if agent else -1
        self._client_lines = LineReader(line_limit_bytes)
        self._line_limit_bytes = line_limit_bytes
        self._agent_lines = LineReader(line_limit_bytes)
        self.to_client: FrameWriter = to_client or FrameWriter(client[1])
        self.to_agent = FrameWriter(agent[0]) if agent else None
        self._console = console
        self.stderr: StderrWriter = console.stderr
        self.relay: Relay = Relay(connection, self.to_client, self.to_agent, note)
        self.beside: Sources | None = None
        """Sources of evidence with descriptors besides the pipes."""
        self.before_client: Callable[[float], object] | None = None
        """Called with the time before the client's bytes are handled."""
        self.client_open: bool = True
        self.agent_open: bool = agent is not None
        self.stderr_open: bool = self.agent_open
        self._blocked_since: float | None = None
        self._busy = False
        self._ahead_bytes = 0
        """The number of bytes read from the client since the agent's pipe became full."""
        self._owes_answer = False
        """Whether the client had an open request when the read-ahead became full."""
        self._standstill = Standstill()
        self._woke_at = time.monotonic()

    def detach_agent(self) -> None:
        """Stop using the descriptors of an agent that has ended."""
        if self.to_agent is not None:
            self.to_agent.close()
        self.to_agent = self.relay.to_agent = None
        self.agent_open = self.stderr_open = False
        self._agent_fd = self._stderr_fd = -1

    def attach_agent(self, agent: tuple[int, int, int]) -> None:
        self.to_agent = self.relay.to_agent = FrameWriter(agent[0])
        self._agent_fd, self._stderr_fd = agent[1], agent[2]
        self._agent_lines = LineReader(self._line_limit_bytes)
        self.agent_open = self.stderr_open = True

    @property
    def talking(self) -> bool:
        """Return whether both pipes of the agent are open."""
        return self.agent_open and self.to_agent is not None and not self.to_agent.broken

    def wait(self, wake_at: float | None) -> None:
        """Wait for bytes, at most until `wake_at`, and move what is available."""
        wake = self.prepare(wake_at)
        timeout = None
        if wake is not None:
            before = time.monotonic()
            timeout = (wake - before) * 1000 + 0.5 if wake > before else 0.5
        self.move(wake, timeout)

    def prepare(self, wake_at: float | None) -> float | None:
        """Register the descriptors to wait for; return how long to wait, at most."""
        interest = {self.to_client.fd: POLLOUT if self.to_client.pending_bytes else 0}
        if self.client_open:
            # A client that writes without reading is still read, up to a bound: it may be waiting
            # for us to take its bytes before it takes ours.
            paused = self.to_client.pending_bytes > MAX_ANSWERS_BYTES
            if self.to_agent is None or not self.to_agent.full:
                self._ahead_bytes = 0
            elif not paused and self._ahead_bytes >= MAX_AHEAD_BYTES:
                if self._owes_answer and self._connection.idle:
                    # We answered in the agent's place: what follows must be read as well.
                    self._ahead_bytes = 0
                else:
                    # Memory is bound to a full pipe, the read-ahead, and the rest of one line.
                    paused = self._client_lines.part_bytes <= READ_BYTES
            interest[self._client_fd] = 0 if paused else POLLIN
        # They are polled in this order: what came on stderr before an answer explains it.
        if self.stderr_open:
            interest[self._stderr_fd] = POLLIN
        if self.agent_open:
            interest[self._agent_fd] = 0 if self.to_client.full else POLLIN
        if self.to_agent is not None and not self.to_agent.closed and self.to_agent.pending_bytes:
            interest[self.to_agent.fd] = POLLOUT
        if self.stderr.pending:
            interest[self.stderr.fd] = POLLOUT
        if self.beside is not None and self.beside.fd >= 0:
            interest[self.beside.fd] = self.beside.poll_events
        if self.beside is not None and self.beside.observer_fd >= 0:
            interest[self.beside.observer_fd] = POLLIN
        if self.to_client.broken or self.to_client.closed:
            del interest[self.to_client.fd]
        if interest != self._interest:
            self._register(interest)

        due = None if self.to_client.pending_bytes else self._connection.next_timeout()
        if due is not None:
            self._standstill.begin(self._woke_at)
            # A timer that waits for a look is due again when the look is: at `wake_at`.
            looks = self.beside is not None and self.beside.holds_timer
            left = BEAT_SECONDS if looks else due - self._woke_at
            due = self._woke_at + beat_seconds(left)
        return due if wake_at is None or (due is not None and due < wake_at) else wake_at

    def _register(self, interest: dict[int, int]) -> None:
        for fd in self._interest.keys() - interest.keys():
            self._poll.unregister(fd)
        for fd, events in interest.items():
            if self._interest.get(fd) != events:
                self._poll.register(fd, events)
        self._interest = interest

    def move(self, wake: float | None, timeout_ms: float | None) -> None:
        """Move the available bytes; wait for them at most this long. `wake` is when it was due."""
        try:
            ready = self._poll.poll(timeout_ms)
        except OSError:
            # The kernel is out of memory: for a moment, or for all of us.
            time.sleep(BREATH_SECONDS)
            ready = []
        now = time.monotonic()
        if wake is not None:
            # Counted from the last round: we may have been stopped before we waited. The clocks
            # move before anything is read, since that happened later.
            stood_still = self._standstill.seconds(now - max(wake, self._woke_at))
            if stood_still > 0:
                self._connection.stand_still(stood_still)
                if self._blocked_since is not None:
                    self._blocked_since += stood_still
        self._woke_at = now
        self._busy = bool(ready)
        for fd, events in ready:
            self._dispatch(fd, events, now)
        # No timer runs while the client does not read: the agent cannot show progress.
        if self.to_client.pending_bytes:
            if self._blocked_since is None:
                self._blocked_since = now
        elif self._blocked_since is not None:
            if now - self._blocked_since > BLOCKED_SECONDS:
                self._connection.stand_still(now - self._blocked_since)
            self._blocked_since = None

    def is_clock_due(self, now: float) -> bool:
        """Return whether a timer is due.

        Ready input is read first, so that an agent that answered in time does not look stalled
        when lastword is late. No timer runs while the client does not read.
        """
        due = self._connection.next_timeout()
        late = LATE_SECONDS if self._busy else 0.0
        return due is not None and due + late <= now and not self.to_client.pending_bytes

    def _dispatch(self, fd: int, events: int, now: float) -> None:
        if fd == self._agent_fd and self.agent_open:
            if self.beside is not None and self.beside.observer_fd >= 0:
                # What its runtime reported earlier explains an answer.
                self.beside.read_observer(now, early=True)
            self.read_agent(now)
        elif fd == self._client_fd and self.client_open:
            data = self._read(self._client_fd, self._console)
            if data is not None:
                if not data:
                    self.client_open = False
                    rest = self._client_lines.rest()
                    data = rest + b"\n" if rest else b""
                self.receive_client(data, now)
        elif fd == self._stderr_fd and self.stderr_open:
            self.read_stderr(now)
        elif fd == self.to_client.fd:
            if events & pipes.GONE:
                self.to_client.give_up()
            else:
                self.to_client.flush()
        elif self.to_agent is not None and fd == self.to_agent.fd:
            self.to_agent.flush()
        elif fd == self.stderr.fd:
            self.stderr.flush()
        elif self.beside is not None and fd == self.beside.fd:
            self.beside.ready(now)
        elif self.beside is not None and fd == self.beside.observer_fd:
            self.beside.read_observer(now)

    def read_agent(self, now: float) -> int:
        """Read once from the agent; return the number of bytes."""
        part = self._agent_lines.part_bytes
        data = self._read(self._agent_fd, size=max(self.read_bytes, min(part, READ_BYTES)))
        if not data:
            self.agent_open = data is None
            return 0
        oversized, block = self._agent_lines.feed(data)
        if oversized is not None:
            self.relay.apply(self._connection.receive_oversized(Side.AGENT, oversized, now))
        if block:
            self.relay.from_agent(block, now)
        return len(data)

    def hand_over(self) -> tuple[bytes, bytes]:
        """Return, and forget, the agent's incomplete line and the bytes that it has not read."""
        unsent = self.to_agent.pending() if self.to_agent is not None else b""
        return self._agent_lines.rest(), unsent

    def restore(self, begun: bytes, unsent: bytes) -> None:
        """Continue with what `hand_over` returned in an earlier process."""
        self._agent_lines.feed(begun)
        if self.to_agent is not None:
            self.to_agent.write(unsent)

    @property
    def holds_part(self) -> bool:
        """Return whether the agent has written part of a line."""
        return self._agent_lines.holds_part

    def last_line(self, now: float) -> None:
        """Handle the last line of an agent that has gone, if only its newline is missing."""
        rest = self._agent_lines.rest()
        if not rest or rest.isspace():
            return
        # A frame that was cut short by the agent's death is not a broken answer: the death is the
        # cause.
        parts = glued.decode_parts(rest, may_quote=True)
        begun = rest.lstrip(jsonrpc.BLANKS).startswith(b"{")
        if not begun or any(isinstance(part, jsonrpc.Frame) for part in parts):
            self.relay.from_agent(rest + b"\n", now)

    def receive_client(self, data: bytes, now: float) -> None:
        if self.before_client is not None:
            self.before_client(now)
        oversized, block = self._client_lines.feed(data)
        if oversized is not None:
            self.relay.apply(self._connection.receive_oversized(Side.CLIENT, oversized, now))
        self.relay.from_client(block, now)
        if self.to_agent is not None and self.to_agent.full:
            self._ahead_bytes += len(data)
            if self._ahead_bytes >= MAX_AHEAD_BYTES:
                self._owes_answer = not self._connection.idle

    def read_stderr(self, now: float) -> bool:
        """Read once from the agent's stderr; return whether there was anything."""
        data = self._read(self._stderr_fd)
        if not data:
            self.stderr_open = data is None
            return False
        self.stderr.write(data)
        self.relay.apply(self._connection.receive_stderr(data, now))
        return True

    def _read(self, fd: int, console: Console | None = None, size: int = 0) -> bytes | None:
        """Read once; return `b""` at the end, and `None` if nothing is available.

        An error counts as the end, and is reported to `console`.
        """
        try:
            return pipes.read(fd, size or self.read_bytes)
        except BlockingIOError:
            return None
        except OSError as error:
            if console is not None:
                console.say(f"cannot read from the client: {error.strerror}")
            return b""
