"""Slots: how many connections one token or one address may have at once.

Owns two rules. A guest, whose token does not allow everything, has a share of the slots for itself
and for its address, and all guests together have half. The owner's own tokens always get a slot:
where none is left, the oldest of the token that has the most is given up.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.front.tokens import Grant

MIN_GUESTS = 64
"""Sockets of one guest's token, at most, where `--viewers` does not allow more."""


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """How many slots there are.

    Attributes:
        of_all: all of them; 0 for no limit.
        of_guests: for all guests together.
        of_address: for the guests of one address.
        of_token: for one guest's token.
    """

    of_all: int
    of_guests: int
    of_address: int
    of_token: int


def socket_shares(viewers: int) -> Shares:
    """Return the shares of sockets, for sessions with this many viewers each."""
    of_token = max(viewers, MIN_GUESTS)
    return Shares(of_all=0, of_guests=4 * of_token, of_address=2 * of_token, of_token=of_token)


class Slot:
    """Somebody's slot, until it is left."""

    def __init__(self, grant: Grant, peer: str, give_up: Callable[[], None]) -> None:
        self.grant = grant
        self.peer = peer
        self.give_up = give_up
        """Ends what it is for."""


class Slots:
    """The slots of one kind, such as those for sockets."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._in_use: dict[Slot, None] = {}
        """In the order in which they were taken."""

    def acquire(
        self, grant: Grant, peer: str, give_up: Callable[[], None] = lambda: None
    ) -> Slot | None:
        """Return a slot; `None` if there is none for this guest.

        Args:
            grant: What the token allows.
            peer: The address.
            give_up: Ends what the slot is for, when another needs it.
        """
        if not grant.is_owners and not self._has_room(grant, peer):
            return None
        if self._shares.of_all and len(self._in_use) >= self._shares.of_all:
            self._make_room()
        slot = Slot(grant, peer, give_up)
        self._in_use[slot] = None
        return slot

    def release(self, slot: Slot) -> None:
        """Give a slot back."""
        self._in_use.pop(slot, None)

    def _has_room(self, grant: Grant, peer: str) -> bool:
        guests = [slot for slot in self._in_use if not slot.grant.is_owners]
        of_address = sum(slot.peer == peer for slot in guests)
        of_token = sum(slot.grant == grant for slot in guests)
        shares = self._shares
        return (
            len(guests) < shares.of_guests
            and of_address < shares.of_address
            and of_token < shares.of_token
        )

    def _make_room(self) -> None:
        """Give up the oldest slot of the token with the most, guests' first."""
        counts = Counter(slot.grant for slot in self._in_use)
        most = max(counts, key=lambda grant: (not grant.is_owners, counts[grant]))
        oldest = next(slot for slot in self._in_use if slot.grant == most)
        del self._in_use[oldest]
        oldest.give_up()
