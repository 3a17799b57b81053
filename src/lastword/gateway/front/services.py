"""Services of a front: what the links of all its viewers use.

Owns who sees which session in a list, and how often sessions may be attached and listed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lastword.gateway.front.greetings import Greetings
from lastword.gateway.front.limits import socket_shares
from lastword.gateway.front.quality import Quality
from lastword.gateway.viewing.rates import Rate, RateLimiter

if TYPE_CHECKING:
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.tokens import Grant, Keeper
    from lastword.gateway.settings.gateway import GatewaySettings

ATTACHES = Rate(per_second=50, burst=500)
"""How often sessions may be attached and listed over one link of the owner's."""


class FrontServices:
    """The directory, and what is measured and limited over all links.

    Attributes:
        directory: finds sessions, and holders for new ones.
        keeper: makes and reads viewers' secrets.
        root: sessions work in this folder or below it.
        greetings: the agents' answers to `initialize`.
        quality: what is measured.
        guest_pace: limits how often sessions are attached and listed with one guest's token.
        attach_pace: the same for one link of the owner's.
    """

    def __init__(self, holders: Holders, keeper: Keeper, settings: GatewaySettings) -> None:
        self.directory: Directory = holders
        self.keeper: Keeper = keeper
        self.root: str = settings.holder.root
        self.greetings: Greetings = Greetings(holders)
        self.quality: Quality = Quality(holders, settings)
        all_return = Rate(per_second=4, burst=4 * socket_shares(settings.holder.viewers).of_token)
        self.guest_pace: RateLimiter = RateLimiter(all_return, time.monotonic)
        self.attach_pace: RateLimiter = RateLimiter(ATTACHES, time.monotonic)

    async def sessions(self, grant: Grant) -> list[dict[str, Any]]:
        """Return the sessions that the bearer of a token may see."""
        statuses = await self.directory.statuses()
        sessions = [session for status in statuses for session in status.get("sessions", [])]
        return [each for each in sessions if grant.session in {"", each.get("sessionId")}]
