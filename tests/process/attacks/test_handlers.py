"""Handlers on structured concurrency: whatever they cancel or leave, each turn ends once.

All stories of a door are told to one agent behind it, beside another session's turn. What a handler
raises or returns `tests/process/inprocess` has on asyncio; here trio fails as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.process.attacks.client import CANCELLED, END_TURN, leave, payload_of, scoped, serves_on

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

WELL = ["nap 0.05", "cancel_own_scope", "keep_generator", "thread", "move_on_after"]
FAILS = {
    "fail_after": {"timeout"},
    "group": {"rate_limit"},
    "stop_iteration": {"internal", "unknown"},
    "generator_exit": {"internal", "unknown"},
    "return_coroutine": {"internal", "protocol_error"},
}
OF_TRIO = {"too_slow": {"timeout"}}


def test_a_turn_ends_as_its_handler_left_it_without_affecting_others(door: AttackClient) -> None:
    fails = FAILS | (OF_TRIO if door.command[-1] == "trio" else {})
    others = door.new_session()
    other = door.prompt("wait", session=others)
    door.expect_method("session/update")
    for what in [*WELL, *fails]:
        session = door.new_session()
        answer = door.turn(what, session=session)
        if what in fails:
            assert payload_of(answer)["type"] in fails[what], door.story(what)
        else:
            assert answer.get("result") == END_TURN, door.story(what)
        assert serves_on(door, session), what
    assert not door.answers(other)
    door.notify("_agent/go")
    assert door.answer(other).get("result") == END_TURN


@pytest.mark.parametrize(
    ("name", "what"), [("asyncio", "keep_scope"), ("trio", "scope_over_a_yield")]
)
def test_a_scope_that_a_generator_keeps_open_ends_only_its_turn(
    watched: Attack, name: str, what: str
) -> None:
    with watched.start(*scoped(name)) as client:
        client.open(sessions=2)
        other = client.prompt("nap 0.3", session="s2")
        client.expect_method("session/update")
        assert payload_of(client.turn(what))["type"] in {"rate_limit", "internal"}
        assert client.answer(other).get("result") == END_TURN, client.story(what)
        leave(client, tells_its_author=True)


# On trio a task cannot be cancelled from outside of its scopes.
@pytest.mark.parametrize("door", ["sdk", "asyncio"], indirect=True)
def test_a_handler_that_its_author_cancelled_ends_only_its_turn_at_once(
    door: AttackClient,
) -> None:
    session = door.new_session()
    for what in ("timer", "cancel_itself"):
        failed = payload_of(door.turn(what, session=session))
        assert failed["reason"] == "agent_cancelled", door.story(what)
    assert door.turn("cancel_at_last", session=session).get("result") == END_TURN
    # Another handler that is cancelled ends alone too; as a notification it has no answer.
    assert payload_of(door.answer(door.request("_cancel_itself")))["reason"] == "agent_cancelled"
    door.notify("_cancel_itself")
    assert serves_on(door, session)


def test_a_cancelled_turn_ends_as_cancelled_whatever_its_scopes_do(door: AttackClient) -> None:
    other = door.new_session()
    for what in ("shielded", "group_raises_when_cancelled", "in_thread"):
        session = door.new_session()
        door.begin_anew()
        prompt = door.prompt(what, session=session)
        door.expect_method("session/update")
        door.cancel(session)
        assert door.answer(prompt).get("result") == CANCELLED, door.story(what)
        assert serves_on(door, other), what


@pytest.mark.parametrize(
    ("name", "what"),
    [("asyncio", "cancel_the_door"), ("trio", "system_task"), ("trio", "exit_and_error")],
)
def test_a_handler_that_crashes_the_door_leaves_no_turn_unanswered(
    watched: Attack, name: str, what: str
) -> None:
    # Where the door itself lives on, the clock of silence ends what is open.
    watched.environment["LASTWORD_IDLE_TIMEOUT"] = "2"
    with watched.start(*scoped(name)) as client:
        client.open(sessions=2)
        other = client.prompt("hang", session="s2")
        client.expect_method("session/update")
        prompt = client.prompt(what)
        for each in (prompt, other):
            assert "error" in client.answer(each), client.story("no failure")
        leave(client, 7 if "exit" in what else None, tells_its_author=True)
