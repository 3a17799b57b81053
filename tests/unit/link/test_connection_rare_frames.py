"""Frames that are seldom seen, each with what must come of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import AgentError, ErrorType
from lastword.core.link.connection import LinkOptions, Side
from lastword.core.link.effects import Answer
from lastword.core.link.state import MAX_WITHDRAWN, Link, OpenRequest
from lastword.core.protocol import glued, jsonrpc
from lastword.core.protocol.jsonrpc import Frame, decode
from lastword.core.redact.redactor import Redactor
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    greeted,
    permission,
    prompt,
    prompted,
    reply,
    request,
    result,
    second_version,
    update,
)

NOTE = {"jsonrpc": "2.0", "method": "$/cancel_request"}


def in_turn(*, retry: bool = False, **options: object) -> Wire:
    """A link with a prompt under way in the session `s`, and `t` beside it."""
    extension = {"_meta": {"agent_error": {"version": 1, "retry": retry}}} if retry else {}
    wire = greeted(extension, **options)
    for request_id, session_id in ((20, "s"), (21, "t")):
        wire.client(request(request_id, "session/new"))
        wire.agent(reply(request_id, sessionId=session_id))
    wire.client(prompt()).agent(chunk())
    return wire


def ask(wire: Wire, request_id: int, method: str, **params: object) -> None:
    wire.agent(request(request_id, method, **params))


def answer(wire: Wire, request_id: int, **members: object) -> None:
    wire.client({"jsonrpc": "2.0", "id": request_id, "result": members})


# --- of the agent


def test_a_quarantine_withdraws_only_the_questions_of_its_session() -> None:
    wire = in_turn().client(prompt(2, "t")).agent(permission(8, "t"), permission(9, "s"))
    wire.client(cancel()).time(11)
    refused = [json.loads(frame)["id"] for frame in wire.to_agent if b"outcome" in frame]
    assert refused == [9]


def test_a_typed_failure_with_odd_members_keeps_the_readable_ones() -> None:
    wire = in_turn()
    told = {"type": "no such word", "message": "Wait.", "detail": {"text": "429"}, "origin": 7}
    wire.agent(update(sessionUpdate="agent_error", error=told), error())
    payload = failure(wire)
    assert (payload["type"], payload["detail"]) == ("unknown", {"text": "429"})
    assert "origin" not in payload


@pytest.mark.parametrize(
    "meta",
    [
        {"codex": {"threadStatus": {"type": "idle"}, "about": {"systemError": None}}},
        {"jetbrains": {"air": {"sessionFailure": {"title": "429", "severity": "warning"}}}},
    ],
)
@pytest.mark.parametrize("retry", [True, False])
def test_an_update_without_a_failure_does_not_fail_the_turn(
    meta: dict[str, object], *, retry: bool
) -> None:
    wire = in_turn(retry=retry).agent(update(sessionUpdate="session_info_update", _meta=meta))
    wire.agent(result())
    assert wire.answers() == [result()]


# --- of the client


def test_a_cancel_of_an_unknown_request_is_passed_on() -> None:
    wire = in_turn()
    for params in ({}, {"requestId": 77}):
        wire.client(NOTE | {"params": params})
        assert json.loads(wire.to_agent[-1]) == NOTE | {"params": params}
    assert wire.answers() == []


def test_a_prompt_behind_a_quarantine_is_cancelled_by_its_own_id() -> None:
    wire = in_turn().client(cancel()).time(11).client(prompt(2), prompt(3))
    wire.client(NOTE | {"params": {"requestId": 3}})
    assert wire.answers(2) == []
    assert wire.answers(3)[0]["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize("text", [{"type": "text"}, "/no block", {"type": "text", "text": 7}])
def test_a_prompt_of_a_strange_shape_is_not_an_agents_command(text: object) -> None:
    wire = in_turn().agent(result())
    strange = prompt(2)
    strange["params"]["prompt"] = [text]
    wire.client(strange).agent(result(2)).time(60)
    assert failure(wire, 2)["reason"] == "silent_success"


def test_a_command_may_follow_the_clients_attachments() -> None:
    wire = in_turn().agent(result())
    command = prompt(2)
    picture = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
    command["params"]["prompt"] = [picture, {"type": "text", "text": " /compact"}]
    wire.client(command).agent(result(2))
    assert wire.answers(2)[0]["result"] == {"stopReason": "end_turn"}


# --- options, clocks, what the shell may ask


def test_no_clock_runs_while_the_link_stands_still() -> None:
    wire = in_turn(turn_timeout_seconds=100).client(request(5, "session/list"))
    wire.client(request(6, "authenticate")).agent(permission())
    wire.now = 1000
    wire.core.stand_still(1000)
    answer(wire, 9)
    wire.time(1090)
    assert "cancel" not in wire.kinds
    wire.time(1101)
    assert wire.kinds.count("cancel") == 1
    wire.now = 2101
    wire.core.stand_still(1000)
    wire.time(2105)
    assert wire.answers() == []
    wire.time(2112)
    assert len(wire.answers()) == 1


def test_an_agent_has_a_name_once_it_has_answered_initialize() -> None:
    wire = Wire()
    assert wire.core.agent_name is None
    wire.client(INITIALIZE)
    wire.agent(INITIALIZED | {"result": {"protocolVersion": 1, "agentInfo": {"name": "opencode"}}})
    assert wire.core.agent_name == "opencode"


# --- runs of frames


def run(*messages: object) -> list[jsonrpc.Envelope]:
    block = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    decoded = jsonrpc.decode_block(block)
    assert decoded is not None
    return decoded


def test_a_run_of_frames_ends_at_another_session_and_at_a_turn_that_shows_its_first_sign() -> None:
    wire = in_turn()
    own = chunk("a")
    assert wire.core.observe(run(own, own, chunk("b", "t")), 0, 0.0) == 2
    assert wire.core.observe(run(chunk("b", "t")), 0, 0.0) == 0
    wire.client(prompt(2))
    assert wire.core.observe(run(own), 0, 0.0) == 0


def test_a_run_of_tool_calls_that_repeat_themselves_ends_before_the_last() -> None:
    wire = in_turn()
    for call in ("c0", "c1"):
        wire.agent(update(sessionUpdate="tool_call", toolCallId=call, status="in_progress"))
    calls = [
        update(
            sessionUpdate="tool_call_update",
            toolCallId=f"c{n % 2}",
            title="read",
            rawInput={"path": "a"},
        )
        for n in range(60)
    ]
    assert 0 < wire.core.observe(run(*calls), 0, 0.0) < 50


def test_a_turn_with_a_withheld_answer_still_receives_frames() -> None:
    wire = in_turn().agent(result()).client(prompt(2)).agent(result(2)).client(prompt(3))
    wire.agent(chunk("late"))
    assert wire.answers(2) == [result(2)]


# --- corners that no scenario comes by: blocks, glued frames, what only lenience takes


FRAME = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'


def test_a_long_block_is_split_without_reading_its_line_ends() -> None:
    block = (FRAME + b"\n") * 100
    messages = jsonrpc.decode_block(block)
    assert messages is not None
    assert jsonrpc.split_block(block, messages) == [FRAME] * 100
    assert jsonrpc.split_block(block.removesuffix(b"\n"), messages) == [FRAME] * 100


@pytest.mark.parametrize("lines", [1, 2, 64, 65, 1000])
def test_an_invalid_byte_is_found_in_a_block_of_any_length(lines: int) -> None:
    odd = FRAME.replace(b"{}", b'{"x":"caf\xe9"}') + b"\n"
    assert jsonrpc.decode_block(odd.replace(b"\xe9", b"\xc3\xa9") * lines) is not None
    for place in {0, lines // 2, lines - 1}:
        block = (FRAME + b"\n") * place + odd + (FRAME + b"\n") * (lines - 1 - place)
        assert jsonrpc.decode_block(block) is None


@pytest.mark.parametrize("glue", [b" ", b"\n\n", b"\n \n"])
def test_a_block_whose_lines_are_not_single_messages_is_not_split(glue: bytes) -> None:
    block = FRAME + glue + (FRAME + b"\n") * 2
    messages = jsonrpc.decode_block((FRAME + b"\n") * 3)
    assert messages is not None
    assert jsonrpc.split_block(block, messages) is None


@pytest.mark.parametrize("line", [b"no frame", FRAME + b" and then prose", FRAME + b"[1]"])
def test_a_line_with_other_values_than_objects_is_not_separated(line: bytes) -> None:
    assert glued.decode_parts(line, may_quote=True) == [decode(line)]


def test_a_character_may_span_two_pieces_of_a_long_text() -> None:
    for shift in range(4):
        block = b"a" * shift + "\N{GRINNING FACE}".encode() * 500_000
        assert jsonrpc.is_text(block)
        assert not jsonrpc.is_text(block + b"\xff")


def test_numbers_that_json_does_not_know_become_null() -> None:
    frame = decode(b'{"jsonrpc":"2.0","id":1,"result":{"cost":NaN,"limit":Infinity}}')
    assert isinstance(frame, Frame)
    assert json.loads(frame.line)["result"] == {"cost": None, "limit": None}


def test_a_frame_that_only_a_lenient_reader_accepts_can_get_another_id() -> None:
    frame = decode(b'{"jsonrpc":"2.0","id":1,"result":{},"half \\ud83d":1}')
    assert isinstance(frame, Frame)
    assert json.loads(jsonrpc.with_id(frame, b'"x"')) == json.loads(frame.line) | {"id": "x"}


# --- what is sent


def payload(**members: object) -> AgentError:
    return AgentError(type=ErrorType.UNKNOWN, message="It failed.", retryable=False, **members)


def details_of(error: AgentError, sent: ladder.SentError | None) -> str:
    members = ladder.error_object(error, sent=sent, details=ladder.Details.ALONE)
    details: str = members["data"]["details"]
    return details


def test_a_client_that_shows_one_text_gets_the_agents_own_words_in_it() -> None:
    sent = ladder.SentError({"code": -32603, "message": "quota of tier 2"}, Redactor())
    assert details_of(payload(), sent) == "It failed. (quota of tier 2)"
    assert details_of(payload(), None) == "It failed."


@pytest.mark.parametrize("lead", ["Internal error: ", "Internal error\n"])
def test_a_client_that_shows_one_text_is_not_shown_an_empty_internal_error(lead: str) -> None:
    assert details_of(payload(detail={"text": f"{lead}529"}), None) == "It failed. (529)"


def test_a_quote_that_differs_only_in_backquotes_is_not_repeated() -> None:
    detail = {"text": "no `x`."}
    error = AgentError(
        type=ErrorType.UNKNOWN, message="It said: no x.", retryable=False, detail=detail
    )
    assert details_of(error, None) == "It said: no x."


@pytest.mark.parametrize(
    ("code", "is_prompt", "told"),
    [
        (-32603, True, {"code": -32603, "message": "no", "data": {"details": "It failed. (no)"}}),
        (-32603, False, {"code": -32603, "message": "It failed. (no)"}),
        (-32002, True, {"code": -32002, "message": "It failed. (no)"}),
    ],
)
def test_a_client_that_shows_raw_data_gets_none_where_it_would_show_it(
    code: int, is_prompt: bool, told: dict[str, object]
) -> None:
    sent = ladder.SentError({"code": code, "message": "no"}, Redactor())
    alone = ladder.Details.ALONE
    assert ladder.error_object(payload(), sent=sent, details=alone, is_prompt=is_prompt) == told


def test_an_oversized_detail_is_dropped_before_the_agents_data() -> None:
    members = ladder.error_object(payload(detail={"text": "x" * ladder.MAX_FRAME_BYTES}))
    assert "detail" not in members["data"]["agent_error"]
    assert members["data"]["errorKind"] == "unknown"


def test_a_hook_that_changes_nothing_is_not_counted() -> None:
    counts: dict[str, int] = {}
    assert Redactor(hook=lambda text: text, counts=counts)("as it is") == "as it is"
    assert counts == {}


def test_a_value_of_too_many_parts_is_cut() -> None:
    assert Redactor().json([["a"] * 5, "b"], max_values=4) == [["a", "a", "(cut)"], "(cut)"]
    assert Redactor().json("a", max_values=0) == "(cut)"


def test_a_cancelled_prompt_with_an_oversized_answer_is_cancelled_in_version_2() -> None:
    wire = second_version().client(prompt(2), cancel())
    head = b'{"jsonrpc":"2.0","id":2,"result":{"a":"'
    wire.carry_out(wire.core.receive_oversized(Side.AGENT, head, wire.now))
    assert [answer["error"]["code"] for answer in wire.answers(2)] == [-32800]


def test_an_agent_error_speaker_with_a_typed_client_is_left_alone() -> None:
    extension = {"_meta": {"agent_error": {"version": 1, "stop_reason": True}}}
    wire = prompted(extension, says={"agentCapabilities": extension})
    wire.agent(update(sessionUpdate="agent_error", error={"type": "budget", "message": "Empty."}))
    ended = reply(1, stopReason="error")
    wire.agent(ended)
    assert wire.answers() == [ended]
    assert [u["sessionUpdate"] for u in wire.updates()] == ["agent_error"]


@pytest.mark.parametrize("members", [{}, {"result": None}, {"result": 7}])
def test_an_initialize_answer_without_content_passes_unchanged(members: Any) -> None:
    wire = Wire().client(INITIALIZE)
    answer = {"jsonrpc": "2.0", "id": 0} | members
    wire.agent(answer)
    assert [json.loads(frame) for frame in wire.to_client] == [answer]


def test_a_block_with_a_value_over_two_lines_is_not_split() -> None:
    over_two = FRAME.replace(b",", b",\n", 1)
    messages = jsonrpc.decode_block((FRAME + b"\n") * 2)
    assert messages is not None
    assert jsonrpc.split_block(over_two + b"\n", messages) is None


def test_the_oldest_withdrawn_request_is_forgotten_beyond_the_bound() -> None:
    link = Link(LinkOptions())
    for number in range(MAX_WITHDRAWN + 1):
        request_id = str(number).encode()
        link.add_agent_request(request_id, OpenRequest("fs/read_text_file"))
        link.withdraw(request_id)
    assert len(link.withdrawn) == MAX_WITHDRAWN
    assert link.pop_withdrawn(b"0") is None
    assert link.pop_withdrawn(b"1") is not None


def test_a_joined_prompt_that_a_handler_fails_after_a_cancel_is_cancelled() -> None:
    from lastword.core import classify  # noqa: PLC0415
    from lastword.core.link.agent_side import HandlerFailure  # noqa: PLC0415

    wire = second_version().client(prompt(2), cancel())
    failure = HandlerFailure(verdict=classify.classify_text("boom"))
    wire.carry_out(wire.core.receive_report(b"2", failure, 0.0))
    assert wire.answers(2)[0]["error"]["code"] == -32800


def test_a_terminal_without_an_id_for_a_dead_agent_is_not_released() -> None:
    wire = in_turn()
    ask(wire, 4, "terminal/create", sessionId="s", command="ls")
    wire.eof(Side.AGENT)
    answer(wire, 4)
    assert wire.drops[-1] == "answer_to_dead_agent"
    assert not any(b"terminal/release" in frame for frame in wire.to_client)


def test_a_terminal_without_an_id_is_not_released() -> None:
    wire = in_turn()
    ask(wire, 4, "terminal/create", sessionId="s", command="ls")
    answer(wire, 4)
    wire.eof(Side.AGENT)
    assert not any(b"terminal/release" in frame for frame in wire.to_client)


@pytest.mark.parametrize("head", [b'{"jsonrpc":"2.0","result":"xx', b'{"id":77,"result":"xx'])
def test_an_oversized_answer_to_no_request_is_ignored(head: bytes) -> None:
    wire = in_turn()
    effects = wire.core.receive_oversized(Side.CLIENT, head, 0.0)
    assert not [effect for effect in effects if isinstance(effect, Answer)]


def test_a_question_of_an_unknown_session_stops_the_clock_of_the_sessions_at_work_alone() -> None:
    wire = in_turn().agent(permission(9, "somebody-else")).time(5000)
    assert "cancel" not in wire.kinds
    answer(wire, 9)
    wire.time(5000 + 901)
    assert wire.kinds.count("cancel") == 1


def test_a_tool_that_names_no_call_is_not_counted_as_open() -> None:
    wire = in_turn().agent(update(sessionUpdate="tool_call", status="in_progress", kind="execute"))
    assert wire.core.connection.link.sessions["s"].tools.drain() == []


def test_capabilities_of_a_strange_shape_pass_without_our_own() -> None:
    wire = Wire().client(INITIALIZE)
    strange = {"protocolVersion": 1, "agentCapabilities": {"_meta": "none of yours"}}
    wire.agent(INITIALIZED | {"result": strange})
    assert json.loads(wire.to_client[-1])["result"] == strange
