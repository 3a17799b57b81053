"""Frames that are seldom seen, each with what must come of it."""

from __future__ import annotations

import json

import pytest

from lastword.core.link.connection import LinkOptions, Side
from lastword.core.link.effects import Answer
from lastword.core.protocol import jsonrpc
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


@pytest.mark.parametrize("params", [{}, {"requestId": 77}])
def test_a_withdrawal_of_no_known_request_is_passed_on(params: dict[str, object]) -> None:
    wire = in_turn().agent(NOTE | {"params": params})
    assert json.loads(wire.to_client[-1]) == NOTE | {"params": params}


def test_a_question_of_an_unknown_session_stops_the_clock_of_the_sessions_at_work_alone() -> None:
    wire = in_turn().agent(permission(9, "somebody-else")).time(5000)
    assert "cancel" not in wire.kinds
    answer(wire, 9)
    wire.time(5000 + 901)
    assert wire.kinds.count("cancel") == 1


def test_an_echo_of_an_unknown_request_is_dropped() -> None:
    wire = in_turn().agent(prompt(99))
    assert (wire.drops, wire.answers(99)) == (["echo"], [])


def test_an_error_without_an_id_after_the_turns_answer_is_ignored() -> None:
    wire = in_turn().agent(error(None), result()).time(60)
    assert (wire.answers(), wire.drops[-1]) == ([result()], "answer_to_nobody")


def test_a_session_that_is_closed_is_forgotten() -> None:
    wire = in_turn().client(request(5, "session/close", sessionId="t")).agent(reply(5))
    assert set(wire.core.connection.link.sessions) == {"s"}


def test_a_new_session_without_an_id_is_ignored() -> None:
    wire = in_turn().client(request(5, "session/new")).agent(reply(5))
    assert set(wire.core.connection.link.sessions) == {"s", "t"}


def test_the_mode_of_an_unknown_session_is_not_kept() -> None:
    wire = in_turn().client(request(5, "session/set_mode", sessionId="nobody", modeId="code"))
    wire.agent(reply(5))
    assert "nobody" not in wire.core.connection.link.sessions


def test_a_quarantine_withdraws_only_the_questions_of_its_session() -> None:
    wire = in_turn().client(prompt(2, "t")).agent(permission(8, "t"), permission(9, "s"))
    wire.client(cancel()).time(11)
    refused = [json.loads(frame)["id"] for frame in wire.to_agent if b"outcome" in frame]
    assert refused == [9]


def test_an_agent_error_speaker_with_a_typed_client_is_left_alone() -> None:
    extension = {"_meta": {"agent_error": {"version": 1, "stop_reason": True}}}
    wire = prompted(extension, says={"agentCapabilities": extension})
    wire.agent(update(sessionUpdate="agent_error", error={"type": "budget", "message": "Empty."}))
    ended = reply(1, stopReason="error")
    wire.agent(ended)
    assert wire.answers() == [ended]
    assert [u["sessionUpdate"] for u in wire.updates()] == ["agent_error"]


def test_capabilities_of_a_strange_shape_pass_without_our_own() -> None:
    wire = Wire().client(INITIALIZE)
    strange = {"protocolVersion": 1, "agentCapabilities": {"_meta": "none of yours"}}
    wire.agent(INITIALIZED | {"result": strange})
    assert json.loads(wire.to_client[-1])["result"] == strange


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


def test_a_tool_that_names_no_call_is_not_counted_as_open() -> None:
    wire = in_turn().agent(update(sessionUpdate="tool_call", status="in_progress", kind="execute"))
    assert wire.core.connection.link.sessions["s"].tools.drain() == []


def test_an_updated_tool_call_keeps_its_state() -> None:
    wire = in_turn().agent(update(sessionUpdate="tool_call", toolCallId="c", status="in_progress"))
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="c", title="more of it"))
    tools = wire.core.connection.link.sessions["s"].tools
    assert tools.running
    assert tools.drain() == ["c"]


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


def test_a_terminal_without_an_id_is_not_released() -> None:
    wire = in_turn()
    ask(wire, 4, "terminal/create", sessionId="s", command="ls")
    answer(wire, 4)
    wire.eof(Side.AGENT)
    assert not any(b"terminal/release" in frame for frame in wire.to_client)


def test_a_terminal_without_an_id_for_a_dead_agent_is_not_released() -> None:
    wire = in_turn()
    ask(wire, 4, "terminal/create", sessionId="s", command="ls")
    wire.eof(Side.AGENT)
    answer(wire, 4)
    assert wire.drops[-1] == "answer_to_dead_agent"
    assert not any(b"terminal/release" in frame for frame in wire.to_client)


@pytest.mark.parametrize("head", [b'{"jsonrpc":"2.0","result":"xx', b'{"id":77,"result":"xx'])
def test_an_oversized_answer_to_no_request_is_ignored(head: bytes) -> None:
    wire = in_turn()
    effects = wire.core.receive_oversized(Side.CLIENT, head, 0.0)
    assert not [effect for effect in effects if isinstance(effect, Answer)]


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


def test_a_joined_prompt_that_a_handler_fails_after_a_cancel_is_cancelled() -> None:
    from lastword.core import classify  # noqa: PLC0415
    from lastword.core.link.agent_side import HandlerFailure  # noqa: PLC0415

    wire = second_version().client(prompt(2), cancel())
    failure = HandlerFailure(verdict=classify.classify_text("boom"))
    wire.carry_out(wire.core.receive_report(b"2", failure, 0.0))
    assert wire.answers(2)[0]["error"]["code"] == -32800


# --- options, clocks, what the shell may ask


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"record": 7}, "record takes True, False, or a folder's path"),
        ({"idle_timeout_seconds": -1}, "takes a number of seconds from 0"),
        ({"idle_timeout_seconds": True}, "not True"),
        ({"stderr_limit_bytes": "1"}, "takes a number of bytes"),
        ({"tool_timeout_seconds": float("inf")}, "not inf"),
        ({"restart": "always"}, "restart takes one of"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LinkOptions(**options)  # type: ignore[arg-type]


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


def test_a_link_is_idle_when_nothing_waits_for_the_agent() -> None:
    wire = in_turn()
    assert not wire.core.idle
    wire.agent(result())
    assert wire.core.idle


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
