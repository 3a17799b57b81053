"""An agent that died: what waits, how the next one is greeted, and what its predecessors left."""

from __future__ import annotations

import json

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.effects import Restart
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    chunk,
    permission,
    prompt,
    reply,
    request,
    update,
)
from tests.unit.restart.crashing import KILLED, Link, reasons


def test_no_agent_is_started_before_it_is_needed() -> None:
    link = Link().die().time(1000)
    assert link.orders == []
    link.client(prompt(2))
    assert link.orders == [Restart()]


def test_the_replay_of_a_loaded_session_is_withheld() -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.to_client.clear()
    link.agent(chunk("old"), update(sessionUpdate="tool_call", toolCallId="t", status="completed"))
    link.agent(update(sessionUpdate="available_commands_update", availableCommands=[]))
    link.answer(load["id"])
    assert [u["sessionUpdate"] for u in link.updates()] == ["available_commands_update"]
    assert link.drops == ["replay", "replay"]


@pytest.mark.parametrize("method", ["session/request_permission", "fs/read_text_file", "_x/ask"])
def test_a_question_during_a_sessions_restore_is_refused(method: str) -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.to_client.clear()
    link.agent(request("r1", method, sessionId="s"))
    (refusal,) = link.asked()
    assert refusal["id"] == "r1"
    assert refusal.get("result", {}) in ({}, {"outcome": {"outcome": "cancelled"}})
    assert link.to_client == []
    link.answer(load["id"])
    assert link.asked() == [prompt(2)]


def test_an_echo_about_a_session_being_restored_is_dropped() -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.agent(load)
    assert link.asked() == []


def test_a_session_comes_back_with_the_meta_that_it_was_opened_with() -> None:
    link = Link()
    meta = {"systemPrompt": "Be brief."}
    opening = {"cwd": "/w", "mcpServers": [], "_meta": {**meta, "traceparent": "00-1"}}
    link.client(request(5, "session/load", sessionId="s", **opening)).answer(5)
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    assert load["params"]["_meta"] == meta


def test_a_lost_session_that_the_client_loads_itself_is_usable_again() -> None:
    link = Link({}).die_and_be_greeted()
    link.client(request(3, "session/load", sessionId="s", cwd="/w", mcpServers=[])).answer(3)
    link.asked()
    link.client(prompt(4))
    assert link.asked() == [prompt(4)]


ERROR = {"code": -32002, "message": "no"}
LOAD = request(3, "session/load", sessionId="s", cwd="/w", mcpServers=[])


def refuse(link: Link, request_id: object) -> None:
    link.agent({"jsonrpc": "2.0", "id": request_id, "error": ERROR})


def test_a_lost_session_stays_lost_if_its_load_fails() -> None:
    link = Link({}).die_and_be_greeted().client(LOAD, prompt(4))
    assert link.asked() == [LOAD]
    refuse(link, 3)
    assert reasons(link, 4) == ["context_lost"]
    link.client(prompt(5))
    assert (reasons(link, 5), link.asked()) == (["context_lost"], [])


def test_a_prompt_behind_a_load_of_the_clients_waits_for_its_answer() -> None:
    link = Link({}).die_and_be_greeted().client(LOAD, prompt(4))
    link.to_client.clear()
    link.agent(chunk("old"))
    assert (len(link.updates()), link.asked()) == (1, [LOAD])
    link.answer(3)
    assert link.asked() == [prompt(4)]


def test_a_clients_load_that_is_not_answered_in_time_fails_its_waiting_prompt() -> None:
    link = Link({}).die_and_be_greeted()
    link.client(LOAD, prompt(4)).time(link.now + 301)
    assert reasons(link, 4) == ["context_lost"]


def test_a_lost_session_stays_lost_if_its_agent_dies_during_the_load() -> None:
    link = Link({}).die_and_be_greeted().client(LOAD, prompt(4)).die()
    link.asked()
    link.time(link.now + 10).greet()
    assert reasons(link, 4) == ["context_lost"]


