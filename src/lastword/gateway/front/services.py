"""The services that the links of all viewers share, and their measurements.

Services of a front: owns which sessions a list shows to whom, and how often sessions may be
attached and listed.

The gateway's own quality: `/readyz`, `/metrics`, and the metrics for OpenTelemetry. Owns when they
are collected, who may read them, and the snapshot that all readers share.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from starlette.responses import Response

from lastword.gateway.front.directory import Greetings, SessionSource
from lastword.gateway.front.doorkeeper import is_forwarded
from lastword.gateway.front.folders import push_folder_of
from lastword.gateway.front.tokens import socket_shares
from lastword.gateway.quality import metrics
from lastword.gateway.quality.exposition import CONTENT_TYPE, exposition, meters_of
from lastword.gateway.quality.metrics import Counts, FrontCounts, OutboxMetrics, Snapshot
from lastword.gateway.quality.readiness import NotReady, NotReadyTold, Readiness, ReadyTold
from lastword.gateway.viewing.access import Rate, RateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.doorkeeper import Requester
    from lastword.gateway.front.fleet_directory import FleetDirectory
    from lastword.gateway.front.fleet_shared import FleetPush
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.tokens import Grant, Keeper
    from lastword.gateway.front.viewer_link import ViewerLink
    from lastword.gateway.settings.values import GatewaySettings


ATTACHES = Rate(per_second=50, burst=500)
"""How often sessions may be attached and listed over one link of the owner's."""


class FrontServices:
    """The directory, and what is measured and limited over all links.

    Attributes:
        holders: finds and starts the holders of this machine.
        node: the node's name in its fleet; `local` without one.
        directory: finds sessions, and holders for new ones.
        source: reads sessions and their logs.
        keeper: makes and reads viewers' secrets.
        push_folder: where browsers' subscriptions to notifications are.
        shared_subscriptions: where other nodes of the fleet have them too.
        root: sessions work in this folder or below it.
        checks_paths: whether paths are checked here, before a holder checks them.
        greetings: the agents' answers to `initialize`.
        quality: the measurements.
        guest_pace: limits how often sessions are attached and listed with one guest's token.
        attach_pace: the same for one link of the owner's.
        newest: each viewer's latest link, by its id.
    """

    def __init__(
        self,
        holders: Holders,
        keeper: Keeper,
        settings: GatewaySettings,
        fleet: FleetDirectory | None = None,
    ) -> None:
        """Serve the sessions of this machine's holders, or those of a fleet."""
        self.holders: Holders = holders
        self._fleet = fleet
        self.node: str = "local" if fleet is None else fleet.node.name
        self.directory: Directory = holders if fleet is None else fleet
        self.source: SessionSource = (
            SessionSource(holders, holders) if fleet is None else fleet.source
        )
        self.keeper: Keeper = keeper
        self.push_folder: str = push_folder_of(
            settings.holder.state_folder, in_fleet=fleet is not None
        )
        self.shared_subscriptions: FleetPush | None = None if fleet is None else fleet.node.push
        self.root: str = settings.holder.root
        self.checks_paths: bool = fleet is None
        self.greetings: Greetings = Greetings(self.directory)
        self.quality: Quality = Quality(holders, settings, fleet.node.gauges if fleet else dict)
        all_return = Rate(per_second=4, burst=4 * socket_shares(settings.holder.viewers).of_token)
        self.guest_pace: RateLimiter = RateLimiter(all_return, time.monotonic)
        self.attach_pace: RateLimiter = RateLimiter(ATTACHES, time.monotonic)
        self.newest: WeakValueDictionary[str, ViewerLink] = WeakValueDictionary()

    @property
    def reload_cost(self) -> str:
        """Return why a reload would end turns or lose frames now; empty if it would not."""
        if not self.holders.are_stored:
            return (
                "parts of open sessions are only in memory (the disk was full, or files were "
                "deleted); close those sessions, or stop the gateway"
            )
        if self._fleet is not None and not self._fleet.node.is_renewed:
            return "the fleet's servers do not answer: open turns would end; reload once they do"
        return ""

    def sessions(self, grant: Grant) -> list[SessionView]:
        """Return the sessions that the bearer of a token may see."""
        return [each for each in self.directory.views() if grant.session in {"", each.id}]


COUNT_EVERY_SECONDS = 15.0
"""How often a snapshot is made for OpenTelemetry."""

FRESH_SECONDS = 1.0
"""How long a snapshot is reused."""


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
        """Return whether the gateway is ready; a 503 gives the reason as a word."""
        reason = self.readiness.reason()
        if reason is None and self._gauges().get(metrics.FLEET_CONNECTED.key()) == 0.0:
            reason = NotReady.FLEET_AWAY
        report = ReadyTold() if reason is None else NotReadyTold(reason=reason)
        status = 200 if reason is None else 503
        headers = {"cache-control": "no-store"}
        return Response(msgspec.json.encode(report), status, headers, "application/json")

    def may_read(self, requester: Requester, *, is_local: bool) -> bool:
        """Return whether somebody may read the metrics without a token.

        A scraper on this machine may, since it could also read the state folder. Behind a proxy
        nobody may: requests through the proxy come from this machine, too, and a header that the
        proxy fails to set would open the metrics to everyone.
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
        gauges |= self._gauges() | {metrics.HOLDERS.key(): len(self._holders.places())}
        if self._settings.holder.state_folder:
            await asyncio.to_thread(self._outbox.read)
        counts = Counts()
        for each in (self.measured.counts, self._holders.quality.counts, self._outbox.counts):
            counts.include(each)
        self.last = Snapshot(counts=counts, gauges=gauges | self._outbox.gauges)
        self._fresh_until = time.monotonic() + FRESH_SECONDS
        return self.last

    async def watch(self) -> None:
        """Make snapshots for OpenTelemetry while the gateway runs."""
        meters = meters_of(self.measured, lambda: self.last)
        try:
            while True:
                await self.snapshot()
                await asyncio.sleep(COUNT_EVERY_SECONDS)
        finally:
            if meters is not None:
                meters.close()
