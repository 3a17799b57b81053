"""Who gets a place: what an observer may use of a gateway and learn of it, and when it is full."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus

from lastword.gateway.front import services
from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, attached, failure_of, opened
from tests.process.gateway.test_http import Caller

if TYPE_CHECKING:
    from tests.kit.gateway.serving import Gateway, Serve


def watching(gateway: Gateway, **more: Any) -> ViewerClient:
    return ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER), **more)


def test_observers_start_no_agent_and_leave_room_for_a_controller(serve: Serve) -> None:
    gateway = serve("healthy", "--sessions", "1")
    with contextlib.ExitStack() as stack:
        for number in range(6):
            one = stack.enter_context(watching(gateway, capabilities={"x": number}))
            assert one.result("session/list", {}) == {"sessions": []}
        bound = gateway.token(session="none yet")
        stack.enter_context(ViewerClient(gateway, token=bound, capabilities={"y": 1}))
        assert gateway.holders() == []
        session = stack.enter_context(ViewerClient(gateway)).new(gateway.root)
        for number in range(6):
            one = stack.enter_context(watching(gateway, capabilities={"z": number}))
            one.load(session, gateway.root)
        assert len(gateway.holders()) == 1


@pytest.mark.processes
def test_a_controller_restores_a_session_and_an_observer_does_not(serve: Serve) -> None:
    gateway = serve("healthy")
    with opened(gateway) as (controller, session):
        said = controller.frames[0]["result"]
        gateway.reload()  # it has to ask the running agent for its greeting
        with watching(gateway) as observer:
            told = observer.frames[0]["result"]
            assert told["agentCapabilities"] == said["agentCapabilities"]
            assert told.get("agentInfo") == said.get("agentInfo")
    gateway.crash()
    params = gateway.opening(sessionId=session)
    with watching(gateway) as observer, ViewerClient(gateway) as controller:
        refused = observer.answer(observer.request("session/load", params))
        assert failure_of(refused)["reason"] == "observer"
        assert "once a controller opens it" in refused["error"]["message"]
        controller.load(session, gateway.root)
        observer.load(session, gateway.root)
        unknown = observer.answer(observer.request("session/load", params | {"sessionId": "none"}))
        assert unknown["error"]["code"] == -32002


def test_the_limit_of_agents_is_typed_and_counts_neither_closed_sessions_nor_unused_agents(
    serve: Serve,
) -> None:
    gateway = serve("healthy", "--sessions", "2")
    for _ in range(3):
        with opened(gateway) as (viewer, session):
            assert viewer.result("session/close", {"sessionId": session}) == {}
            assert viewer.closed()[0] == 4410
            until("its agent has ended", lambda: not gateway.sessions())
    with contextlib.ExitStack() as stack:
        clients = [  # of other kinds, each of which needs an agent of its own
            stack.enter_context(ViewerClient(gateway, capabilities={"x": number}))
            for number in range(6)
        ]
        assert len(gateway.holders()) == 2
        assert len({client.new(gateway.root) for client in clients[:2]}) == 2
        refused = clients[2].answer(clients[2].request("session/new", gateway.opening()))
        failure = failure_of(refused)
        assert (failure["type"], failure["reason"]) == ("invalid_request", "too_many_agents")
        assert "2 agents are running" in refused["error"]["message"]
        assert "--sessions" in refused["error"]["message"]


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
    with ViewerClient(gateway) as controller, watching(gateway) as observer:
        session = controller.new(gateway.root)
        controller.turn(session)
        params = gateway.opening(sessionId=session)
        answers = []
        for viewer, count in ((observer, 300), (controller, 1500)):
            numbers = [viewer.request("session/resume", params) for _ in range(count)]
            answers.append([viewer.answer(number) for number in numbers])
        refused = [[failure_of(each) for each in told if "error" in each] for told in answers]
        assert len(refused[0]) == 300 - 256
        assert len(refused[1]) > 500
        assert {each["reason"] for each in refused[0]} == {"too_many_requests"}
        view = ApiClient(gateway).json(f"/v1/sessions/{session}")["session"]
        assert view["first"] == 1
        assert view["head"] < 2 * 2 * 240 + 50
        with attached(gateway, session) as late:
            assert "What was said first." in late.said


def test_a_session_full_of_observers_has_room_for_a_controller(serve: Serve) -> None:
    gateway = serve("healthy", "--viewers", "3")
    with contextlib.ExitStack() as stack:
        controller = stack.enter_context(ViewerClient(gateway))
        session = controller.new(gateway.root)
        observers = [stack.enter_context(watching(gateway)) for _ in range(3)]
        for one in observers[:2]:
            one.load(session, gateway.root)
        params = gateway.opening(sessionId=session)
        assert observers[2].failure("session/load", params)["reason"] == "too_many_viewers"
        for _ in range(2):
            stack.enter_context(ViewerClient(gateway)).load(session, gateway.root)
        assert [one.closed() for one in observers[:2]] == [(4429, "too_many_viewers")] * 2
        late = stack.enter_context(ViewerClient(gateway))
        assert late.failure("session/load", params)["reason"] == "too_many_viewers"


def test_guests_connections_of_each_kind_are_bounded_and_the_owner_gets_in(serve: Serve) -> None:
    gateway = serve("healthy")
    watcher = gateway.token(role=Role.OBSERVER)

    def watches() -> bool:
        try:
            with watching(gateway):
                return True
        except InvalidStatus:
            return False

    def streams(session: str) -> bool:
        with ApiClient(gateway, watcher).stream(session) as stream:
            return stream.answer.status == 200

    with contextlib.ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(watching(gateway))
        with pytest.raises(InvalidStatus) as caught:
            watching(gateway)
        assert caught.value.response.status_code == 429
        assert caught.value.response.headers["retry-after"] == "30"
        other = gateway.token(role=Role.OBSERVER, expires=2_000_000_000)
        stack.enter_context(ViewerClient(gateway, token=other))
        session = stack.enter_context(ViewerClient(gateway)).new(gateway.root)
    until("one has left", watches)
    with contextlib.ExitStack() as stack:
        guest, owner = (
            stack.enter_context(contextlib.closing(Caller(gateway, token)))
            for token in (watcher, gateway.token())
        )
        for _ in range(32):
            guest.connect()
        refused = guest.greet()
        assert (refused.status, refused.getheader("retry-after")) == (429, "30")
        assert b'"reason":"too_many"' in refused.read()
        assert owner.connect()
    with contextlib.ExitStack() as stack:
        api = ApiClient(gateway, watcher)
        opened = [stack.enter_context(api.stream(session)) for _ in range(33)]
        assert [one.answer.status for one in opened] == [200] * 32 + [429]
        own = stack.enter_context(ApiClient(gateway).stream(session))
        assert own.answer.status == 200
    until("a stream has ended", lambda: streams(session))
