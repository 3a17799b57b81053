"""Bad input to a whole gateway: a clear answer, and nobody else's session is touched."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from lastword.gateway.viewing.attachment import Role
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


@pytest.fixture
def turning(serve: Serve) -> Iterator[tuple[Gateway, str]]:
    """A gateway, with a session in the middle of whose turn its viewer is; the turn ends well."""
    gateway = serve("permission", "--frame-limit", "64KiB")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        prompt = viewer.prompt(session)
        asked = viewer.find(lambda frame: frame.get("method") == "session/request_permission")
        yield gateway, session
        option = asked["params"]["options"][0]["optionId"]
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        viewer.send({"id": asked["id"], "result": chosen})
        assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"


def close_code_of(gateway: Gateway, *frames: str | bytes) -> tuple[int, str]:
    """How a socket ends that says this."""
    said = {"Authorization": f"Bearer {gateway.token()}"}
    with connect(gateway.url, additional_headers=said, open_timeout=FUSE_SECONDS) as socket:
        for frame in frames:
            socket.send(frame)
        try:
            while True:
                socket.recv(FUSE_SECONDS)
        except ConnectionClosed as closed:
            received = closed.rcvd
    return (received.code, received.reason) if received is not None else (1006, "")


def error_of(viewer: ViewerClient, text: str | bytes) -> dict[str, Any]:
    """The error, without an id, that a frame is answered with; the socket stays."""
    before = len(viewer.frames)
    viewer._socket.send(text)
    while True:
        frame = viewer.next()
        if "error" in frame and frame.get("id") is None:
            break
    assert len(viewer.frames) > before
    error: dict[str, Any] = frame["error"]
    return error


def test_what_is_no_message_is_answered_and_the_connection_goes_on(
    turning: tuple[Gateway, str],
) -> None:
    gateway, session = turning
    batch = json.dumps([HELLO, HELLO])
    with ViewerClient(gateway) as viewer:
        assert error_of(viewer, batch)["code"] == -32600
        for garbage in ("{", "nothing", '{"jsonrpc": "2.0"', '"text"', "\x00", "[" * 10_000):
            assert error_of(viewer, garbage)["code"] in {-32700, -32600}, garbage[:20]
        viewer._socket.send(b'{"jsonrpc":"2.0","id":77,"method":"session/list"}')  # binary
        again = viewer.answer(viewer.request("initialize", HELLO["params"]))  # type: ignore[arg-type]
        assert again["error"]["code"] == -32600
        assert [each["sessionId"] for each in viewer.result("session/list", {})["sessions"]] == [
            session
        ]
        assert not any(frame.get("id") == 77 for frame in viewer.frames)


def test_a_frame_over_the_limit_closes_its_own_socket_alone(turning: tuple[Gateway, str]) -> None:
    gateway, _ = turning
    hello = json.dumps(HELLO)
    assert close_code_of(gateway, hello, "x" * 65_537)[0] == 1009
    assert close_code_of(gateway, "x" * 65_537)[0] == 1009
    with ViewerClient(gateway) as viewer:
        text = "x" * 60_000
        assert "sessions" in viewer.result("session/list", {"_meta": {"text": text}})


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}',
        "[]",
        "nothing",
        '{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
)
def test_without_initialize_first_the_socket_is_closed(
    turning: tuple[Gateway, str], frame: str
) -> None:
    assert close_code_of(turning[0], frame) == (1002, "initialize_first")


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ({"epoch": "HERE", "seq": -1}, "0 or more"),
        ({"epoch": "HERE", "seq": 10**6}, "the cursor's is 1000000"),
        ({"epoch": "HERE", "seq": 2**53}, "0 or more"),
        ({"epoch": "HERE", "seq": "2"}, "0 or more"),
        ({"epoch": "HERE", "seq": True}, "0 or more"),
        ({"epoch": "HERE", "seq": 1.5}, "0 or more"),
        ({"epoch": "HERE"}, "0 or more"),
        ({"epoch": 7, "seq": 1}, "names its epoch"),
        ({"seq": 1}, "names its epoch"),
        ("HERE:2", "names its epoch"),
        (None, "names its epoch"),
    ],
)
def test_a_cursor_that_is_none_is_refused_and_the_viewer_may_attach_otherwise(
    turning: tuple[Gateway, str], after: Any, says: str
) -> None:
    gateway, session = turning
    (held,) = (each for each in gateway.holders() if each["sessions"])
    if isinstance(after, dict) and after.get("epoch") == "HERE":
        after = after | {"epoch": held["sessions"][0]["epoch"]}
    with ViewerClient(gateway, replay=True) as viewer:
        params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        wrong = params | {"_meta": {"lastword": {"after": after}}}
        refused = viewer.answer(viewer.request("session/resume", wrong))
        assert refused["error"]["code"] == -32602
        assert says in refused["error"]["message"]
        place = viewer.load(session, gateway.root)["_meta"]["lastword"]
        assert (place["epoch"], place["from"]) == (held["sessions"][0]["epoch"], 1)


def test_a_cursor_of_another_epoch_is_told_and_all_that_is_kept_comes(
    turning: tuple[Gateway, str],
) -> None:
    gateway, session = turning
    with ViewerClient(gateway, replay=True) as viewer:
        more = {"_meta": {"lastword": {"after": {"epoch": "another", "seq": 3}}}}
        place = viewer.load(session, gateway.root, **more)["_meta"]["lastword"]
        assert (place["reset"], place["from"]) == ("epoch", 1)
        assert min(viewer.seqs()) == 1


def test_a_token_for_one_session_opens_and_sees_no_other(turning: tuple[Gateway, str]) -> None:
    gateway, session = turning
    with ViewerClient(gateway) as elsewhere:
        other = elsewhere.new(gateway.root)
        with ViewerClient(gateway, token=gateway.token(session=other)) as viewer:
            listed = viewer.result("session/list", {})["sessions"]
            assert [each["sessionId"] for each in listed] == [other]
            for method in ("session/load", "session/resume", "session/prompt", "session/close"):
                params = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
                refused = viewer.answer(viewer.request(method, params))
                assert refused["error"]["code"] == -32002, method
            viewer.send({"method": "session/cancel", "params": {"sessionId": session}})
            params = {"cwd": str(gateway.root), "mcpServers": []}
            assert "error" in viewer.answer(viewer.request("session/new", params))
            viewer.load(other, gateway.root)


def test_a_token_that_expires_meanwhile_keeps_its_socket_and_opens_no_other(
    turning: tuple[Gateway, str],
) -> None:
    gateway, _ = turning
    token = gateway.token(expires=int(time.time()) + 3)
    with ViewerClient(gateway, token=token) as viewer:
        until("it has expired", lambda: time.time() > int(token.split(".")[3]))
        assert "sessions" in viewer.result("session/list", {})
        with pytest.raises(Exception, match="401"):
            ViewerClient(gateway, token=token)


def test_an_observer_asks_the_agent_nothing(turning: tuple[Gateway, str]) -> None:
    gateway, session = turning
    with ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER)) as viewer:
        viewer.load(session, gateway.root)
        for method in ("authenticate", "logout", "_anything"):
            refused = viewer.answer(viewer.request(method, {"methodId": "x"}))
            assert refused["error"]["data"]["agent_error"]["reason"] == "observer"
        viewer.send({"method": "session/cancel", "params": {"sessionId": session}})
        answer = {"outcome": {"outcome": "cancelled"}}
        asked = [frame for frame in viewer.frames if "id" in frame and "method" in frame]
        assert not asked
        key = gateway.holders()[0]["sessions"][0]["sessionId"]
        viewer.send({"id": f"lastword:{key}:1", "result": answer})


def test_a_viewers_name_without_its_secret_is_another_viewers(
    turning: tuple[Gateway, str],
) -> None:
    gateway, _ = turning
    with ViewerClient(gateway, replay=True) as one:
        session = one.new(gateway.root)
        for secret in ("", "wrong", one.known["secret"][:-1]):
            known = {"viewer": one.known["viewer"], "secret": secret}
            with ViewerClient(gateway, replay=True, known=known) as thief:
                assert thief.known["viewer"] != one.known["viewer"]
                thief.load(session, gateway.root)
        prompt = one.prompt(session)
        one.find(lambda frame: frame.get("method") == "session/request_permission")
        assert one.answers_to(prompt) == []


def test_two_sockets_of_one_viewer_are_not_both_served(turning: tuple[Gateway, str]) -> None:
    gateway, _ = turning
    older = ViewerClient(gateway, replay=True)
    session = older.new(gateway.root)
    sockets = [older]
    for _ in range(5):
        newer = ViewerClient(gateway, replay=True, known=older.known)
        newer.load(session, gateway.root)
        assert sockets[-1].closed() == (4409, "superseded")
        sockets.append(newer)
    with sockets[-1] as last:
        last.prompt(session)
        last.find(lambda frame: frame.get("method") == "session/request_permission")
        held = {each["sessionId"]: each for one in gateway.holders() for each in one["sessions"]}
        assert held[session]["controllers"] == 1
