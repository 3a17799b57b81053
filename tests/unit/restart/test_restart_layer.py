"""The layer that knows restarts: when it comes around a connection, and what passes it."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING

from lastword.core.link.agent_side import Note
from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.effects import Drop, Effect, Kill, Restart, Send
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import jsonrpc
from lastword.core.restart import state as restart_state
from lastword.core.restart.layer import RestartLayer
from tests.kit.rows import every
from tests.kit.wire import Wire, cancel, chunk, fail, permission, prompt, result
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


def test_an_agent_that_is_not_started_again_has_no_layer() -> None:
    link = Wire(restart="never")
    link.carry_out(link.core.receive_eof(Side.AGENT, lambda: KILLED, 1.0))
    assert not layered(link)


def test_a_handler_in_this_process_has_no_layer_and_is_not_replaced() -> None:
    # There is nothing to kill: prompts behind it once waited for ever.
    link = Link(in_process=True).client(prompt(2), cancel()).time(11).client(prompt(3)).time(22)
    assert reasons(link, 3) == ["busy_with_ended_turn"]
    link.die()
    assert not layered(link)


def test_an_agent_that_ends_after_its_client_has_no_layer() -> None:
    link = Link().eof(Side.CLIENT).die()
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


def test_a_kill_that_a_shell_sees_names_no_prompts() -> None:
    link = Link()
    seen: list[Effect] = []
    link.client(prompt(2), cancel()).time(11).client(prompt(3))
    seen += link.core.handle_timeout(30.0)
    assert [effect for effect in seen if isinstance(effect, Kill)] == [Kill()]
    assert link.core.idle is False


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
    link.carry_out(link.core.looked(link.now))
    assert link.answers(2) == [result(2)]
    assert link.core.idle
    assert link.drops == [jsonrpc.MALFORMED_JSON]


def test_an_answer_withheld_after_a_restart_is_listed() -> None:
    link = Link().come_back().agent(result(2))
    (kept,) = link.core.connection.withheld_frames()
    assert isinstance(kept, Send)
    assert json.loads(kept.frame) == result(2)


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
