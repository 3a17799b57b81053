"""Frames through the core: lines that came from one side, and what goes to either for them.

Owns the way of a line from its bytes to the effects that the core gives, and runs of lines that
pass untouched with one write. Reads no descriptor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core import jsonrpc
from lastword.core.effects import Answer, Effect, Forward, Kill, Record, Restart, Send, Side
from lastword.lines import whole_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.timeline import Entry
    from lastword.fuse import FusedConnection
    from lastword.lines import Outlet

MAX_NOISE_BYTES = 1024 * 1024


class Relay:
    """Carries lines between a client, the core, and an agent."""

    def __init__(
        self,
        connection: FusedConnection,
        to_client: Outlet,
        to_agent: Outlet | None,
        recorder: Callable[[Entry], None],
    ) -> None:
        self._connection = connection
        self._to_client = to_client
        self.to_agent = to_agent
        self._recorder = recorder
        self.orders: list[Kill | Restart] = []
        """What the core asked for about the agent's process, for the sidecar to carry out."""
        self.client_spoke = False
        self.noise = bytearray()
        """What a program that is no agent printed before the client spoke."""
        self.noise_cut = False

    def from_agent(self, block: bytes, now: float) -> None:
        """Take in whole lines of the agent's."""
        messages = jsonrpc.decode_block(block)
        taken = self._connection.observe(messages, 0, now) if messages else 0
        if messages and taken == len(messages):
            self._to_client.write(block)
            return
        out: list[bytes] = []
        lines = jsonrpc.split_block(block, messages) if messages else None
        if messages is None or lines is None:
            for line in block.removesuffix(b"\n").split(b"\n"):
                if line.strip():
                    self._agent_line(line, out, now)
                else:
                    self._note(line)
        else:
            out += lines[:taken]
            while taken < len(lines):
                self._agent_frame(jsonrpc.frame(lines[taken], messages[taken]), out, now)
                start = taken = taken + 1
                if start < len(lines):
                    taken += self._connection.observe(messages, start, now)
                    out += lines[start:taken]
        _write(self._to_client, out)

    def _agent_line(self, line: bytes, out: list[bytes], now: float) -> None:
        frame = jsonrpc.decode(line)
        glued = isinstance(frame, jsonrpc.Malformed) and jsonrpc.unglue(line)
        for part in map(jsonrpc.decode, glued) if glued else (frame,):
            self._agent_frame(part, out, now)

    def _agent_frame(
        self, frame: jsonrpc.Frame | jsonrpc.Malformed, out: list[bytes], now: float
    ) -> None:
        if isinstance(frame, jsonrpc.Malformed):
            self._note(frame.line)
        effects = self._connection.receive(Side.AGENT, frame, now)
        self._carry_out(effects, frame.line, Side.CLIENT, out)

    def _note(self, line: bytes) -> None:
        """Keep a line that is no frame, for whoever ran a command such as `agent --help`."""
        if self.client_spoke or self.noise_cut:
            return
        self.noise_cut = len(self.noise) + len(line) >= MAX_NOISE_BYTES
        if not self.noise_cut:
            self.noise += line + b"\n"

    def from_client(self, block: bytes, now: float) -> None:
        """Take in whole lines of the client's."""
        out: list[bytes] = []
        for line in whole_lines(block):
            self.client_spoke = True
            frame = jsonrpc.decode(line)
            effects = self._connection.receive(Side.CLIENT, frame, now)
            self._carry_out(effects, frame.line, Side.AGENT, out)
        if self.to_agent is not None:
            _write(self.to_agent, out)

    def _carry_out(
        self, effects: list[Effect], line: bytes, onward: Side, out: list[bytes]
    ) -> None:
        """Carry out what came of one line; what goes onward joins the run, in order."""
        for effect in effects:
            if isinstance(effect, Forward):
                out.append(line)
            elif isinstance(effect, Send | Answer) and effect.to is onward:
                out.append(effect.frame)
            else:
                self.apply([effect])

    def apply(self, effects: list[Effect]) -> None:
        """Carry out effects that came of no line."""
        for effect in effects:
            if isinstance(effect, Record):
                self._recorder(effect.entry)
            elif isinstance(effect, Kill | Restart):
                self.orders.append(effect)
            elif isinstance(effect, Send | Answer):
                outlet = self._to_client if effect.to is Side.CLIENT else self.to_agent
                if outlet is not None:
                    outlet.write(effect.frame + b"\n")


def _write(outlet: Outlet, lines: list[bytes]) -> None:
    """Write a run of lines with one call."""
    if lines:
        lines.append(b"")
        outlet.write(b"\n".join(lines))
