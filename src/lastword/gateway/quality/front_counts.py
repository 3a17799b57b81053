"""Counts of viewers' links: connections, round trips, attaches.

Owns the counts. They start again at 0 after a restart or reload, as Prometheus expects.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.gateway.log.recorded_entries import cause_of
from lastword.gateway.quality import table
from lastword.gateway.quality.counts import Counts
from lastword.gateway.quality.links import LinkQuality

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.gateway.quality.table import Metric


class FrontCounts:
    """Counts of viewers' links."""

    def __init__(self) -> None:
        self.counts: Counts = Counts()
        self._listener: Callable[[Metric, float, tuple[str, ...]], None] | None = None
        self._began = time.time()
        self._links: dict[LinkQuality, str] = {}
        """The open links, with the transport of each."""

    def listen(self, listener: Callable[[Metric, float, tuple[str, ...]], None]) -> None:
        """Also report each observation to a listener, as it comes."""
        self._listener = listener

    def open_link(self, transport: str) -> LinkQuality:
        """Count a viewer's connection."""
        link = LinkQuality(self)
        self._links[link] = transport
        return link

    def close_link(self, link: LinkQuality, code: int, reason: str = "") -> None:
        """Count the end of a connection, by its close code and by its cause."""
        transport = self._links.pop(link, None)
        if transport is not None:
            self.counts.add(table.CLOSED, 1, transport, str(code))
            self.counts.add(table.ENDED, 1, cause_of(code, reason))

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Count a duration."""
        self.counts.observe(metric, value, *labels)
        if self._listener is not None:
            self._listener(metric, value, labels)

    def pong(self, seconds: float) -> None:
        """Count an answer to a WebSocket's ping."""
        self.observe(table.RTT, seconds, "websocket")

    def ping_missed(self) -> None:
        """Count a WebSocket's ping without an answer in time."""
        self.counts.add(table.PINGS_MISSED, 1)

    def gauges(self, heads: Mapping[str, int]) -> dict[str, float]:
        """Return the gauges, given the heads of the sessions."""
        gauges: dict[str, float] = {table.STARTED.key(): self._began}
        for transport in self._links.values():
            key = table.CONNECTIONS.key(transport)
            gauges[key] = gauges.get(key, 0) + 1
        behind = sum(link.unacknowledged(heads) for link in self._links)
        return gauges | {table.UNACKNOWLEDGED.key(): behind}
