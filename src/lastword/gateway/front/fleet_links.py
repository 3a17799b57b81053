"""Links to the page of any gateway of a fleet, each of which works once.

Owns that: a link is known by its signature, and using it makes a record, which only one front can
do. Each node remembers the links whose records it has seen, in its own folder: the servers'
password is enough to delete a record, but not to make a link work again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.fleet.buckets import Mirror
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import PAGE_LINKS
from lastword.gateway.front.tokens import NOTIFIED_SECONDS, Grant, TokenError
from lastword.gateway.run_folder import make_private

if TYPE_CHECKING:
    from lastword.gateway.fleet.services import FleetServices
    from lastword.gateway.front.tokens import Keeper


_USED = "the link has been used before"


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

    def __init__(self, folder: str, keeper: Keeper, node: str, services: FleetServices) -> None:
        """Admit by the keeper's links.

        Args:
            folder: The folder of what this node remembers of the fleet.
            keeper: Makes and reads them.
            node: This node's name.
            services: What the fleet is reached by.
        """
        self._folder = os.path.join(folder, "used-links")
        self._keeper = keeper
        self._node = node
        self._bucket = services.bucket(PAGE_LINKS, UsedLinkRecord, NOTIFIED_SECONDS)
        self._mirror = Mirror(self._bucket)
        self._mirror.listen(self._note)
        self._used: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> None:
        """Remember which links are used at other nodes, until cancelled."""
        following = asyncio.create_task(self._mirror.run())
        try:
            while True:
                await asyncio.to_thread(self._remember, await self._used.get())
        finally:
            following.cancel()

    async def use(self, code: str) -> Grant:
        """Return what a link allows, and use it up.

        Raises:
            TokenError: It is not valid, or has been used; or no server can say so now.
        """
        grant, name = self._keeper.read_link_code(code, time.time()), wire.name_of(code)
        if await asyncio.to_thread(os.path.exists, os.path.join(self._folder, name)):
            raise TokenError(_USED)
        try:
            used = UsedLinkRecord(node=self._node, use=secrets.token_hex(8))
            await self._bucket.create(name, used)
        except FencedError:
            raise TokenError(_USED) from None
        except FleetError:
            raise TokenError("the fleet's servers do not answer; follow the link again") from None
        await asyncio.to_thread(self._remember, name)
        return grant

    def _note(self, name: str, record: UsedLinkRecord | None) -> None:
        if record is not None:  # its end says nothing: links end by themselves, before it
            self._used.put_nowait(name)

    def _remember(self, name: str) -> None:
        """Remember that a link is used, for longer than it could work."""
        with contextlib.suppress(OSError, StoreError):  # as of a full disk: the servers know it
            make_private(self._folder)
            before = time.time() - NOTIFIED_SECONDS
            for each in os.scandir(self._folder):
                if each.stat().st_mtime < before:
                    os.unlink(each.path)
            os.close(os.open(os.path.join(self._folder, name), os.O_WRONLY | os.O_CREAT, 0o600))
