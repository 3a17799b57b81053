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
QUICK = (GRACE, "--idle-timeout=1.5", "--first-update-timeout=1.5")


def state(word: Any, /, session: Any = "s1", **members: Any) -> list[Any]:
    update = {"sessionUpdate": "state_update", "state": word, **members}
    return [
        "send",
        {"method": "session/update", "params": {"sessionId": session, "update": update}},
    ]


RUNNING = state("running")
IDLE = state("idle", stopReason="end_turn")
TAKEN: list[Any] = ["answer", {}]
SAYS: list[Any] = ["say", "Here."]
ENDS_WELL: Steps = [TAKEN, RUNNING, SAYS, IDLE]


def start(attack: Attack, *turns: Steps, **more: Any) -> AttackClient:
    """An agent that takes its prompts so, the last way for all further ones, and its client."""
    life = {"initialize": GREETS, "session/prompt": list(turns), **more}
    return attack.run(life, options=QUICK)


def opened(client: AttackClient, sessions: int = 1) -> None:
    params = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}}
    assert client.answer(ask(client, "initialize", params))["result"]["protocolVersion"] == 2
    for _ in range(sessions):
        assert "result" in client.answer(ask(client, "session/new", {"cwd": "/", "mcpServers": []}))


def idles(client: AttackClient, session: str = "s1") -> list[dict[str, Any]]:
    """The ends of work that the client was told of."""
    told = [f["params"] for f in client.frames if f.get("method") == "session/update"]
    return [
        each["update"]
        for each in told
        if each["sessionId"] == session and each["update"].get("state") == "idle"
    ]


def until_idle(client: AttackClient, times: int = 1, session: str = "s1") -> dict[str, Any]:
    client.read_until_true(lambda: len(idles(client, session)) >= times, f"idle number {times}")
    return idles(client, session)[times - 1]


def ends_well(client: AttackClient) -> None:
    """A further turn, which goes well."""
    before = len(idles(client))
    assert "result" in client.answer(client.prompt("Again")), client.story("not taken")
    end = until_idle(client, before + 1)
    assert end["stopReason"] == "end_turn", client.story("the next turn")


OUT_OF_ORDER: dict[str, Steps] = {
    "idle before it is taken": [RUNNING, SAYS, IDLE, TAKEN],
    "idle twice": [TAKEN, RUNNING, SAYS, IDLE, IDLE],
    "running twice": [TAKEN, RUNNING, RUNNING, SAYS, IDLE],
    "running after idle, then idle": [TAKEN, RUNNING, SAYS, IDLE, RUNNING, IDLE],
    "never running": [TAKEN, SAYS, IDLE],
    "taken twice": [TAKEN, TAKEN, RUNNING, SAYS, IDLE],
    "taken, then refused": [
        TAKEN,
        ["error", {"code": -32603, "message": "Changed my mind."}],
        RUNNING,
        SAYS,
        IDLE,
    ],
    "idle of a session that is not there": [state("idle", session="s9"), *ENDS_WELL],
    "running of a session that is not there": [state("running", session="s9"), *ENDS_WELL],
    "idle of a session that is a number": [state("idle", session=1), *ENDS_WELL],
    "a word that nobody knows": [TAKEN, RUNNING, state("dreaming"), SAYS, IDLE],
    "a state that is a number": [TAKEN, RUNNING, state(7), SAYS, IDLE],
    "a state that is null": [TAKEN, RUNNING, state(None), SAYS, IDLE],
    "a state that is a list": [TAKEN, RUNNING, state(["idle"]), SAYS, IDLE],
    "requires_action twice": [
        TAKEN,
        RUNNING,
        state("requires_action"),
        state("requires_action"),
        RUNNING,
        SAYS,
        IDLE,
    ],
    "requires_action, then idle at once": [TAKEN, RUNNING, SAYS, state("requires_action"), IDLE],
}


@pytest.mark.parametrize("what", list(OUT_OF_ORDER))
def test_states_in_any_order_end_the_turn_and_leave_the_next_alone(
    watched: Attack, what: str
) -> None:
    with start(watched, OUT_OF_ORDER[what], ENDS_WELL) as client:
        opened(client)
        assert "result" in client.answer(client.prompt("Hello")), client.story(what)
        assert until_idle(client)["stopReason"] == "end_turn", client.story(what)
        # What comes after the end is there before the next turn begins.
        client.answer(ask(client, "_ping", {}))
        ends_well(client)
        leave(client)


ODD_ENDS: dict[str, list[Any]] = {
    "an error without its object": state("idle", stopReason="error"),
    "an error that is a text": state("idle", stopReason="error", error="429 Too Many Requests"),
    "an error that is null": state("idle", stopReason="error", error=None),
    "an error of many lists": state("idle", stopReason="error", error=[[[]]]),
    "a code that is a text": state("idle", stopReason="error", error={"code": "x", "data": 1}),
}


@pytest.mark.parametrize("what", list(ODD_ENDS))
def test_an_end_by_error_is_told_typed_whatever_the_error_is(watched: Attack, what: str) -> None:
    with start(watched, [TAKEN, RUNNING, SAYS, ODD_ENDS[what]], ENDS_WELL) as client:
        opened(client)
        assert "result" in client.answer(client.prompt("Hello"))
        end = until_idle(client)
        assert end["stopReason"] == "error", client.story(what)
        assert end["error"]["data"]["agent_error"]["type"], client.story(what)
        ends_well(client)
        assert len(idles(client)) == 2
        leave(client)


