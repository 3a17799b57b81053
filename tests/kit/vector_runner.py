"""Runs one vector against the core, with a virtual clock.

Owns the way from a vector's steps to the core's interface and back. Every effect that it does not
know, and every clock that does not move, is an error.
"""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from lastword.core.classify import Verdict, classify_exit
from lastword.core.link.connection import Connection, LinkOptions
from lastword.core.link.effects import FORWARD, Ends, FrameSink, Restart, Side
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import jsonrpc
from tests.kit.vector_format import CHECKS, BadVectorError, Matching, Vector, step_kind

if TYPE_CHECKING:
    from lastword.core.link.effects import Effect, Order

SENT = frozenset(f"{side.value}{how}" for side in Side for how in ("", "_line", "_long_line"))
"""The steps in which a side sends something."""

MAX_TIMEOUTS = 1000
"""Timers that may fire within one `time` step before the clock counts as stuck."""


def _raised(error: Exception) -> None:
    raise error


class Run:
    """One connection, what has come out of it, and the time."""

    def __init__(self, vector: Vector, *, observed: bool = False) -> None:
        self.vector = vector
        self.connection = FailOpen(Connection(LinkOptions(**vector.options)), _raised)
        self.matching = Matching()
        self.now = 0.0
        self.out: dict[Side, list[bytes]] = {Side.CLIENT: [], Side.AGENT: []}
        self.observed = observed
        """Offer the agent's lines to the core's fast path first."""
        self.own: list[tuple[Side, bytes]] = []
        """What the core sent of itself: frames of its own, and the agent's that it had held."""
        self._ends = Ends(
            client=_Peer(self, Side.CLIENT),
            agent=_Peer(self, Side.AGENT),
            record=lambda _: None,
            order=self._obey,
        )

    def all_steps(self) -> None:
        """Run the vector; afterwards nothing unexpected may have come to the client."""
        for number, step in enumerate(self.vector.steps):
            kind = step_kind(step, self.vector.id)
            where = f"{self.vector.id} step {number} {kind}"
            if kind in CHECKS:
                self._check(Side(kind.removeprefix("to_")), step[kind], where)
            elif kind in SENT:
                self._said(step, kind, where)
            else:
                getattr(self, f"_step_{kind}")(step, where)
        self._check(Side.CLIENT, [], f"{self.vector.id} at the end")

    def _said(self, step: dict[str, Any], kind: str, where: str) -> None:
        """A side sends a frame, a line, or one that is too long."""
        name, _, how = kind.partition("_")
        side = Side(name)
        if how == "long_line":
            head = step[kind].encode()
            self._carry_out(self.connection.receive_oversized(side, head, self.now), where)
            return
        for _ in range(step.get("times", 1)):
            frame = self.matching.fill(step[kind])
            self._line(side, frame.encode() if how == "line" else _encode(frame), where)

    def _step_client_eof(self, _step: dict[str, Any], where: str) -> None:
        self._carry_out(self.connection.receive_eof(Side.CLIENT, None, self.now), where)

    def _step_agent_exit(self, step: dict[str, Any], where: str) -> None:
        stderr = step.get("stderr", "")
        if stderr:
            self._carry_out(self.connection.receive_stderr(stderr.encode(), self.now), where)
        cause = _cause(step["agent_exit"], stderr, in_turn=not self.connection.idle)
        self._carry_out(self.connection.receive_eof(Side.AGENT, lambda: cause, self.now), where)

    def _step_stderr_bytes(self, step: dict[str, Any], where: str) -> None:
        data = b"x" * step["stderr_bytes"]
        self._carry_out(self.connection.receive_stderr(data, self.now), where)

    def _step_time(self, step: dict[str, Any], where: str) -> None:
        until = float(step["time"])
        if until < self.now:
            raise BadVectorError(where, "time goes back")
        for _ in range(MAX_TIMEOUTS):
            due = self.connection.next_timeout()
            if due is None or due > until:
                break
            self.now = max(self.now, due)
            self._carry_out(self.connection.handle_timeout(self.now), where)
        else:
            raise AssertionError(f"{where}: the clock is stuck at {self.now}")
        self.now = until

    def _check(self, side: Side, expected: list[Any] | dict[str, Any], where: str) -> None:
        lines, self.out[side] = self.out[side], []
        self.matching.check(expected, lines, where)

    def _line(self, side: Side, line: bytes, where: str) -> None:
        if side is Side.AGENT and self.observed:
            messages = jsonrpc.decode_block(line + b"\n")
            if messages and self.connection.observe(messages, 0, self.now):
                self.out[Side.CLIENT].append(line)
                return
        message = jsonrpc.decode(line)
        effects = self.connection.receive(side, message, self.now)
        self._carry_out(effects, where, side, message)

    def _carry_out(self, effects: list[Effect], where: str, *came: Any) -> None:
        assert came or FORWARD not in effects, f"{where}: nothing to forward"
        self._where = where
        self._ends.carry_out(effects, *came)

    def _obey(self, order: Order) -> None:
        assert isinstance(order, Restart), f"{self._where}: cannot carry out {order}"
        self._carry_out(self.connection.agent_started(self.now), self._where)


class _Peer(FrameSink):
    """A side, and which of what it gets is the core's own."""

    def __init__(self, run: Run, side: Side) -> None:
        super().__init__(self._take)
        self._run, self._side = run, side

    def _take(self, line: bytes) -> None:
        self._run.out[self._side].append(line)

    def send(self, line: bytes) -> None:
        self._take(line)
        self._run.own.append((self._side, line))

    def answer(self, _: bytes, line: bytes) -> None:
        self.send(line)


def _encode(frame: Any) -> bytes:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()


def _cause(how: dict[str, Any], stderr: str, *, in_turn: bool) -> Verdict:
    if how.keys() == {"code"}:
        return classify_exit(exit_code=how["code"], stderr_tail=stderr, in_turn=in_turn)
    if how.keys() == {"signal"}:
        number = signal.Signals[how["signal"]].value
        return classify_exit(exit_signal=number, stderr_tail=stderr, in_turn=in_turn)
    raise BadVectorError("agent_exit", f"cannot end by {how}")
