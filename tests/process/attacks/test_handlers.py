"""Handlers in the agent's own process: whatever they cancel, leave or print, each turn ends once.

All stories of a door are told to one agent behind it, beside another session's turn.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.kit.doors.work import PRINTS
from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import CANCELLED, END_TURN, in_turn, leave, scoped, serves_on

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

TASKS = ["sdk", "asyncio"]
"""Doors on asyncio: on trio a task cannot be cancelled from outside of its scopes."""

INTERRUPTED = {-signal.SIGINT, 130, 1}

WELL = [
    *("nap 0.05", "cancel_own_scope", "cancel_group", "leave_generator", "keep_generator"),
    *("children_speak", "thread", "move_on_after", "run_reader"),
]
FAILS = {
    "fail_after": {"timeout"},
    "group": {"rate_limit"},
    "group_of_two": {"rate_limit", "internal"},
    "group_deep": {"rate_limit"},
    "group_of_many": {"rate_limit", "internal", "unknown"},
    "group_of_itself": {"internal", "unknown"},
    "group_of_base": {"internal", "unknown"},
    "stop_iteration": {"internal", "unknown"},
    "generator_exit": {"internal", "unknown"},
    "return_generator": {"internal", "protocol_error"},
    "return_coroutine": {"internal", "protocol_error"},
    "thread_fails": {"rate_limit"},
}
OF_TRIO = {"too_slow": {"timeout"}}
BY_THE_AUTHOR = ["timer", "cancel_itself"]


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
    ("name", "what"),
    [("asyncio", "keep_scope"), ("trio", "scope_over_a_yield"), ("trio", "group_over_a_yield")],
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


# A cancellation that is not the user's ends its turn at once, and nothing else.


@pytest.mark.parametrize("door", TASKS, indirect=True)
def test_a_handler_that_its_author_cancelled_ends_only_its_turn_at_once(
    door: AttackClient,
) -> None:
    session = door.new_session()
    for what in BY_THE_AUTHOR:
        failed = payload_of(door.turn(what, session=session))
        assert failed["reason"] == "agent_cancelled", door.story(what)
    door.begin_anew()
    prompt = door.prompt("hang", session=session)
    door.expect_method("session/update")
    door.request("session/set_mode", sessionId=session, modeId="m")
    assert payload_of(door.answer(prompt))["reason"] == "agent_cancelled"
    assert door.turn("cancel_at_last", session=session).get("result") == END_TURN
    # Another handler that is cancelled ends alone too; as a notification it has no answer.
    assert payload_of(door.answer(door.request("_cancel_itself")))["reason"] == "agent_cancelled"
    door.notify("_cancel_itself")
    assert serves_on(door, session)


@pytest.mark.parametrize("name", TASKS)
def test_a_users_cancel_that_the_author_implements_by_the_task_ends_the_turn_once(
    watched: Attack, name: str
) -> None:
    with watched.start(*scoped(name, "cancel=task")) as client:
        client.open()
        prompt = client.prompt("hang")
        client.expect_method("session/update")
        client.cancel()
        assert client.answer(prompt).get("result") == CANCELLED
        for how in BY_THE_AUTHOR:
            prompt = client.prompt(how)
            client.cancel()
            client.cancel()
            answer = client.answer(prompt)
            # The author's own may come first.
            assert answer.get("result") == CANCELLED or (
                payload_of(answer)["reason"] == "agent_cancelled"
            ), client.story(how)
        assert serves_on(client, "s1")
        leave(client, tells_its_author=True)


STOPPED = [
    *("hang", "shielded", "raise_when_cancelled", "group_raises_when_cancelled"),
    *("swallow", "ask_in_a_child", "in_thread"),
]


def test_a_cancelled_turn_ends_as_cancelled_whatever_its_scopes_do(door: AttackClient) -> None:
    other = door.new_session()
    for what in STOPPED:
        session = door.new_session()
        door.begin_anew()
        prompt = door.prompt(what, session=session)
        door.expect(lambda frame: frame.get("method") == "session/update")
        door.cancel(session)
        assert door.answer(prompt).get("result") == CANCELLED, door.story(what)
        assert serves_on(door, other), what


def test_fifty_sessions_that_are_cancelled_in_one_breath_all_end(door: AttackClient) -> None:
    sessions = [door.new_session() for _ in range(50)]
    door.begin_anew()
    prompts = [door.prompt("hang", session=session) for session in sessions]
    door.read_until_true(lambda: len(door.updates()) == len(sessions), "fifty turns at work")
    for session in sessions:
        door.cancel(session)
    for prompt in prompts:
        assert door.answer(prompt).get("result") == CANCELLED


# Stdout is the client's: what a handler prints goes to stderr, and its author is told.


def test_a_handlers_prints_go_to_stderr_and_never_between_frames(door: AttackClient) -> None:
    session = door.new_session()
    for how in ("line", *PRINTS):
        since = len(door.stderr.data)
        assert door.turn(f"print {how}", session=session).get("result") == END_TURN, door.story(how)
        assert serves_on(door, session)
        door.read_until_true(
            lambda: b"printed by the handler" in door.stderr.data[since:],  # noqa: B023
            f"what was printed by {how}",
        )
    said = [line for line in door.stderr.data.decode().splitlines() if "stdout" in line]
    assert len(said) == 1, said


def test_a_process_that_a_handler_starts_reads_nothing_of_the_clients(door: AttackClient) -> None:
    prompt = door.prompt("run_reader", session=door.new_session())
    asked = door.request("_echo")
    assert door.answer(prompt).get("result") == END_TURN
    assert "result" in door.answer(asked)


# What ends more than its turn.

ENDS = ["interrupt_in_group", "exit_and_error", "signal_itself", "interrupt"]


@pytest.mark.parametrize(("name", "what"), in_turn(["trio", "trio", "asyncio"], ENDS))
def test_every_open_turn_is_answered_before_the_process_ends(
    watched: Attack, name: str, what: str
) -> None:
    with watched.start(*scoped(name)) as client:
        client.open(sessions=2)
        other = client.prompt("hang", session="s2")
        client.expect_method("session/update")
        prompt = client.prompt(what)
        for each in (prompt, other):
            assert payload_of(client.answer(each))["type"] in {"agent_crash", "internal"}
        right = {7} if "exit" in what else INTERRUPTED
        assert client.wait() in right, client.story(what)


DOOR_ENDS = [("asyncio", "cancel_the_door"), ("trio", "cancel_the_door"), ("trio", "system_task")]


@pytest.mark.parametrize(("name", "what"), DOOR_ENDS)
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
        leave(client, None, tells_its_author=True)


def test_a_prompt_handler_that_is_a_generator_is_refused_at_the_start(watched: Attack) -> None:
    with watched.start(*scoped("trio", "generator")) as client:
        assert client.wait() == 1
        assert b"TypeError" in client.stderr.data
        assert not client.stdout.data
