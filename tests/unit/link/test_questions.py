"""`--ask-reminder` and `--ask-timeout`: questions of the agent that nobody answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.clocks import MAX_TITLE_CHARS
from lastword.core.link.connection import Side
from lastword.core.link.waits import MAX_REMINDERS
from lastword.core.timeline.entry import Kind
from tests.kit.rows import every
from tests.kit.wire import (
    Wire,
    cancel,
    chunk,
    notices,
    permission,
    prompt,
    prompted,
    reply,
    request,
    result,
    thoughts,
    update,
)

NOTICES = {"session": {"notices": {}}}
ALLOW = {"outcome": {"outcome": "selected", "optionId": "yes"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}
OPTIONS = [
    {"optionId": "yes", "kind": "allow_once"},
    {"optionId": "always", "kind": "allow_always"},
    {"optionId": "never", "kind": "reject_always"},
    {"optionId": "no", "kind": "reject_once"},
]
MINUTE = 60.0


def linked(capabilities: dict[str, Any] | None = None, **options: Any) -> Wire:
    """A link with a prompt at work, which no other clock ends."""
    limits = {"turn_timeout_seconds": 0.0, "idle_timeout_seconds": 0.0, "warn_after_seconds": 0.0}
    return prompted(capabilities, **(limits | options)).agent(chunk())


def question(request_id: Any = 9, session: str = "s", **members: Any) -> dict[str, Any]:
    """The agent asks for a permission."""
    call = {"toolCallId": "t", "title": "Run `rm -rf build`"}
    params = {"sessionId": session, "toolCall": call, "options": OPTIONS} | members
    method = "session/request_permission"
    return request(request_id, method, **params)


def form(request_id: Any = 9) -> dict[str, Any]:
    """The agent asks for a form to be filled in."""
    params = {"sessionId": "s", "mode": "form", "message": "Which branch"}
    return request(request_id, "elicitation/create", **params)


def answered(wire: Wire, request_id: Any = 9) -> list[dict[str, Any]]:
    """What the agent got as answers to its question."""
    frames = [json.loads(frame) for frame in wire.to_agent]
    return [f["result"] for f in frames if "method" not in f and f["id"] == request_id]


def withdrawn(wire: Wire) -> list[Any]:
    """The requests that were withdrawn at the client."""
    frames = [json.loads(frame) for frame in wire.to_client]
    return [f["params"]["requestId"] for f in frames if f.get("method") == "$/cancel_request"]


def test_the_timeout_rejects_once_and_the_turn_continues() -> None:
    wire = linked(ask_timeout="30m=reject").agent(question()).time(30 * MINUTE - 1)
    assert answered(wire) == withdrawn(wire) == []
    wire.time(30 * MINUTE + 0.01)
    assert answered(wire) == [{"outcome": {"outcome": "selected", "optionId": "no"}}]
    assert withdrawn(wire) == [9]
    line = "Nobody answered the agent within 30 minutes, so lastword answered no: Run rm -rf build."
    assert thoughts(wire) == [line]
    wire.agent(chunk("Then not."), result())
    assert wire.answers()[0]["result"] == {"stopReason": "end_turn"}


def test_an_answer_in_time_is_the_only_answer() -> None:
    wire = linked(ask_timeout="30m", ask_reminder_seconds=10 * MINUTE).agent(question())
    wire.time(5 * MINUTE).client({"jsonrpc": "2.0", "id": 9, "result": ALLOW}).time(90 * MINUTE)
    assert answered(wire) == [ALLOW]
    assert withdrawn(wire) == thoughts(wire) == []


@pytest.mark.parametrize(
    ("asked", "word", "given", "outcome"),
    [
        (question(), "cancel", CANCELLED, "cancelled"),
        (question(options=OPTIONS[:3]), "reject", CANCELLED, "cancelled"),
        (question(options="?"), "reject", CANCELLED, "cancelled"),
        (form(), "reject", {"action": "decline"}, "decline"),
        (form(), "cancel", {"action": "cancel"}, "cancel"),
    ],
)
def test_an_automatic_answer_never_allows_anything(
    asked: dict[str, Any], word: str, given: dict[str, Any], outcome: str
) -> None:
    wire = linked(ask_timeout=f"1m={word}").agent(asked).time(MINUTE)
    assert answered(wire) == [given]
    (entry,) = [entry for entry in wire.entries if entry.kind is Kind.QUESTION_EXPIRED]
    assert (entry.request_id, entry.facts["outcome"]) == ("9", outcome)
    assert entry.facts["waited_seconds"] == MINUTE
    assert "user_answered" not in wire.kinds
    verb = "cancelled the question" if word == "cancel" else "answered no"
    assert f"so lastword {verb}: " in thoughts(wire)[0]


@every(
    ("options", "chosen"),
    [
        ([("x", "allow_once"), ("x", "reject_once")], None),
        ([("x", "reject_once"), ("x", "allow_always")], None),
        ([("x", "reject_once"), ("x", "reject_always")], None),
        ([("x", "reject_once"), ("x", "a kind that nobody knows")], None),
        ([("x", "reject_once"), ("x", None)], None),
        ([("7", "reject_once"), (7, "allow_once")], None),
        ([(7, "reject_once"), ("x", "reject_once")], "x"),
        ([("x", "reject_once"), ("x", "allow_once"), ("y", "reject_once")], "y"),
        ([("x", "reject_once"), ("x", "reject_once"), ("y", "allow_once")], "x"),
    ],
)
def test_an_id_that_options_of_several_kinds_share_is_never_chosen(
    options: list[tuple[Any, Any]], chosen: str | None
) -> None:
    listed = [{"optionId": option_id, "kind": kind} for option_id, kind in options]
    wire = linked(ask_timeout="1m").agent(question(options=listed)).time(MINUTE)
    selected = {"outcome": {"outcome": "selected", "optionId": chosen}}
    assert answered(wire) == [CANCELLED if chosen is None else selected]


def _shown(wire: Wire) -> list[Any]:
    """The ids by which the client knows the agent's questions."""
    frames = [json.loads(frame) for frame in wire.to_client]
    return [f["id"] for f in frames if f.get("method") == "session/request_permission"]


