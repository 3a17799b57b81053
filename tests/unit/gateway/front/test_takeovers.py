"""Which sessions another node takes over once their owner has gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.replica import EMPTY, ReplicaBatch
from lastword.gateway.fleet.services import FleetServices
from lastword.gateway.front import fleet_sessions
from lastword.gateway.front.fleet_sessions import Takeovers
from tests.kit.fleet.faulty_store import FaultyStore
from tests.kit.fleet.leases_in_memory import owner
from tests.kit.gateway.entries_made import end, out, said
from tests.kit.patience import fused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.gateway.fleet.records import OwnerRecord
    from lastword.gateway.fleet.replica import StreamEnd
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.log.entries import LogEntry


class TwoNodes:
    """The node and the sessions of a front whose other node has gone."""

    name = "two"
    is_settled = True
    note_owner = FleetServices.note_owner
    note_shown = FleetServices.note_shown

    def __init__(self) -> None:
        self.shown: dict[str, dict[str, int]] = {}
        self.replicas = FaultyStore()
        self.owners: dict[str, OwnerRecord] = {}
        self.nodes: dict[str, Any] = {}
        self.restored: list[str] = []

    async def session(self, session_id: str) -> None:
        """No session has ended."""

    async def of_session(self, session_id: str, client: Mapping[str, Any]) -> None:
        """Note that a session was restored."""
        del client
        self.restored.append(session_id)

    async def lose(
        self, state: SessionState, head: int, *entries: LogEntry, older_head: int | None = None
    ) -> list[str]:
        """Lose the owner whose lease showed this of a log; return what is restored.

        With `older_head`, the lease was lost before, and restored servers then send it again, as it
        was at that head.
        """
        claimed = await self.replicas.claim("s", EMPTY, "one")
        await self.replicas.publish("s", ReplicaBatch("e", 1, entries), claimed)
        takeovers = Takeovers(cast("FleetNode", self), cast("Directory", self))
        name = wire.name_of("s")
        others = asyncio.all_tasks()
        heads = [head] if older_head is None else [older_head, None, head, older_head]
        for shown in [*heads, None]:
            lease = None if shown is None else owner("one", state=state, head=shown)
            self.note_owner(name, lease)
            takeovers.note(name, lease)
        await asyncio.gather(*asyncio.all_tasks() - others)
        return self.restored


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_sessions, "SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr(fleet_sessions, "SPREAD_SECONDS", 0.0)


@fused
async def test_a_turn_that_the_lease_did_not_show_yet_is_ended() -> None:
    assert await TwoNodes().lose(SessionState.IDLE, 0, said(1), out()) == ["s"]


@fused
async def test_a_session_without_an_open_turn_is_left_as_it_is() -> None:
    assert await TwoNodes().lose(SessionState.IDLE, 1, said(1), out(), end(1)) == []


@fused
async def test_a_log_that_is_unreadable_at_first_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes, last = TwoNodes(), FaultyStore.last
    fails = [True, False]

    async def read(store: FaultyStore, session_id: str) -> StreamEnd:
        if fails.pop(0):
            raise FleetError("away")
        return await last(store, session_id)

    monkeypatch.setattr(FaultyStore, "last", read)
    assert await nodes.lose(SessionState.IDLE, 0, said(1)) == ["s"]
    assert fails == []


@fused
async def test_a_session_whose_log_lacks_entries_of_its_lease_is_taken_over() -> None:
    assert await TwoNodes().lose(SessionState.IDLE, 4, said(1), out(), end(1)) == ["s"]


@fused
async def test_an_older_lease_of_restored_servers_does_not_hide_what_was_shown() -> None:
    entries = (said(1), out(), end(1))
    assert await TwoNodes().lose(SessionState.IDLE, 4, *entries, older_head=1) == ["s"]


@fused
async def test_a_session_whose_log_lacks_entries_that_were_listed_here_is_taken_over() -> None:
    nodes = TwoNodes()
    nodes.note_shown(wire.name_of("s"), owner("one", head=4).view)
    assert await nodes.lose(SessionState.IDLE, 0, said(1), out(), end(1)) == ["s"]


@fused
async def test_an_open_turn_that_the_lease_shows_is_ended() -> None:
    assert await TwoNodes().lose(SessionState.RUNNING, 1, said(1)) == ["s"]


@fused
async def test_a_turn_that_ended_after_its_lease_was_published_is_left_as_it_is() -> None:
    assert await TwoNodes().lose(SessionState.RUNNING, 1, said(1), end(1)) == []
