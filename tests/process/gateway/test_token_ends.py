"""The end of a token: what becomes of connections that came with it, and of all by a new key."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus

from lastword.gateway.front import app, doorkeeper
from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.push_service import PushBrowser, PushService
from tests.process.gateway.test_http import EVENTS, Caller, next_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

HOUR_SECONDS = 3600


class DayClock:
    """The time of day by which tokens expire, which a test moves on."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> DayClock:
    clock = DayClock()
    monkeypatch.setitem(doorkeeper.Doorkeeper.__init__.__kwdefaults__, "clock", clock)
    monkeypatch.setattr(app, "LOOK_SECONDS", 0.05)
    return clock


def soon() -> int:
    return int(time.time()) + HOUR_SECONDS


def test_a_socket_is_closed_when_its_token_expires_and_its_session_continues(
    clock: DayClock, serve: Serve
) -> None:
    gateway = serve("permission")
    ends = soon()
    with ViewerClient(gateway) as owner:
        session = owner.new(gateway.root)
        token = gateway.token(expires=ends)
        with ViewerClient(gateway, token=token, replay=True) as viewer:
            viewer.load(session, gateway.root)
            prompt = viewer.prompt(session)
            viewer.find(lambda frame: frame.get("method") == "session/request_permission")
            clock.ahead = HOUR_SECONDS
            assert viewer.closed() == (4401, "unauthorized")
            known = viewer.known
        with pytest.raises(InvalidStatus):
            ViewerClient(gateway, token=token)
        with ViewerClient(gateway, replay=True, known=known) as viewer:  # with a fresh token
            viewer.load(session, gateway.root)
            asked = viewer.find(lambda frame: frame.get("method") == "session/request_permission")
            option = asked["params"]["options"][0]["optionId"]
            chosen = {"outcome": {"outcome": "selected", "optionId": option}}
            viewer.send({"id": asked["id"], "result": chosen})
            text = [{"type": "text", "text": "go"}]
            viewer.request("session/prompt", {"sessionId": session, "prompt": text}, id_=prompt)
            assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"


def test_an_events_stream_sends_nothing_after_its_token_has_expired(
    clock: DayClock, serve: Serve
) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as owner:
        session = owner.new(gateway.root)
        token = gateway.token(role=Role.OBSERVER, expires=soon())
        with ApiClient(gateway, token).stream(session) as stream:
            stream.until(lambda _, data: data.get("kind") == "viewer_came")
            clock.ahead = HOUR_SECONDS
            owner.answer(owner.prompt(session))
            assert [name for name, _ in stream.parts() if name != ":"] == []


def test_a_fresh_token_of_the_same_role_keeps_an_http_connection(
    clock: DayClock, serve: Serve
) -> None:
    gateway = serve("healthy")
    ends = soon()
    with contextlib.ExitStack() as stack:
        old = stack.enter_context(contextlib.closing(Caller(gateway, gateway.token(expires=ends))))
        later = gateway.token(expires=ends + 3600)
        fresh = stack.enter_context(contextlib.closing(Caller(gateway, later)))
        name = old.connect()
        named = {"Acp-Connection-Id": name}
        first = old.ask("GET", headers=EVENTS | named)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "_lastword/ping", "params": {}}
        assert fresh.post(ping, Acp_Connection_Id=name).status == 202
        assert next_message(first)["id"] == 1
        clock.ahead = HOUR_SECONDS
        assert old.post(ping, Acp_Connection_Id=name).status == 401
        assert fresh.post(ping | {"id": 2}, Acp_Connection_Id=name).status == 202
        while line := first.readline():  # it ends, and tells nothing more
            assert not line.startswith(b"data: ")
        second = fresh.ask("GET", headers=EVENTS | named)
        assert next_message(second)["id"] == 2
        for other in (
            gateway.token(role=Role.OBSERVER),
            gateway.token(session="mine"),
            gateway.token(role=Role.OBSERVER, session="mine"),
        ):
            stranger = stack.enter_context(contextlib.closing(Caller(gateway, other)))
            assert stranger.post(ping, Acp_Connection_Id=name).status == 404
            assert stranger.ask("DELETE", headers=named).status == 404


@pytest.mark.processes
def test_a_new_key_ends_every_token_cookie_link_subscription_and_connection(serve: Serve) -> None:
    gateway = serve("healthy")
    token, cookie = gateway.token(), "=".join(gateway.cookie())
    link = gateway.link().partition(str(gateway.port))[2]
    with ViewerClient(gateway, token=token) as viewer, PushService() as service:
        assert ApiClient(gateway, "").ask("/", Cookie=cookie).status == 200
        asked = json.dumps(PushBrowser(service, "one").request).encode()
        push = {"method": "POST", "body": asked, "content_type": "application/json"}
        assert ApiClient(gateway).ask("/v1/push", **push).status == 201
        (gateway.state / "gateway" / "gateway.key").unlink()
        gateway.tell("reload")
        assert viewer.closed()[0] == 1012
    until("the front is back", lambda: gateway.stderr().count("serving at") == 2)
    with pytest.raises(InvalidStatus) as caught:
        ViewerClient(gateway, token=token)
    assert caught.value.response.status_code == 401
    assert ApiClient(gateway, "").ask("/", Cookie=cookie).status == 401
    assert ApiClient(gateway, "").ask(link).status == 401
    assert ApiClient(gateway).json("/v1/push")["subscriptions"] == []
    with ViewerClient(gateway) as viewer:  # by the new key
        assert viewer.new(gateway.root)
