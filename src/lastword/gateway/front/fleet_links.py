"""Links to the page of any gateway of a fleet, each of which works once.

Owns that: a link is known by its signature, and using it makes a record, which only one front can
do.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.expiring import Bucket
from lastword.gateway.fleet.records import PAGE_LINKS
from lastword.gateway.front.links import NOTIFIED_SECONDS
from lastword.gateway.front.tokens import Grant, TokenError

if TYPE_CHECKING:
    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.records import Records
    from lastword.gateway.front.tokens import Keeper


class UsedLinkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A link that has been used.

    Attributes:
        node: the node whose front it was followed to.
        use: a random word, by which a second use is not taken for the first one stored again.
    """

    node: str
    use: str


class FleetLinks:
    """The links of a fleet."""

    def __init__(self, keeper: Keeper, node: str, broker: Broker, records: Records) -> None:
        """Admit by the keeper's links.

        Args:
            keeper: Makes and reads them.
            node: This node's name.
            broker: The connection to the fleet's servers.
            records: Reads and writes records.
        """
        self._keeper = keeper
        self._node = node
        self._bucket = Bucket(broker, PAGE_LINKS, UsedLinkRecord, records, NOTIFIED_SECONDS)

    async def use(self, code: str) -> Grant:
        """Return what a link allows, and use it up.

        Raises:
            TokenError: It is not valid, or has been used; or no server can say so now.
        """
        grant = self._keeper.read_link_code(code, time.time())
        try:
            used = UsedLinkRecord(node=self._node, use=secrets.token_hex(8))
            await self._bucket.create(wire.name_of(code), used)
        except FencedError:
            raise TokenError("the link has been used before") from None
        except FleetError:
            raise TokenError("the fleet's servers do not answer; follow the link again") from None
        return grant
