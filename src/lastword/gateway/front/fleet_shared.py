"""Records that the fronts of a fleet share: links, requests for new sessions, subscriptions.

A link to the page of any gateway works once. It is verified by its signature, and using it makes a
record, which only one front can do. Each node remembers the links with a record, in its own folder:
with the servers' password one can delete a record, but not make a link work again.

A viewer may repeat a request for a new session at any front; a record says which node has it.

Every node has all of the browsers' subscriptions to notifications in its own file, which the holder
of a session reads, on whichever node. A removed subscription is replaced by a record that says so,
and a node never replaces a record by an older one: the servers' password alone cannot restore a
subscription. All nodes have the same key for push services, since a browser subscribes to one key.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.fleet.buckets import Mirror
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import OPENINGS, PAGE_LINKS, SUBSCRIPTIONS
from lastword.gateway.front.tokens import NOTIFIED_SECONDS, Grant, TokenError
from lastword.gateway.run_folder import make_private
from lastword.notify.web_push import PushSubscription, Subscriptions

if TYPE_CHECKING:
    from collections.abc import Container

    from lastword.gateway.fleet.services import FleetServices
    from lastword.gateway.front.tokens import Keeper


_USED = "the link has been used before"


class UsedLinkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A link that has been used.

    Attributes:
        node: the node of the front that it led to.
        use: a random word, which distinguishes a second use from a repeated write of the first.
    """

    node: str
    use: str


class FleetLinks:
    """The links of a fleet."""

    def __init__(self, folder: str, keeper: Keeper, node: str, services: FleetServices) -> None:
        """Admit by the keeper's links.

        Args:
            folder: The folder of this node's files about the fleet.
            keeper: Makes and reads them.
            node: This node's name.
            services: The connection to the fleet.
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
            TokenError: It is not valid or has been used, or no server can tell now.
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
        if record is not None:  # its expiry does not matter: links expire before it
            self._used.put_nowait(name)

    def _remember(self, name: str) -> None:
        """Remember a used link for longer than it could be valid."""
        with contextlib.suppress(OSError, StoreError):  # as of a full disk: the servers know it
            make_private(self._folder)
            before = time.time() - NOTIFIED_SECONDS
            for each in os.scandir(self._folder):
                if each.stat().st_mtime < before:
                    os.unlink(each.path)
            os.close(os.open(os.path.join(self._folder, name), os.O_WRONLY | os.O_CREAT, 0o600))


OPENING_SECONDS = 24 * 3600.0
"""How long the node of a request for a new session is recorded."""


class OpeningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a new session.

    Attributes:
        node: the node whose holder has it.
        code: a random text, by which the writer knows its own record.
    """

    node: str
    code: str


class FleetOpenings:
    """The nodes that requests for new sessions went to."""

    def __init__(self, services: FleetServices) -> None:
        self._bucket = services.bucket(OPENINGS, OpeningRecord, OPENING_SECONDS)

    async def node_of(self, key: str) -> str:
        """Return the node that a request went to; empty for a new request.

        Raises:
            FleetError: No server answers.
        """
        stored = await self._bucket.read(wire.name_of(key))
        return stored.record.node if stored is not None else ""

    async def note(self, key: str, node: str, nodes: Container[str]) -> str:
        """Note the node that a request goes to; return the one that has it.

        If no server answers, nothing is noted, and the request stays at this node.

        Args:
            key: The viewer and its request's id.
            node: The node.
            nodes: The nodes that are alive: requests of a lost node may go elsewhere.
        """
        name = wire.name_of(key)
        opening = OpeningRecord(node=node, code=secrets.token_hex(8))
        with contextlib.suppress(FleetError):
            try:
                await self._bucket.create(name, opening)
            except FencedError:
                earlier = await self.node_of(key)
                if earlier in nodes:
                    return earlier
                await self._bucket.put(name, opening)
        return node


REMOVED_SECONDS = 30 * 24 * 3600.0
"""How long the servers keep ended subscriptions. A node that was away for longer drops those that
they do not have, and could receive a removed one again."""

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve P-256 (FIPS 186-5)."""


class FleetPush:
    """The subscriptions of a fleet, and this node's file of them."""

    def __init__(self, folder: str, key: bytes, services: FleetServices) -> None:
        """Use this node's file.

        Args:
            folder: The folder of the file and of the key for push services.
            key: The fleet's secret, from which that key is made.
            services: The connection to the fleet.

        Raises:
            StoreError: The folder cannot be used.
        """
        make_private(folder)
        self._file = Subscriptions(folder)
        number = int.from_bytes(key, "big") % (_ORDER - 1) + 1
        private = ec.derive_private_key(number, ec.SECP256R1())
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._file.use_key(pem)
        self._bucket = services.bucket(SUBSCRIPTIONS, PushSubscription)
        self._mirror = Mirror(self._bucket)
        self._mirror.listen(lambda *change: self._changes.put_nowait(change))
        self._changes: asyncio.Queue[tuple[str, PushSubscription | None]] = asyncio.Queue()

    async def put(self, subscription: PushSubscription) -> PushSubscription:
        """Add a subscription, or renew the one with its id; return the shared one.

        Raises:
            FleetError: It is not stored, or the outcome is unknown.
        """
        # The clock of the node that wrote the earlier record may be ahead.
        earlier = self._mirror.records.get(subscription.subscription_id)
        after = earlier.changed_epoch_ms + 1 if earlier is not None else 0
        changed = max(after, time.time_ns() // 1_000_000)
        subscription = msgspec.structs.replace(subscription, changed_epoch_ms=changed)
        await self._bucket.put(subscription.subscription_id, subscription)
        return subscription

    async def remove(self, subscription_id: str) -> PushSubscription:
        """Remove a subscription; return the record that replaces it.

        Raises:
            FleetError: It is not removed, or the outcome is unknown.
        """
        return await self.put(PushSubscription.removed(subscription_id))

    async def run(self) -> None:
        """Keep this node's file equal to the fleet's records, until cancelled."""
        following = asyncio.create_task(self._mirror.run())
        try:
            await self._mirror.complete()
            for subscription in self._file.all():
                if subscription.subscription_id not in self._mirror.records:
                    self._changes.put_nowait((subscription.subscription_id, None))
            while True:
                with contextlib.suppress(StoreError):  # as of a full disk
                    subscription_id, changed = await self._changes.get()
                    if changed is None:
                        await asyncio.to_thread(self._file.remove, subscription_id)
                    else:
                        await asyncio.to_thread(self._file.put, changed, time.time())
        finally:
            following.cancel()

    async def forget_ended(self) -> None:
        """Delete the records of subscriptions that have ended."""
        now = time.time()
        before_ms = (now - REMOVED_SECONDS) * 1000
        with contextlib.suppress(FleetError):
            for name, each in [*self._mirror.records.items()]:
                if not each.covers(each.session, now) and each.changed_epoch_ms < before_ms:
                    await self._bucket.delete(name)
