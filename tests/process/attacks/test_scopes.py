"""Handlers on structured concurrency: whatever their scopes and groups do, each turn ends once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import CANCELLED, END_TURN, in_turn, leave, scoped

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

DOORS = ["sdk", "asyncio", "trio"]
SERVE = ["asyncio", "trio"]
INTERRUPTED = {-signal.SIGINT, 130, 1}
OF_THE_SDKS_LOOP = {0}
"""It takes the cancellation that an interrupt becomes for the end of its input."""

LIMITS = {
    "LASTWORD_IDLE_TIMEOUT": "8",
    "LASTWORD_FIRST_UPDATE_TIMEOUT": "8",
    "LASTWORD_CANCEL_GRACE": "0.5",
}


def start(attack: Attack, door: str, *words: str) -> AttackClient:
    return attack.start(*scoped(door, *words), environment=LIMITS)


def serves_on(client: AttackClient) -> bool:
    answer = client.turn("say")
    assert answer.get("result") == END_TURN, client.story("it does not serve on")
    return True


GOES_WELL = [
    "nap 0.1",
    "cancel_own_scope",
    "cancel_group",
    "leave_generator",
    "keep_generator",
    "children_speak",
    "thread",
]


@pytest.mark.parametrize(("door", "what"), in_turn(SERVE, [*GOES_WELL, *GOES_WELL[:2]]))
def test_a_turn_goes_well_whose_scopes_groups_threads_and_generators_are_its_own(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open()
        assert client.turn(what).get("result") == END_TURN, client.story(what)
        assert serves_on(client)
        leave(client)


FAILS = {
    "time_out": {"timeout"},
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
OF_THE_SDK = ["group", "group_of_many", "group_of_base", "stop_iteration", "return_generator"]
"""The runner is one for all doors: there what the SDK could make something else of."""


@pytest.mark.parametrize(
    ("door", "what"),
    [("trio", what) for what in FAILS]
    + [("asyncio", what) for what in list(FAILS)[:4]]
    + [("sdk", what) for what in OF_THE_SDK],
)
def test_what_leaves_a_scope_or_a_group_ends_its_turn_typed_and_no_other(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open()
        assert payload_of(client.turn(what))["type"] in FAILS[what], client.story(what)
        assert serves_on(client)
        leave(client, tells_its_author=True)


OVER_A_YIELD = ["scope_over_a_yield", "keep_scope", "group_over_a_yield"]


@pytest.mark.parametrize("what", OVER_A_YIELD)
@pytest.mark.parametrize("door", DOORS)
def test_a_scope_that_a_generator_keeps_open_ends_its_turn_and_no_other(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open(sessions=2)
        other = client.prompt("nap 0.5", session="s2")
        client.expect_method("session/update")
        assert payload_of(client.turn(what))["type"] in {"rate_limit", "internal"}
        assert client.answer(other).get("result") == END_TURN, client.story(what)
        leave(client, tells_its_author=True)


def test_trios_own_word_for_a_timeout_is_one(watched: Attack) -> None:
    with start(watched, "trio") as client:
        client.open()
        assert payload_of(client.turn("too_slow"))["type"] == "timeout"
        assert serves_on(client)
        leave(client, tells_its_author=True)


STOPPED = [
    "hang",
    "shielded",
    "raise_when_cancelled",
    "group_raises_when_cancelled",
    "swallow",
    "ask_in_a_child",
    "in_thread",
]


@pytest.mark.parametrize(
    ("door", "what"),
    [("trio", what) for what in STOPPED] + in_turn(["sdk", "asyncio"], STOPPED[1:]),
)
def test_a_cancelled_turn_ends_as_cancelled_whatever_its_scopes_say(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open(sessions=2)
        prompt = client.prompt(what)
        client.expect_method("session/update")
        client.cancel()
        # What a handler returns that let no cancellation pass is its own answer (CAN-5).
        right = [CANCELLED, END_TURN] if what == "swallow" else [CANCELLED]
        assert client.answer(prompt).get("result") in right, client.story(what)
        assert client.turn("say", session="s2").get("result") == END_TURN
        leave(client, None, tells_its_author=True)


@pytest.mark.parametrize("door", DOORS)
def test_fifty_sessions_that_are_cancelled_in_one_breath_all_end(
    watched: Attack, door: str
) -> None:
    with start(watched, door) as client:
        client.open(sessions=50)
        sessions = [f"s{number}" for number in range(1, 51)]
        prompts = [client.prompt("hang", session=session) for session in sessions]
        client.read_until_true(
            lambda: len(client.updates()) == len(sessions), "fifty turns at work"
        )
        for session in sessions:
            client.cancel(session)
        for prompt in prompts:
            assert client.answer(prompt).get("result") == CANCELLED
        leave(client)


ENDS = ["interrupt", "interrupt_in_group", "exit_in_group", "exit_and_error", "signal_itself"]


@pytest.mark.parametrize(("door", "what"), in_turn(["trio", "trio", "asyncio"], ENDS))
def test_what_ends_the_process_answers_every_open_turn_before(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open(sessions=2)
        other = client.prompt("hang", session="s2")
        client.expect_method("session/update")
        prompt = client.prompt(what)
        for each in (prompt, other):
            assert payload_of(client.answer(each))["type"] in {"agent_crash", "internal"}
        right = {7} if "exit" in what else INTERRUPTED
        assert client.wait() in right, client.story(what)


@pytest.mark.parametrize("door", DOORS)
def test_a_signal_to_interrupt_answers_every_open_turn(watched: Attack, door: str) -> None:
    with start(watched, door) as client:
        client.open(sessions=2)
        prompts = [client.prompt("hang"), client.prompt("hang", session="s2")]
        client.read_until_true(lambda: len(client.updates()) == len(prompts), "two turns at work")
        client.signal(signal.SIGINT)
        for prompt in prompts:
            assert "error" in client.answer(prompt), client.story("no failure")
        right = OF_THE_SDKS_LOOP if door == "sdk" else INTERRUPTED
        assert client.wait() in right, client.story("the wrong end")


DOOR_ENDS = [("asyncio", "cancel_the_door"), ("trio", "cancel_the_door"), ("trio", "system_task")]


@pytest.mark.parametrize(("door", "what"), DOOR_ENDS)
def test_a_handler_that_brings_the_door_down_leaves_no_turn_without_an_answer(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open(sessions=2)
        other = client.prompt("hang", session="s2")
        client.expect_method("session/update")
        prompt = client.prompt(what)
        for each in (prompt, other):
            assert "error" in client.answer(each), client.story("no failure")
        leave(client, None, tells_its_author=True)


@pytest.mark.parametrize("door", SERVE)
def test_a_prompt_handler_that_is_a_generator_is_said_at_the_start(
    watched: Attack, door: str
) -> None:
    with start(watched, door, "generator") as client:
        assert client.wait() == 1
        assert b"TypeError" in client.stderr.data
        assert not client.stdout.data