def test_a_late_answer_is_never_that_of_a_later_question_with_the_same_id() -> None:
    wire = linked(ask_timeout="30m").agent(question()).time(31 * MINUTE).agent(question())
    first, second = _shown(wire)
    assert (first, second == first) == (9, False)
    wire.client({"jsonrpc": "2.0", "id": first, "result": ALLOW})
    assert (len(answered(wire)), wire.drops) == (1, ["question_expired"])
    wire.client({"jsonrpc": "2.0", "id": second, "result": ALLOW})
    assert answered(wire)[1:] == [ALLOW]
    # The client has answered both: the id is free again.
    wire.agent(question())
    assert _shown(wire)[2:] == [9]


def test_a_later_question_with_the_same_id_is_answered_lost_and_withdrawn_as_its_own() -> None:
    wire = linked(ask_timeout="30m").agent(question()).time(31 * MINUTE).agent(question())
    wire.time(62 * MINUTE)
    assert answered(wire) == [{"outcome": {"outcome": "selected", "optionId": "no"}}] * 2
    assert withdrawn(wire) == _shown(wire)
    wire.agent(question()).client(
        b'{"jsonrpc":"2.0","id":"%b","result":{' % _shown(wire)[2].encode()
    )
    assert json.loads(wire.to_agent[-1])["error"]["code"] == -32603
    assert json.loads(wire.to_agent[-1])["id"] == 9
    wire.agent(question())
    wire.agent({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}})
    assert withdrawn(wire)[2:] == _shown(wire)[3:]
    wire.agent(question()).client(cancel()).time(wire.now + 31)
    assert json.loads(wire.to_agent[-1]) == {"jsonrpc": "2.0", "id": 9, "result": CANCELLED}
    assert set(withdrawn(wire)[3:]) >= {_shown(wire)[4]}


