"""Services of a front: what the links of all its viewers use.

Owns who sees which session in a list, and how often sessions may be attached and listed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lastword.gateway.front.directory import Greetings, SessionSource
from lastword.gateway.front.folders import push_folder_of
from lastword.gateway.front.quality import Quality
from lastword.gateway.front.tokens import socket_shares
from lastword.gateway.viewing.access import Rate, RateLimiter

if TYPE_CHECKING:
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.fleet_front import FleetFront
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.push_api import SharedSubscriptions
    from lastword.gateway.front.tokens import Grant, Keeper
    from lastword.gateway.settings.gateway import GatewaySettings

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
        checks_paths: whether paths are looked at here, and not only by the holder that has them.
        greetings: the agents' answers to `initialize`.
        quality: what is measured.
        guest_pace: limits how often sessions are attached and listed with one guest's token.
        attach_pace: the same for one link of the owner's.
    """

    def __init__(
        self,
        holders: Holders,
        keeper: Keeper,
        settings: GatewaySettings,
        fleet: FleetFront | None = None,
    ) -> None:
        """Serve the sessions of this machine's holders, or those of a fleet."""
        self.holders: Holders = holders
        self.node: str = "local" if fleet is None else fleet.node.name
        self.directory: Directory = holders if fleet is None else fleet.directory
        self.source: SessionSource = SessionSource(holders) if fleet is None else fleet.source
        self.keeper: Keeper = keeper
        self.push_folder: str = push_folder_of(
            settings.holder.state_folder, in_fleet=fleet is not None
        )
        self.shared_subscriptions: SharedSubscriptions | None = (
            None if fleet is None else fleet.node.push
        )
        self.root: str = settings.holder.root
        self.checks_paths: bool = fleet is None
        self.greetings: Greetings = Greetings(self.directory)
        self.quality: Quality = Quality(holders, settings, fleet.node.gauges if fleet else dict)
        all_return = Rate(per_second=4, burst=4 * socket_shares(settings.holder.viewers).of_token)
        self.guest_pace: RateLimiter = RateLimiter(all_return, time.monotonic)
        self.attach_pace: RateLimiter = RateLimiter(ATTACHES, time.monotonic)

    async def sessions(self, grant: Grant) -> list[dict[str, Any]]:
        """Return the sessions that the bearer of a token may see."""
        statuses = await self.directory.statuses()
        sessions = [session for status in statuses for session in status.get("sessions", [])]
        return [each for each in sessions if grant.session in {"", each.get("sessionId")}]
