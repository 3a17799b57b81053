"""What every store of replicas keeps, in memory and on JetStream alike.

Each rule is a coroutine of a store and of a session that nobody has used.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.fleet.errors import FencedError
from lastword.gateway.fleet.replica import (
    BUCKET_ENTRIES,
    EMPTY,
    LogState,
    ReplicaBatch,
)
from lastword.gateway.log.entries import Numbered
from lastword.gateway.wire import name_of
from tests.kit.gateway.entries_made import out
from tests.kit.patience import FUSE_SECONDS

LOOK_SECONDS = 0.01

if TYPE_CHECKING:
    from lastword.gateway.fleet.streams import Streams
    from lastword.gateway.log.entries import LogEntry


def batch(first: int, count: int, state: LogState | None = None) -> ReplicaBatch:
    return ReplicaBatch("e1", first, [out() for _ in range(count)], state)


async def entries_of(store: Streams, session: str, after: int = 0) -> list[Numbered]:
    """Return all entries after a number, once the servers that are read have the last one."""
    found: list[Numbered] = []
    last = (await store.last(session)).last
    while after < last:
        batches = await store.read(session, after)
        if not batches:
            await asyncio.sleep(LOOK_SECONDS)
            continue
        for each in batches:
            numbered = [Numbered(seq, one) for seq, one in enumerate(each.entries, each.first)]
            found += [one for one in numbered if one.seq > after]
        after = batches[-1].end.last
    return found


async def has_state(store: Streams, session: str, state: LogState | None) -> None:
    """See a state, once the servers that are read have it."""
    while await store.state(session) != state:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(LOOK_SECONDS)


async def a_stream_goes_on_after_its_last_message(store: Streams, session: str) -> None:
    assert await store.last(session) == EMPTY
    claimed = await store.claim(session, EMPTY, "a")
    assert (claimed.term, claimed.node, claimed.last) == (1, "a", 0)
    first = await store.publish(session, batch(1, 3), claimed)
    assert (first.term, first.node, first.epoch, first.last) == (1, "a", "e1", 3)
    second = await store.publish(session, batch(4, 2), first)
    assert await store.last(session) == second
    assert [seq for seq, _ in await entries_of(store, session)] == [1, 2, 3, 4, 5]
    assert [seq for seq, _ in await entries_of(store, session, 3)] == [4, 5]


async def entries_come_back_as_they_were(store: Streams, session: str) -> None:
    entries: list[LogEntry] = [out(), out("x" * 100_000)]
    claimed = await store.claim(session, EMPTY, "a")
    await store.publish(session, ReplicaBatch("e1", 1, entries), claimed)
    assert [entry for _, entry in await entries_of(store, session)] == entries


async def of_two_claims_one_wins(store: Streams, session: str) -> None:
    seen = await store.publish(session, batch(1, 1), await store.claim(session, EMPTY, "a"))
    claimed = await store.claim(session, seen, "b")
    assert (claimed.term, claimed.node, claimed.epoch, claimed.last) == (2, "b", "e1", 1)
    with pytest.raises(FencedError):
        await store.claim(session, seen, "c")
    assert await store.last(session) == claimed


async def a_writer_of_an_older_term_is_refused(store: Streams, session: str) -> None:
    old = await store.publish(session, batch(1, 1), await store.claim(session, EMPTY, "a"))
    new = await store.claim(session, old, "b")
    state = LogState("e1", 1, {"id": "old"}, [])
    for late in (batch(2, 1), batch(2, 0, state), batch(2, 1, state)):
        with pytest.raises(FencedError):
            await store.publish(session, late, old)
    assert await store.last(session) == new
    assert await store.state(session) is None
    await store.publish(session, batch(2, 1), new)
    assert [seq for seq, _ in await entries_of(store, session)] == [1, 2]


async def a_batch_is_stored_once_however_often_it_is_sent(store: Streams, session: str) -> None:
    claimed = await store.claim(session, EMPTY, "a")
    stored = await store.publish(session, batch(1, 2), claimed)
    with pytest.raises(FencedError):
        await store.publish(session, batch(1, 2), claimed)
    assert await store.last(session) == stored


async def a_state_takes_the_place_of_the_one_before(store: Streams, session: str) -> None:
    claimed = await store.claim(session, EMPTY, "a")
    one = LogState("e1", 0, {"id": "s"}, [])
    assert await store.publish(session, batch(1, 0, one), claimed) == claimed
    await has_state(store, session, one)
    two = LogState("e1", 1, {"id": "s", "ended": "now"}, [("in", Numbered(1, out()))])
    stored = await store.publish(session, batch(1, 1), claimed)
    await store.publish(session, batch(2, 2, two), stored)
    await has_state(store, session, two)


async def whole_buckets_are_dropped_and_the_end_stays(store: Streams, session: str) -> None:
    end = await store.claim(session, EMPTY, "a")
    for first in (1, BUCKET_ENTRIES, BUCKET_ENTRIES + 9):
        end = await store.publish(session, batch(first, 9), end)
    await store.trim(session, BUCKET_ENTRIES + 5)
    found = [seq for seq, _ in await entries_of(store, session)]
    assert found == list(range(BUCKET_ENTRIES, BUCKET_ENTRIES + 18))
    await store.trim(session, 3 * BUCKET_ENTRIES)
    assert (await store.last(session)).sequence == end.sequence
    assert await store.publish(session, batch(BUCKET_ENTRIES + 18, 1), end)


async def a_forgotten_session_is_as_if_it_had_never_been(store: Streams, session: str) -> None:
    state = LogState("e1", 0, {}, [])
    await store.publish(session, batch(1, 1, state), await store.claim(session, EMPTY, "a"))
    await store.forget(name_of(session))
    assert await store.last(session) == EMPTY
    await has_state(store, session, None)
    assert await entries_of(store, session) == []


async def a_wait_ends_with_the_entry_or_with_its_time(store: Streams, session: str) -> None:
    claimed = await store.claim(session, EMPTY, "a")
    assert not await store.wait(session, 0, 0.05)
    await store.publish(session, batch(1, 1), claimed)
    assert await store.wait(session, 0, FUSE_SECONDS)


RULES = (
    a_stream_goes_on_after_its_last_message,
    entries_come_back_as_they_were,
    of_two_claims_one_wins,
    a_writer_of_an_older_term_is_refused,
    a_batch_is_stored_once_however_often_it_is_sent,
    a_state_takes_the_place_of_the_one_before,
    whole_buckets_are_dropped_and_the_end_stays,
    a_forgotten_session_is_as_if_it_had_never_been,
    a_wait_ends_with_the_entry_or_with_its_time,
)
"""All rules."""
