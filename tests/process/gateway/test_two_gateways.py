"""Two gateways of one user on one state folder: a session's log has one owner."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Serve

pytestmark = pytest.mark.processes

TALKS: dict[str, Any] = {
    "turns": [[{"say": "Hi."}, {"hang": True}], [{"say": "Back."}, {"result": "end_turn"}]],
    "sessions": "resume",
}


@pytest.fixture
def pair(serve: Serve, tmp_path: Path) -> Iterator[tuple[Gateway, Gateway]]:
    """Two gateways with the same folders, and the same agent."""
    first = serve(TALKS)
    # Its own run folder, as of another login.
    second = Gateway(tmp_path, agent(str(tmp_path / "scenario.json")), "--log-age", "0")
    yield first, second
    second.close()


def listed(gateway: Gateway) -> dict[str, Any]:
    (session,) = ApiClient(gateway).json("/v1/sessions")["sessions"]
    found: dict[str, Any] = session
    return found


def test_the_second_gateway_names_the_owner_of_a_session_and_leaves_it_alone(
    pair: tuple[Gateway, Gateway],
) -> None:
    first, second = pair
    with ViewerClient(first, capabilities=TYPED) as viewer:
        session = viewer.new(first.root)
        prompt = viewer.prompt(session)
        viewer.find(lambda frame: "Hi." in str(frame))
        pid = first.session(session)["pid"]
        seen = listed(second)
        assert seen["state"] == "running"
        address = f"http://127.0.0.1:{first.port}"
        assert seen["gateway"] == {"pid": pid, "address": address}
        assert "gateway" not in listed(first)
        with ViewerClient(second, capabilities=TYPED) as other:
            for method in ("session/load", "session/resume", "session/prompt"):
                text = [{"type": "text", "text": "go"}]
                params = first.opening(sessionId=session, prompt=text)
                error = other.answer(other.request(method, params))["error"]
                assert error["data"]["agent_error"]["reason"] == "session_elsewhere", error
                assert address in error["message"]
                assert error["data"]["gateway"] == {"pid": pid, "address": address}
        assert not second.sessions()
        viewer.cancel(session)
        assert viewer.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert log_of(first).exists()
    assert listed(first)["state"] == "idle"


def log_of(gateway: Gateway) -> Path:
    (path,) = (gateway.state / "gateway" / "sessions").glob("*.db")
    return path


def test_a_session_whose_gateway_was_killed_comes_back_at_the_other(
    pair: tuple[Gateway, Gateway],
) -> None:
    first, second = pair
    with ViewerClient(first, capabilities=TYPED) as viewer:
        session = viewer.new(first.root)
        viewer.prompt(session)
        viewer.find(lambda frame: "Hi." in str(frame))
    first.crash()
    until("it is lost", lambda: listed(second)["state"] == "lost")
    with ViewerClient(second, capabilities=TYPED) as other:
        other.load(session, second.root)
        other.find(lambda frame: "Hi." in str(frame))
        with ViewerClient(first, capabilities=TYPED) as viewer:
            params = first.opening(sessionId=session)
            error = viewer.answer(viewer.request("session/load", params))["error"]
            assert f":{second.port}" in error["message"]
    assert [each["sessionId"] for each in second.sessions()] == [session]


def test_old_logs_are_deleted_unless_another_gateway_has_them(serve: Serve, tmp_path: Path) -> None:
    first = serve(TALKS)
    with ViewerClient(first) as viewer:
        viewer.new(first.root)
    path = log_of(first)
    closed = path.with_name("0" * 24 + ".db")
    sqlite3.connect(closed).close()
    closed.touch()
    long_ago = time.time() - 90 * 24 * 3600
    for each in path.parent.iterdir():
        os.utime(each, (long_ago, long_ago))
    second = Gateway(tmp_path, agent("healthy"), "--log-age", "1d")
    try:
        until("the old log has gone", lambda: not closed.exists())
        assert path.exists()
        assert listed(second)["state"] == "idle"
    finally:
        second.close()
