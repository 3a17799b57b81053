"""The records of a node's own sessions: when they are written, and when another node has one."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from lastword.gateway.api.shapes import SessionState
from lastword.gateway.fleet import buckets
from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.errors import FencedError, FleetError, OutcomeUnknownError
from lastword.gateway.fleet.owned_records import (
    AGAIN_SECONDS,
    CHANGED_SECONDS,
    PROGRESS_SECONDS,
    OwnedRecords,
)
from lastword.gateway.fleet.records import SESSIONS, Records, SessionRecord
from lastword.gateway.log.store import LogUnavailableError
from tests.kit.fleet.connected import KEY
from tests.kit.fleet.in_memory import MemoryBucket, owned, owner
from tests.kit.patience import FUSE_SECONDS, fused, fused_with

if TYPE_CHECKING:
    from collections.abc import Mapping


class Play:
    """A session of the node `one`, on a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.store: MemoryBucket[SessionRecord] = MemoryBucket()
        self.lost = 0
        self.record = owned("one")
        self.records = OwnedRecords(self.store, "of one", lambda: self.now)

    def _lose(self) -> None:
        self.lost += 1

    @property
    def stored(self) -> SessionRecord:
        return self.store.stored["s"].record

    async def acquire(self, revision: int = 0) -> None:
        await self.records.acquire("s", lambda: self.record, self._lose, revision)

    async def after(self, seconds: float) -> None:
        """Let time pass, and do what is due then."""
        self.now += seconds
        await self.records.write_due()

    async def change(self, **view: object) -> None:
        """Have the record show something else, and let the time pass in which it is written."""
        self.record = owned("one", **view)
        self.records.changed("s")
        await self.after(CHANGED_SECONDS)


played = fused_with(Play)


@played
async def test_an_idle_sessions_record_is_written_once(of: Play) -> None:
    await of.acquire()
    of.records.changed("s")
    await of.after(1000.0)
    assert (of.store.written, of.stored) == (1, owned("one"))


@played
async def test_a_change_is_written_soon_and_once_but_not_for_each_entry(of: Play) -> None:
    await of.acquire()
    of.record = owned("one", questions=1)
    for _ in range(3):
        of.records.changed("s")
    await of.after(CHANGED_SECONDS)
    assert of.stored == of.record
    for head in range(1, 20):
        await of.change(questions=1, head=head)
    assert of.store.written == 2
    await of.after(PROGRESS_SECONDS)
    assert of.stored == of.record


@played
async def test_a_change_while_a_record_is_written_is_written_too(of: Play) -> None:
    class Busy(MemoryBucket[SessionRecord]):
        async def renew(self, name: str, record: SessionRecord, revision: int) -> int:
            if record.owner == owner("one", questions=1):
                of.record = owned("one", questions=2)
                of.records.changed("s")
            return await super().renew(name, record, revision)

    of.store = Busy()
    of.records = OwnedRecords(of.store, "of one", lambda: of.now)
    await of.acquire()
    await of.change(questions=1)
    await of.after(CHANGED_SECONDS)
    assert of.stored == owned("one", questions=2)


@played
async def test_a_record_whose_view_cannot_be_read_shows_the_last_one(of: Play) -> None:
    def unreadable() -> SessionRecord:
        raise LogUnavailableError("the disk is gone")

    await of.acquire()
    of.records.show("s", unreadable)
    of.records.noted("s", None)
    await of.after(AGAIN_SECONDS)
    assert of.store.stored["s"] == (owned("one"), 2)


@played
async def test_what_is_not_stored_is_written_again(of: Play) -> None:
    await of.acquire()
    of.store.is_away = True
    await of.change(questions=1)
    of.store.is_away = False
    await of.after(AGAIN_SECONDS)
    assert (of.stored.owner, of.lost) == (owner("one", questions=1), 0)


@pytest.mark.parametrize(
    "theirs", [owned("two", 2), owned("two"), replace(owned("two", 2), owner=None)]
)
@pytest.mark.parametrize("is_seen", [False, True])
def test_a_session_is_lost_to_a_higher_term_or_to_another_owner_of_its_term(
    theirs: SessionRecord, *, is_seen: bool
) -> None:
    @played
    async def play(of: Play) -> None:
        await of.acquire()
        await of.store.put("s", theirs)
        for _ in range(2):
            if is_seen:
                of.records.noted("s", theirs)
            await of.change(questions=1)
        assert (of.stored, of.lost) == (theirs, 1)

    play()


@pytest.mark.parametrize(
    "there",
    [
        None,
        owned("one"),
        owned("two", 1),
        owned("one", 2, state=SessionState.RUNNING),
        replace(owned("one", 2), owner=None),
        replace(owned("two", 1), owner=None),
    ],
)
def test_a_record_that_the_servers_have_lost_or_restored_is_written_again(
    there: SessionRecord | None,
) -> None:
    @played
    async def play(of: Play) -> None:
        of.record = owned("one", 2)
        await of.acquire()
        of.store.expire("s")
        if there is not None:
            await of.store.put("s", there)
        of.records.noted("s", there)
        await of.after(AGAIN_SECONDS)
        assert of.stored == of.record
        await of.change(questions=1)
        of.record = owned("one", 2, questions=1)
        await of.change(questions=2)
        assert of.lost == 0
        assert of.stored.owner == owner("one", questions=2)

    play()