@pytest.mark.parametrize("late", [True, False])
def test_a_failed_load_of_ours_leaves_the_decision_to_the_clients(*, late: bool) -> None:
    link = Link().die_and_be_greeted()
    (ours,) = link.asked()
    link.client(LOAD)
    if late:
        link.time(link.now + 299)
        link.client(request(7, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
        link.time(link.now + 2)
    else:
        refuse(link, ours["id"])
    link.asked()
    assert link.answers(2) == []
    link.answer(7 if late else 3)
    assert link.asked() == [prompt(2)]


@pytest.mark.parametrize("ours_fails", [True, False])
def test_a_session_that_the_client_loaded_is_restored_whatever_happens_to_our_load(
    *, ours_fails: bool
) -> None:
    link = Link().die_and_be_greeted()
    (ours,) = link.asked()
    link.client(LOAD).answer(3)
    assert link.asked() == [LOAD]
    if ours_fails:
        refuse(link, ours["id"])
    else:
        link.time(link.now + 301)
    assert link.asked() == [prompt(2)]


def test_mode_model_and_options_are_set_again_before_the_prompt() -> None:
    link = Link()
    chosen = [
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_mode", {"modeId": "code"}),
        ("session/set_config_option", {"configId": "a", "value": "1"}),
        ("session/set_config_option", {"configId": "b", "value": "2"}),
    ]
    for number, (method, params) in enumerate(chosen, 10):
        link.client(request(number, method, sessionId="s", **params)).answer(number)
    link.client(request(20, "session/set_model", sessionId="s", modelId="none"))
    link.agent({"jsonrpc": "2.0", "id": 20, "error": {"code": -32602, "message": "no"}})
    link.asked()
    link.die().time(10).client(prompt(2)).greet()
    again = []
    for _ in range(5):
        (frame,) = link.asked()
        again.append((frame["method"], {k: v for k, v in frame["params"].items() if k[0] != "s"}))
        link.answer(frame["id"])
        if frame["method"] == "session/prompt":
            break
    assert [(m, p) for m, p in again[1:-1]] == chosen[1:]
    assert again[-1][0] == "session/prompt"


def test_authenticate_is_never_replayed() -> None:
    link = Link().client(request(5, "authenticate", methodId="browser")).answer(5)
    link.asked()
    link.come_back()
    assert all(frame["method"] != "authenticate" for frame in link.asked())


def test_the_handshake_that_is_replayed_is_the_clients_own() -> None:
    link = Link().die().time(10).client(prompt(2))
    (greeting,) = link.asked()
    assert greeting["params"] == INITIALIZE["params"]
    assert greeting["id"].startswith("lastword:1:")
    assert link.to_client == []


def test_waiting_requests_reach_the_new_agent_in_order() -> None:
    link = Link().client(request(5, "session/new", cwd="/w", mcpServers=[]))
    link.answer(5, sessionId="t")
    link.asked()
    link.die().time(10).client(request(6, "session/list"), prompt(7, "s"), prompt(8, "t")).greet()
    assert [frame["method"] for frame in link.asked()] == [
        "session/list",
        "session/load",
        "session/load",
    ]


def test_requests_beyond_the_queues_size_are_answered_at_once() -> None:
    link = Link().die()
    for number in range(1001):
        link.client(request(100 + number, "session/list"))
    assert (link.answers(100), reasons(link, 1100)) == ([], ["queue_full"])


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request"])
def test_a_waiting_prompt_that_is_cancelled_never_reaches_the_agent(how: str) -> None:
    link = Link().die().client(prompt(2))
    word = cancel() if how == "session/cancel" else request(None, how, requestId=2)
    link.client({key: value for key, value in word.items() if key != "id"})
    assert [answer["result"]["stopReason"] for answer in link.answers(2)] == ["cancelled"]
    link.time(10)
    assert link.asked() == []


def test_a_prompt_whose_session_is_being_restored_can_be_cancelled() -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.client(cancel()).answer(load["id"])
    assert [answer["result"]["stopReason"] for answer in link.answers(2)] == ["cancelled"]
    assert [frame["method"] for frame in link.asked()] == ["session/cancel"]


def test_an_answer_to_the_dead_agents_question_never_reaches_the_new_one() -> None:
    link = Link().client(prompt(2)).agent(permission(0))
    link.asked()
    link.die().time(10).client(prompt(3)).greet().answer(link.asked()[0]["id"])
    link.asked()
    link.agent(permission(0))
    shown = json.loads(link.to_client[-1])
    allow = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    link.client({"jsonrpc": "2.0", "id": 0, "result": allow})
    assert link.asked() == []
    assert "answer_to_dead_agent" in link.drops
    assert shown["id"].startswith("lastword:1:")
    link.client({"jsonrpc": "2.0", "id": shown["id"], "result": allow})
    assert link.asked() == [{"jsonrpc": "2.0", "id": 0, "result": allow}]


def test_a_new_agents_question_is_withdrawn_by_the_id_that_the_client_knows() -> None:
    link = Link().come_back().agent(permission(0))
    shown = json.loads(link.to_client[-1])
    link.agent({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}})
    assert json.loads(link.to_client[-1])["params"] == {"requestId": shown["id"]}


def test_a_question_of_a_quarantined_session_is_refused_under_the_agents_own_id() -> None:
    link = Link().come_back().agent(permission(7)).client(cancel())
    link.asked()
    link.time(link.now + 11)
    refused = [frame for frame in link.asked() if "method" not in frame]
    assert refused == [reply(7, outcome={"outcome": "cancelled"})]


def test_the_replay_of_a_session_is_withheld_in_version_2() -> None:
    wire = Wire(restart="on-crash").client(INITIALIZE | {"params": {"protocolVersion": 2}})
    wire.agent(reply(0, protocolVersion=2)).client(request(1, "session/new", cwd="/w"))
    wire.agent(reply(1, sessionId="s"))
    wire.carry_out(wire.core.receive_eof(Side.AGENT, lambda: KILLED, 400.0))
    wire.time(402).client(prompt(2))
    wire.carry_out(wire.core.agent_started(402))
    wire.agent(reply(json.loads(wire.to_agent[-1])["id"], protocolVersion=2))
    resume = json.loads(wire.to_agent[-1])
    assert (resume["method"], resume["params"]["sessionId"]) == ("session/resume", "s")
    wire.to_client.clear()
    wire.agent(chunk("old"), update(sessionUpdate="agent_message", messageId="m", content=[]))
    wire.agent(reply(resume["id"]))
    assert (wire.to_client, json.loads(wire.to_agent[-1])) == ([], prompt(2))


def test_an_open_session_is_loaded_again_like_any_other() -> None:
    link = Link().come_back()
    link.asked()
    link.client(LOAD)
    assert link.asked() == [LOAD]
    link.client(request(4, "session/set_mode", sessionId="s", modeId="plan"))
    assert [frame["id"] for frame in link.asked()] == [4]


def test_a_session_that_was_not_restored_is_closed_without_the_agent() -> None:
    link = Link().die()
    link.time(link.now + 10).client(request(3, "session/new", cwd="/w", mcpServers=[]))
    link.client(request(4, "session/close", sessionId="s")).greet()
    assert [frame["method"] for frame in link.asked()] == ["session/new"]
    assert link.answers(4)[0]["result"] == {}
    # The id is free for the session that is opened now.
    link.answer(3, sessionId="s")
    assert link.answers(3)[0]["result"]["sessionId"] == "s"


def test_a_lost_session_can_be_closed() -> None:
    link = Link({}).die_and_be_greeted()
    close = request(3, "session/close", sessionId="s")
    link.client(close)
    assert link.asked() == [close]


def test_the_id_of_a_lost_session_that_is_being_closed_is_not_given_to_a_new_one() -> None:
    link = Link({}).die_and_be_greeted().client(request(3, "session/new", cwd="/w", mcpServers=[]))
    link.client(request(4, "session/close", sessionId="s")).answer(3, sessionId="s")
    assert link.answers(3)[0]["result"]["sessionId"] != "s"
