"""Limits of the link to the byte and to the second, and what is said where one is crossed."""

from __future__ import annotations

import json
from typing import Any

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
    prompt,
    reply,
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
