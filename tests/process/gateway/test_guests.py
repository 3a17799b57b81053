"""Guests: what an observer may use of a gateway, and what it does not learn."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus

from lastword.gateway.front import doorkeeper, services
from lastword.gateway.viewing.access import Rate
from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient
from tests.process.gateway.test_http import Caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def watching(gateway: Gateway, **more: Any) -> ViewerClient:
    return ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER), **more)


def reason_of(answer: dict[str, Any]) -> str:
    reason: str = answer["error"]["data"]["agent_error"]["reason"]
    return reason


def test_observers_start_no_agent_and_leave_room_for_a_controller(serve: Serve) -> None:
    gateway = serve("healthy", "--sessions", "1")
    with contextlib.ExitStack() as stack:
        for number in range(6):
            one = stack.enter_context(watching(gateway, capabilities={"x": number}))
            assert one.result("session/list", {}) == {"sessions": []}
        bound = gateway.token(session="none yet")
        stack.enter_context(ViewerClient(gateway, token=bound, capabilities={"y": 1}))
        assert gateway.holders() == []
        controller = stack.enter_context(ViewerClient(gateway))
        session = controller.new(gateway.root)
        for number in range(6):
            one = stack.enter_context(watching(gateway, capabilities={"z": number}))
            one.load(session, gateway.root)
        assert len(gateway.holders()) == 1


@pytest.mark.processes
def test_an_observer_gets_the_running_agents_greeting(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as controller:
        session = controller.new(gateway.root)
        said = controller.frames[0]["result"]
        gateway.reload()  # it has to ask
        with watching(gateway) as observer:
            told = observer.frames[0]["result"]
            assert told["agentCapabilities"] == said["agentCapabilities"]
            assert told.get("agentInfo") == said.get("agentInfo")
    assert session


@pytest.mark.processes
def test_an_unused_agent_makes_way_for_a_different_client(serve: Serve) -> None:
    gateway = serve("healthy", "--sessions", "2")
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(ViewerClient(gateway, capabilities={"x": number}))
            for number in range(6)
        ]
        assert len(gateway.holders()) == 2
        sessions = [client.new(gateway.root) for client in clients[:2]]
        assert len(set(sessions)) == 2
        refused = clients[2].answer(
            clients[2].request("session/new", {"cwd": str(gateway.root), "mcpServers": []})
        )
        assert "2 agents are running" in refused["error"]["message"]


@pytest.mark.processes
def test_a_controller_restores_a_session_and_an_observer_does_not(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as controller:
        session = controller.new(gateway.root)
    gateway.crash()
    params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
    with watching(gateway) as observer, ViewerClient(gateway) as controller:
        refused = observer.answer(observer.request("session/load", params))
        assert reason_of(refused) == "observer"
        assert "once a controller opens it" in refused["error"]["message"]
        controller.load(session, gateway.root)
        observer.load(session, gateway.root)
        unknown = observer.answer(observer.request("session/load", params | {"sessionId": "none"}))
        assert unknown["error"]["code"] == -32002


def test_observers_do_not_learn_the_folder_of_a_session(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as controller, watching(gateway) as observer:
        session = controller.new(gateway.root)
        assert controller.result("session/list", {})["sessions"][0]["cwd"] == str(gateway.root)
        observer.load(session, gateway.root)
        listed = observer.result("session/list", {})["sessions"]
        assert listed == [{"sessionId": session, "cwd": "/"}]
        assert str(gateway.root) not in str(observer.frames)
        api = ApiClient(gateway, gateway.token(role=Role.OBSERVER))
        paths = ("/v1/sessions", f"/v1/sessions/{session}", f"/v1/sessions/{session}/events")
        for path in (*paths, "/v1/stats", "/page/settings.json"):
            assert str(gateway.root) not in api.ask(path).body.decode(), path


def test_a_flood_of_attaches_does_not_displace_the_conversation(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the flood takes: by the clock of the paces it comes at once.
    monkeypatch.setattr(services, "time", SimpleNamespace(monotonic=lambda: 1.0))
    turn = [{"say": "What was said first."}, {"result": "end_turn"}]
    gateway = serve({"turns": [turn]}, "--log-limit", "64KiB")
    params = {"cwd": str(gateway.root), "mcpServers": []}
    with ViewerClient(gateway) as controller, watching(gateway) as observer:
        session = controller.new(gateway.root)
        controller.answer(controller.prompt(session))
        answers = []
        for viewer, count in ((observer, 1000), (controller, 1500)):
            numbers = [
                viewer.request("session/resume", params | {"sessionId": session})
                for _ in range(count)
            ]
            answers.append([viewer.answer(number) for number in numbers])
        refused = [sum("error" in each for each in told) for told in answers]
        assert refused[0] == 1000 - 256
        assert refused[1] > 500
        assert {reason_of(each) for each in answers[0] if "error" in each} == {"too_many_requests"}
        view = ApiClient(gateway).json(f"/v1/sessions/{session}")["session"]
        assert view["first"] == 1
        assert view["head"] < 2 * 2 * 240 + 50
        with ViewerClient(gateway) as late:
            late.load(session, gateway.root)
            assert "What was said first." in str(late.updates("agent_message_chunk"))


def test_a_session_full_of_observers_has_room_for_a_controller(serve: Serve) -> None:
    gateway = serve("healthy", "--viewers", "3")
    with contextlib.ExitStack() as stack:
        controller = stack.enter_context(ViewerClient(gateway))
        session = controller.new(gateway.root)
        observers = [stack.enter_context(watching(gateway)) for _ in range(3)]
        params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        answers = [one.answer(one.request("session/load", params)) for one in observers]
        assert ["result" in each for each in answers] == [True, True, False]
        assert reason_of(answers[2]) == "too_many_viewers"
        for _ in range(2):
            stack.enter_context(ViewerClient(gateway)).load(session, gateway.root)
        assert [one.closed() for one in observers[:2]] == [(4429, "too_many_viewers")] * 2
        late = stack.enter_context(ViewerClient(gateway))
        refused = late.answer(late.request("session/load", params))
        assert reason_of(refused) == "too_many_viewers"


def test_guests_sockets_are_bounded_and_the_owner_gets_in(serve: Serve) -> None:
    gateway = serve("healthy")
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(watching(gateway))
        with pytest.raises(InvalidStatus) as caught:
            watching(gateway)
        assert caught.value.response.status_code == 429
        assert caught.value.response.headers["retry-after"] == "30"
        other = gateway.token(role=Role.OBSERVER, expires=2_000_000_000)
        stack.enter_context(ViewerClient(gateway, token=other))
        controller = stack.enter_context(ViewerClient(gateway))
        assert controller.new(gateway.root)
    until("one has left", lambda: _may_come(gateway))


def _may_come(gateway: Gateway) -> bool:
    try:
        with watching(gateway):
            return True
    except InvalidStatus:
        return False


def test_http_connections_and_streams_of_guests_are_bounded_and_the_owner_gets_in(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    watcher = gateway.token(role=Role.OBSERVER)
    with contextlib.closing(Caller(gateway, watcher)) as guest:
        for _ in range(32):
            guest.connect()
        params = {"protocolVersion": 1, "clientCapabilities": {}}
        greeting = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        refused = guest.post(greeting)
        assert (refused.status, refused.getheader("retry-after")) == (429, "30")
        assert b'"reason":"too_many"' in refused.read()
        with contextlib.closing(Caller(gateway)) as owner, ViewerClient(gateway) as viewer:
            assert owner.connect()
            session = viewer.new(gateway.root)
            with contextlib.ExitStack() as stack:
                api = ApiClient(gateway, watcher)
                streams = [stack.enter_context(api.stream(session)) for _ in range(33)]
                assert [one.answer.status for one in streams] == [200] * 32 + [429]
                own = stack.enter_context(ApiClient(gateway).stream(session))
                assert own.answer.status == 200
            until("a stream has ended", lambda: _streams(gateway, watcher, session))


def _streams(gateway: Gateway, token: str, session: str) -> bool:
    with ApiClient(gateway, token).stream(session) as stream:
        return stream.answer.status == 200


def test_guests_requests_are_rate_limited_and_the_owners_are_not(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorkeeper, "GUEST_REQUESTS", Rate(per_second=1, burst=400))
    gateway = serve("healthy")
    guest, owner = ApiClient(gateway, gateway.token(role=Role.OBSERVER)), ApiClient(gateway)
    passed = 0
    while (answer := guest.ask("/v1/openapi.json")).status == 200:
        passed += 1
    assert passed >= 400
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert {owner.ask("/v1/openapi.json").status for _ in range(300)} == {200}
