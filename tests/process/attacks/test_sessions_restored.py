"""Sessions that come back after a crash: as what they were, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient, Frame
    from tests.process.attacks.conftest import Attack, Life

END_TURN = {"stopReason": "end_turn"}
LOADS: Life = {"capabilities": {"loadSession": True}}
RESUMES: Life = {"capabilities": {"sessionCapabilities": {"resume": {}}}}
WAYS = {"load": LOADS, "resume": RESUMES}
MODES = [{"id": mode, "name": mode} for mode in ("ask", "plan", "bypass")]


def modes(current: str) -> Frame:
    """What the answer that opens a session says of its modes."""
    return {"modes": {"currentModeId": current, "availableModes": MODES}}


def options(mode: str) -> Frame:
    """What an agent says of its options."""
    choices = [{"value": m["id"], "name": m["name"]} for m in MODES]
    option = {"id": "mode", "name": "Mode", "category": "mode", "type": "select"}
    return {"configOptions": [{**option, "currentValue": mode, "options": choices}]}


def opens(mode: str, **life: Any) -> Life:
    """An agent whose sessions begin in a mode, and which dies at its first prompt."""
    answer = ["answer", {"sessionId": "s1", **modes(mode)}]
    return {**LOADS, "session/new": [[answer]], "session/prompt": [[["kill"]]], **life}


def set_mode(client: AttackClient, mode: str) -> None:
    """The user chooses a mode."""
    answer = client.call("session/set_mode", sessionId="s1", modeId=mode)
    assert "result" in answer


def shown_mode(client: AttackClient, chosen: str) -> str:
    """The mode that the client shows: the last that it chose itself, or was told since."""
    told = [u for u in client.updates() if u["sessionUpdate"] == "current_mode_update"]
    return str(told[-1]["currentModeId"]) if told else chosen


def mode_in_force(attack: Attack, begins: str) -> str:
    """The mode that the second agent works in, where it began in this one."""
    chosen = attack.reached("session/set_mode", life=2)
    return str(chosen[-1]["params"]["modeId"]) if chosen else begins


def leaves(mode: str, by: str) -> list[Any]:
    """The step by which a session leaves its mode for another one."""
    if by == "current_mode_update":
        return ["update", by, {"currentModeId": mode}]
    return ["update", by, options(mode)]


# RST-6: what the client had chosen is set again where it still stands, in the order of the last
# choices; the client shows the mode that is in force.


def test_a_mode_that_the_session_has_left_since_is_not_set_again(attack: Attack) -> None:
    steps = [["say", "Here."], leaves("ask", "current_mode_update"), ["answer", END_TURN]]
    first = opens("ask", **{"session/prompt": [steps, [["kill"]]]})
    with attack.run(first, LOADS) as client:
        client.open()
        set_mode(client, "bypass")
        client.turn()
        client.turn()
        assert client.turn()["result"] == END_TURN
        assert mode_in_force(attack, "ask") == "ask"


def test_an_option_that_the_session_has_changed_since_is_not_set_back(attack: Attack) -> None:
    steps = [["say", "Here."], leaves("ask", "config_option_update"), ["answer", END_TURN]]
    first = opens("ask", **{"session/prompt": [steps, [["kill"]]]})
    with attack.run(first, LOADS) as client:
        client.open()
        params = {"sessionId": "s1", "configId": "mode", "value": "bypass"}
        client.call("session/set_config_option", **params)
        client.turn()
        client.turn()
        assert client.turn()["result"] == END_TURN
        set_again = attack.reached("session/set_config_option", life=2)
        assert "bypass" not in [request["params"]["value"] for request in set_again]


def test_settings_return_in_the_order_in_which_they_were_last_chosen(attack: Attack) -> None:
    with attack.run(opens("ask"), LOADS) as client:
        client.open()
        set_mode(client, "bypass")
        for config, value in (("mode", "ask"), ("model", "small")):
            params = {"sessionId": "s1", "configId": config, "value": value}
            client.call("session/set_config_option", **params)
        set_mode(client, "plan")
        client.turn()
        assert client.turn()["result"] == END_TURN
        methods = ["session/set_mode", "session/set_config_option"]
        order = [
            entry["message"]["params"].get("configId", "set_mode")
            for entry in attack.journal
            if entry["life"] == 2 and entry.get("message", {}).get("method") in methods
        ]
        assert order == ["mode", "model", "set_mode"]


@pytest.mark.parametrize("by", ["current_mode_update", "config_option_update"])
def test_what_a_replay_says_of_the_mode_does_not_stand_against_what_is_then_set(
    attack: Attack, by: str
) -> None:
    second = {**LOADS, "session/load": [[leaves("ask", by), ["answer", modes("ask")]]]}
    with attack.run(opens("ask"), second) as client:
        client.open()
        set_mode(client, "bypass")
        client.turn()
        assert client.turn()["result"] == END_TURN
        told = [u for u in client.updates() if u["sessionUpdate"] == "config_option_update"]
        shown = told[-1]["configOptions"][0]["currentValue"] if told else "bypass"
        assert shown_mode(client, shown) == mode_in_force(attack, "ask")


def test_a_session_that_comes_back_in_another_mode_does_not_allow_more_than_the_client_shows(
    attack: Attack,
) -> None:
    second = {**LOADS, "session/load": [[["answer", modes("bypass")]]]}
    with attack.run(opens("ask"), second) as client:
        client.open()
        client.turn()
        assert client.turn()["result"] == END_TURN
        assert shown_mode(client, "ask") == mode_in_force(attack, "bypass")


def test_a_client_whose_mode_cannot_be_set_again_is_told_the_mode_in_force(attack: Attack) -> None:
    refuses = [["error", {"code": -32602, "message": "No such mode."}]]
    second = {
        **LOADS,
        "session/load": [[["answer", modes("ask")]]],
        "session/set_mode": [refuses],
    }
    with attack.run(opens("ask"), second) as client:
        client.open()
        set_mode(client, "plan")
        client.turn()
        assert client.turn()["result"] == END_TURN
        assert shown_mode(client, "plan") == "ask"


def test_a_mode_that_the_client_chose_last_is_set_again(attack: Attack) -> None:
    second = {**LOADS, "session/load": [[["answer", modes("ask")]]]}
    with attack.run(opens("ask"), second) as client:
        client.open()
        set_mode(client, "plan")
        client.turn()
        assert client.turn()["result"] == END_TURN
        assert mode_in_force(attack, "ask") == "plan"
        assert shown_mode(client, "plan") == "plan"


# RST-3: the session comes back with all that it was opened with.

RESTRICTED = {"claudeCode": {"options": {"disallowedTools": ["Bash"]}}, "systemPrompt": "Be brief."}


@pytest.mark.parametrize("way", WAYS)
def test_the_meta_that_a_session_was_opened_with_is_sent_again(attack: Attack, way: str) -> None:
    with attack.run({**opens("ask"), **WAYS[way]}, WAYS[way]) as client:
        client.open(sessions=0)
        params = {"cwd": "/", "mcpServers": [], "_meta": RESTRICTED}
        client.call("session/new", **params)
        client.turn()
        assert client.turn()["result"] == END_TURN
        (again,) = attack.reached(f"session/{way}", life=2)
        assert again["params"].get("_meta") == RESTRICTED


# RST-3: what happens while a session comes back is not the client's.

QUESTIONS: dict[str, Frame] = {
    "session/request_permission": {"toolCall": {"toolCallId": "t1"}, "options": []},
    "fs/read_text_file": {"path": "/notes.md"},
    "fs/write_text_file": {"path": "/notes.md", "content": ""},
    "terminal/create": {"command": "true"},
    "_vendor/ask": {},
}


@pytest.mark.parametrize(
    ("way", "method"),
    [*(("load", method) for method in QUESTIONS), ("resume", "session/request_permission")],
)
def test_a_question_asked_while_a_session_comes_back_does_not_reach_the_client(
    attack: Attack, way: str, method: str
) -> None:
    params = {"sessionId": "s1", **QUESTIONS[method]}
    asks = [["send", {"id": "r1", "method": method, "params": params}], ["answer", {}]]
    second = {**WAYS[way], f"session/{way}": [asks]}
    with attack.run({**opens("ask"), **WAYS[way]}, second) as client:
        client.open()
        client.turn()
        assert client.turn()["result"] == END_TURN
        assert method not in [frame.get("method") for frame in client.frames]
        # The agent waits for the answer, and gets one.
        client.read_until_true(
            lambda: bool(attack.reached(None, life=2)), "an answer for the agent"
        )
        (answer,) = attack.reached(None, life=2)
        assert answer["id"] == "r1"


# RST-4: a session that could not be brought back is lost until it is opened again, which is when
# the agent says so.

REFUSES = [["error", {"code": -32602, "message": "Nothing of that name is stored."}]]
NEVER_LOADS: Life = {**LOADS, "session/load": [REFUSES]}


def test_a_lost_session_whose_load_fails_stays_lost(attack: Attack) -> None:
    with attack.run(opens("ask"), NEVER_LOADS) as client:
        client.open()
        client.turn()
        assert payload_of(client.turn())["reason"] == "context_lost"
        params = {"sessionId": "s1", "cwd": "/", "mcpServers": []}
        assert "error" in client.call("session/load", **params)
        assert payload_of(client.turn())["reason"] == "context_lost"
        assert attack.reached("session/prompt", life=2) == []


def test_a_prompt_right_behind_a_load_that_fails_does_not_reach_the_agent(attack: Attack) -> None:
    with attack.run(opens("ask"), NEVER_LOADS) as client:
        client.open()
        client.turn()
        params = {"sessionId": "s1", "cwd": "/", "mcpServers": []}
        load, prompt = client.request("session/load", **params), client.prompt("Hello")
        assert "error" in client.answer(load)
        assert payload_of(client.answer(prompt))["reason"] == "context_lost"
        assert attack.reached("session/prompt", life=2) == []


def test_a_lost_session_whose_load_succeeds_is_back(attack: Attack) -> None:
    second = {**LOADS, "session/load": [REFUSES, [["answer", {}]]]}
    with attack.run(opens("ask"), second) as client:
        client.open()
        client.turn()
        assert payload_of(client.turn())["reason"] == "context_lost"
        params = {"sessionId": "s1", "cwd": "/", "mcpServers": []}
        assert "result" in client.call("session/load", **params)
        assert client.turn()["result"] == END_TURN


# RST-4: its id stands for no other session, also where an agent counts from 1 in each life.


def new_session(client: AttackClient) -> str:
    answer = client.call("session/new", cwd="/", mcpServers=[])
    return str(answer["result"]["sessionId"])


@pytest.mark.parametrize("loads", [True, False])
def test_a_new_session_with_the_id_of_one_that_is_not_back_gets_an_id_of_its_own(
    attack: Attack, *, loads: bool
) -> None:
    second: Life = LOADS if loads else {}
    with attack.run(opens("ask"), second) as client:
        client.open()
        client.turn()
        fresh = new_session(client)
        assert fresh != "s1"
        assert client.turn(session=fresh)["result"] == END_TURN
        (prompt,) = attack.reached("session/prompt", life=2)
        assert prompt["params"]["sessionId"] == "s1"
        assert client.frames[-2]["params"]["sessionId"] == fresh


def test_the_old_session_of_that_id_stays_lost(attack: Attack) -> None:
    with attack.run(opens("ask"), {}) as client:
        client.open()
        client.turn()
        new_session(client)
        assert payload_of(client.turn(session="s1"))["reason"] == "context_lost"
        assert attack.reached("session/prompt", life=2) == []


def test_cancels_and_questions_of_such_a_session_are_mapped_both_ways(attack: Attack) -> None:
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": []}
    asks = ["send", {"id": 0, "method": "session/request_permission", "params": params}]
    second = {"session/prompt": [[asks, ["hear", "answer"], ["say", "Here."]]]}
    with attack.run(opens("ask"), second) as client:
        client.open()
        client.turn()
        fresh = new_session(client)
        assert fresh != "s1"
        prompt = client.prompt("Hello", session=fresh)
        question = client.expect_method("session/request_permission")
        assert question["params"]["sessionId"] == fresh
        client.send(id=question["id"], result={"outcome": {"outcome": "cancelled"}})
        client.expect_method("session/update")
        client.cancel(fresh)
        assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
        (cancel,) = attack.reached("session/cancel", life=2)
        assert cancel["params"]["sessionId"] == "s1"


# UPD-1, RTY-1: an agent's own typed update passes to nobody who did not ask for it.

TYPED: dict[str, Frame] = {
    "agent_error": {
        "stopReason": "error",
        "error": {"type": "rate_limit", "message": "Slow down.", "retryable": True},
    },
    "agent_retry": {"attempt": 2, "wait_seconds": 4},
}


@pytest.mark.parametrize(
    ("kind", "negotiates"), [(kind, wish) for kind in TYPED for wish in (False, True)]
)
def test_an_agents_own_failure_of_a_session_that_was_never_opened_passes_to_who_negotiated_alone(
    attack: Attack, kind: str, *, negotiates: bool
) -> None:
    update = {"sessionUpdate": kind, **TYPED[kind]}
    tells = ["send", {"method": "session/update", "params": {"sessionId": "sub", "update": update}}]
    agent = {"session/prompt": [[tells, ["say", "Here."], ["answer", END_TURN]]]}
    wish = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
    with attack.run(agent) as client:
        client.open(capabilities=wish if negotiates else {})
        assert client.turn()["result"] == END_TURN
        seen = [update["sessionUpdate"] for update in client.updates()]
        assert (kind in seen) is negotiates
