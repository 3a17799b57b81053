"""Limits of the link to the byte and to the second, and what is said where one is crossed."""

from __future__ import annotations

import json
from typing import Any, Self

import pytest

from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import AgentError, ErrorType
from lastword.core.link.connection import Side
from lastword.core.link.effects import Answer, Effect, Record
from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    error,
    failure,
    permission,
    prompt,
    prompted,
    reply,
    request,
    second_version,
    update,
)
from tests.unit.link.test_connection_rare_frames import in_turn

LIMITED = AgentError(type=ErrorType.RATE_LIMIT, message="Wait.", retryable=True)


def records(effects: list[Effect], kind: str) -> list[dict[str, Any]]:
    """What was recorded of a kind."""
    entries = [effect.entry for effect in effects if isinstance(effect, Record)]
    return [entry.facts for entry in entries if entry.kind.value == kind]


@pytest.mark.parametrize("side", [Side.CLIENT, Side.AGENT])
def test_a_line_over_the_limit_is_recorded_with_its_side(side: Side) -> None:
    effects = in_turn().core.receive_oversized(side, b'{"id":77,"result":"x', 1.0)
    (facts,) = records(effects, "frame_dropped")
    assert facts == {"side": side.value, "reason": "line_too_long"}


def test_an_agents_oversized_request_is_not_an_answer_to_ours_of_the_same_id() -> None:
    wire = in_turn()
    head = b'{"id":1,"method":"fs/write_text_file","params":{"content":"x'
    effects = wire.core.receive_oversized(Side.AGENT, head, 1.0)
    answers = [effect for effect in effects if isinstance(effect, Answer)]
    assert [(each.to, each.request_id) for each in answers] == [(Side.AGENT, b"1")]
    (stop,) = records(effects, "cancel")
    assert stop == {"by": "watchdog", "type": "protocol_error", "reason": "line_too_long"}


def test_a_frame_over_the_limit_stops_every_session_at_work() -> None:
    wire = in_turn().client(prompt(2, "t"))
    wire.carry_out(wire.core.receive_oversized(Side.AGENT, b'{"method":"session/upd', 1.0))
    stopped = [json.loads(f) for f in wire.to_agent if b"session/cancel" in f]
    assert {frame["params"]["sessionId"] for frame in stopped} == {"s", "t"}


@pytest.mark.parametrize(
    ("limit", "pieces", "stops"),
    [(10, (10,), 0), (10, (11,), 1), (10, (5, 5, 1), 1), (1, (2,), 1), (0, (10_000,), 0)],
)
def test_stderr_is_a_flood_from_the_first_byte_over_the_limit(
    limit: int, pieces: tuple[int, ...], stops: int
) -> None:
    wire = in_turn(stderr_limit_bytes=limit)
    effects = [e for size in pieces for e in wire.core.receive_stderr(b"x" * size, 1.0)]
    said = [{"by": "watchdog", "type": "stderr_overflow", "reason": "stderr_limit"}]
    assert records(effects, "cancel") == said * stops


def test_requests_do_not_time_out_while_the_link_stands_still() -> None:
    wire = Wire()
    wire.now = 50.0
    wire.client(INITIALIZE)
    due = wire.core.next_timeout()
    wire.now = 1050.0
    wire.core.stand_still(1000)
    assert due is not None
    assert wire.core.next_timeout() == due + 1000
    wire.agent(INITIALIZED)
    assert wire.answers(0)


def test_an_unexpected_start_is_ignored() -> None:
    assert in_turn().core.agent_started(1.0) == []


# --- in which frames a failure is told


def test_each_prompt_of_a_failed_turn_is_answered_under_its_id() -> None:
    ending = ladder.Ending(error=LIMITED, session_id="s", prompts=(b"1", b'"x"'))
    for rung in ladder.Rung:
        out = ladder.frames_for(ending, rung=rung, client=ClientProfile(), dialect=acp.V1)
        assert [one.answers for one in out if one.answers is not None] == [b"1", b'"x"']
        for one in out:
            known = json.loads(one.frame).get("id")
            assert one.answers is None or json.loads(one.answers) == known


def test_a_login_is_requested_in_version_2_if_the_agent_offers_one() -> None:
    wire = Wire().client(INITIALIZE | {"params": {"protocolVersion": 2}})
    offered = {"protocolVersion": 2, "authMethods": [{"id": "browser"}]}
    wire.agent(INITIALIZED | {"result": offered}).client(prompt()).agent(reply(1, messageId="m"))
    wire.agent(update(sessionUpdate="state_update", state="running"))
    failed = {"message": "401 Unauthorized: invalid API key"}
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="error", error=failed))
    assert wire.updates()[-1]["error"]["code"] == -32000


def test_an_oversized_idle_update_of_version_2_is_sent_without_the_agents_members() -> None:
    wire = second_version()
    big = {"text": ["x" * 8000] * 20}
    state = {"state": "idle", "stopReason": "error", "error": {"message": "boom"}, "_meta": big}
    wire.agent(update(sessionUpdate="state_update", **state))
    last = json.loads(wire.to_client[-1])
    assert (last["params"]["sessionId"], last["params"]["update"]["state"]) == ("s", "idle")
    assert "_meta" not in last["params"]["update"]


# --- what agents say at length, in frames of ours


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
