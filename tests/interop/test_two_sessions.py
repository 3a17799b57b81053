"""Two sessions of one agent at work at once, of which one fails: which of them is told."""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from lastword.kit.peer import StrictClient
from lastword.kit.provider.server import Provider, ProviderScenario
from tests.interop import real_agents
from tests.interop.runs import clear_leftovers
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.kit.peer import Frame, PeerEvent

pytestmark = pytest.mark.matrix

FUSE = 4 * FUSE_SECONDS
MARK = "SHALL-FAIL"
KINDS = {"agent_retry", "agent_error"}


class _Client(StrictClient):
    variable = real_agents.MARK


def _result(event: PeerEvent | None) -> Frame:
    assert event is not None
    assert event.frame is not None
    result: Frame = event.frame["result"]
    return result


def _session(client: StrictClient, folder: Path) -> str:
    session: str = _result(client.answer_to(client.new_session(str(folder)), FUSE))["sessionId"]
    return session


def test_of_two_sessions_at_once_the_one_that_fails_is_told_and_the_other_ends_well(
    agent_name: str, tmp_path: Path
) -> None:
    marked = {MARK: ProviderScenario.RATE_LIMITED}
    # One answers so slowly that the other has failed, and is told of, while it is at work.
    with Provider(ProviderScenario.SLOW, marked=marked) as provider:
        agent = real_agents.prepare(agent_name, provider, tmp_path, uuid.uuid4().hex)
        env = {**agent.env, "LASTWORD_STATE_DIR": str(tmp_path / "state")}
        command = [sys.executable, "-m", "lastword", "run", "--", *agent.argv]
        with _Client(command, env) as client:
            hello = client.initialize({"_meta": {"agent_error": {"version": 1, "retry": True}}})
            _result(client.answer_to(hello, FUSE))
            fails, goes_well = _session(client, agent.cwd), _session(client, agent.cwd)
            failing = client.prompt(fails, f"This one {MARK}.")
            healthy = client.prompt(goes_well, "What is the answer?")
            failed, ended = client.answer_to(failing, FUSE), client.answer_to(healthy, FUSE)
            events = client.events
    assert failed is not None
    assert failed.frame is not None
    assert failed.frame["error"]["data"]["agent_error"]["type"] == "rate_limit"
    assert _result(ended)["stopReason"] == "end_turn"
    told = [event for event in events if event.kind in KINDS]
    assert told
    assert {event.session for event in told} == {fails}
    assert not [
        event
        for event in events
        if event.session == goes_well and b'"agent_error"' in event.raw and not event.sent
    ]
    shown = "".join(
        event.update["content"]["text"]
        for event in events
        if event.session == goes_well and event.kind == "agent_message_chunk"
    )
    assert "model is 42" in shown
    assert clear_leftovers(agent.env[real_agents.MARK]) == []
