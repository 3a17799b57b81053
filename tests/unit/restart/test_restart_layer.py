"""The layer that knows restarts: when it comes around a connection, and what passes it."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from lastword.core.link.agent_side import Note
from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.effects import Answer, Drop, Kill, Restart, Send
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import acp, jsonrpc
from lastword.core.restart import state as restart_state
from lastword.core.restart.layer import RestartLayer
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    chunk,
    fail,
    permission,
    prompt,
    reply,
    request,
    result,
    update,
)
from tests.unit.restart.crashing import KILLED, Link, reasons, two_sessions

if TYPE_CHECKING:
    import pytest


def layered(link: Wire) -> bool:
    return isinstance(link.core.connection, RestartLayer)


def public(of: type) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")}


ASKED_BY_THE_LAYER_ITSELF = {"at", "another_follows"}
STATE = {"link", "state"}
BEHIND_THE_LAYER = {
    *("can_be_handed_over", "replay", "resume_wait", "stored_wait"),
    *("agent_name", "client_attached", "client_detached", "expects_hints", "receive_report"),
    *("receive_silence", "stderr_tail"),
}
"""What is asked of the connection itself, since restarts change nothing about it."""


def test_the_layer_has_every_method_of_a_connection() -> None:
    missing = public(Connection) - public(RestartLayer) - ASKED_BY_THE_LAYER_ITSELF - STATE
    assert missing == BEHIND_THE_LAYER
    assert public(RestartLayer) - public(Connection) - STATE == {"agent_started", "replaced"}


@every("name", sorted(public(Connection) & public(RestartLayer) - STATE))
def test_the_layers_methods_have_a_connections_signatures(name: str) -> None:
    inner, outer = getattr(Connection, name), getattr(RestartLayer, name)
    if isinstance(inner, property):
        inner, outer = inner.fget, outer.fget
    assert inspect.signature(inner) == inspect.signature(outer)


def test_the_layer_comes_with_the_first_crash_and_stays() -> None:
    link = Link()
    assert not layered(link)
    link.die()
    assert layered(link)
    first = link.core.connection
    link.die()
    assert link.core.connection is first
    assert not layered(Wire(restart="never").eof(Side.AGENT))
    assert not layered(Link().eof(Side.CLIENT).die()), "the client had left"


def test_a_handler_in_this_process_has_no_layer_and_is_not_replaced() -> None:
    # There is nothing to kill: prompts behind it once waited for ever.
    link = Link(in_process=True).client(prompt(2), cancel()).time(11).client(prompt(3)).time(22)
    assert reasons(link, 3) == ["busy_with_ended_turn"]
    link.die()
    assert not layered(link)


def test_a_surplus_prompt_behind_a_replaced_agent_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It was once lost without a word.
    monkeypatch.setattr(restart_state, "MAX_QUEUED", 2)
    link = Link().client(prompt(2), cancel()).time(11)
    for number in (3, 4, 5):
        link.client(prompt(number))
    link.time(22)
    assert [link.answers(number) for number in (3, 4)] == [[], []]
    assert reasons(link, 5) == ["queue_full"]


def test_two_sessions_behind_one_stuck_agent_both_reach_the_next() -> None:
    link = two_sessions()
    for session, number in (("s", 10), ("t", 20)):
        link.client(prompt(number, session), cancel(session))
    link.time(11).client(prompt(11, "s"), prompt(21, "t")).time(22)
    assert link.orders == [Kill()]
    link.asked()
    link.die().greet()
    again = link.asked()
    assert [frame["params"]["sessionId"] for frame in again] == ["s", "t"]


def test_a_link_after_a_restart_is_as_any_other() -> None:
    link = Link().come_back()
    link.to_client.clear()
    link.agent(chunk(), b"no frame").stderr(b"a word\n").stderr(b"another\n")
    assert link.core.stderr_tail().split() == ["a", "word", "another"]
    assert link.core.agent_name == ""
    assert link.core.receive_report(b"2", Note.PROGRESS, link.now) == []
    assert not link.core.idle
    link.core.expects_hints(present=True)
    link.agent(result(2))
    assert link.answers(2) == []
    (kept,) = link.core.connection.withheld_frames()
    assert isinstance(kept, Send)
    assert json.loads(kept.frame) == result(2)
    link.carry_out(link.core.looked(link.now))
    assert link.answers(2) == [result(2)]
    assert link.core.idle
    assert link.drops == [jsonrpc.MALFORMED_JSON]


def test_a_run_of_text_after_a_restart_passes_as_before_it() -> None:
    link = Link().come_back().agent(chunk())
    block = jsonrpc.decode_block(json.dumps(chunk("more")).encode() + b"\n")
    assert block is not None
    assert link.core.observe(block, 0, link.now) == 1


def test_a_line_of_a_new_agent_that_is_too_long_is_answered_under_its_own_id() -> None:
    link = Link().come_back().agent(permission(4))
    head = b'{"jsonrpc":"2.0","id":4,"method":"fs/write_text_file","params":{"content":"'
    link.asked()
    link.carry_out(link.core.receive_oversized(Side.AGENT, head, link.now))
    assert [frame["id"] for frame in link.asked() if "error" in frame] == [4]


def test_the_earliest_timer_is_waited_for_whoever_set_it() -> None:
    link = Link().die_and_be_greeted()
    assert link.core.next_timeout() == link.now + 300  # the session that is to come back
    link.client(prompt(3, "t"))
    assert link.core.next_timeout() == link.now + 45  # a turn of another, silent so far


def test_the_layers_own_timer_is_waited_for() -> None:
    core = FailOpen(Connection(LinkOptions(restart="on-crash")), fail)
    core.receive_eof(Side.AGENT, lambda: KILLED, 10.0)
    assert core.next_timeout() is None
    line = b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}'
    assert core.receive(Side.CLIENT, jsonrpc.decode(line), 10.0) == []
    assert core.next_timeout() == 11.0
    (_, order) = core.handle_timeout(11.0)
    assert order == Restart()
    note = b'{"jsonrpc":"2.0","method":"_x/note"}'
    assert core.receive(Side.CLIENT, jsonrpc.decode(note), 11.0) == [Drop("agent_gone")]


# --- where several things happen at once


ERROR = {"code": -32603, "message": "Invalid API key"}


def test_a_client_that_says_hello_again_greets_the_new_agent_itself() -> None:
    link = Link().die().time(10).client(INITIALIZE | {"id": 7})
    assert link.asked() == [INITIALIZE | {"id": 7}]


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
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.client({"jsonrpc": "2.0", "method": "_x/note", "params": {"sessionId": "s"}})
    link.agent({"jsonrpc": "2.0", "id": load["id"], "error": "not even an object"})
    assert (link.drops, reasons(link, 2)) == (["agent_gone"], ["context_lost"])


def test_requests_that_wait_for_a_session_are_forgotten_when_the_client_leaves() -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    assert not link.core.idle
    link.eof(Side.CLIENT)
    assert (link.core.idle, reasons(link, 2)) == (True, ["no_answer"])
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


def test_more_than_may_wait_for_a_session_is_answered_at_once() -> None:
    link = Link().die_and_be_greeted()
    for number in range(1000):
        link.client(request(100 + number, "session/set_mode", sessionId="s", modeId="code"))
    assert (reasons(link, 1099), link.answers(1098)) == (["queue_full"], [])
