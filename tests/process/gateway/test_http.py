"""ACP's streamable HTTP transport: its statuses, and streams that go on after an event."""

from __future__ import annotations

import contextlib
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
    from collections.abc import Callable, Iterator

    from tests.kit.gateway.serving import Gateway, Serve

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

    def post(self, message: object, link: str = "", **headers: str) -> http.client.HTTPResponse:
        """The answer to a message, over a connection if it has been given one."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if link:
            named["Acp-Connection-Id"] = link
        return self.ask("POST", json.dumps(message).encode(), JSON | named)

    def request(self, link: str, number: int, method: str, **params: Any) -> None:
        """Post a request, which is taken."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        answer = self.post(message, link)
        assert (answer.status, answer.read()) == (202, b"")

    def stream(self, link: str, session: str = "", last: str = "") -> http.client.HTTPResponse:
        """The stream of a connection or of its session, after an event."""
        headers = {"Acp-Connection-Id": link, "Acp-Session-Id": session, "Last-Event-ID": last}
        return self.ask("GET", headers=EVENTS | {k: v for k, v in headers.items() if v})

    def greet(self) -> http.client.HTTPResponse:
        params = {"protocolVersion": 1, "clientCapabilities": {}}
        return self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})

    def connect(self) -> str:
        """The id of a new connection."""
        answer = self.greet()
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
    with contextlib.closing(Caller(healthy)) as caller:
        yield caller


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
    assert caller.post(prompt, "none").status == 404
    assert caller.ask("POST", b"{}", {"Content-Type": "text/plain"}).status == 415
    assert caller.ask("POST", b"{", {"Content-Type": "Application/JSON"}).status == 400
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
    own = caller.stream(name)
    assert own.status == 200
    assert own.getheader("content-type", "").startswith("text/event-stream")
    looked = caller.ask("HEAD", headers=EVENTS | {"Acp-Connection-Id": name})
    assert (looked.status, looked.read()) == (200, b"")
    caller.request(name, 1, "session/new", **caller._gateway.opening())
    session = next_message(own)["result"]["sessionId"]
    stream = caller.stream(name, session)
    text = [{"type": "text", "text": "hello"}]
    caller.request(name, 2, "session/prompt", sessionId=session, prompt=text)
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
    for number in range(1, 101):
        assert caller.post(ping | {"id": number}, name).status == 202
    long = "z" * 40_000  # an id comes back in its answer
    told = [caller.post(ping | {"id": f"{n}{long}"}, name) for n in range(40)]
    assert {each.status for each in told[:20]} == {202}
    assert (told[-1].status, told[-1].getheader("retry-after")) == (503, "5")
    assert json.loads(told[-1].read())["reason"] == "stream_unread"
    assert caller.post(ping, name).status == 202  # which has no answer
    stream = caller.stream(name)
    taken = sum(each.status == 202 for each in told)
    ids = [next_message(stream)["id"] for _ in range(100 + taken)]
    assert ids[:100] == list(range(1, 101))
    assert caller.post(ping | {"id": 900}, name).status == 202
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
        assert json.loads(viewer.recv(FUSE_SECONDS))["id"] == "\ud801"
    assert "Traceback" not in gateway.stderr()


WORDS = [f"<{number}>" for number in range(12)]
TALKS: dict[str, Any] = {
    "turns": [
        [{"say": word} for word in WORDS] + [{"result": "end_turn"}],
        [{"say": "Again."}, {"result": "end_turn"}],
    ],
    "sessions": "resume",
}


class Stream:
    """What came on a session's stream."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.answer = answer
        self.events: list[tuple[str, dict[str, Any]]] = []

    def until_answer(self, request: int) -> None:
        """Read up to the answer to a request."""
        while not self.events or self.events[-1][1].get("id") != request:
            self.read(1)

    def read(self, count: int) -> None:
        """Read so many events."""
        self.events += [next_event(self.answer) for _ in range(count)]

    @property
    def text(self) -> str:
        """What the agent has written there."""
        updates = [frame.get("params", {}).get("update", {}) for _, frame in self.events]
        chunks = [each for each in updates if each.get("sessionUpdate") == "agent_message_chunk"]
        return "".join(each["content"]["text"] for each in chunks)


class Conversation:
    """A connection over HTTP with a session, and its streams."""

    def __init__(self, caller: Caller, session: str = "") -> None:
        self.caller = caller
        self.name = caller.connect()
        self.own = caller.stream(self.name)
        self.session = session
        opening = caller._gateway.opening()
        if not session:
            caller.request(self.name, 1, "session/new", **opening)
            self.session = next_message(self.own)["result"]["sessionId"]

    def load(self) -> None:
        opening = self.caller._gateway.opening(sessionId=self.session)
        self.caller.request(self.name, 1, "session/load", **opening)

    def prompt(self, request: int) -> None:
        text = [{"type": "text", "text": "go"}]
        self.caller.request(
            self.name, request, "session/prompt", sessionId=self.session, prompt=text
        )

    def stream(self, last: str = "") -> Stream:
        return Stream(self.caller.stream(self.name, self.session, last))


@pytest.fixture(scope="module")
def converse(serve_all: Serve) -> Iterator[Callable[..., Conversation]]:
    """Connections over HTTP to one gateway."""
    with contextlib.closing(Caller(serve_all(TALKS))) as caller:
        yield lambda session="": Conversation(caller, session)


def test_a_stream_resumes_after_the_last_received_event_wherever_it_was_cut(
    converse: Callable[[], Conversation],
) -> None:
    talk = converse()
    whole = talk.stream()
    talk.prompt(2)
    whole.read(3)
    # Who names its last event while another reads gets what waits, once.
    second = talk.stream(whole.events[1][0])
    second.until_answer(2)
    assert second.events[0] == whole.events[2]
    whole.events = whole.events[:2] + second.events
    assert whole.text == "".join(WORDS)
    assert len({name for name, _ in whole.events}) == len(whole.events)
    for had in range(len(whole.events)):
        rest = talk.stream(whole.events[had][0])
        rest.read(len(whole.events) - had - 1)
        assert rest.events == whole.events[had + 1 :]
    talk.prompt(3)
    rest = talk.stream(whole.events[-1][0])
    rest.until_answer(3)
    assert rest.text == "Again."


def test_the_next_load_begins_at_an_event_of_an_earlier_connection(
    converse: Callable[..., Conversation],
) -> None:
    before = converse()
    had = before.stream()
    before.prompt(2)
    had.read(5)
    after = converse(before.session)
    rest = after.stream(had.events[-1][0])
    after.load()
    assert "result" in next_message(after.own)
    while not rest.text.endswith(WORDS[-1]):
        rest.read(1)
    assert had.text + rest.text == "".join(WORDS)


def test_an_invalid_event_id_is_refused_like_a_bad_cursor(
    converse: Callable[[], Conversation],
) -> None:
    talk = converse()
    stream = talk.stream()
    talk.prompt(2)
    stream.until_answer(2)
    epoch, _, seq = stream.events[-1][0].partition(":")
    for wrong in ("x", f"{epoch}:{int(seq) + 999}"):
        answer = talk.stream(wrong).answer
        assert answer.status == 400, wrong
        assert json.loads(answer.read())["error"]["code"] == -32602
    again = talk.stream(f"another:{seq}")
    again.until_answer(2)
    assert again.events[0][1]["params"]["update"]["_meta"]["lastword"]["reset"] == "epoch"
    assert again.text == "".join(WORDS)
