"""Sessions of a fleet, as a front finds them while its servers are away for a moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.front import fleet_directory
from lastword.gateway.front.fleet_directory import FleetDirectory
from lastword.gateway.front.holders import Holders, StartError
from lastword.gateway.settings.values import HolderSettings
from tests.kit.fleet.in_memory import owned
from tests.kit.patience import fused

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.fleet.records import SessionRecord
    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.front.holders import MakeHolder


class Node:
    """The only node of a fleet, which had a session before it was started again."""

    name = "one"

    def __init__(self) -> None:
        self.owners: dict[str, Any] = {}

    async def session(self, session_id: str) -> SessionRecord:
        """Return the session's record."""
        del session_id
        return owned(self.name)

    async def owner(self, session_id: str) -> None:
        """Nobody has it."""

    def listen_to_owners(self, listener: Any) -> None:
        """Nothing changes."""


class Held:
    """A holder whose start fails."""

    def __init__(self, settings: HolderSettings, failure: Exception | None) -> None:
        self.settings = settings
        self._failure = failure
        self.sessions: dict[str, Any] = {}
        self.is_ready = False
        self.begun = asyncio.Event()

    async def run(self, handed: None) -> None:
        """Fail, or begin."""
        del handed
        if self._failure is not None:
            raise self._failure
        self.begun.set()
        await asyncio.Event().wait()


def directory(folder: Path, *failures: Exception) -> FleetDirectory:
    """Return the sessions of a node at which so many starts fail."""
    left = list(failures)

    def make(settings: HolderSettings, *_: object) -> Held:
        return Held(settings, left.pop(0) if left else None)

    template = HolderSettings(log_folder=str(folder), command=["agent"])
    holders = Holders(template, cast("MakeHolder", make))
    return FleetDirectory(holders, cast("FleetNode", Node()))


AWAY = FleetError("no NATS server of the fleet answers")


@fused
async def test_a_session_is_found_once_the_servers_answer_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_directory, "LOOK_SECONDS", 0.0)
    place = await directory(tmp_path, AWAY, AWAY).of_session("s", {})
    assert place is not None


@pytest.mark.parametrize(("failure", "reason"), [(AWAY, "fleet_away"), (OSError(), "holder_ended")])
def test_a_viewer_learns_whether_the_servers_or_the_agent_kept_a_session_from_it(
    failure: Exception, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_directory, "SETTLE_SECONDS", -1.0)

    @fused
    async def play() -> None:
        with pytest.raises(StartError) as refused:
            await directory(tmp_path, failure).of_session("s", {})
        assert refused.value.error["data"]["agent_error"]["reason"] == reason

    play()
