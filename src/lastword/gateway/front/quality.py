"""The gateway's own quality: `/readyz`, `/metrics`, and the metrics for OpenTelemetry.

Owns when it is counted, who may read what, and the snapshot that all readers share.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from lastword.gateway.front.doorkeeper import is_forwarded
from lastword.gateway.quality import table
from lastword.gateway.quality.counts import Counts, FrontCounts, OutboxMetrics, Snapshot
from lastword.gateway.quality.exposition import CONTENT_TYPE, exposition, meters_of
from lastword.gateway.quality.readiness import NotReady, NotReadyTold, Readiness, ReadyTold

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from lastword.gateway.front.doorkeeper import Requester
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.settings.gateway import GatewaySettings

COUNT_EVERY_SECONDS = 15.0
"""How often a snapshot is made though nobody asks for it, for OpenTelemetry."""

FRESH_SECONDS = 1.0
"""How long a snapshot is reused, however many read it."""


class Quality:
    """The quality of one front's service."""

    def __init__(
        self,
        holders: Holders,
        settings: GatewaySettings,
        gauges: Callable[[], dict[str, float]] = dict,
    ) -> None:
        """Report on a front with these holders, and with further gauges."""
        self._gauges = gauges
        self.measured: FrontCounts = FrontCounts()
        holder = settings.holder
        self.readiness: Readiness = Readiness(holder.command[0], holder.log_folder)
        self._holders = holders
        self._settings = settings
        self._outbox = OutboxMetrics(holder.state_folder)
        self._fresh_until = 0.0
        self._update: asyncio.Task[Snapshot] | None = None
        self.last: Snapshot = Snapshot(counts=Counts(), gauges={})
        """The newest snapshot; replaced as a whole, so that any thread may read it."""

    async def ready(self, _: Request) -> Response:
        """Return whether the gateway is ready; a 503 has the reason, as a word."""
        reason = self.readiness.reason()
        if reason is None and self._gauges().get(table.FLEET_CONNECTED.key()) == 0.0:
            reason = NotReady.FLEET_AWAY
        report = ReadyTold() if reason is None else NotReadyTold(reason=reason)
        status = 200 if reason is None else 503
        headers = {"cache-control": "no-store"}
        return Response(msgspec.json.encode(report), status, headers, "application/json")

    def may_read(self, requester: Requester, *, is_local: bool) -> bool:
        """Return whether somebody may read the metrics without a token.

        A scraper on this machine may: it could read the state folder's numbers as well. Behind a
        proxy nobody may, since requests through the proxy come from this machine, too, and a
        header that the proxy fails to set would open the metrics to everyone.
        """
        return is_local and not self._settings.behind_proxy and not is_forwarded(requester.headers)

    async def metrics(self) -> Response:
        """Return the metrics as Prometheus' text."""
        text = exposition(await self.snapshot())
        return Response(text, headers={"cache-control": "no-store"}, media_type=CONTENT_TYPE)

    async def snapshot(self) -> Snapshot:
        """Return all values, as of now or a moment ago."""
        if time.monotonic() < self._fresh_until:
            return self.last
        if self._update is None or self._update.done():
            self._update = asyncio.create_task(self._collect())
        return await asyncio.shield(self._update)

    async def _collect(self) -> Snapshot:
        sessions = self._holders.sessions()
        heads = {session.id: session.log.head for session in sessions}
        gauges = self.measured.gauges(heads) | self._holders.quality.gauges(sessions)
        gauges |= self._gauges() | {table.HOLDERS.key(): len(self._holders.places())}
        if self._settings.holder.state_folder:
            await asyncio.to_thread(self._outbox.read)
        counts = Counts()
        for each in (self.measured.counts, self._holders.quality.counts, self._outbox.counts):
            counts.include(each)
        self.last = Snapshot(counts=counts, gauges=gauges | self._outbox.gauges)
        self._fresh_until = time.monotonic() + FRESH_SECONDS
        return self.last

    async def watch(self) -> None:
        """Make snapshots for as long as the gateway runs, if somebody exports them."""
        meters = meters_of(self.measured, lambda: self.last)
        try:
            while True:
                await self.snapshot()
                await asyncio.sleep(COUNT_EVERY_SECONDS)
        finally:
            if meters is not None:
                meters.close()
