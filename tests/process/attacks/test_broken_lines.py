"""Lines that are broken JSON: whoever waits for what they should have been is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

HEAD = '{"jsonrpc":"2.0","id":$id,'
END_TURN = {"stopReason": "end_turn"}
OPTIONS = [{"optionId": "a", "name": "Allow", "kind": "allow_once"}]
BROKEN_CHOICE = b'"result":{"outcome":{"outcome":"selected","optionId":"a",}}}'
PING = "_test/ping"


def question(request_id: object) -> list[object]:
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": OPTIONS}
    return [
        "send",
        {"id": request_id, "method": "session/request_permission", "params": params},
    ]


BROKEN_ANSWERS = {
    "trailing comma": HEAD + '"result":{"stopReason":"end_turn",}}\n',
    "raw newline": HEAD + '"result":{"stopReason":"end_turn","_meta":{"text":"one\ntwo"}}}\n',
    "raw control character": HEAD + '"result":{"stopReason":"end_turn","_meta":{"text":"\x01"}}}\n',
    "unquoted word": HEAD + '"result":{"stopReason":end_turn}}\n',
    "a brace too few": HEAD + '"result":{"stopReason":"end_turn"}\n',
    "nested too deep": HEAD + '"result":{"_meta":' + "[" * 200_000 + "]" * 200_000 + "}}\n",
    "broken error": HEAD + '"error":{"code":-32603,"message":"Internal error",}}\n',
    "id behind the result": '{"jsonrpc":"2.0","result":{"stopReason":"end_turn",},"id":$id}\n',
}


# FAIL-7: a turn that lost its answer fails at once, and not when the watchdog looks.


@pytest.mark.parametrize("line", BROKEN_ANSWERS.values(), ids=BROKEN_ANSWERS)
def test_an_answer_that_is_broken_json_ends_its_turn_at_once(attack: Attack, line: str) -> None:
    with attack.run({"session/prompt": [[["say", "Here."], ["raw", line]]]}) as client:
        client.open()
        prompt = client.prompt("Hello")
        # The agent answers this one after what it made of the prompt.
        client.call("session/list")
        (answer,) = client.answers(prompt)
        assert payload_of(answer)["type"] == "protocol_error"


@pytest.mark.parametrize("method", ["session/new", "session/list", "session/set_mode"])
def test_a_broken_answer_to_any_other_request_is_an_error_at_once(
    attack: Attack, method: str
) -> None:
    broken: Life = {method: [[["raw", HEAD + '"result":{"a":1,}}\n']]]}
    with attack.run(broken) as client:
        client.open(sessions=0)
        request = client.request(method, cwd="/", mcpServers=[], sessionId="s1")
        client.call("_test/after")
        (answer,) = client.answers(request)
        assert payload_of(answer)["type"] == "protocol_error"


def test_an_agent_whose_question_was_broken_json_is_told_so(attack: Attack) -> None:
    line = '{"jsonrpc":"2.0","id":"q1","method":"session/request_permission","params":{,}}\n'
    asks: Life = {"session/prompt": [[["raw", line], ["hear", PING], ["answer", END_TURN]]]}
    with attack.run(asks, options=("--silent-success=pass",)) as client:
        client.open()
        prompt = client.prompt("Hello")
        client.notify(PING)
        assert client.answer(prompt)["result"] == END_TURN
        client.call("session/list")
        (told,) = attack.reached(None)
        assert told["id"] == "q1"
        assert "error" in told


NONE_OF_ITS_ANSWER = {
    "a request of the agent's own": HEAD + '"method":"session/request_permission","params":{,}}\n',
    "an id within": '{"jsonrpc":"2.0","method":"_log","params":{"id":$id,},"result":{}}\n',
    "an id in a text": '{"jsonrpc":"2.0","result":{"text":"{\\"id\\":$id,"},}\n',
    "no id": '{"jsonrpc":"2.0","result":{"stopReason":"end_turn",}}\n',
}


@pytest.mark.parametrize("line", NONE_OF_ITS_ANSWER.values(), ids=NONE_OF_ITS_ANSWER)
def test_a_broken_line_that_only_names_the_id_ends_no_turn(attack: Attack, line: str) -> None:
    agent = {"session/prompt": [[["raw", line], ["say", "Here."], ["answer", END_TURN]]]}
    with attack.run(agent) as client:
        client.open()
        assert client.turn()["result"] == END_TURN


# FRM-3, FRM-4 for answers: it is the agent who waits for them. SDKs on both sides count from 0, so
# the question often has the id of the client's own prompt, which must stay what it was.


@pytest.mark.parametrize("request_id", ["$id", "q1"], ids=["the prompt's id", "another id"])
def test_a_broken_answer_of_the_clients_is_an_error_for_the_agent_that_asked(
    attack: Attack, request_id: str
) -> None:
    asks = [question(request_id), ["hear", PING], ["say", "Here."], ["answer", END_TURN]]
    with attack.run({"session/prompt": [asks]}) as client:
        client.open()
        prompt = client.prompt("Hello")
        asked = client.expect_method("session/request_permission")["id"]
        head = b'{"jsonrpc":"2.0","id":%s,' % (b'"q1"' if asked == "q1" else b"%d" % asked)
        client.send_line(head + BROKEN_CHOICE)
        client.notify(PING)
        assert client.answer(prompt).get("result") == END_TURN
        (told,) = attack.reached(None)
        assert told["id"] == asked
        assert "error" in told


def test_after_a_broken_answer_of_the_clients_the_clocks_run_again(attack: Attack) -> None:
    asks: Life = {"session/prompt": [[question("$id"), ["hear", "answer"]]]}
    with attack.run(asks, options=("--first-update-timeout=2",)) as client:
        client.open()
        prompt = client.prompt("Hello")
        client.expect_method("session/request_permission")
        client.send_line(b'{"jsonrpc":"2.0","id":%d,' % prompt + BROKEN_CHOICE)
        payload = client.answer(prompt)["error"]["data"].get("agent_error", {})
        assert payload.get("type") == "agent_stalled"


def test_after_an_answer_of_the_clients_that_was_too_long_the_clocks_run_again(
    attack: Attack,
) -> None:
    asks: Life = {
        "session/prompt": [[question("q1"), ["hear", "answer"]]],
        "session/cancel": [[]],
    }
    options = ("--first-update-timeout=2", "--cancel-grace=0.5", "--line-limit=64KiB")
    with attack.run(asks, options=options) as client:
        client.open()
        prompt = client.prompt("Hello")
        client.expect_method("session/request_permission")
        client.send(id="q1", result={"outcome": {"outcome": "cancelled"}, "_meta": "x" * 300_000})
        assert payload_of(client.answer(prompt))["type"] == "agent_stalled"
