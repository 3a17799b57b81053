"""How often a failed call was tried, and what a file written through the client means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.client import RETRY, update_of
from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.kit.client import Frame
    from tests.process.attacks.conftest import Attack

PING = "_test/ping"


def is_retry(frame: Frame, *, of: int | None) -> bool:
    update = update_of(frame)
    return update.get("sessionUpdate") == "agent_retry" and update.get("max_attempts") == of


END_TURN = {"stopReason": "end_turn"}
LIMITED = {"code": -32603, "message": "429 Too Many Requests"}
LOGGED = "openai.RateLimitError: Error code: 429 - Too Many Requests\n"


def question(method: str, session: str = "s1") -> list[object]:
    params = {"sessionId": session, "path": "/tmp/x", "content": "x", "command": "true"}
    return ["send", {"id": "w1", "method": method, "params": params}]


# RTY-15: a failed call that a log speaks of, and that the agent then answers with, is one request.


def test_three_prompts_of_one_request_each_are_told_as_three_tries(attack: Attack) -> None:
    steps = [["stderr", LOGGED], ["hear", PING], ["error", LIMITED]]
    with attack.run({"session/prompt": [steps]}, options=("--retry=2",)) as client:
        client.open(capabilities=RETRY)
        prompt = client.prompt("Hello")
        since = 0
        for sent in (1, 2, 3):
            client.expect(lambda frame: is_retry(frame, of=None), since=since)  # by the log
            since = len(client.frames)
            client.notify(PING)
            if sent < 3:
                client.expect(lambda frame: is_retry(frame, of=3), since=since)
                since = len(client.frames)
        answer = client.answer(prompt)
        assert len(attack.reached("session/prompt")) == 3
        assert payload_of(answer)["attempts"] == 3
        announced = [u["attempt"] for u in client.updates() if u["sessionUpdate"] == "agent_retry"]
        # Each failed request once by its log, and once by what is done about it.
        assert announced == [2, 2, 3, 3, 4]


# RTY-14: what changes something through the client was begun, and comes of a call that went well.


@pytest.mark.parametrize("method", ["fs/write_text_file", "terminal/create"])
@pytest.mark.parametrize("session", ["s1", "of a sub-agent"])
def test_a_turn_that_wrote_a_file_after_a_failed_call_did_not_end_on_that_call(
    attack: Attack, method: str, session: str
) -> None:
    turn = [
        ["stderr", LOGGED],
        ["hear", PING],
        question(method, session),
        ["hear", "answer"],
        ["answer", END_TURN],
    ]
    with attack.run({"session/prompt": [turn]}) as client:
        client.open(capabilities=RETRY)
        prompt = client.prompt("Hello")
        client.expect(lambda frame: is_retry(frame, of=None))
        client.notify(PING)
        asked = client.expect_method(method)
        client.send(id=asked["id"], result={"terminalId": "t1"})
        assert client.answer(prompt).get("result") == END_TURN


@pytest.mark.parametrize("session", ["s1", "of a sub-agent"])
def test_a_prompt_is_not_sent_again_once_a_file_was_written(attack: Attack, session: str) -> None:
    turn = [question("fs/write_text_file", session), ["hear", "answer"], ["error", LIMITED]]
    with attack.run({"session/prompt": [turn]}, options=("--retry=2",)) as client:
        client.open(capabilities=RETRY)
        prompt = client.prompt("Hello")
        asked = client.expect_method("fs/write_text_file")
        client.send(id=asked["id"], result={})
        payload = payload_of(client.answer(prompt))
        assert payload["retry_safety"] == "ask"
        assert payload["phase"] == "after_tool"
        assert len(attack.reached("session/prompt")) == 1
