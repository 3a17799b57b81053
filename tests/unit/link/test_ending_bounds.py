"""What agents say at length, in frames of ours."""

from __future__ import annotations

import json
from typing import Any, Self

import pytest

from lastword.core.link.connection import Side
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    error,
    failure,
    permission,
    prompt,
    prompted,
    reply,
    request,
    update,
)

LONG = {str(number): "word " * 1600 for number in range(20)}


def test_a_translated_failure_keeps_its_detail_within_the_bound() -> None:
    wire = prompted()
    told = {"type": "rate_limit", "message": "Wait.", "retryable": True}
    wire.agent(update(sessionUpdate="agent_error", error=told | {"detail": LONG | {"text": "429"}}))
    wire.agent(error())
    assert max(map(len, wire.to_client)) < 60 * 1024
    assert failure(wire)["detail"] == {"text": "429"}


def test_a_mended_error_stays_within_the_bound() -> None:
    wire = Wire().client(request(3, "session/new"))
    wire.agent({"jsonrpc": "2.0", "id": 3, "error": {"code": "x", "message": "no", "data": LONG}})
    assert len(wire.to_client[-1]) < 60 * 1024
    assert wire.answers(3)[0]["error"]["message"] == "no"


# An id of the agent's is repeated in frames of ours: where it is long, they are left out, but for
# those without which a turn would not end or would not be told of.

LONG_ID = "x" * 62_000
CLIENTS: dict[str, dict[str, Any]] = {
    "one that knows nothing": {},
    "one that negotiated": {"_meta": {"agent_error": {"version": 1}}},
    "one that wants retries": {"_meta": {"agent_error": {"version": 1, "retry": True}}},
    "one that shows notices": {"session": {"notices": {}}},
    "JetBrains AIR": {
        "_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}
    },
}


class Bounded(Wire):
    """A link with a prompt open, whose agent's frames are told from ours."""

    def __init__(
        self,
        session: str = "s",
        *,
        version: int = 1,
        capabilities: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.theirs: list[bytes] = []
        self.session = session
        name = "capabilities" if version == 2 else "clientCapabilities"
        self.client(INITIALIZE | {"params": {"protocolVersion": version, name: capabilities or {}}})
        self.agent(reply(0, protocolVersion=version))
        self.client(prompt(session_id=session))
        self.since = len(self.to_client)

    def agent(self, *messages: dict[str, Any] | bytes) -> Self:
        self.theirs += [json.dumps(message).encode() for message in messages]
        return super().agent(*messages)

    def tool(self, tool_call_id: str) -> None:
        """The agent begins a tool call."""
        members = {"toolCallId": tool_call_id, "title": "Edit", "status": "pending"}
        self.agent(update(self.session, sessionUpdate="tool_call", **members))

    @property
    def long(self) -> list[bytes]:
        """Those of our frames that are over the bound."""
        ours = [frame for frame in self.to_client[self.since :] if frame not in self.theirs]
        assert ours
        return [frame for frame in ours if len(frame) >= 60 * 1024]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_long_session_id_leaves_the_failure_to_the_answer_alone(client: str) -> None:
    wire = Bounded(LONG_ID, capabilities=CLIENTS[client], warn_after_seconds=1.0)
    params = {"sessionId": LONG_ID, "category": "rate_limited", "detail": "429"}
    wire.agent({"jsonrpc": "2.0", "method": "_session/retrying", "params": params}).time(2.0)
    wire.tool("t")
    wire.eof(Side.AGENT)
    assert not wire.long
    (answer,) = wire.answers()
    told = answer["error"]["data"] if "error" in answer else answer["result"]["_meta"]
    assert told["agent_error"]["type"] == "agent_crash"


def test_a_long_tool_call_stays_open_and_the_others_are_closed() -> None:
    wire = Bounded()
    for tool_call_id in ("t1", LONG_ID, "t2"):
        wire.tool(tool_call_id)
    wire.agent(error())
    assert not wire.long
    closed = [told["toolCallId"] for told in wire.updates() if told.get("status") == "failed"]
    assert closed == ["t1", "t2"]


def test_a_long_question_is_not_withdrawn_and_the_others_are() -> None:
    wire = Bounded()
    for request_id in ("q1", LONG_ID, "q2"):
        wire.agent(permission(request_id))
    wire.eof(Side.AGENT)
    assert not wire.long
    frames = [json.loads(frame) for frame in wire.to_client]
    withdrawn = [f["params"]["requestId"] for f in frames if f.get("method") == "$/cancel_request"]
    assert withdrawn == ["q1", "q2"]


def test_the_only_frame_that_shows_a_failure_is_sent_whatever_its_length() -> None:
    wire = Bounded(LONG_ID, fallback="text")
    wire.tool("t")
    wire.eof(Side.AGENT)
    (told,) = wire.long
    update = json.loads(told)["params"]["update"]
    assert (update["sessionUpdate"], len(wire.answers())) == ("agent_message_chunk", 1)


@pytest.mark.parametrize("client", ["one that knows nothing", "one that negotiated"])
def test_the_only_frame_that_ends_a_turn_is_sent_whatever_its_length(client: str) -> None:
    wire = Bounded(LONG_ID, version=2, capabilities=CLIENTS[client]).agent(reply(1, messageId="m"))
    wire.agent(update(LONG_ID, sessionUpdate="state_update", state="running")).eof(Side.AGENT)
    (told,) = wire.long
    ended = json.loads(told)["params"]["update"]
    assert (ended["state"], ended["stopReason"]) == ("idle", "error")
