"""The connector's probes: the editor's position in each session, and the round-trip time.

Owns which probe is measured. A probe without an answer is handled by the reconnect policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.gateway.connecting.positions import Items, Position

MAX_SESSIONS = 64
"""Sessions that one probe tells of: the gateway keeps the numbers of no more."""


class Probes:
    """The probes over all links, one link after the other."""

    def __init__(self, items: Items) -> None:
        """Number them in the same sequence as the editor's messages."""
        self._items = items
        self._sent = (0, 0.0)
        """The number of the probe that is measured, and when it was sent."""
        self._rtt_ms: float | None = None

    def requests(self, positions: Iterable[Position], now: float) -> list[bytes]:
        """Ping, and report the editor's position in each attached session.

        The duration of the last one is reported once, so that it is counted once.
        """
        attached = [position for position in positions if position.attached][:MAX_SESSIONS]
        params_of_each: list[dict[str, Any]] = [
            {"sessionId": position.session_id, "seq": position.seq} for position in attached
        ] or [{}]
        if self._rtt_ms is not None:
            params_of_each[0]["rttMs"], self._rtt_ms = self._rtt_ms, None
        numbers = [self._items.next_number() for _ in params_of_each]
        self._sent = (numbers[0], now)
        return [
            jsonrpc.request(b"%d" % number, "_lastword/ping", params)
            for number, params in zip(numbers, params_of_each, strict=True)
        ]

    def is_answer(self, number: int, now: float) -> bool:
        """Return whether an answer with this number ends the measured probe."""
        sent, at = self._sent
        if not number or number != sent:
            return False
        self._sent = (0, 0.0)
        self._rtt_ms = round((now - at) * 1000, 3)
        return True

    def unlink(self) -> None:
        """Note that the link is gone, and the answer with it."""
        self._sent = (0, 0.0)