@pytest.mark.parametrize("method", ["fs/write_text_file", "terminal/create", "fs/read_text_file"])
def test_a_late_answer_is_that_of_no_later_request_of_another_kind(method: str) -> None:
    wire = linked(ask_timeout="30m").agent(question()).time(31 * MINUTE)
    wire.agent(request(9, method, sessionId="s"))
    wire.client({"jsonrpc": "2.0", "id": 9, "result": ALLOW})
    assert len(answered(wire)) == 1
    wire.client(reply(json.loads(wire.to_client[-1])["id"], terminalId="t"))
    assert answered(wire)[1:] == [{"terminalId": "t"}]


def test_a_few_reminders_name_the_question_and_its_deadline() -> None:
    wire = linked(NOTICES, ask_reminder_seconds=2 * MINUTE, ask_timeout="30m=cancel")
    wire.agent(question()).time(2 * MINUTE - 1)
    assert notices(wire) == []
    wire.time(2 * MINUTE)
    line = "The agent is waiting for your answer: Run rm -rf build."
    assert notices(wire) == [f"{line} Without one, lastword cancels the question in 28 minutes."]
    wire.time(29 * MINUTE)
    assert len(notices(wire)) == wire.kinds.count("question_reminded") == MAX_REMINDERS


def test_a_reminder_without_a_timeout_leaves_the_question_open() -> None:
    wire = linked(ask_reminder_seconds=MINUTE).agent(form()).time(90 * MINUTE)
    assert set(thoughts(wire)) == {"The agent is waiting for your answer: Which branch."}
    wire.client(reply(9, action="decline"))
    assert answered(wire) == [{"action": "decline"}]


def test_a_title_comes_from_the_tool_call_if_the_question_has_none() -> None:
    wire = linked(ask_reminder_seconds=MINUTE)
    wire.agent(update(sessionUpdate="tool_call", toolCallId="t", title="Push?", status="pending"))
    wire.agent(question(toolCall={"toolCallId": "t"})).time(MINUTE)
    assert thoughts(wire) == ["The agent is waiting for your answer: Push?"]


def test_a_title_is_redacted_and_cut_and_a_question_without_one_is_still_shown() -> None:
    wire = linked(ask_reminder_seconds=MINUTE, secrets=("hunter2hunter2",))
    wire.agent(question(toolCall={"title": f"Use hunter2hunter2 {'very ' * 99}much"}))
    wire.agent(question(10, toolCall={"title": ["?"]})).time(MINUTE)
    long, unnamed = thoughts(wire)
    assert "hunter2" not in long
    assert long.endswith("…")
    assert len(long) < MAX_TITLE_CHARS + 50
    assert unnamed == "The agent is waiting for your answer."


def test_each_of_two_questions_has_its_own_time() -> None:
    wire = linked(ask_timeout="10m").agent(question(8)).time(5 * MINUTE).agent(question(9))
    wire.time(10 * MINUTE)
    assert (len(answered(wire, 8)), len(answered(wire, 9))) == (1, 0)
    wire.client({"jsonrpc": "2.0", "id": 9, "result": ALLOW}).time(60 * MINUTE)
    assert (answered(wire, 9), withdrawn(wire)) == ([ALLOW], [8])


def test_the_clocks_stop_during_a_question_and_resume_at_its_timeout() -> None:
    wire = linked(ask_timeout="30m", idle_timeout_seconds=100.0).agent(question())
    wire.time(30 * MINUTE + 99)
    assert "cancel" not in wire.kinds
    wire.time(30 * MINUTE + 100)
    assert "cancel" in wire.kinds


def test_a_question_that_the_agent_withdrew_is_neither_reminded_of_nor_answered() -> None:
    wire = linked(ask_timeout="10m", ask_reminder_seconds=MINUTE).agent(question())
    withdraw = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}}
    wire.agent(withdraw, withdraw | {"params": {"requestId": 10}}).time(60 * MINUTE)
    assert answered(wire) == thoughts(wire) == []


def test_a_cancel_while_a_question_is_open_leaves_one_answer() -> None:
    wire = linked(ask_timeout="10m").agent(question()).time(MINUTE).client(cancel())
    wire.client({"jsonrpc": "2.0", "id": 9, "result": CANCELLED})
    wire.agent(result(stop_reason="cancelled")).time(60 * MINUTE)
    assert answered(wire) == [CANCELLED]


