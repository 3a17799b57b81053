"""Limits: how much of a front one token or one address may use, at once and in time.

Owns two rules. A guest, whose token does not allow everything, has a share of the places for itself
and for its address, all guests together have half, and each has a pace. The owner's own tokens
always get a place: where none is left, the oldest of those of the token with the most is given up.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lastword.gateway.tokens import Grant

MAX_KEYS = 4096
"""Tokens and addresses whose pace is kept; those that have been quiet for the longest go first."""


class Rate(msgspec.Struct, frozen=True):
    """How often something may happen.

    Attributes:
        per_second: in the long run.
        burst: at once, after a pause.
    """

    per_second: float
    burst: float


class Pace:
    """A token bucket for each key."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        """Begin with full buckets; the clock gives seconds."""
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, key: Hashable) -> int:
        """Count one event of a key; if it comes too soon, return the seconds to wait instead."""
        now = self._clock()
        left, at = self._buckets.pop(key, (self._rate.burst, now))
        left = min(self._rate.burst, left + max(now - at, 0.0) * self._rate.per_second)
        is_too_soon = left < 1
        self._buckets[key] = (left if is_too_soon else left - 1, now)
        if len(self._buckets) > MAX_KEYS:
            self._buckets.popitem(last=False)
        return math.ceil((1 - left) / self._rate.per_second) if is_too_soon else 0


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """How many places there are.

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


class Place:
    """Somebody's place, until it is left."""

    def __init__(self, grant: Grant, peer: str, give_up: Callable[[], None]) -> None:
        self.grant = grant
        self.peer = peer
        self.give_up = give_up
        """Ends what it is for."""


class Places:
    """The places of one kind, such as those for sockets."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._taken: dict[Place, None] = {}
        """In the order in which they were taken."""

    def take(
        self, grant: Grant, peer: str, give_up: Callable[[], None] = lambda: None
    ) -> Place | None:
        """Return a place; `None` if there is none for this guest.

        Args:
            grant: What the token allows.
            peer: The address.
            give_up: Ends what the place is for, when another needs it.
        """
        if not grant.is_owners and not self._has_room(grant, peer):
            return None
        if self._shares.of_all and len(self._taken) >= self._shares.of_all:
            self._make_room()
        place = Place(grant, peer, give_up)
        self._taken[place] = None
        return place

    def leave(self, place: Place) -> None:
        """Give a place back."""
        self._taken.pop(place, None)

    def _has_room(self, grant: Grant, peer: str) -> bool:
        guests = [place for place in self._taken if not place.grant.is_owners]
        of_address = sum(place.peer == peer for place in guests)
        of_token = sum(place.grant == grant for place in guests)
        shares = self._shares
        return (
            len(guests) < shares.of_guests
            and of_address < shares.of_address
            and of_token < shares.of_token
        )

    def _make_room(self) -> None:
        """Give up the oldest place of the token with the most, guests' first."""
        counts = Counter(place.grant for place in self._taken)
        most = max(counts, key=lambda grant: (not grant.is_owners, counts[grant]))
        oldest = next(place for place in self._taken if place.grant == most)
        del self._taken[oldest]
        oldest.give_up()
