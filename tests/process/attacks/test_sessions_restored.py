"""Sessions that come back after a crash: as what they were, or not at all.

`tests/unit/restart` decides all of it; here it reaches agents that really die.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import END_TURN

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

LOADS: Life = {"capabilities": {"loadSession": True}}
RESUMES: Life = {"capabilities": {"sessionCapabilities": {"resume": {}}}}
WAYS = {"load": LOADS, "resume": RESUMES}
META = {"claudeCode": {"options": {"disallowedTools": ["Bash"]}}, "systemPrompt": "Be brief."}
MODES = [{"id": mode, "name": mode} for mode in ("ask", "plan", "bypass")]
OPENED = {"sessionId": "s1", "modes": {"currentModeId": "ask", "availableModes": MODES}}
DIES: Life = {
    **LOADS,
    "session/new": [[["answer", OPENED]]],
    "session/prompt": [[["kill"]]],
}
"""An agent whose sessions begin in a mode, and which dies at its first prompt."""


# RST-3, RST-6: the session comes back with all that it was opened with and what the client had
# chosen; what the agent asks meanwhile is not the client's.


@pytest.mark.parametrize("way", WAYS)
def test_a_session_comes_back_with_its_meta_and_its_choices_and_asks_the_client_nothing(
    attack: Attack, way: str
) -> None:
    asks = {"id": "r1", "method": "session/request_permission", "params": {"sessionId": "s1"}}
    second = {**WAYS[way], f"session/{way}": [[["send", asks], ["answer", {}]]]}
    with attack.run({**DIES, **WAYS[way]}, second) as client:
        client.open(sessions=0)
        client.call("session/new", cwd="/", mcpServers=[], _meta=META)
        client.call("session/set_mode", sessionId="s1", modeId="bypass")
        for config, value in (("mode", "ask"), ("model", "small")):
            params = {"sessionId": "s1", "configId": config, "value": value}
            client.call("session/set_config_option", **params)
        client.call("session/set_mode", sessionId="s1", modeId="plan")
        assert payload_of(client.turn())["type"] == "agent_crash"
        assert client.turn()["result"] == END_TURN
        methods = [frame.get("method") for frame in client.frames]
        assert "session/request_permission" not in methods
    (again,) = attack.reached(f"session/{way}", life=2)
    assert again["params"].get("_meta") == META
    # The agent waits for an answer, and has one.
    assert [answer["id"] for answer in attack.reached(None, life=2)] == ["r1"]
    chosen = [
        entry["message"]["params"].get("configId", "set_mode")
        for entry in attack.journal
        if entry["life"] == 2 and "/set_" in entry.get("message", {}).get("method", "")
    ]
    assert chosen == ["mode", "model", "set_mode"]
    (prompt,) = attack.reached("session/prompt", life=2)
    assert prompt["params"]["sessionId"] == "s1"


# RST-4: a session that could not be brought back is lost until it is opened again, which is when
# the agent says so.


def test_a_lost_session_stays_lost_until_its_load_succeeds(attack: Attack) -> None:
    refuses = [["error", {"code": -32602, "message": "Nothing of that name is stored."}]]
    second = {**LOADS, "session/load": [refuses, refuses, [["answer", {}]]]}
    with attack.run(DIES, second) as client:
        client.open()
        client.turn()
        assert payload_of(client.turn())["reason"] == "context_lost"
        params = {"sessionId": "s1", "cwd": "/", "mcpServers": []}
        load, prompt = client.request("session/load", **params), client.prompt("Hello")
        assert "error" in client.answer(load)
        assert payload_of(client.answer(prompt))["reason"] == "context_lost"
        assert attack.reached("session/prompt", life=2) == []
        assert "result" in client.call("session/load", **params)
        assert client.turn()["result"] == END_TURN


# RST-4: its id stands for no other session, also where an agent counts from 1 in each life.


def test_cancels_and_questions_of_such_a_session_are_mapped_both_ways(attack: Attack) -> None:
    params: dict[str, Any] = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": []}
    asks = ["send", {"id": 0, "method": "session/request_permission", "params": params}]
    second = {"session/prompt": [[asks, ["hear", "answer"], ["say", "Here."]]]}
    with attack.run(DIES, second) as client:
        client.open()
        client.turn()
        fresh = client.new_session()
        assert fresh != "s1"
        assert payload_of(client.turn(session="s1"))["reason"] == "context_lost"
        prompt = client.prompt("Hello", session=fresh)
        question = client.expect_method("session/request_permission")
        assert question["params"]["sessionId"] == fresh
        client.send(id=question["id"], result={"outcome": {"outcome": "cancelled"}})
        shown = client.expect(lambda frame: "Here." in str(frame))
        assert shown["params"]["sessionId"] == fresh
        client.cancel(fresh)
        assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    (taken,) = attack.reached("session/prompt", life=2)
    (cancel,) = attack.reached("session/cancel", life=2)
    assert taken["params"]["sessionId"] == cancel["params"]["sessionId"] == "s1"
