"""Rates: how often something may happen, for each token, address or kind of event.

Owns the token bucket. Sans-IO: the clock is given.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

MAX_KEYS = 4096
"""Tokens and addresses whose rate is kept; those that have been quiet for the longest go first."""


class Rate(msgspec.Struct, frozen=True):
    """How often something may happen.

    Attributes:
        per_second: in the long run.
        burst: at once, after a pause.
    """

    per_second: float
    burst: float


class RateLimiter:
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
