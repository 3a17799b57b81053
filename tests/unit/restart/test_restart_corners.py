"""Restarts where several things happen at once: full queues, late words, a client that leaves."""

from __future__ import annotations

import json
from typing import Any

from lastword.core.link.connection import Side
from lastword.core.link.effects import Answer, Restart
from lastword.core.protocol import acp
from tests.kit.wire import INITIALIZE, cancel, permission, prompt, reply, request, update
from tests.unit.restart.crashing import KILLED, Link, reasons, two_sessions

ERROR = {"code": -32603, "message": "Invalid API key"}


def coming_back() -> Link:
    """A link whose session is on its way back for prompt 2."""
    return Link().die_and_be_greeted()


def test_a_client_that_says_hello_again_greets_the_new_agent_itself() -> None:
    link = Link().die().time(10).client(INITIALIZE | {"id": 7})
    assert link.asked() == [INITIALIZE | {"id": 7}]


def test_more_than_may_wait_for_a_session_is_answered_at_once() -> None:
    link = coming_back()
    for number in range(1000):
        link.client(request(100 + number, "session/set_mode", sessionId="s", modeId="code"))
    assert (reasons(link, 1099), link.answers(1098)) == (["queue_full"], [])


def test_requests_for_more_sessions_than_the_queue_holds_are_answered_after_a_crash() -> None:
    link = two_sessions().die().time(10).client(prompt(2), prompt(3, "t")).greet()
    for number in range(600):
        link.client(request(1000 + number, "session/set_mode", sessionId="s", modeId="code"))
        link.client(request(2000 + number, "session/set_mode", sessionId="t", modeId="code"))
    link.starts = False
    link.die()
    asked = {*range(1000, 1600), *range(2000, 2600)}
    came = [json.loads(frame) for frame in link.to_client]
    answers = [frame for frame in came if "method" not in frame and frame.get("id") in asked]
    assert len({answer["id"] for answer in answers}) == 1202 - 1000
    told = {answer["error"]["data"]["agent_error"].get("reason") for answer in answers}
    assert told == {"queue_full"}


def test_a_clients_late_answer_without_an_agent_is_dropped() -> None:
    link = Link().die().client(reply(9))
    assert link.drops == ["answer_to_nobody"]


def test_a_cancel_leaves_other_sessions_and_other_requests_waiting() -> None:
    link = two_sessions().die().client(request(6, "session/list"), prompt(2), prompt(3, "t"))
    for word in (cancel(), {"method": "_x/note"}, {"method": "$/cancel_request", "params": {}}):
        link.client({"jsonrpc": "2.0", **word})
    assert [bool(link.answers(number)) for number in (6, 2, 3)] == [False, True, False]


def test_a_new_agents_withdrawal_of_an_unknown_request_is_passed_on() -> None:
    link = Link().come_back()
    for params in ({"requestId": 77}, {}):
        withdrawal = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}
        link.agent(withdrawal)
        assert json.loads(link.to_client[-1]) == withdrawal


def test_a_clients_oversized_answer_is_reported_to_the_new_agent_under_its_own_id() -> None:
    link = Link().come_back().agent(permission(4))
    shown = json.loads(link.to_client[-1])["id"]
    head = json.dumps({"jsonrpc": "2.0", "id": shown, "result": "x"}).encode()[:-2]
    effects = link.core.receive_oversized(Side.CLIENT, head, link.now)
    (told,) = [effect for effect in effects if isinstance(effect, Answer)]
    assert (told.to, told.request_id) == (Side.AGENT, b"4")
    assert json.loads(told.frame)["id"] == 4


def test_a_session_that_comes_back_later_has_its_own_time_for_it() -> None:
    link = two_sessions().die().time(10).client(prompt(2)).greet()
    link.time(200).client(prompt(3, "t")).time(400)
    assert (reasons(link, 2), link.answers(3)) == (["context_lost"], [])
    link.time(501)
    assert reasons(link, 3) == ["context_lost"]


def test_a_note_for_a_session_that_is_lost_is_dropped() -> None:
    link = coming_back()
    (load,) = link.asked()
    link.client({"jsonrpc": "2.0", "method": "_x/note", "params": {"sessionId": "s"}})
    link.agent({"jsonrpc": "2.0", "id": load["id"], "error": "not even an object"})
    assert (link.drops, reasons(link, 2)) == (["agent_gone"], ["context_lost"])


def test_requests_that_wait_for_a_session_are_forgotten_when_the_client_leaves() -> None:
    link = coming_back()
    (load,) = link.asked()
    assert not link.core.idle
    link.eof(Side.CLIENT)
    assert link.core.idle
    link.answer(load["id"])
    assert link.asked() == []


def test_an_agent_that_refuses_the_handshake_and_lives_on_blocks_nothing() -> None:
    link = Link({"capabilities": {}})
    link.client(INITIALIZE | {"id": 7, "params": {"protocolVersion": 2}})
    link.agent(reply(7, protocolVersion=2))
    link.asked()
    link.die().time(10).client(prompt(2))
    (greeting,) = link.asked()
    link.agent({"jsonrpc": "2.0", "id": greeting["id"], "error": ERROR})
    link.agent(update(sessionUpdate="state_update", state="running")).time(link.now + 1000)
    # The work that it began by itself was given up; a session without an agent waits for nobody.
    assert "quarantined" not in link.kinds


def test_a_crash_before_the_first_word_of_the_client_starts_nothing() -> None:
    link = Link()
    link.core.receive_eof(Side.AGENT, lambda: KILLED, link.now)
    assert link.core.agent_started(link.now)[0] is not None
    assert link.core.idle


def large(number: int, session_id: str = "s") -> dict[str, Any]:
    """A prompt of which two do not fit."""
    return prompt(number, session_id, "x" * (acp.MAX_WAITING_BYTES // 2))


def test_a_request_refused_for_lack_of_room_still_starts_the_agent() -> None:
    link = Link()
    link.starts = False
    link.die().client(large(2), large(3))
    assert reasons(link, 3) == ["queue_full"]
    link.orders.clear()
    link.time(10)
    assert (link.orders, link.answers(2)) == ([Restart()], [])


def test_the_queue_behind_a_turn_that_never_ends_is_bounded() -> None:
    link = Link().client(prompt(2), cancel()).time(11).client(large(3), large(4))
    assert (reasons(link, 4), link.answers(3)) == (["queue_full"], [])
