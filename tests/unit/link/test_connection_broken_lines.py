"""Lines that are broken or too long: whoever waits for what they should have been is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.connection import Side
from lastword.core.protocol import jsonrpc
from tests.kit.wire import Wire, cancel, permission, prompt, request, result, second_version
from tests.unit.link.test_connection_rare_frames import ask, in_turn
from tests.unit.restart.crashing import Link

BROKEN = b'{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn",}}'


def send(wire: Wire, side: Side, line: bytes) -> None:
    """Let a side send this line."""
    wire.carry_out(wire.core.receive(side, jsonrpc.decode(line), wire.now))


def payload(answer: dict[str, Any]) -> tuple[str, str]:
    """The type and the reason of a failure."""
    error = answer["error"]["data"]["agent_error"]
    return error["type"], error["reason"]


def to_agent(wire: Wire) -> list[dict[str, Any]]:
    """What reached the agent."""
    return [json.loads(frame) for frame in wire.to_agent]


# --- of the agent's


@pytest.mark.parametrize("request_id", [b"1", b'"1"'])
def test_a_broken_answer_ends_its_turn_at_once(request_id: bytes) -> None:
    wire = in_turn()
    send(wire, Side.AGENT, BROKEN % request_id)
    assert payload(wire.answers(1)[0]) == ("protocol_error", "broken_answer")


def test_a_broken_answer_fails_its_request_alone() -> None:
    for wire in (second_version().client(prompt(2)), in_turn().client(request(2, "session/list"))):
        send(wire, Side.AGENT, BROKEN % b"2")
        assert payload(wire.answers(2)[0]) == ("protocol_error", "broken_answer")
        assert "error" not in str(wire.answers(1))


def test_a_broken_late_answer_ends_the_quarantine() -> None:
    wire = in_turn().client(cancel()).time(60)
    assert wire.core.connection.link.sessions["s"].quarantined
    send(wire, Side.AGENT, BROKEN % b"1")
    assert not wire.core.connection.link.sessions["s"].quarantined
    assert len(wire.answers(1)) == 1


@pytest.mark.parametrize(
    "line",
    [
        BROKEN % b"77",
        b'{"jsonrpc":"2.0","result":{"id":1,}}',
        b'{"level":"info","id":1,}',
        b'{"method":"_log","params":{"id":1,}}',
        b'"id":1,"result":{}}',
    ],
)
def test_a_broken_line_that_answers_nothing_ends_no_turn(line: bytes) -> None:
    wire = in_turn()
    before = len(wire.to_agent)
    send(wire, Side.CLIENT, BROKEN % b"77")
    assert (wire.answers(), len(wire.to_agent)) == ([], before)
    send(wire, Side.AGENT, line)
    assert (wire.answers(1), {*wire.drops}) == ([], {"not_json"})


def test_an_agent_whose_question_was_broken_gets_a_parse_error() -> None:
    wire = in_turn()
    send(wire, Side.AGENT, b'{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{,}}')
    assert [(f["id"], f["error"]["code"]) for f in to_agent(wire) if "error" in f] == [(1, -32700)]
    assert wire.answers(1) == []


# --- of the client's


@pytest.mark.parametrize("request_id", [b"1", b'"1"'])
def test_a_clients_broken_answer_is_an_error_for_the_agent_that_asked(request_id: bytes) -> None:
    wire = in_turn().agent(permission(1))
    send(wire, Side.CLIENT, BROKEN % request_id)
    assert [f["id"] for f in to_agent(wire) if "error" in f] == [1]
    assert wire.answers() == []
    assert not wire.core.connection.link.sessions["s"].asking


def test_a_clients_broken_answer_reaches_a_new_agent_under_the_agents_id() -> None:
    link = Link().come_back().agent(permission(4))
    shown = json.dumps(json.loads(link.to_client[-1])["id"]).encode()
    link.asked()
    send(link, Side.CLIENT, BROKEN % shown)
    assert [frame["id"] for frame in link.asked() if "error" in frame] == [4]


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"id":8,"method":"x","params":{"id":7,}}', 8),
        (b'{"method":"x","params":{"id":7,}}', None),
        (b'{"id":1,"method":"x","params":{,}}', None),
        (b'{"id":4,"params":{,}}', None),
        (b'{"id":5,"params":{,}}', 5),
    ],
)
def test_a_clients_broken_request_is_refused_under_its_own_id_if_that_is_free(
    line: bytes, request_id: int | None
) -> None:
    wire = in_turn()
    ask(wire, 4, "fs/read_text_file", sessionId="s", path="/a")
    send(wire, Side.CLIENT, line)
    refused = json.loads(wire.to_client[-1])
    assert (refused["id"], refused["error"]["code"]) == (request_id, -32700)


# --- too long


def test_the_clocks_resume_after_a_clients_oversized_answer() -> None:
    wire = in_turn().agent(permission(4))
    wire.carry_out(wire.core.receive_oversized(Side.CLIENT, b'{"id":4,"result":"x', wire.now))
    assert not wire.core.connection.link.sessions["s"].asking


@pytest.mark.parametrize(
    ("ends", "request_id"),
    [(b'{"method":"x","params":"x\nx","id":8}', 8), (b'{"method":"x","params":"x\nx"}', None)],
)
def test_a_clients_oversized_request_is_not_blamed_on_the_agent(
    ends: bytes, request_id: int | None
) -> None:
    wire = in_turn()
    wire.carry_out(wire.core.receive_oversized(Side.CLIENT, ends, wire.now))
    refused = json.loads(wire.to_client[-1])
    assert refused["id"] == request_id
    error = refused["error"]["data"]["agent_error"]
    assert (error["reason"], error["origin"]) == ("line_too_long", "client")
    assert "agent sent" not in error["message"]


def test_a_long_answer_fails_the_turn_whose_id_comes_at_its_end() -> None:
    wire = in_turn().client(prompt(2, "t"))
    ends = b'{"jsonrpc":"2.0","result":{"_meta":{"id":1},"x":"\nx"},"id":2}'
    wire.carry_out(wire.core.receive_oversized(Side.AGENT, ends, wire.now))
    assert payload(wire.answers(2)[0]) == ("protocol_error", "line_too_long")
    assert wire.answers(1) == []


# --- which ids are the same


@pytest.mark.parametrize(
    ("asked", "other"),
    [("v1", "v1.0"), ("11", "11.0"), (11, "11.0"), ("true", True), ("01", 1), ("null", None)],
)
def test_ids_are_equal_only_as_a_number_and_its_text(asked: object, other: object) -> None:
    wire = in_turn().client(prompt(asked, "t")).agent(result(other))
    assert wire.answers(asked) == []


def test_a_clients_broken_line_answers_no_prompt_that_waits_for_the_agents_grace() -> None:
    wire = in_turn(cancel_grace_seconds=5.0).client(cancel()).time(6).client(prompt(2))
    send(wire, Side.CLIENT, b'{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{},}')
    assert wire.answers(2) == []
    assert [answer["error"]["code"] for answer in wire.answers(None)] == [-32700]
