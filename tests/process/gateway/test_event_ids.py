"""Events of a session's stream: their ids, and streams that go on after one of them."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.gateway.test_http import EVENTS, Caller, next_event, next_message

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable, Iterator

    from tests.kit.gateway.serving import Gateway

WORDS = [f"<{number}>" for number in range(12)]
TALKS: dict[str, Any] = {
    "turns": [
        [{"say": word} for word in WORDS] + [{"result": "end_turn"}],
        [{"say": "Again."}, {"result": "end_turn"}],
    ],
    "sessions": "resume",
}
INVALID_PARAMS = -32602


class Stream:
    """What came on a session's stream."""

    def __init__(self, caller: Caller, name: str, session: str, last: str = "") -> None:
        headers = {"Acp-Connection-Id": name, "Acp-Session-Id": session}
        if last:
            headers["Last-Event-ID"] = last
        self.answer = caller.ask("GET", headers=EVENTS | headers)
        self.events: list[tuple[str, dict[str, Any]]] = []

    def until_answer(self, request: int) -> None:
        """Read up to the answer to a request."""
        while not self.events or self.events[-1][1].get("id") != request:
            self.events.append(next_event(self.answer))

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

    def __init__(self, caller: Caller, gateway: Gateway) -> None:
        self.caller = caller
        self.gateway = gateway
        self.name = caller.connect()
        headers = EVENTS | {"Acp-Connection-Id": self.name}
        self.own: http.client.HTTPResponse = caller.ask("GET", headers=headers)
        self.session = ""

    def post(self, request: int, method: str, **params: Any) -> None:
        """Post a request."""
        message = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
        answer = self.caller.post(message, Acp_Connection_Id=self.name)
        assert answer.status == 202
        answer.read()

    def new(self) -> None:
        """Open a session."""
        self.post(1, "session/new", cwd=str(self.gateway.root), mcpServers=[])
        self.session = next_message(self.own)["result"]["sessionId"]

    def load(self, session: str) -> None:
        """See a session that there is."""
        self.session = session
        params = {"sessionId": session, "cwd": str(self.gateway.root), "mcpServers": []}
        self.post(1, "session/load", **params)

    def prompt(self, request: int) -> None:
        """Prompt."""
        blocks = [{"type": "text", "text": "go"}]
        self.post(request, "session/prompt", sessionId=self.session, prompt=blocks)

    def stream(self, last: str = "") -> Stream:
        """A stream of the session."""
        return Stream(self.caller, self.name, self.session, last)


@pytest.fixture(scope="module")
def converse(serve_all: Callable[..., Gateway]) -> Iterator[Callable[[], Conversation]]:
    """Connections over HTTP to one gateway."""
    gateway = serve_all(TALKS)
    with contextlib.closing(Caller(gateway)) as caller:
        yield lambda: Conversation(caller, gateway)


def test_a_stream_resumes_after_the_last_received_event_wherever_it_was_cut(
    converse: Callable[[], Conversation],
) -> None:
    talk = converse()
    talk.new()
    whole = talk.stream()
    talk.prompt(2)
    whole.until_answer(2)
    assert whole.text == "".join(WORDS)
    assert all(name.count(":") == 1 for name, _ in whole.events)
    for had in range(len(whole.events)):
        rest = talk.stream(whole.events[had][0])
        rest.read(len(whole.events) - had - 1)
        assert rest.events == whole.events[had + 1 :]
    talk.prompt(3)
    rest = talk.stream(whole.events[-1][0])
    rest.until_answer(3)
    assert rest.text == "Again."


def test_a_reader_that_names_its_last_event_gets_the_waiting_ones_once(
    converse: Callable[[], Conversation],
) -> None:
    talk = converse()
    talk.new()
    first = talk.stream()
    talk.prompt(2)
    first.read(3)
    second = talk.stream(first.events[1][0])
    second.until_answer(2)
    assert second.events[0] == first.events[2]
    told = [name for name, _ in first.events[:2] + second.events]
    assert len(set(told)) == len(told)
    assert "".join(WORDS).startswith(first.text)
    assert second.text.endswith(WORDS[-1])


def test_the_next_load_begins_at_an_event_of_an_earlier_connection(
    converse: Callable[[], Conversation],
) -> None:
    before = converse()
    before.new()
    had = before.stream()
    before.prompt(2)
    had.read(5)
    after = converse()
    after.session = before.session
    rest = after.stream(had.events[-1][0])
    after.load(before.session)
    assert "result" in next_message(after.own)
    while not rest.text.endswith(WORDS[-1]):
        rest.read(1)
    assert had.text + rest.text == "".join(WORDS)


def test_an_invalid_event_id_is_refused_like_a_bad_cursor(
    converse: Callable[[], Conversation],
) -> None:
    talk = converse()
    talk.new()
    stream = talk.stream()
    talk.prompt(2)
    stream.until_answer(2)
    epoch, _, seq = stream.events[-1][0].partition(":")
    for wrong in ("x", "5", f"{epoch}:", f"{epoch}:-1", f"{epoch}:{int(seq) + 999}"):
        answer = talk.stream(wrong).answer
        assert answer.status == 400, wrong
        assert json.loads(answer.read())["error"]["code"] == INVALID_PARAMS
    again = talk.stream(f"another:{seq}")
    again.until_answer(2)
    reset = again.events[0][1]["params"]["update"]
    assert reset["sessionUpdate"] == "session_info_update"
    assert reset["_meta"]["lastword"]["reset"] == "epoch"
    assert again.text == "".join(WORDS)
