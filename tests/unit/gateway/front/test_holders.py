"""Holders that cannot be started now, as their sessions' viewers and agents notice it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import pytest

from lastword.errors import LastwordError
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.front import fleet_directory
from lastword.gateway.front.fleet_directory import FleetDirectory
from lastword.gateway.front.holders import HandedHolders, Holders, StartError
from lastword.gateway.holder.agent_process import HandedAgent
from lastword.gateway.holder.handover import HandedHolder
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
        self.fleet = object()
        self.is_ready = False
        self.begun = asyncio.Event()

    async def run(self, handed: None) -> None:
        """Fail, or begin."""
        del handed
        if self._failure is not None:
            raise self._failure
        self.begun.set()
        await asyncio.Event().wait()


def holders(folder: Path, *failures: Exception) -> Holders:
    """Return holders whose first starts fail with these errors, one each."""
    left = list(failures)

    def make(settings: HolderSettings, *_: object) -> Held:
        failure = left.pop(0) if left else None
        if failure is MISTAKE:
            raise failure
        return Held(settings, failure)

    template = HolderSettings(log_folder=str(folder), command=["agent"])
    return Holders(template, cast("MakeHolder", make))


def directory(folder: Path, *failures: Exception) -> FleetDirectory:
    """Return the sessions of a node whose first starts fail with these errors."""
    return FleetDirectory(holders(folder, *failures), cast("FleetNode", Node()))


AWAY = FleetError("no NATS server of the fleet answers")
MISTAKE = LastwordError("a configuration file has a mistake")


@fused
async def test_a_session_is_found_once_the_servers_answer_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_directory, "AGAIN_SECONDS", 0.0)
    place = await directory(tmp_path, AWAY, AWAY).of_session("s", {})
    assert place is not None


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(AWAY, "fleet_away"), (OSError("gone"), "holder_ended"), (MISTAKE, "holder_ended")],
)
def test_a_viewer_learns_whether_the_servers_or_the_agent_kept_a_session_from_it(
    failure: Exception,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fleet_directory, "SETTLE_SECONDS", -1.0)

    @fused
    async def play() -> None:
        with pytest.raises(StartError) as refused:
            await directory(tmp_path, failure).of_session("s", {})
        assert refused.value.error["data"]["agent_error"]["reason"] == reason

    play()
    assert capsys.readouterr().err == f"lastword: {failure}\n"


@fused
async def test_an_agent_whose_holder_cannot_go_on_gets_the_end_of_its_input(tmp_path: Path) -> None:
    readable, writable = os.pipe()
    agent = HandedAgent(state=b"", descriptors=[writable], speaks_typed=False)
    holder = HandedHolder(
        name="session-1",
        client={},
        initialized={},
        run="r",
        numbers=1,
        turns=1,
        sessions=["s"],
        opened=[],
        agent=agent,
    )
    handed, adopted = HandedHolders(holders=[holder]), list[int]()
    await holders(tmp_path, MISTAKE).adopt(handed, lambda: adopted.append(1))
    assert (os.read(readable, 1), adopted) == (b"", [1])
    os.close(readable)


@fused
async def test_a_stop_while_a_reload_waits_for_an_agent_is_at_once_and_hands_nothing_over(
    tmp_path: Path,
) -> None:
    starting = mock.Mock(links=[], can_be_handed_over=False, can_only_end=False)
    made = holders(tmp_path, MISTAKE)
    made._running["agent-1"] = starting
    wanted = [True, False, False]
    assert await made.hand_over(lambda: wanted.pop(0)) == HandedHolders()
    assert not wanted
    starting.hand_over.assert_not_called()
    assert not made.can_be_handed_over
    starting.can_only_end = True  # a reload waits no longer for it, and ends nothing of use
    assert made.can_be_handed_over


def test_a_session_whose_file_was_deleted_is_not_stored(tmp_path: Path) -> None:
    made = holders(tmp_path, MISTAKE)
    assert made.are_stored
    made._running["session-1"] = mock.Mock(sessions={"s": mock.Mock(id="s", is_stored=True)})
    assert not made.are_stored
    (tmp_path / made.log_path("s")).touch()
    assert made.are_stored
