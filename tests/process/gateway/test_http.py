"""ACP's streamable HTTP transport, as the official text has its statuses and headers."""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from websockets.sync.client import connect

from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.gateway.serving import Gateway

JSON = {"Content-Type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}


class Caller:
    """Requests to one gateway."""

    def __init__(self, gateway: Gateway, token: str = "") -> None:
        self._gateway = gateway
        self._token = {"Authorization": f"Bearer {token or gateway.token()}"}
        self._open: list[http.client.HTTPConnection] = []

    def ask(
        self, method: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> http.client.HTTPResponse:
        """The answer to a request; its headers are the token's and these."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._gateway.port, timeout=FUSE_SECONDS
        )
        self._open.append(connection)
        connection.request(method, "/acp", body, self._token | (headers or {}))
        return connection.getresponse()

    def post(self, message: object, **headers: str) -> http.client.HTTPResponse:
        """The answer to a message."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", json.dumps(message).encode(), JSON | named)

    def connect(self) -> str:
        """The id of a new connection."""
        params = {"protocolVersion": 1, "clientCapabilities": {}}
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert answer.status == 200
        assert json.loads(answer.read())["result"]["protocolVersion"] == 1
        assert "lastword_node=" in (answer.getheader("set-cookie") or "")
        return answer.getheader("Acp-Connection-Id") or ""

    def close(self) -> None:
        """Close what is open."""
        for connection in self._open:
            connection.close()


@pytest.fixture
def caller(healthy: Gateway) -> Iterator[Caller]:
    """Requests to a gateway before the scripted agent."""
    caller = Caller(healthy)
    yield caller
    caller.close()


def next_event(stream: http.client.HTTPResponse) -> tuple[str, dict[str, Any]]:
    """The id and the message of the next event on a stream."""
    name = b""
    for line in lines_of(stream):
        if line.startswith(b"id: "):
            name = line.removeprefix(b"id: ").strip()
        elif line.startswith(b"data: "):
            return name.decode(), json.loads(line.removeprefix(b"data: "))
    raise AssertionError("the stream has ended")


def lines_of(stream: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines of a stream, under one fuse: signs of life keep a socket's own from burning."""
    burns_at = time.monotonic() + FUSE_SECONDS
    while line := stream.readline():
        assert time.monotonic() < burns_at, "the fuse burned: what is waited for does not come"
        yield line


def next_message(stream: http.client.HTTPResponse) -> dict[str, Any]:
    """The next message on a stream of events."""
    return next_event(stream)[1]


def test_a_bad_request_gets_the_status_that_the_transport_defines(caller: Caller) -> None:
    prompt = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {}}
    assert caller.post(prompt).status == 400  # no connection is named
    assert caller.post(prompt, Acp_Connection_Id="none").status == 404
    assert caller.ask("POST", b"{}", {"Content-Type": "text/plain"}).status == 415
    batch = caller.post([prompt])
    assert batch.status == 400
    assert json.loads(batch.read())["error"]["code"] == -32600
    assert caller.ask("POST", b"{", JSON).status == 400
    assert caller.ask("GET", headers=EVENTS).status == 400
    name = caller.connect()
    assert caller.ask("GET", headers={"Acp-Connection-Id": name}).status == 406
    assert caller.ask("PUT").status == 405
    wrong = {"Authorization": "Bearer none"}
    assert caller.ask("POST", b"{}", JSON | wrong).status == 401


def test_a_turn_over_posts_and_streams(caller: Caller) -> None:
    name = caller.connect()
    own = caller.ask("GET", headers=EVENTS | {"Acp-Connection-Id": name})
    assert own.status == 200
    assert own.getheader("content-type", "").startswith("text/event-stream")
    opening = {"cwd": str(caller._gateway.root), "mcpServers": []}
    message = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": opening}
    assert caller.post(message, Acp_Connection_Id=name).status == 202
    session = next_message(own)["result"]["sessionId"]
    stream = caller.ask(
        "GET", headers=EVENTS | {"Acp-Connection-Id": name, "Acp-Session-Id": session}
    )
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
    message = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params}
    posted = caller.post(message, Acp_Connection_Id=name, Acp_Session_Id=session)
    assert (posted.status, posted.read()) == (202, b"")
    told = [next_message(stream)]
    while "id" not in told[-1]:
        told.append(next_message(stream))
    assert {each["method"] for each in told[:-1]} == {"session/update"}
    assert told[-1] == {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}
    headers = {"Acp-Connection-Id": name}
    assert caller.ask("DELETE", headers=headers).status == 202
    assert caller.ask("DELETE", headers=headers).status == 404


def test_posts_are_accepted_up_to_a_bound_while_their_answers_are_unread(caller: Caller) -> None:
    name = caller.connect()
    ping = {"jsonrpc": "2.0", "method": "_lastword/ping", "params": {"x": "y" * 100}}
    for number in range(1, 601):
        assert caller.post(ping | {"id": number}, Acp_Connection_Id=name).status == 202
    long = "z" * 40_000  # an id comes back in its answer
    told = [caller.post(ping | {"id": f"{n}{long}"}, Acp_Connection_Id=name) for n in range(40)]
    assert {each.status for each in told[:20]} == {202}
    assert (told[-1].status, told[-1].getheader("retry-after")) == (503, "5")
    assert json.loads(told[-1].read())["reason"] == "stream_unread"
    assert caller.post(ping, Acp_Connection_Id=name).status == 202  # which has no answer
    stream = caller.ask("GET", headers=EVENTS | {"Acp-Connection-Id": name})
    taken = sum(each.status == 202 for each in told)
    ids = [next_message(stream)["id"] for _ in range(600 + taken)]
    assert ids[:600] == list(range(1, 601))
    assert caller.post(ping | {"id": 900}, Acp_Connection_Id=name).status == 202
    assert next_message(stream)["id"] == 900


@every("path", ["/acp", "/v1/client-events"])
def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_no_traceback(
    caller: Caller, path: str
) -> None:
    gateway = caller._gateway
    for body in (b"", b'{"jsonrpc":'):
        with socket.create_connection(("127.0.0.1", gateway.port), FUSE_SECONDS) as gone:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            asked = f"Content-Type: application/json\r\nAuthorization: Bearer {gateway.token()}"
            gone.sendall(f"{head}{asked}\r\n\r\n".encode() + body)
            assert caller.ask("GET", headers=EVENTS).status == 400  # it has been taken in
    assert caller.connect()
    assert "Traceback" not in gateway.stderr()


LONE = [
    '"clientInfo":{"name":"a\\ud800","version":"1"}',
    '"clientCapabilities":{"\\udc00":1}',
    '"_meta":{"x":"\\ud800"}',
    '"_meta":{"lastword":{"viewer":"\\ud800","secret":"\\udfff"}}',
]


@every("members", LONE)
def test_a_lone_surrogate_in_initialize_is_answered(caller: Caller, members: str) -> None:
    gateway = caller._gateway
    params = f'{{"protocolVersion":1,{members}}}'
    body = f'{{"jsonrpc":"2.0","id":"\\ud801","method":"initialize","params":{params}}}'
    answer = caller.ask("POST", body.encode(), JSON)
    assert answer.status == 200
    assert json.loads(answer.read())["result"]["protocolVersion"] == 1
    said = {"Authorization": f"Bearer {gateway.token()}"}
    with connect(gateway.url, additional_headers=said, open_timeout=FUSE_SECONDS) as viewer:
        viewer.send(body)
        told = json.loads(viewer.recv(FUSE_SECONDS))
        assert told["id"] == "\ud801"
    assert "Traceback" not in gateway.stderr()
