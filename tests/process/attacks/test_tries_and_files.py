"""How often a failed call was tried, and what a file written through the client means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.client import RETRY, update_of
from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import END_TURN

if TYPE_CHECKING:
    from tests.kit.client import Frame
    from tests.process.attacks.conftest import Attack

PING = "_test/ping"
LIMITED = {"code": -32603, "message": "429 Too Many Requests"}
LOGGED = "openai.RateLimitError: Error code: 429 - Too Many Requests\n"


def is_retry(frame: Frame, *, of: int | None) -> bool:
    update = update_of(frame)
    return update.get("sessionUpdate") == "agent_retry" and update.get("max_attempts") == of


# RTY-15: a failed call that a log speaks of, and that the agent then answers with, is one request.


def test_three_prompts_of_one_request_each_count_as_three_tries(attack: Attack) -> None:
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


def test_a_turn_that_wrote_a_file_is_not_sent_again_after_a_failed_call(
    attack: Attack,
) -> None:
    def writes(session: str, *ends: list[Any]) -> list[list[Any]]:
        params = {"sessionId": session, "path": "/tmp/x", "content": "x"}
        asks = ["send", {"id": "w1", "method": "fs/write_text_file", "params": params}]
        return [asks, ["hear", "answer"], *ends]

    logs: list[list[Any]] = [["stderr", LOGGED], ["hear", PING]]
    sessions = ["$session", "of a sub-agent"]
    turns = [[*logs, *writes(session, ["answer", END_TURN])] for session in sessions]
    turns += [writes(session, ["error", LIMITED]) for session in sessions]
    with attack.run({"session/prompt": turns}, options=("--retry=2",)) as client:
        client.open(capabilities=RETRY, sessions=0)
        for number in range(len(turns)):
            client.begin_anew()
            prompt = client.prompt("Hello", session=client.new_session())
            if number < 2:
                client.expect(lambda frame: is_retry(frame, of=None))
                client.notify(PING)
            asked = client.expect_method("fs/write_text_file")
            client.send(id=asked["id"], result={})
            answer = client.answer(prompt)
            if number < 2:
                assert answer.get("result") == END_TURN
            else:
                payload = payload_of(answer)
                assert (payload["retry_safety"], payload["phase"]) == ("ask", "after_tool")
        assert len(attack.reached("session/prompt")) == len(turns)
