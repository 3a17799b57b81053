"""Prompts that wait, and cancels that must be heard: each prompt is answered, and in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import payload_of
from tests.process.attacks.conftest import GRACE
from tests.process.attacks.watched import CANCELLED, END_TURN

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

MB = 1_000_000
HEALTHY: Life = {"capabilities": {"loadSession": True}}


def deaf(*, after: int) -> Life:
    """An agent that stops reading once it has opened that many sessions."""
    opens: list[list[Any]] = [[["serve"]] for _ in range(after)]
    opens[-1].append(["hang"])
    return {**HEALTHY, "session/new": opens}


WATCHDOG = ("--first-update-timeout=50", GRACE)
"""Ends what nobody heard the cancel of: as a failure, which the user's cancel never is."""


# G1, QUA-3, QUA-4: the agent does not let go of a cancelled turn and is replaced; what waited
# behind that turn goes to the next one, or is refused, but answered in any case. How much fits,
# `tests/unit/restart` holds.


def test_large_prompts_behind_a_stuck_turn_go_to_the_next_agent_or_are_refused(
    attack: Attack,
) -> None:
    stuck: Life = {**HEALTHY, "session/prompt": [[]], "session/cancel": [[]]}
    # All of them are sent within the grace.
    with attack.run(stuck, HEALTHY, options=("--cancel-grace=3",)) as client:
        client.open(sessions=2)
        prompts = [client.prompt("Hang.", session=session) for session in ("s1", "s2")]
        for prompt, session in zip(prompts, ("s1", "s2"), strict=True):
            client.cancel(session)
            assert client.answer(prompt)["result"] == CANCELLED
        other = client.prompt("Hello.", session="s2")
        large = [client.prompt("x" * 2 * MB) for _ in range(10)]
        assert client.answer(other).get("result") == END_TURN
        client.answer(client.prompt("Hello."))
        for prompt in large:
            (answer,) = client.answers(prompt)
            assert "result" in answer or payload_of(answer)["reason"] == "queue_full"


def test_an_oversized_prompt_after_a_crash_passes_and_a_cancelled_one_is_never_sent(
    attack: Attack,
) -> None:
    dies = {**HEALTHY, "session/prompt": [[["kill"]]]}
    with attack.run(dies, HEALTHY) as client:
        client.open()
        assert payload_of(client.turn("Die."))["type"] == "agent_crash"
        never = client.prompt("Never.")
        client.notify("$/cancel_request", requestId=never)
        assert client.answer(never).get("result") == CANCELLED
        first, second = client.prompt("x" * 17 * MB), client.prompt("y" * 17 * MB)
        assert client.answer(first).get("result") == END_TURN
        # It comes in time for the next agent, or finds the queue full.
        answer = client.answer(second)
        assert "result" in answer or payload_of(answer)["reason"] == "queue_full"
        assert len(attack.pids("started")) == 2
        sent = 2 if "result" in answer else 1
        assert len(attack.reached("session/prompt", life=2)) == sent


# CAN-1, CAN-2: a cancel is heard while a prompt is unanswered, however little the agent reads.


@pytest.mark.parametrize("method", ["session/cancel", "$/cancel_request"])
def test_a_cancel_works_behind_a_pipe_that_the_agent_does_not_read(
    attack: Attack, method: str
) -> None:
    with attack.run(deaf(after=1), HEALTHY, options=WATCHDOG) as client:
        client.open()
        prompt = client.prompt("x" * 2 * MB)
        client.until_taken()
        params = {"sessionId": "s1"} if method == "session/cancel" else {"requestId": prompt}
        client.notify(method, **params)
        assert client.answer(prompt).get("result") == CANCELLED
        # The next prompt is answered by a new agent.
        assert client.turn("Hello.").get("result") == END_TURN


def test_a_cancel_of_one_session_works_behind_the_unread_prompt_of_another(
    attack: Attack,
) -> None:
    hangs = {**HEALTHY, "session/prompt": [[["hang"]]]}
    with attack.run(hangs, options=WATCHDOG) as client:
        client.open(sessions=2)
        small = client.prompt("Hang.", session="s1")
        client.prompt("x" * 2 * MB, session="s2")
        client.until_taken()
        client.cancel("s1")
        assert client.answer(small).get("result") == CANCELLED


def test_a_slow_reading_agent_gets_messages_in_order(attack: Attack) -> None:
    reads_late = {"session/new": [[["serve"], ["wait_for", "go"], ["hear", "_test/last"]]]}
    with attack.run(reads_late) as client:
        client.open()
        numbers = [10_000, 300_000, 10, 1_500_000, 10, 70_000, 10, 10]
        for number, size in enumerate(numbers):
            client.notify(f"_test/{number}", x="x" * size)
        client.notify("_test/last")
        client.until_taken()
        (attack.folder / "go").touch()
        client.turn("Hello.")
        read = [entry["message"]["method"] for entry in attack.journal if "message" in entry]
        told = [method for method in read if method.startswith("_test/")]
        assert told == [*(f"_test/{number}" for number in range(len(numbers))), "_test/last"]


# G1, G6: how much is read of a client behind a pipe that is full has a bound, and at the bound
# every prompt is answered all the same.


def test_a_client_that_floods_an_agent_which_does_not_read_is_paused(attack: Attack) -> None:
    with attack.run(deaf(after=1), options=("--first-update-timeout=3", GRACE)) as client:
        client.open()
        prompt = client.prompt("x" * 2 * MB)
        before = client.memory
        for number in range(100):
            client.notify("_test/more", number=number, x="x" * MB)
        # Once the prompt is answered in the agent's place, as much is read again.
        assert payload_of(client.answer(prompt))["type"] == "agent_stalled"
        client.read_until_true(
            lambda: len(client.peer.unsent) < 90 * MB, "a client that is read on"
        )
        assert client.memory - before < 48 * MB
        assert len(client.peer.unsent) > 60 * MB


def test_prompts_unread_at_the_bound_fail_and_the_next_is_answered(
    attack: Attack,
) -> None:
    options = ("--first-update-timeout=6", GRACE)
    with attack.run(deaf(after=2), HEALTHY, options=options) as client:
        client.open(sessions=2)
        first, second = client.prompt("x" * 2 * MB), client.prompt("x" * 17 * MB, session="s2")
        third = client.prompt("x" * 17 * MB)
        for prompt in (first, second):
            assert payload_of(client.answer(prompt))["type"] == "agent_stalled"
        assert client.answer(third).get("result") == END_TURN
