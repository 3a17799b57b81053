"""Claims: how a node becomes the owner of a session.

Owns trying until the outcome is certain. Who may claim a session, and when, is `ownership`'s.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lastword.gateway.fleet.errors import FencedError, FleetError

if TYPE_CHECKING:
    from lastword.gateway.fleet.replica import StreamEnd
    from lastword.gateway.fleet.streams import Streams

PAUSE_SECONDS = 0.5
"""How long after a failure it is tried again."""


async def claim(store: Streams, session_id: str, inherited: StreamEnd, node: str) -> StreamEnd:
    """Claim a session after an end of its stream; return the stream's new end.

    It is tried for as long as the store cannot be reached. An earlier try that was stored without
    an answer counts.

    Raises:
        FencedError: Another node has the session, or has written to it since.
    """
    while True:
        try:
            return await store.claim(session_id, inherited, node)
        except FencedError:
            end = await stream_end(store, session_id)
            if (end.term, end.node, end.last) == (inherited.term + 1, node, inherited.last):
                return end
            if end != inherited:
                raise
        except FleetError:
            pass
        await asyncio.sleep(PAUSE_SECONDS)


async def stream_end(store: Streams, session_id: str) -> StreamEnd:
    """Return the end of a session's stream, once the store can be reached."""
    while True:
        try:
            return await store.last(session_id)
        except FleetError:
            await asyncio.sleep(PAUSE_SECONDS)
