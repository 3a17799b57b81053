"""When an agent that died may start again, and who is told what while it may not."""

from __future__ import annotations

from lastword.core.classify import classify_spawn_failure
from lastword.core.link.connection import Side
from lastword.core.link.effects import Kill, Restart
from tests.kit.wire import INITIALIZE, Wire, cancel, failure, prompt
from tests.unit.restart.crashing import Link, reasons, two_sessions


def test_waits_between_starts_grow_and_end_in_a_crash_loop() -> None:
    link = Link()
    link.starts = False
    link.die().client(prompt(2))
    starts = []
    for _ in range(2):
        due = link.core.next_timeout()
        assert due is not None
        link.time(due)
        starts.append(link.now)
        assert link.orders.pop() == Restart()
        link.die()
    assert (starts, reasons(link, 2)) == ([1.0, 3.0], ["crash_loop"])
    link.client(prompt(3))
    assert (reasons(link, 3), link.orders) == (["crash_loop"], [])


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
    error = {"code": -32603, "message": "Invalid API key"}
    link.agent({"jsonrpc": "2.0", "id": greeting["id"], "error": error})
    (answer,) = link.answers(2)
    assert answer["error"]["data"]["agent_error"]["type"] == "auth"
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


def test_an_agent_that_serves_another_session_is_not_killed() -> None:
    link = two_sessions()
    link.client(prompt(6, "t"), prompt(2), cancel()).time(link.now + 11).client(prompt(3))
    link.time(link.now + 11)
    assert (link.orders, reasons(link, 3)) == ([], ["busy_with_ended_turn"])


def test_a_suspension_extends_a_prompts_wait_for_an_agent() -> None:
    link = two_sessions()
    link.client(prompt(6, "t"), prompt(2), cancel()).time(link.now + 11).client(prompt(3))
    link.core.stand_still(100)
    link.time(link.now + 100)
    assert reasons(link, 3) == []
    link.time(link.now + 11)
    assert reasons(link, 3) == ["busy_with_ended_turn"]


def test_a_crash_says_that_the_agent_is_started_again() -> None:
    link = Link().client(prompt(2)).die()
    error = failure(link, 2)
    assert error["message"].endswith("The agent is started again with your next prompt.")
    assert error["action"] == "retry"


def test_an_agent_that_never_started_is_not_started_again() -> None:
    wire = Wire(restart="on-crash")
    verdict = classify_spawn_failure(2, "nope")
    wire.carry_out(wire.core.receive_eof(Side.AGENT, lambda: verdict, 0.0))
    wire.client(INITIALIZE)
    assert reasons(wire, 0) == ["spawn_failed"]  # type: ignore[arg-type]


def test_a_client_that_leaves_gets_its_waiting_prompt_answered_and_no_agent_started() -> None:
    link = Link().die().client(prompt(2)).eof(Side.CLIENT).time(10)
    assert (reasons(link, 2), link.orders) == (["killed"], [])


def test_a_prompt_whose_session_is_being_restored_is_answered_when_the_client_leaves() -> None:
    link = Link().die_and_be_greeted().eof(Side.CLIENT)
    assert reasons(link, 2) == ["no_answer"]


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
