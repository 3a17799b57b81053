"""Handlers in the agent's own process that cancel and print what nobody expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.doors import DOORS, command
from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

LIMITS = {
    "LASTWORD_IDLE_TIMEOUT": "5",
    "LASTWORD_FIRST_UPDATE_TIMEOUT": "5",
    "LASTWORD_CANCEL_GRACE": "0.5",
}
"""They end what nobody answers, as `agent_stalled`."""

END_TURN = {"stopReason": "end_turn"}
TASKS = ["sdk", "asyncio"]
"""Doors on asyncio: on trio a task cannot be cancelled from outside of its scopes."""


def start(attack: Attack, *door: str) -> AttackClient:
    return attack.start(*command(*door), environment=LIMITS)


def serves_on(client: AttackClient) -> bool:
    """Is a further prompt answered well?"""
    answer = client.turn("say")
    assert answer.get("result") == END_TURN, client.story("it does not serve on")
    return True


# A cancellation that is not the user's ends its turn at once, and nothing else.


@pytest.mark.parametrize("what", ["timer", "cancel_itself"])
@pytest.mark.parametrize("door", TASKS)
def test_a_handler_that_its_author_cancelled_ends_its_turn_at_once_and_no_other(
    attack: Attack, door: str, what: str
) -> None:
    with start(attack, door) as client:
        client.open()
        assert payload_of(client.turn(what))["reason"] == "agent_cancelled"
        assert serves_on(client)


@pytest.mark.parametrize("door", TASKS)
def test_a_handler_whose_task_another_handler_cancels_ends_its_turn_at_once(
    attack: Attack, door: str
) -> None:
    with start(attack, door) as client:
        client.open()
        prompt = client.prompt("hang")
        client.expect_method("session/update")
        client.request("session/set_mode", sessionId="s1", modeId="m")
        assert payload_of(client.answer(prompt))["reason"] == "agent_cancelled"
        assert serves_on(client)


@pytest.mark.parametrize("door", TASKS)
def test_a_cancel_of_the_users_that_the_author_carries_out_by_the_task_ends_it_cancelled(
    attack: Attack, door: str
) -> None:
    with start(attack, door, "cancel=task") as client:
        client.open()
        prompt = client.prompt("hang")
        client.expect_method("session/update")
        client.cancel()
        assert client.answer(prompt).get("result") == {"stopReason": "cancelled"}
        assert serves_on(client)


@pytest.mark.parametrize("door", TASKS)
def test_a_handler_that_cancels_its_task_and_returns_is_answered_with_what_it_returned(
    attack: Attack, door: str
) -> None:
    with start(attack, door) as client:
        client.open()
        assert client.turn("cancel_at_last").get("result") == END_TURN
        assert serves_on(client)


@pytest.mark.parametrize("door", TASKS)
def test_another_handler_that_its_author_cancels_ends_alone_too(attack: Attack, door: str) -> None:
    with start(attack, door, "cancel=itself") as client:
        client.open()
        answer = client.answer(client.request("_cancel_itself"))
        assert payload_of(answer)["reason"] == "agent_cancelled"
        # As a notification it has no answer; nor has the author's own handler of a cancel.
        client.notify("_cancel_itself")
        client.cancel()
        assert serves_on(client)


@pytest.mark.parametrize("how", ["timer", "cancel_itself", "hang"])
@pytest.mark.parametrize("door", TASKS)
def test_a_users_cancel_that_meets_the_authors_ends_the_turn_cancelled_or_failed_once(
    attack: Attack, door: str, how: str
) -> None:
    with start(attack, door, "cancel=task") as client:
        client.open()
        prompt = client.prompt(how)
        client.cancel()
        client.cancel()
        answer = client.answer(prompt)
        if "error" in answer:  # the author's came first
            assert payload_of(answer)["reason"] == "agent_cancelled"
            assert how != "hang"
        else:
            assert answer["result"] == {"stopReason": "cancelled"}
        assert serves_on(client)


@pytest.mark.parametrize(
    ("what", "error_type"), [("move_on_after", None), ("fail_after", "timeout")]
)
@pytest.mark.parametrize("door", DOORS)
def test_a_limit_of_the_authors_own_is_the_handlers_to_know(
    attack: Attack, door: str, what: str, error_type: str | None
) -> None:
    with start(attack, door) as client:
        client.open()
        answer = client.turn(what)
        if error_type is None:
            assert answer.get("result") == END_TURN
        else:
            assert payload_of(answer)["type"] == error_type
        assert serves_on(client)


# Stdout is the client's: what a handler prints goes to stderr, and its author is told.


@pytest.mark.parametrize("what", ["print", "print_a_part", "print_bytes", "write", "run", "log"])
@pytest.mark.parametrize("door", DOORS)
def test_what_a_handler_prints_goes_to_stderr_and_never_between_frames(
    attack: Attack, door: str, what: str
) -> None:
    with start(attack, door) as client:
        client.open()
        assert client.turn(what).get("result") == END_TURN
        assert serves_on(client)
        client.read_until_true(
            lambda: b"printed by the handler" in client.stderr.data, "what was printed"
        )


@pytest.mark.parametrize("door", DOORS)
def test_an_author_whose_handler_prints_is_told_once_where_it_goes(
    attack: Attack, door: str
) -> None:
    with start(attack, door) as client:
        client.open()
        client.turn("print")
        client.turn("print")
        client.close_stdin()
        client.wait()
        said = [line for line in client.stderr.data.decode().splitlines() if "stdout" in line]
        assert len(said) == 1, said


@pytest.mark.parametrize("door", DOORS)
def test_a_process_that_a_handler_starts_reads_nothing_of_the_clients(
    attack: Attack, door: str
) -> None:
    with start(attack, door) as client:
        client.open()
        prompt = client.prompt("run_reader")
        asked = client.request("_echo")
        assert client.answer(prompt).get("result") == END_TURN
        assert "result" in client.answer(asked)
        assert serves_on(client)