DIES: dict[str, Steps] = {
    "before it is taken": [["kill"]],
    "between taken and running": [TAKEN, ["kill"]],
    "between running and idle": [TAKEN, RUNNING, SAYS, ["kill"]],
    "with status 0": [TAKEN, RUNNING, SAYS, ["exit", 0]],
    "while it waits for the user": [TAKEN, RUNNING, state("requires_action"), ["kill"]],
    "in the midst of its idle state": [TAKEN, RUNNING, ["raw", '{"jsonrpc":"2.0","me'], ["kill"]],
}


@pytest.mark.parametrize("what", list(DIES))
def test_an_agent_that_dies_ends_its_turn_by_one_idle_state(watched: Attack, what: str) -> None:
    with start(watched, DIES[what]) as client:
        opened(client)
        prompt = client.prompt("Hello")
        answer = client.answer(prompt)
        assert ("error" in answer) == (what == "before it is taken"), client.story(what)
        end = until_idle(client)
        assert end["stopReason"] == "error", client.story(what)
        assert end["error"]["data"]["agent_error"]["type"] == "agent_crash"
        assert end["background"] == [], client.story(what)
        assert len(client.answers(prompt)) == 1
        assert len(idles(client)) == 1, client.story("ended twice")
        leave(client, None)


HANGS: dict[str, Steps] = {
    "before it takes the prompt": [["say", "Here."]],
    "between taken and running": [TAKEN],
    "between running and idle": [TAKEN, RUNNING, SAYS],
}


@pytest.mark.parametrize("what", list(HANGS))
def test_an_agent_that_never_becomes_idle_is_ended_by_the_clock(watched: Attack, what: str) -> None:
    with start(watched, HANGS[what], **{"session/cancel": [[]]}) as client:
        opened(client)
        client.prompt("Hello")
        end = until_idle(client)
        assert end["stopReason"] == "error", client.story(what)
        assert end["error"]["data"]["agent_error"]["type"] == "agent_stalled"
        leave(client, None)
        assert len(idles(client)) == 1, client.story("ended twice")


def test_a_prompt_that_joins_a_cancelled_turn_is_answered_and_ends(watched: Attack) -> None:
    late = state("idle", stopReason="cancelled")
    with start(
        watched,
        [TAKEN, RUNNING, SAYS],
        [TAKEN, late, RUNNING, SAYS, IDLE],
        **{"session/cancel": [[]]},
    ) as client:
        opened(client)
        first = client.prompt("Hello")
        client.expect(lambda f: "Here." in str(f))
        client.cancel()
        second = client.prompt("No, this")
        assert "result" in client.answer(first)
        assert client.answer(second)
        assert until_idle(client)["stopReason"] == "cancelled"
        assert until_idle(client, 2)["stopReason"] == "end_turn"
        leave(client, None)
        assert len(idles(client)) == 2, client.story("ends")


@pytest.mark.parametrize("after", ["taken", "never taken"])
def test_a_cancel_that_nobody_confirms_ends_the_turn_in_the_grace(
    watched: Attack, after: str
) -> None:
    turn = [TAKEN, RUNNING, SAYS] if after == "taken" else [SAYS]
    with start(watched, turn, **{"session/cancel": [[]]}) as client:
        opened(client)
        prompt = client.prompt("Hello")
        client.expect(lambda f: "Here." in str(f))
        client.cancel()
        assert until_idle(client)["stopReason"] == "cancelled", client.story(after)
        assert len(client.answers(prompt)) == 1, client.story("answered")
        leave(client, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_lastword_that_is_told_to_stop_ends_the_turn_by_its_idle_state(
    watched: Attack, number: int
) -> None:
    with start(watched, [TAKEN, RUNNING, SAYS]) as client:
        opened(client)
        client.prompt("Hello")
        client.expect(lambda f: "Here." in str(f))
        client.signal(number)
        assert until_idle(client)["stopReason"] in {"error", "cancelled"}
        client.wait()


def test_ten_prompts_that_join_one_stretch_of_work_all_have_their_answer(watched: Attack) -> None:
    with start(watched, [TAKEN, RUNNING, SAYS]) as client:
        opened(client)
        prompts = [client.prompt(f"Number {number}") for number in range(10)]
        for prompt in prompts:
            assert "result" in client.answer(prompt)
        client.cancel()
        until_idle(client)
        leave(client, None)
        assert len(idles(client)) == 1


def test_an_idle_state_of_one_session_ends_no_other(watched: Attack) -> None:
    other = state("idle", session="s2", stopReason="end_turn")
    with start(watched, [TAKEN, RUNNING, SAYS], [other, *ENDS_WELL]) as client:
        opened(client, sessions=2)
        client.answer(client.prompt("Hello", session="s2"))
        client.answer(client.prompt("Hello"))
        until_idle(client)
        assert until_idle(client, session="s2")["stopReason"] == "end_turn"
        leave(client, None)
