"""A session that a crash has lost, before an agent that really dies.

What comes back, and how, `tests/unit/restart` decides; `tests/process/scenarios` sees it arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

DIES: Life = {"capabilities": {"loadSession": True}, "session/prompt": [[["kill"]]]}
"""An agent that dies at its first prompt."""


# RST-4: its id stands for no other session, also where an agent counts from 1 in each life.


def test_cancels_and_questions_of_a_restored_session_are_mapped_both_ways(attack: Attack) -> None:
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
