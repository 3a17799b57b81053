"""Viewers' links as the front measures them: how long an attach takes, and what has arrived.

Owns the measurements of a link while it is open. They are bounded, and end with the link.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.quality import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.quality.front_counts import FrontCounts

MAX_ATTACHING = 64
MAX_SESSIONS = 64
MAX_RTT_MS = 600_000
ATTACHES = frozenset({"session/new", acp.LOAD, acp.RESUME})
ENVELOPE_BYTES = 64
"""Where an answer's id stands, and another frame's method."""


class LinkQuality:
    """One link."""

    def __init__(self, measured: FrontCounts) -> None:
        self._measured = measured
        self._attaching: dict[bytes, tuple[str, float]] = {}
        """For each request that attaches its method, and when it came."""
        self._acknowledged: dict[str, int] = {}

    def request(self, frame: Frame) -> None:
        """Note a frame from the viewer that is passed on."""
        method, request_id = frame.message.method, frame.message.request_id
        if request_id is None or method not in ATTACHES:
            return
        if len(self._attaching) < MAX_ATTACHING:
            self._attaching[request_id] = (method, time.perf_counter())

    def holder_sent(self, line: bytes) -> None:
        """Note a line from a holder for the viewer."""
        if not self._attaching or b'"method"' in line[:ENVELOPE_BYTES]:
            return
        frame = jsonrpc.decode(line)
        if isinstance(frame, jsonrpc.Frame) and frame.message.method is None:
            outcome = "ok" if jsonrpc.loads(frame.message.error) is None else "error"
            self._attached(frame.message.request_id, outcome)

    def failed(self, request_id: bytes | None) -> None:
        """Note that the front answered a request of the viewer that cannot be passed on."""
        self._attached(request_id, "error")

    def _attached(self, request_id: bytes | None, outcome: str) -> None:
        method, began = self._attaching.pop(request_id or b"", ("", 0.0))
        if method:
            seconds = time.perf_counter() - began
            self._measured.observe(table.ATTACH, seconds, method, outcome)

    def ping(self, frame: Frame, sessions: Iterable[str]) -> None:
        """Take in `_lastword/ping`: the viewer's position, and the duration of its last ping.

        The position belongs to the session that it names, or to the only one of `sessions`, to
        which the viewer is attached.
        """
        params = jsonrpc.params_of(frame)
        rtt, seq = params.get("rttMs"), params.get("seq")
        if isinstance(rtt, (int, float)) and not isinstance(rtt, bool) and 0 <= rtt <= MAX_RTT_MS:
            self._measured.observe(table.RTT, rtt / 1000, "viewer")
        attached = list(sessions)
        named = params.get("sessionId")
        session = named if isinstance(named, str) else attached[0] if len(attached) == 1 else ""
        has_room = session in self._acknowledged or len(self._acknowledged) < MAX_SESSIONS
        if session in attached and has_room and isinstance(seq, int) and not isinstance(seq, bool):
            self._acknowledged[session] = seq

    def unacknowledged(self, heads: Mapping[str, int]) -> int:
        """Return how many entries the viewer has not acknowledged, given the sessions' heads."""
        return sum(
            max(heads[session] - seq, 0)
            for session, seq in self._acknowledged.items()
            if session in heads
        )
