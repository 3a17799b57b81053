"""Forks, restored sessions, and sessions with odd names: each is used as any other is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS
from tests.process.gateway.test_http import EVENTS, Caller, next_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


@pytest.fixture
def serve_noting(serve: Serve, tmp_path: Path) -> Callable[..., Gateway]:
    def start(*words: str) -> Gateway:
        path = str(tmp_path / "noted")
        return serve(
            "", command=[sys.executable, "-m", "tests.kit.gateway.agents", "noting", path, *words]
        )

    return start


def noted(gateway: Gateway, method: str) -> list[dict[str, Any]]:
    """The params of the messages of a method that reached the agent."""
    lines = [json.loads(line) for line in (gateway.folder / "noted").read_text().splitlines()]
    found = [json.loads(line) for line in lines]
    return [each.get("params", {}) for each in found if each.get("method") == method]


def fork(viewer: ViewerClient, session: str, gateway: Gateway) -> str:
    params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
    forked: str = viewer.result("session/fork", params)["sessionId"]
    return forked


def test_a_fork_is_used_closed_and_loaded_as_any_session_is(
    serve_noting: Callable[..., Gateway],
) -> None:
    gateway = serve_noting("fork")
    with ViewerClient(gateway) as viewer, ViewerClient(gateway) as other:
        session = viewer.new(gateway.root)
        forked = fork(viewer, session, gateway)
        assert forked != session
        listed = {each["sessionId"] for each in viewer.result("session/list", {})["sessions"]}
        assert {session, forked} <= listed
        other.load(forked, gateway.root)
        for each in (viewer, other):
            answer = each.answer(each.prompt(forked, "in the fork"))
            assert answer["result"]["stopReason"] == "end_turn"
        prompts = [params["sessionId"] for params in noted(gateway, "session/prompt")]
        assert prompts == [forked, forked]
        # The turns of both run side by side, and closing one leaves the other's.
        waits = viewer.prompt(session, "wait")
        assert viewer.result("session/close", {"sessionId": forked}) == {}
        viewer.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert viewer.answer(waits)["result"]["stopReason"] == "cancelled"
        assert viewer.answer(viewer.prompt(session))["result"]["stopReason"] == "end_turn"
    held = [each for each in gateway.holders() if each["sessions"]]
    assert [len(each["sessions"]) for each in held] == [1]


def test_a_fork_requested_again_after_a_lost_link_is_made_once(
    serve_noting: Callable[..., Gateway],
) -> None:
    gateway = serve_noting("fork")
    viewer = ViewerClient(gateway, replay=True)
    session = viewer.new(gateway.root)
    params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
    request = viewer.request("session/fork", params)
    forked = viewer.answer(request)["result"]["sessionId"]
    viewer.cut()
    with ViewerClient(gateway, replay=True, known=viewer.known) as again:
        again.load(session, gateway.root)
        again.request("session/fork", params, id_=request)
        assert again.answer(request)["result"]["sessionId"] == forked
    assert len(noted(gateway, "session/fork")) == 1


def test_an_agents_forks_are_bounded(serve_noting: Callable[..., Gateway]) -> None:
    gateway = serve_noting("fork")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        for _ in range(63):
            fork(viewer, session, gateway)
        params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        refused = viewer.answer(viewer.request("session/fork", params))["error"]
        assert refused["data"]["agent_error"]["reason"] == "too_many_sessions"


@pytest.mark.processes
def test_a_restored_session_keeps_its_directories(serve_noting: Callable[..., Gateway]) -> None:
    gateway = serve_noting("fork")
    more = gateway.root / "more"
    more.mkdir()
    opening = {"cwd": str(gateway.root), "mcpServers": [], "additionalDirectories": [str(more)]}
    with ViewerClient(gateway) as viewer:
        origin = viewer.new(gateway.root)
        session = viewer.result("session/fork", opening | {"sessionId": origin})["sessionId"]
        viewer.answer(viewer.prompt(session))
    gateway.crash()
    with ViewerClient(gateway) as viewer:
        viewer.load(session, gateway.root)
    restored = noted(gateway, "session/load")
    assert [each["additionalDirectories"] for each in restored] == [[str(more)]]
    assert [each["cwd"] for each in restored] == [str(gateway.root)]


@pytest.mark.parametrize(
    "name", ["a\r\nX-Other: 1", "\x85 a\u2028b ", "a\x00b", "x" * 2000, "../ok/it is%20"]
)
def test_a_session_is_served_everywhere_whatever_its_id(
    serve_noting: Callable[..., Gateway], name: str
) -> None:
    gateway = serve_noting(f"id={json.dumps(name)}")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        assert viewer.answer(viewer.prompt(session))["result"]["stopReason"] == "end_turn"
        (said,) = viewer.updates("agent_message_chunk")
        assert said["content"]["text"] == "Heard go"
        assert [each["sessionId"] for each in noted(gateway, "session/prompt")] == [name]
        listed = viewer.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        # By its URL, with a token for it alone, and in the events API.
        quoted = quote(session, safe="")
        token = gateway.token(session=session)
        with ViewerClient(gateway, session=quoted, token=token) as beside:
            beside.load(session, gateway.root)
            assert beside.updates("agent_message_chunk") == [said]
        asked = Request(
            f"http://127.0.0.1:{gateway.port}/v1/sessions/{quoted}",
            headers={"Authorization": f"Bearer {token}"},
        )
        with urlopen(asked, timeout=FUSE_SECONDS) as answer:
            assert json.loads(answer.read())["session"]["id"] == session
    caller = Caller(gateway)
    try:
        link = caller.connect()
        headers = EVENTS | {"Acp-Connection-Id": link, "Acp-Session-Id": session}
        stream = caller.ask("GET", headers=headers)
        loads = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        load = {"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": loads}
        posted = caller.post(load, Acp_Connection_Id=link, Acp_Session_Id=session)
        assert posted.status == 202
        while (frame := next_message(stream)).get("params", {}).get("update") != said:
            assert "error" not in frame
    finally:
        caller.close()
