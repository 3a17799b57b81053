"""A turn's wait for the end of a limit, as values.

Owns what is remembered of it, in the link and by those who let it survive the link's process.
`core.link.reset_wait` has the rule of it.
"""

from __future__ import annotations

import msgspec

from lastword.core.failure.taxonomy import ErrorType  # noqa: TC001 - a struct's member
from lastword.core.link.facts import Facts  # noqa: TC001 - likewise


class LimitWait(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's wait for the end of a limit.

    Attributes:
        until_epoch_seconds: its end by the time of day, if there is a clock for it.
        latest_epoch_seconds: the moment after which the turn does not go on any more, likewise.
        resends: nothing was shown or begun, so the user's own prompt is to be sent again.
    """

    until_epoch_seconds: float | None
    latest_epoch_seconds: float | None
    resends: bool


class StoredWait(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's wait for the end of a limit, as another process can go on with it.

    Attributes:
        request_id: the id of the turn's prompt (JSON text).
        wait: the wait.
        type: what the turn failed of.
        reason: the same more precisely, if it is known.
        waits: how often the turn has waited for a limit, this time included.
        waited_seconds: how long these waits are, in all.
        facts: what happened in the turn before.
    """

    request_id: bytes
    wait: LimitWait
    type: ErrorType
    reason: str | None
    waits: int
    waited_seconds: float
    facts: Facts