@played
async def test_a_record_that_is_seen_as_it_was_written_is_not_written_again(of: Play) -> None:
    of.record = owned("one", title="cut \ud83d")  # within an emoji, as agents do
    await of.acquire()
    encoded = Records(KEY).encode(SESSIONS, "s", of.stored)
    of.records.noted("s", Records(KEY).decode(SESSIONS, "s", encoded, SessionRecord))
    await of.after(1000.0)
    assert of.store.written == 1
    of.store.is_away = True
    await of.change(title="\ud83d")
    of.store.is_away = False
    await of.after(AGAIN_SECONDS)
    assert of.stored == owned("one", title="?")


@played
async def test_a_record_that_is_lost_while_it_is_written_is_written_again(of: Play) -> None:
    class Losing(MemoryBucket[SessionRecord]):
        async def renew(self, name: str, record: SessionRecord, revision: int) -> int:
            revision = await super().renew(name, record, revision)
            if self.written == 2:
                self.expire(name)
                of.records.noted(name, None)
            return revision

    of.store = Losing()
    of.records = OwnedRecords(of.store, "of one", lambda: of.now)
    await of.acquire()
    await of.change(questions=1)
    await of.after(AGAIN_SECONDS)
    assert of.stored == of.record


@played
async def test_a_session_is_acquired_if_its_record_is_the_one_that_was_read(of: Play) -> None:
    revision = await of.store.create("s", owned("two"))
    for wrong in (0, revision + 1):
        with pytest.raises(FencedError):
            await of.acquire(wrong)
    of.record = owned("one", term=2)
    await of.acquire(revision)
    assert of.stored == of.record


@played
async def test_a_released_session_has_no_owner_and_what_it_was_at_its_end(of: Play) -> None:
    await of.acquire()
    await of.records.release("s", ended=owner("one", head=3).view)
    assert of.stored == replace(owned("one"), owner=None, ended=owner("one", head=3).view)
    await of.change(questions=1)
    assert of.store.written == 2


@played
async def test_a_release_is_repeated_until_it_is_stored(of: Play) -> None:
    await of.acquire()
    of.store.is_away = True
    await of.records.release("s", replace(owned("one"), cwd="/last"))
    of.records.noted("s", owned("one"))
    await of.after(AGAIN_SECONDS)
    of.store.is_away = False
    await of.after(AGAIN_SECONDS)
    assert of.stored == replace(owned("one"), owner=None, cwd="/last")
    written = of.store.written
    await of.after(1000.0)
    assert (of.store.written, of.lost) == (written, 0)


@played
async def test_what_may_have_been_acquired_is_given_back(of: Play) -> None:
    class Mute(MemoryBucket[SessionRecord]):
        async def renew(self, name: str, record: SessionRecord, revision: int) -> int:
            revision = await super().renew(name, record, revision)
            if self.written == 2:
                raise OutcomeUnknownError("no answer")
            return revision

    of.store = Mute()
    of.records = OwnedRecords(of.store, "of one", lambda: of.now)
    before = replace(owned("two"), owner=None)
    revision = await of.store.create("s", before)
    of.record = owned("one", term=2)
    with pytest.raises(FleetError):
        await of.acquire(revision)
    assert of.stored == of.record
    await of.records.release("s", before)
    assert of.stored == before


class _Slow(Broker):
    """Servers that have a message, and store it later: until then they refuse every other one."""

    def __init__(self) -> None:
        self.stored = [b"an older record"]
        self.waiting: list[bytes] = []

    async def call(self, *_: Any, **__: Any) -> dict[str, Any]:
        data = base64.b64encode(self.stored[-1]).decode()
        return {"message": {"seq": len(self.stored), "data": data}}

    async def store(
        self, _: str, payload: bytes, headers: Mapping[str, str] | None = None, **__: Any
    ) -> int:
        assert headers is not None
        if self.waiting or headers[buckets.EXPECTED] != str(len(self.stored)):
            raise FencedError("another message is the last one, or is about to be")
        self.waiting.append(payload)
        raise OutcomeUnknownError("the NATS server does not answer")

    def catch_up(self) -> None:
        self.stored += self.waiting
        self.waiting.clear()


@fused
async def test_a_record_that_is_not_stored_yet_is_not_another_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buckets, "ANSWER_SECONDS", 0.0)
    servers = _Slow()
    bucket = Bucket(servers, SESSIONS, SessionRecord, Records(KEY))
    for questions in range(3):
        with pytest.raises(OutcomeUnknownError):
            await bucket.renew("s", owned("one", questions=questions), 1)
    servers.catch_up()
    with pytest.raises(OutcomeUnknownError):  # it is the next one's turn
        await bucket.renew("s", owned("one", questions=3), 1)
    servers.catch_up()
    servers.stored.append(b"another node's")
    with pytest.raises(FencedError):
        await bucket.renew("s", owned("one", questions=4), 3)


@pytest.mark.parametrize("is_first", [False, True])
def test_changes_are_written_while_the_records_run(*, is_first: bool) -> None:
    async def run() -> None:
        store: MemoryBucket[SessionRecord] = MemoryBucket()
        shown = [owned("one")]
        records = OwnedRecords(store, "of one")
        if is_first:
            await records.acquire("s", lambda: shown[0], lambda: None)
        running = asyncio.create_task(records.run())
        await asyncio.sleep(0)
        if not is_first:
            await records.acquire("s", lambda: shown[0], lambda: None)
        store.changed.clear()
        shown[0] = owned("one", questions=2)
        records.changed("s")
        async with asyncio.timeout(FUSE_SECONDS):
            await store.changed.wait()
        assert store.stored["s"].record == shown[0]
        running.cancel()

    asyncio.run(run())
