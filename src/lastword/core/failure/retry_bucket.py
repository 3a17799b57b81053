"""The bucket of retries: a bound on the retries of one process, over all its sessions.

Owns the counting. While a provider is down for everybody, each turn's own limit still lets every
session retry; the bucket runs empty instead, and nothing is sent again before something succeeds.
`core.failure.retry_policy` decides on the single failure.

The numbers are those of the AWS SDKs' standard retry mode
(https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html): 500 tokens, 5 for a
retry, 10 for one after a timeout, and a success returns what its last retry took, or 1. So 100
retries may follow one another without a single success, far more than a session in good order has.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

CAPACITY = 500
RETRY_COST = 5
TIMEOUT_COST = 10
SUCCESS_RETURNS = 1

_TIMEOUTS = frozenset({ErrorType.TIMEOUT, ErrorType.NETWORK})


class RetryBucket:
    """The tokens that are left for retries."""

    __slots__ = ("_last_cost", "tokens")

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.tokens: int = capacity
        self._last_cost = 0

    def spend(self, failure: ErrorType) -> bool:
        """Pay for a retry after such a failure; return whether there were enough tokens."""
        cost = TIMEOUT_COST if failure in _TIMEOUTS else RETRY_COST
        if cost > self.tokens:
            return False
        self.tokens -= cost
        self._last_cost = cost
        return True

    def succeed(self) -> None:
        """Take in that a request has succeeded, after a retry or without one."""
        self.tokens = min(self.tokens + (self._last_cost or SUCCESS_RETURNS), CAPACITY)
        self._last_cost = 0
