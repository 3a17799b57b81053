"""Version 2, its states in no order: every prompt is answered, and every turn ends once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.conftest import GRACE
from tests.process.attacks.watched import ask, leave

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

Steps = list[list[Any]]

GREETS = [[["answer", {"protocolVersion": 2, "capabilities": {}, "info": {"name": "two"}}]]]


def state(word: Any, /, session: Any = "$session", **members: Any) -> list[Any]:
    update = {"sessionUpdate": "state_update", "state": word, **members}
    return [
        "send",
        {"method": "session/update", "params": {"sessionId": session, "update": update}},
    ]


RUNNING = state("running")
IDLE = state("idle", stopReason="end_turn")
TAKEN: list[Any] = ["answer", {}]
SAYS: list[Any] = ["say", "Here."]
WORKS: Steps = [TAKEN, RUNNING, SAYS]
ENDS_WELL: Steps = [*WORKS, IDLE]


def start(attack: Attack, *lives: dict[str, Any], grace: str = GRACE) -> AttackClient:
    """Agents that live so, one after the other, and their client."""
    return attack.run(*({"initialize": GREETS, **life} for life in lives), options=(grace,))


def opened(client: AttackClient) -> None:
    params = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}}
    assert client.answer(ask(client, "initialize", params))["result"]["protocolVersion"] == 2


def idles(client: AttackClient, session: str) -> list[dict[str, Any]]:
    """The ends of work that the client was told of."""
    told = [f["params"] for f in client.frames if f.get("method") == "session/update"]
    updates = [each["update"] for each in told if each["sessionId"] == session]
    return [update for update in updates if update.get("state") == "idle"]


def until_idle(client: AttackClient, session: str, times: int = 1) -> dict[str, Any]:
    client.read_until_true(lambda: len(idles(client, session)) >= times, f"idle number {times}")
    return idles(client, session)[times - 1]


OUT_OF_ORDER: dict[str, Steps] = {
    "idle before it is taken": [RUNNING, SAYS, IDLE, TAKEN],
    "idle twice": [*ENDS_WELL, IDLE],
    "running twice": [TAKEN, RUNNING, *ENDS_WELL[1:]],
    "running after idle, then idle": [*ENDS_WELL, RUNNING, IDLE],
    "never running": [TAKEN, SAYS, IDLE],
    "taken twice": [TAKEN, *ENDS_WELL],
    "taken, then refused": [TAKEN, ["error", {"code": -32603, "message": "No."}], *ENDS_WELL[1:]],
    "of a session that is not there": [state("idle", session="s99"), *ENDS_WELL],
    "of a session that is a number": [state("idle", session=1), *ENDS_WELL],
    "a word that nobody knows": [TAKEN, RUNNING, state("dreaming"), SAYS, IDLE],
    "a state that is a list": [TAKEN, RUNNING, state(["idle"]), SAYS, IDLE],
    "requires_action twice": [*WORKS[:2], *[state("requires_action")] * 2, *ENDS_WELL[1:]],
}
ODD_ERRORS: dict[str, dict[str, Any]] = {
    "without its object": {},
    "a text": {"error": "429 Too Many Requests"},
    "null": {"error": None},
    "a code that is a text": {"error": {"code": "x", "data": 1}},
}


def test_states_in_any_order_and_odd_errors_end_only_their_turn(
    watched: Attack,
) -> None:
    errors = [[*WORKS, state("idle", stopReason="error", **e)] for e in ODD_ERRORS.values()]
    turns = [turn for odd in [*OUT_OF_ORDER.values(), *errors] for turn in (odd, ENDS_WELL)]
    with start(watched, {"session/prompt": turns}) as client:
        opened(client)
        for what in [*OUT_OF_ORDER, *ODD_ERRORS]:
            client.begin_anew()
            session = client.new_session()
            assert "result" in client.answer(client.prompt("Hello", session=session)), what
            end = until_idle(client, session)
            # What comes after the end is there before the next turn begins.
            client.answer(ask(client, "_ping", {}))
            if what in ODD_ERRORS:
                assert end["stopReason"] == "error", client.story(what)
                assert end["error"]["data"]["agent_error"]["type"], client.story(what)
            else:
                assert end["stopReason"] == "end_turn", client.story(what)
            before = len(idles(client, session))
            assert "result" in client.answer(client.prompt("Again", session=session)), what
            end = until_idle(client, session, before + 1)
            assert end["stopReason"] == "end_turn", client.story(what)
        leave(client)


DIES: dict[str, Steps] = {
    "before it is taken": [["kill"]],
    "between taken and running": [TAKEN, ["kill"]],
    "with status 0": [*WORKS, ["exit", 0]],
    "in the midst of its idle state": [TAKEN, RUNNING, ["raw", '{"jsonrpc":"2.0","me'], ["kill"]],
}


@pytest.mark.parametrize("whats", [list(DIES)[:2], list(DIES)[2:]], ids=", ".join)
def test_an_agents_death_ends_its_turn_with_one_idle_state(
    watched: Attack, whats: list[str]
) -> None:
    # Two crashes, since three in a row are a loop.
    with start(watched, *({"session/prompt": [DIES[what]]} for what in whats), {}) as client:
        opened(client)
        for what in whats:
            client.begin_anew()
            session = client.new_session()
            prompt = client.prompt("Hello", session=session)
            answer = client.answer(prompt)
            assert ("error" in answer) == (what == "before it is taken"), client.story(what)
            end = until_idle(client, session)
            assert end["stopReason"] == "error", client.story(what)
            assert end["error"]["data"]["agent_error"]["type"] == "agent_crash"
            assert end["background"] == [], client.story(what)
            # The next agent is there by now, and nothing of the last one is to come.
            client.new_session()
            assert len(client.answers(prompt)) == 1, client.story(what)
            assert len(idles(client, session)) == 1, client.story("ended twice")
        leave(client, None)


def test_an_unconfirmed_cancel_ends_its_turn_and_joined_prompts_after_the_grace(
    watched: Attack,
) -> None:
    late = [TAKEN, state("idle", stopReason="cancelled"), *ENDS_WELL[1:]]
    life = {"session/prompt": [WORKS, late, WORKS], "session/cancel": [[]]}
    healthy = {"session/prompt": [WORKS]}
    with start(watched, life, healthy, grace="--cancel-grace=2") as client:
        opened(client)
        one, two = client.new_session(), client.new_session()
        first = client.prompt("Hello", session=one)
        client.expect(lambda f: "Here." in str(f))
        client.cancel(one)
        second = client.prompt("No, this", session=one)
        assert "result" in client.answer(first)
        assert client.answer(second)
        assert until_idle(client, one)["stopReason"] == "cancelled"
        assert until_idle(client, one, 2)["stopReason"] == "end_turn"
        prompts = [client.prompt(f"Number {number}", session=two) for number in range(10)]
        for prompt in prompts:
            assert "result" in client.answer(prompt)
        client.cancel(two)
        assert until_idle(client, two)["stopReason"] == "cancelled"
        leave(client, None)
        assert (len(idles(client, one)), len(idles(client, two))) == (2, 1), client.story("ends")


def test_a_silent_agent_and_a_stopped_lastword_end_the_turn_with_an_idle_state(
    watched: Attack,
) -> None:
    watched.environment["LASTWORD_IDLE_TIMEOUT"] = "1.5"
    silent = {"session/prompt": [[TAKEN, RUNNING, SAYS]], "session/cancel": [[]]}
    with start(watched, silent, silent) as client:
        opened(client)
        session = client.new_session()
        client.prompt("Hello", session=session)
        end = until_idle(client, session)
        assert end["stopReason"] == "error"
        assert end["error"]["data"]["agent_error"]["type"] == "agent_stalled"
        session = client.new_session()
        client.prompt("Hello", session=session)
        client.read_until_true(
            lambda: len([u for u in client.updates() if "content" in u]) == 2, "a turn at work"
        )
        client.signal(signal.SIGTERM)
        assert until_idle(client, session)["stopReason"] in {"error", "cancelled"}
        client.wait()
        assert len(idles(client, session)) == 1, client.story("ended twice")
