"""Which sessions another node takes over once their owner has gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.fleet.replica import EMPTY, ReplicaBatch
from lastword.gateway.fleet.services import FleetServices
from lastword.gateway.front import fleet_sessions
from lastword.gateway.front.fleet_sessions import Takeovers
from tests.kit.fleet.faulty_store import FaultyStore
from tests.kit.fleet.leases_in_memory import owner
from tests.kit.gateway.entries_made import end, out, said
from tests.kit.patience import fused
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.gateway.fleet.records import OwnerRecord
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


DONE = (said(1), out(), end(1))


@every(
    ("state", "head", "entries", "is_taken_over"),
    [
        (SessionState.IDLE, 0, (said(1), out()), True),  # a turn that the lease did not show yet
        (SessionState.IDLE, 1, DONE, False),
        (SessionState.IDLE, 4, DONE, True),  # the log lacks an entry of the lease's
        (SessionState.RUNNING, 1, (said(1),), True),
        (SessionState.RUNNING, 1, (said(1), end(1)), False),  # it ended since
    ],
)
@fused
async def test_a_session_is_taken_over_where_a_turn_is_open_or_entries_are_missing(
    state: SessionState, head: int, entries: tuple[LogEntry, ...], *, is_taken_over: bool
) -> None:
    assert await TwoNodes().lose(state, head, *entries) == ["s"] * is_taken_over


@fused
async def test_what_was_shown_once_counts_although_the_last_lease_does_not_show_it() -> None:
    # Servers that were restored show an older lease.
    assert await TwoNodes().lose(SessionState.IDLE, 4, *DONE, older_head=1) == ["s"]
    nodes = TwoNodes()
    nodes.note_shown(wire.name_of("s"), owner("one", head=4).view)
    assert await nodes.lose(SessionState.IDLE, 0, *DONE) == ["s"]


@fused
async def test_a_log_that_is_unreadable_at_first_is_read_again() -> None:
    nodes = TwoNodes()
    nodes.replicas.unreadable = 1
    assert await nodes.lose(SessionState.IDLE, 0, said(1)) == ["s"]
    assert nodes.replicas.unreadable == 0