def test_a_question_of_an_agent_that_died_is_not_answered() -> None:
    wire = linked(ask_timeout="10m", restart="never").agent(question()).eof(Side.AGENT)
    wire.time(60 * MINUTE)
    assert answered(wire) == []
    wire.client({"jsonrpc": "2.0", "id": 9, "result": ALLOW})
    assert wire.drops == ["answer_to_dead_agent"]


def test_a_question_after_the_turn_is_answered_without_a_line() -> None:
    wire = linked(ask_timeout="10m", ask_reminder_seconds=MINUTE).agent(result())
    wire.agent(question(session="s")).time(10 * MINUTE)
    assert (len(answered(wire)), thoughts(wire)) == (1, [])


def test_a_sub_agents_question_is_shown_in_the_session_that_waits_for_it() -> None:
    wire = linked(ask_timeout="10m").agent(question(session="sub")).time(10 * MINUTE)
    assert (len(answered(wire)), len(thoughts(wire))) == (1, 1)


def test_a_sleeping_machine_does_not_answer_a_question() -> None:
    wire = linked(ask_timeout="10m", ask_reminder_seconds=9 * MINUTE).agent(question())
    wire.agent(request(8, "fs/read_text_file"))
    wire.core.stand_still(60 * MINUTE)
    wire.time(60 * MINUTE)
    assert answered(wire) == []
    wire.time(70 * MINUTE)
    assert len(answered(wire)) == 1


def test_a_shell_that_answers_itself_is_left_the_answer_and_not_the_reminder() -> None:
    wire = linked(ask_timeout="10m", ask_reminder_seconds=MINUTE, answers_questions=False)
    wire.agent(question()).time(60 * MINUTE)
    assert answered(wire) == []
    assert thoughts(wire)[0].endswith("Without one, lastword answers no in 9 minutes.")
    for minutes, reminders in ((5, 1), (10, 0), (30, 0)):
        elsewhere = linked(
            ask_timeout="10m", ask_reminder_seconds=minutes * MINUTE, answers_questions=False
        )
        elsewhere.agent(question()).time(60 * MINUTE)
        assert len(thoughts(elsewhere)) == reminders, "none once it is answered"


def test_a_client_that_shows_nothing_gets_only_the_withdrawal() -> None:
    wire = linked(ask_timeout="10m", show_retries="off").agent(question()).time(10 * MINUTE)
    assert (thoughts(wire), withdrawn(wire)) == ([], [9])


# --- the clocks of the turn while a question is open


def asked(**options: float) -> Wire:
    """A turn whose agent asks the user at second 10."""
    return prompted(**options).agent(chunk()).time(10).agent(permission())


def test_a_dialog_that_was_open_for_long_does_not_lengthen_the_grace_of_a_cancel() -> None:
    wire = asked().time(1810).client(cancel(), reply(9, outcome={"outcome": "cancelled"}))
    wire.time(1821)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}


def test_questions_that_overlap_stop_the_turns_clock_for_their_whole_time() -> None:
    wire = asked(turn_timeout_seconds=100).time(200).agent(permission(8))
    for request_id in (8, 9):
        wire.client(reply(request_id))
    wire.time(280)
    assert "cancel" not in wire.kinds
    wire.time(301)
    assert "cancel" in wire.kinds


@pytest.mark.parametrize("params", [{"sessionId": "child"}, {"requestId": 1}])
def test_a_sub_agents_question_stops_the_clocks(params: dict[str, Any]) -> None:
    wire = prompted().agent(chunk())
    method = "session/request_permission" if "sessionId" in params else "elicitation/create"
    wire.agent(request(9, method, **params)).time(5000)
    assert "cancel" not in wire.kinds
    wire.client(reply(9)).time(5901)
    assert "cancel" in wire.kinds


def test_the_clocks_run_again_once_the_question_is_moot() -> None:
    withdrawn = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}}
    for wire in (
        prompted().agent(chunk(), permission(), result()).client(prompt(2)),
        prompted().agent(chunk(), permission(), withdrawn),
    ):
        assert "cancel" in wire.time(1000).kinds


def test_a_turn_that_asked_the_user_was_not_silent() -> None:
    wire = prompted().agent(permission()).client(reply(9)).agent(result()).time(1)
    assert wire.answers() == [result()]
