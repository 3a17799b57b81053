"""Runs one vector against the core, with a virtual clock.

Owns the way from a vector's steps to the core's interface and back. Every effect that it does not
know, and every clock that does not move, is an error.
"""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from lastword.core.classify import Verdict, classify_exit
from lastword.core.link.effects import Ends, FrameSink, Restart, Side
from lastword.core.protocol import jsonrpc
from tests.kit.vector_format import CHECKS, BadVectorError, Matching, Vector, step_kind
from tests.kit.wire import Wire

if TYPE_CHECKING:
    from lastword.core.link.effects import Order


class Run(Wire):
    """One connection, what has come out of it, and the time."""

    def __init__(self, vector: Vector, *, observed: bool = False) -> None:
        super().__init__(**vector.options)
        self.vector = vector
        self.matching = Matching()
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
            else:
                self._step(kind, step, where)
        self._check(Side.CLIENT, [], f"{self.vector.id} at the end")

    def _step(self, kind: str, step: dict[str, Any], where: str) -> None:
        match kind:
            case "client_eof":
                self.eof(Side.CLIENT)
            case "agent_exit":
                stderr = step.get("stderr", "")
                if stderr:
                    self.stderr(stderr.encode())
                cause = _cause(step[kind], stderr, in_turn=not self.core.idle)
                self.carry_out(self.core.receive_eof(Side.AGENT, lambda: cause, self.now))
            case "stderr_bytes":
                self.stderr(b"x" * step[kind])
            case "time":
                if step[kind] < self.now:
                    raise BadVectorError(where, "time goes back")
                self.time(float(step[kind]))
            case _:
                self._said(step, kind)

    def _said(self, step: dict[str, Any], kind: str) -> None:
        """A side sends a frame, a line, or one that is too long."""
        name, _, how = kind.partition("_")
        side = Side(name)
        if how == "long_line":
            self.carry_out(self.core.receive_oversized(side, step[kind].encode(), self.now))
            return
        for _ in range(step.get("times", 1)):
            frame = self.matching.fill(step[kind])
            text = frame if how else json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
            line = text.encode()
            if side is Side.AGENT and self.observed:
                messages = jsonrpc.decode_block(line + b"\n")
                if messages and self.core.observe(messages, 0, self.now):
                    self.to_client.append(line)
                    continue
            self._receive(side, line)

    def _check(self, side: Side, expected: list[Any] | dict[str, Any], where: str) -> None:
        came = self.to_client if side is Side.CLIENT else self.to_agent
        lines = [*came]
        came.clear()
        self.matching.check(expected, lines, where)

    def _obey(self, order: Order) -> None:
        assert isinstance(order, Restart), f"{self.vector.id}: cannot carry out {order}"
        self.carry_out(self.core.agent_started(self.now))


class _Peer(FrameSink):
    """A side, and which of what it gets is the core's own."""

    def __init__(self, run: Run, side: Side) -> None:
        super().__init__((run.to_client if side is Side.CLIENT else run.to_agent).append)
        self._own, self._side = run.own, side

    def send(self, line: bytes) -> None:
        super().send(line)
        self._own.append((self._side, line))

    def answer(self, _: bytes, line: bytes) -> None:
        self.send(line)


def _cause(how: dict[str, Any], stderr: str, *, in_turn: bool) -> Verdict:
    if how.keys() == {"code"}:
        return classify_exit(exit_code=how["code"], stderr_tail=stderr, in_turn=in_turn)
    if how.keys() == {"signal"}:
        number = signal.Signals[how["signal"]].value
        return classify_exit(exit_signal=number, stderr_tail=stderr, in_turn=in_turn)
    raise BadVectorError("agent_exit", f"cannot end by {how}")
