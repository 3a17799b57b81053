"""Frames through the core: lines from one side, and what is written to either side.

Owns the path of a line from its bytes to the core's effects, and the writing of unchanged lines
in runs. It reads no descriptor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.link.effects import AGENT, CLIENT, Ends, FrameSink, Spend
from lastword.core.protocol import glued, jsonrpc
from lastword.platform.framing import whole_lines

if TYPE_CHECKING:
    from collections.abc import Callable

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
