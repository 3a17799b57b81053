"""What `tests/long/simulate.py` found: the shortest schedules, each with what should hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.connection import Side
from tests.kit.simulation.links import replay
from tests.kit.simulation.player import Player
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    permission,
    prompt,
    reply,
    request,
    result,
    second_version,
    update,
)
from tests.unit.restart.crashing import Link

ZED = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "Zed", "version": "1"},
}
LOADING = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
KEY = "sk-" + "ant-api03-" + "a7Kq2Zx9Wm4Rt6Yb1Nc8" * 4 + "AA"
IDLE = {"sessionUpdate": "state_update", "state": "idle"}


def _without(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request_id}}


def test_a_watchdog_does_not_touch_a_cancelled_turn_in_the_same_session() -> None:
    wire = Wire(first_update_timeout_seconds=5.0).client(INITIALIZE, prompt(1), cancel(), prompt(2))
    wire.time(30)
    assert wire.answers(1) == [result(1, "cancelled")]
    assert failure(wire, 2)["type"] == "agent_stalled"


def test_a_watchdog_does_not_touch_a_turn_that_is_already_being_stopped() -> None:
    wire = Wire(first_update_timeout_seconds=5.0).client(INITIALIZE, prompt(1)).time(6)
    wire.client(prompt(2)).time(12).eof(Side.AGENT)
    assert failure(wire, 1)["reason"] == "first_update_timeout"
    assert failure(wire, 2)["reason"] == "first_update_timeout"


def test_a_prompt_that_waits_for_its_agent_or_session_is_cancelled_if_that_is_closed() -> None:
    for link in (Link().die().client(prompt(2)), Link().die_and_be_greeted()):
        link.client(request(3, "session/close", sessionId="s"))
        assert link.answers(2) == [result(2, "cancelled")]


def test_an_error_without_an_id_ends_the_quarantine_of_the_turn_that_it_answers() -> None:
    wire = Wire(cancel_grace_seconds=0).client(INITIALIZE).agent(reply(0, protocolVersion=1))
    wire.client(prompt()).agent(error(None)).client(cancel()).time(1).client(prompt(2))
    assert json.loads(wire.to_agent[-1]) == prompt(2)


def test_a_late_answer_that_is_too_long_ends_its_quarantine_and_no_other_turn() -> None:
    wire = Wire().client(INITIALIZE, prompt(1), cancel()).time(11).client(prompt(2, "t"))
    head = b'{"jsonrpc":"2.0","id":1,"result":{"more":"'
    wire.carry_out(wire.core.receive_oversized(Side.AGENT, head, wire.now))
    wire.client(prompt(3))
    assert [json.loads(line)["method"] for line in wire.to_agent[-2:]] == ["session/prompt"] * 2


def test_prompts_behind_a_turn_that_was_ended_are_bounded() -> None:
    wire = Wire().client(INITIALIZE, prompt(), cancel()).time(11)
    for number in range(1001):
        wire.client(prompt(100 + number))
    assert (wire.answers(1099), failure(wire, 1100)["reason"]) == ([], "queue_full")


def test_unanswered_questions_of_dead_agents_are_forgotten_beyond_a_bound() -> None:
    link = Link()
    for generation in range(4):
        link.time(link.now + 400).client(prompt(f"p{generation}"))
        for number in range(300):
            link.agent(permission(generation * 1000 + number))
        link.asked()
        link.die().time(link.now + 2).client(request(f"l{generation}", "session/list")).greet()
    assert len(link.core.connection.link.withdrawn) <= 1000


def test_the_record_of_a_lost_session_holds_no_secret() -> None:
    link = Link(record_text=True).die_and_be_greeted()
    (load,) = link.asked()
    link.agent(error(load["id"], message=f"bad key {KEY}"))
    assert "bad key" in str(link.entries)
    assert KEY not in str(link.entries)


def test_an_echo_from_a_restarted_agent_is_detected_too() -> None:
    link = Link().come_back().agent(prompt(2))
    assert failure(link, 2)["reason"] == "not_acp"


def test_a_message_is_short_also_for_a_client_that_reads_details_alone() -> None:
    wire = Wire().client(INITIALIZE | {"params": ZED}, prompt())
    wire.agent(error(message="word " * 2000))
    assert len(wire.answers()[0]["error"]["message"]) <= 500


def test_the_rung_of_version_2_is_not_used_for_version_1() -> None:
    wire = Wire(fallback="v2").client(INITIALIZE).agent(reply(0, protocolVersion=1))
    wire.client(prompt()).eof(Side.AGENT)
    assert json.loads(wire.to_client[-1])["id"] == 1


def test_late_frames_stay_quarantined_also_after_the_session_was_closed() -> None:
    wire = Wire().client(INITIALIZE, prompt(), cancel()).time(11)
    wire.client(request(2, "session/close", sessionId="s")).agent(reply(2), chunk())
    assert wire.updates() == []


def _accepting() -> Wire:
    wire = second_version().agent(update(**IDLE, stopReason="cancelled"))
    wire.to_client.clear()
    return wire


def test_a_cancel_applies_to_a_prompt_that_the_ended_work_had_not_accepted() -> None:
    wire = _accepting().client(prompt(2), _without(2))
    wire.agent(update(sessionUpdate="state_update", state="running"))
    wire.agent(update(**IDLE, stopReason="end_turn")).time(30)
    assert [answer["error"]["code"] for answer in wire.answers(2)] == [-32800]


def test_a_cancel_does_not_apply_to_a_later_prompt() -> None:
    wire = second_version().client(cancel(), prompt(2))
    wire.agent(update(**IDLE, stopReason="cancelled"), reply(2, messageId="m"))
    wire.agent(update(sessionUpdate="state_update", state="running")).time(30)
    assert [told["state"] for told in wire.updates() if "state" in told][-1] == "running"


def test_the_end_of_a_cancelled_prompt_sends_no_idle_state_while_other_work_runs() -> None:
    wire = _accepting().client(prompt(2), _without(2), prompt(3)).agent(reply(3, messageId="m"))
    wire.agent(update(sessionUpdate="state_update", state="running")).time(30)
    assert [answer["error"]["code"] for answer in wire.answers(2)] == [-32800]
    assert [told["state"] for told in wire.updates()][-1] == "running"


def test_prompts_after_a_cancel_are_one_work_and_end_with_it() -> None:
    wire = _accepting().client(prompt(2), _without(2))
    for number in (3, 4):
        wire.client(prompt(number)).agent(reply(number, messageId="m"))
    wire.agent(update(**IDLE, stopReason="max_tokens")).time(2000)
    assert not any("error" in told for told in wire.updates())


def test_a_failure_is_reported_at_once_beside_a_cancelled_unaccepted_prompt() -> None:
    wire = _accepting().client(prompt(2), cancel(), prompt(3)).agent(reply(3, messageId="m"))
    wire.agent(update(**IDLE, stopReason="error", error={"code": -32603, "message": "boom"}))
    assert wire.updates()[-1]["stopReason"] == "error"


def test_a_prompt_accepted_after_it_was_given_up_starts_no_visible_work() -> None:
    wire = _accepting().client(prompt(2), _without(2)).time(30)
    wire.to_client.clear()
    wire.agent(reply(2, messageId="m"), update(sessionUpdate="state_update", state="running"))
    wire.agent(chunk(), update(**IDLE, stopReason="end_turn"))
    assert wire.to_client == []


def line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()


MODEL = {"id": "model", "category": "model", "currentValue": "big"}
MODELS = {"configOptions": [{**MODEL, "options": [{"value": v} for v in ("big", "small", "tiny")]}]}


def test_a_turn_continues_with_a_second_model_after_a_question_to_the_user() -> None:
    opens = line({"id": 2, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}})
    limited: dict[str, Any] = error(3, message="usage limit")
    limited["error"]["data"] = {"errorKind": "budget", "resets_at": 1772406000}
    shown = {"sessionUpdate": "agent_error", "error": {"type": "rate_limit", "message": "Wait."}}
    assert (
        replay(
            {"fallback_model": "small,tiny"},
            [
                ("client", opens),
                ("agent", line({"id": 2, "result": {"sessionId": "s", **MODELS}})),
                ("client", line(prompt(3))),
                ("agent", line(update(**shown))),
                ("agent", line(limited)),
                ("agent", line({"id": "lastword:model:1", "result": {}})),
                ("time", 1.1),
                ("agent", line(permission(0))),
                ("agent", line(error(3, -32603, "503 Service Unavailable"))),
                ("agent", line({"id": "lastword:model:2", "result": {}})),
                ("time", 0.3),
            ],
        )
        is None
    )


def test_a_session_that_the_client_loads_under_its_own_name_too_has_its_prompts_in_order() -> None:
    def ours(number: int) -> tuple[str, bytes]:
        return ("client", line(prompt(number, "s-lastword-1")))

    greeting = {"protocolVersion": 1, "clientCapabilities": {}}
    greeted = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    where = {"cwd": "/w", "mcpServers": []}
    loads = {"id": 8, "method": "session/load", "params": {"sessionId": "s", **where}}
    schedule = [
        ("client", line({"id": 1, "method": "initialize", "params": greeting})),
        ("agent", line({"id": 1, "result": greeted})),
        ("client", line(prompt(2))),
        ("hang_up",),
        ("client", line({"id": 3, "method": "session/new", "params": where})),
        ("time", 46.0),
        ("start",),
        ("agent", line({"id": "lastword:1:1", "result": greeted})),
        ("agent", line({"id": 3, "result": {"sessionId": "s", **MODELS}})),
        ("die", None, 9),
        ours(4),
        ("client", line(loads)),
        ("time", 46.0),
        ("start",),
        ("agent", line({"id": "lastword:2:2", "result": greeted})),
        ("agent", line({"id": "lastword:2:3", "result": MODELS})),
        ours(5),
        ("agent", line({"id": 8, "result": MODELS})),
        ("agent", line(result(4))),
        ours(6),
    ]
    assert replay({"restart": "on-crash"}, schedule) is None


def test_a_prompt_waits_behind_an_abandoned_one_although_earlier_work_went_idle_late() -> None:
    greeting = {"protocolVersion": 2, "capabilities": {}}
    withdrawal = {"method": "$/cancel_request", "params": {"requestId": 3}}
    schedule = [
        ("client", line({"id": 1, "method": "initialize", "params": greeting})),
        ("client", line(prompt(2))),
        ("time", 1000.0),
        ("agent", line({"id": 2, "result": {"messageId": "m"}})),
        ("agent", line(update(**IDLE, stopReason="end_turn"))),
        ("client", line(prompt(3))),
        ("client", line(withdrawal)),
        ("time", 1.1),
        ("client", line(prompt(4))),
    ]
    assert replay({"cancel_grace_seconds": 1.0}, schedule) is None


def test_a_turn_that_failed_without_an_id_continues_with_another_model() -> None:
    limited = error(None, 429, "rate limited")
    schedule = [
        ("client", line({"id": 2, "method": "session/new", "params": {"cwd": "/w"}})),
        ("agent", line({"id": 2, "result": {"sessionId": "s", **MODELS}})),
        ("client", line(prompt(3))),
        ("agent", line(limited)),
        ("time", 25.0),
    ]
    assert replay({"fallback_model": "none,small"}, schedule) is None


def test_a_waiting_failed_turn_is_given_up_when_the_agent_writes_an_unreadable_line() -> None:
    # It may have been a tool call: then the prompt may not be sent again.
    schedule = [
        ("client", line(prompt(1))),
        ("agent", line(error(1, -32603, "503 Service Unavailable"))),
        ("broken", "agent", b'{"method":"session/update","params":{"id":1},}', b"", "other"),
        ("time", 400.0),
    ]
    assert replay({"retry": 1}, schedule) is None


def test_a_new_session_is_not_named_like_one_that_was_closed_while_the_client_loads_it() -> None:
    where = {"cwd": "/w", "mcpServers": []}
    loads = {"id": 6, "method": "session/load", "params": {"sessionId": "s", **where}}
    closes = {"id": 7, "method": "session/close", "params": {"sessionId": "s"}}
    schedule = [
        ("client", line({"id": 2, "method": "session/new", "params": where})),
        ("agent", line({"id": 2, "result": {"sessionId": "s"}})),
        ("die", None, 9),
        ("client", line(loads)),
        ("client", line(closes)),
        ("client", line({"id": 9, "method": "session/new", "params": where})),
        ("time", 46.0),
        ("start",),
        ("agent", line({"id": 9, "result": {"sessionId": "s"}})),
    ]
    assert replay({"restart": "on-crash"}, schedule) is None


def test_a_question_of_a_failed_attempt_does_not_belong_to_the_next_one() -> None:
    schedule = [
        ("client", line({"id": 2, "method": "session/new", "params": {"cwd": "/w"}})),
        ("agent", line({"id": 2, "result": {"sessionId": "s", **MODELS}})),
        ("client", line(prompt(3))),
        ("agent", line(permission("q"))),
        ("agent", line(error(3, -32603, "429 Too Many Requests: try again in 1 hour"))),
        ("agent", line({"id": "lastword:model:1", "result": {}})),
        ("time", 0.3),
        ("client", line(cancel())),
        ("agent", line(result(3))),
    ]
    assert replay({"fallback_model": "small"}, schedule) is None


@pytest.mark.parametrize(
    "ends",
    [
        {"method": "session/cancel", "params": {"sessionId": "s"}},
        {"method": "$/cancel_request", "params": {"requestId": 2}},
        {"id": 5, "method": "session/close", "params": {"sessionId": "s"}},
    ],
    ids=lambda frame: frame["method"],
)
@pytest.mark.parametrize("renamed", [True, False], ids=["its id is another's", "its id is its own"])
def test_cancelling_a_turn_that_waits_for_a_limit_is_answered_at_once(
    ends: dict[str, Any], renamed: bool
) -> None:
    opens = {"method": "session/new", "params": {"cwd": "/w", "mcpServers": []}}
    schedule = [
        ("client", line(INITIALIZE)),
        ("agent", line({"id": 0, "result": LOADING})),
        ("client", line({"id": 1, **opens})),
        ("agent", line({"id": 1, "result": {"sessionId": "s"}})),
        ("client", line(prompt(2))),
        ("agent", line(error(2, -32603, "429 Too Many Requests: try again in 1 hour"))),
        ("die", None, 9),
        ("client", line({"id": 3, **opens})),
        ("time", 46.0),
        ("start",),
        ("agent", line({"id": "lastword:1:1", "result": LOADING})),
        ("agent", line({"id": 3, "result": {"sessionId": "s" if renamed else "s2"}})),
    ]
    player = Player({"restart": "on-crash", "continue_at_reset_seconds": 21600.0})
    for event in [*schedule, ("client", line(ends))]:
        player.play(event)
    assert line(result(2, "cancelled")) in player.to_client


@pytest.mark.parametrize(
    "answers",
    [
        [result(3)],
        [result(3), error(4, -32603, "no")],
        [error(3, -32603, "no"), result(4)],
        [error(4, -32603, "no"), result(3)],
        [result(4), error(3, -32603, "no")],
    ],
    ids=["one", "one, then none", "none, then two", "not two, then one", "two, then not one"],
)
@pytest.mark.parametrize("early", [True, False], ids=["prompt waits", "prompt after it"])
def test_a_session_that_the_client_loads_twice_is_restored_by_the_first_load(
    answers: list[dict[str, Any]], early: bool
) -> None:
    where = {"cwd": "/w", "mcpServers": []}
    loads = {"method": "session/load", "params": {"sessionId": "s", **where}}
    prompts = [("client", line(prompt(5)))]
    schedule = [
        ("client", line({"id": 2, "method": "session/new", "params": where})),
        ("agent", line({"id": 2, "result": {"sessionId": "s"}})),
        ("die", None, 9),
        ("client", line({"id": 3, **loads})),
        ("client", line({"id": 4, **loads})),
        ("time", 46.0),
        ("start",),
        *(prompts if early else []),
        *(("agent", line(answer)) for answer in answers),
        *([] if early else prompts),
    ]
    player = Player({"restart": "on-crash"})
    for event in schedule:
        player.play(event)
    assert line(prompt(5)) in player.to_agent


def test_a_state_of_a_later_version_starts_no_work() -> None:
    greeting = {"protocolVersion": 2, "capabilities": {}}
    schedule = [
        ("client", line({"id": 1, "method": "initialize", "params": greeting})),
        ("client", line(prompt(2))),
        ("agent", line({"id": 2, "result": {"messageId": "m"}})),
        ("agent", line(update(**IDLE, stopReason="end_turn"))),
        ("agent", line(update(sessionUpdate="state_update", state="paused"))),
        ("end",),
    ]
    assert replay({}, schedule) is None


def test_an_idle_state_ends_all_accepted_prompts() -> None:
    wire = _accepting().client(prompt(2), cancel())
    for number in (3, 4):
        wire.client(prompt(number)).agent(reply(number, messageId="m")).client(cancel())
    wire.agent(update(**IDLE, stopReason="cancelled")).time(2000)
    assert not any("error" in told for told in wire.updates())


def test_a_prompt_after_a_cancel_outlives_the_one_that_was_cancelled() -> None:
    wire = _accepting().client(prompt(2), _without(2), prompt(3))
    wire.agent(error(2, -32800, "cancelled"), reply(3, messageId="m"))
    wire.agent(update(sessionUpdate="state_update", state="running")).time(30)
    assert [answer["error"]["code"] for answer in wire.answers(2)] == [-32800]
    assert [told["state"] for told in wire.updates()][-1] == "running"


def test_a_line_too_long_refuses_its_prompt_and_no_other_that_joined() -> None:
    wire = second_version().client(prompt(2))
    head = b'{"jsonrpc":"2.0","id":2,"result":{"messageId":"'
    wire.carry_out(wire.core.receive_oversized(Side.AGENT, head, wire.now))
    assert failure(wire, 2)["reason"] == "line_too_long"
    wire.agent(chunk(), update(**IDLE, stopReason="end_turn"))
    assert [told["state"] for told in wire.updates() if "state" in told] == ["running", "idle"]


def test_a_users_sentence_holds_no_markup_of_the_agents() -> None:
    wire = Wire().client(INITIALIZE, prompt())
    wire.agent(update(sessionUpdate="agent_error", message="See [this](http://host/)"), result())
    assert "[" not in failure(wire)["message"]


def test_a_client_that_shows_raw_data_gets_none_on_other_requests_than_prompts() -> None:
    wire = Wire().client(INITIALIZE | {"params": ZED})
    wire.client(request(2, "session/new", cwd="/w", mcpServers=[])).eof(Side.AGENT)
    assert wire.answers(2)[0]["error"].keys() == {"code", "message"}


def test_a_prompt_is_answered_although_the_agent_reported_the_failure_itself() -> None:
    typed = {"_meta": {"agent_error": {"version": 1}}}
    wire = Wire().client(INITIALIZE | {"params": {"protocolVersion": 2, "capabilities": typed}})
    wire.agent(reply(0, protocolVersion=2, capabilities=typed)).client(prompt())
    wire.agent(update(sessionUpdate="state_update", state="running"))
    wire.agent(update(sessionUpdate="_agent_error", message="it broke"))
    wire.agent(update(**IDLE, stopReason="error")).time(2000)
    assert len(wire.answers()) == 1
