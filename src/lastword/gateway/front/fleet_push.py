"""Subscriptions of browsers to notifications, as all nodes of a fleet have them.

Owns that each node's file has them: whichever node has a session, its holder reads that file. One
that is removed is replaced by a record that says so, and a node never takes an older record for a
newer one: who has no more than the servers' password cannot bring it back. All nodes have one key
for push services, since a browser subscribes to the holder of one key.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lastword.errors import StoreError
from lastword.gateway.fleet.buckets import Mirror
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.records import SUBSCRIPTIONS
from lastword.gateway.run_folder import make_private
from lastword.notify.web_push import PushSubscription, Subscriptions

if TYPE_CHECKING:
    from lastword.gateway.fleet.services import FleetServices

REMOVED_SECONDS = 30 * 24 * 3600.0
"""How long the servers keep what has ended. A node that was away for longer drops what they do not
have, and could be given a removed one again."""

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""How many points the curve P-256 has (FIPS 186-5)."""


class FleetPush:
    """The subscriptions of a fleet, and this node's file of them."""

    def __init__(self, folder: str, key: bytes, services: FleetServices) -> None:
        """Use this node's file.

        Args:
            folder: The folder of the file and of the key for push services.
            key: A secret that all nodes have, from which that key is made.
            services: What the fleet is reached by.

        Raises:
            StoreError: The folder cannot be used.
        """
        make_private(folder)
        self._file = Subscriptions(folder)
        self._file.use_key(_pem_of(key))
        self._bucket = services.bucket(SUBSCRIPTIONS, PushSubscription)
        self._mirror = Mirror(self._bucket)
        self._mirror.listen(lambda *change: self._changes.put_nowait(change))
        self._changes: asyncio.Queue[tuple[str, PushSubscription | None]] = asyncio.Queue()

    async def put(self, subscription: PushSubscription) -> PushSubscription:
        """Add a subscription, or renew the one of its id; return it as all nodes have it.

        Raises:
            FleetError: It is not stored, or that is not known.
        """
        # The clock of the node that wrote the state before may be ahead.
        earlier = self._mirror.records.get(subscription.subscription_id)
        after = earlier.changed_epoch_ms + 1 if earlier is not None else 0
        changed = max(after, time.time_ns() // 1_000_000)
        subscription = msgspec.structs.replace(subscription, changed_epoch_ms=changed)
        await self._bucket.put(subscription.subscription_id, subscription)
        return subscription

    async def remove(self, subscription_id: str) -> PushSubscription:
        """Remove a subscription; return what stands for it from now on.

        Raises:
            FleetError: It is not removed, or that is not known.
        """
        return await self.put(PushSubscription.removed(subscription_id))

    async def run(self) -> None:
        """Keep this node's file like the fleet's, until cancelled."""
        following = asyncio.create_task(self._mirror.run())
        try:
            await self._mirror.complete()
            for subscription in self._file.all():
                if subscription.subscription_id not in self._mirror.records:
                    self._changes.put_nowait((subscription.subscription_id, None))
            while True:
                with contextlib.suppress(StoreError):  # as of a full disk
                    await asyncio.to_thread(self._store, *await self._changes.get())
        finally:
            following.cancel()

    def _store(self, subscription_id: str, subscription: PushSubscription | None) -> None:
        if subscription is None:
            self._file.remove(subscription_id)
        else:
            self._file.put(subscription, time.time())

    async def forget_ended(self) -> None:
        """Delete the records of subscriptions that have ended."""
        now = time.time()
        before_ms = (now - REMOVED_SECONDS) * 1000
        with contextlib.suppress(FleetError):
            for name, each in [*self._mirror.records.items()]:
                if not each.covers(each.session, now) and each.changed_epoch_ms < before_ms:
                    await self._bucket.delete(name)


def _pem_of(key: bytes) -> bytes:
    """Return a private key on P-256 that is made from a secret."""
    private = ec.derive_private_key(int.from_bytes(key, "big") % (_ORDER - 1) + 1, ec.SECP256R1())
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
