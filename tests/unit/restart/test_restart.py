"""An agent that died: what waits, how the next one is greeted, and what its predecessors left."""

from __future__ import annotations

import json

import pytest

from lastword.core.classify import classify_spawn_failure
from lastword.core.link.connection import Side
from lastword.core.link.effects import Kill, Restart
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
    update,
)
from tests.unit.restart.crashing import KILLED, Link, reasons, two_sessions


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


LOAD = request(3, "session/load", sessionId="s", cwd="/w", mcpServers=[])


def test_a_lost_session_stays_lost_if_its_load_fails() -> None:
    link = Link({}).die_and_be_greeted().client(LOAD, prompt(4))
    assert link.asked() == [LOAD]
    link.agent(error(3))
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
        link.agent(error(ours["id"]))
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
        link.agent(error(ours["id"]))
    else:
        link.time(link.now + 301)
    assert link.asked() == [prompt(2)]


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


def test_a_waiting_prompt_that_is_cancelled_by_its_id_never_reaches_the_agent() -> None:
    link = Link().die().client(prompt(2))
    link.client({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 2}})
    assert [answer["result"]["stopReason"] for answer in link.answers(2)] == ["cancelled"]
    link.time(10)
    assert link.asked() == []


def test_a_prompt_whose_session_is_being_restored_can_be_cancelled() -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.client(cancel()).answer(load["id"])
    assert [answer["result"]["stopReason"] for answer in link.answers(2)] == ["cancelled"]
    assert [frame["method"] for frame in link.asked()] == ["session/cancel"]


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


def test_the_id_of_a_lost_session_that_is_being_closed_is_not_given_to_a_new_one() -> None:
    link = Link({}).die_and_be_greeted().client(request(3, "session/new", cwd="/w", mcpServers=[]))
    link.asked()
    close = request(4, "session/close", sessionId="s")
    assert link.client(close).asked() == [close]
    link.answer(3, sessionId="s")
    assert link.answers(3)[0]["result"]["sessionId"] != "s"


# --- when an agent may start again, and who is told what while it may not


def test_only_one_request_in_thirty_seconds_starts_the_agent_in_a_crash_loop() -> None:
    link = Link()
    for _ in range(3):
        link.die()
    link.time(link.now + 31).client(prompt(2))
    assert link.orders == [Restart()]
    link.greet()
    assert link.answers(2) == []


def test_the_next_start_after_a_failed_one_waits_a_second() -> None:
    link = Link().die()
    link.starts = False
    link.time(10).client(prompt(2))
    missing = classify_spawn_failure(2, "agent")
    link.carry_out(link.core.receive_eof(Side.AGENT, lambda: missing, link.now))
    assert (reasons(link, 2), link.orders.pop()) == (["spawn_failed"], Restart())
    link.client(prompt(3)).time(10.9)
    assert link.orders == []
    link.time(11)
    assert link.orders == [Restart()]


def test_a_new_agent_that_refuses_the_handshake_fails_waiting_prompts_and_is_killed() -> None:
    link = Link().die().time(10).client(prompt(2))
    (greeting,) = link.asked()
    link.agent(error(greeting["id"], message="Invalid API key"))
    assert failure(link, 2)["type"] == "auth"
    assert Kill() in link.orders


def test_a_new_agent_that_ignores_the_handshake_fails_waiting_prompts_and_is_killed() -> None:
    link = Link().die().time(10).client(prompt(2)).time(10 + 121)
    assert reasons(link, 2) == ["request_timeout"]
    assert Kill() in link.orders


def test_a_session_behind_a_turn_that_never_ends_gets_a_new_agent() -> None:
    link = Link().time(400).client(prompt(2), cancel())
    link.time(link.now + 11).client(prompt(3))
    link.asked()
    link.time(link.now + 11)
    assert link.orders == [Kill()]
    link.die()
    assert link.orders == [Kill(), Restart()]
    link.greet()
    (load,) = link.asked()
    link.answer(load["id"])
    assert link.asked() == [prompt(3)]


def test_a_suspension_extends_a_prompts_wait_for_an_agent() -> None:
    link = two_sessions()
    link.client(prompt(6, "t"), prompt(2), cancel()).time(link.now + 11).client(prompt(3))
    link.core.stand_still(100)
    link.time(link.now + 100)
    assert reasons(link, 3) == []
    link.time(link.now + 11)
    assert (reasons(link, 3), link.orders) == (["busy_with_ended_turn"], []), "it serves another"


def test_a_crash_says_that_the_agent_is_started_again() -> None:
    link = Link().client(prompt(2)).die()
    told = failure(link, 2)
    assert told["message"].endswith("The agent is started again with your next prompt.")
    assert told["action"] == "retry"


def test_an_agent_that_never_started_is_not_started_again() -> None:
    wire = Wire(restart="on-crash")
    verdict = classify_spawn_failure(2, "nope")
    wire.carry_out(wire.core.receive_eof(Side.AGENT, lambda: verdict, 0.0))
    wire.client(INITIALIZE)
    assert reasons(wire, 0) == ["spawn_failed"]  # type: ignore[arg-type]


def test_a_client_that_leaves_gets_its_waiting_prompt_answered_and_no_agent_started() -> None:
    link = Link().die().client(prompt(2)).eof(Side.CLIENT).time(10)
    assert (reasons(link, 2), link.orders) == (["killed"], [])


def test_a_vanished_program_is_reported_at_once_and_tried_with_each_request() -> None:
    link = Link()
    link.starts = False
    link.time(400).die().time(402)
    verdict = classify_spawn_failure(2, "nope")
    for request_id in range(2, 8):
        link.client(prompt(request_id)).time(link.now + 2)
        link.carry_out(link.core.receive_eof(Side.AGENT, lambda: verdict, link.now))
        assert reasons(link, request_id) == ["spawn_failed"]
    assert link.orders == [Restart()] * 6
    link.starts = True
    link.client(prompt(8)).time(link.now + 2).greet()


def test_a_standstill_does_not_count_against_a_new_agents_start() -> None:
    link = Link().die().time(10).client(prompt(2))
    link.core.stand_still(100)
    link.time(200)
    assert Kill() not in link.orders
    link.greet()
