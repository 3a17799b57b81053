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


# FRM-8: text without a line end, in front of a frame on the frame's line.

NOISE = {
    "text": "Loading the model... 50%",
    "NUL bytes": "\x00\x00\x00",
    "an odd quote": 'the "model',
    "a terminal's sequence": "\x1b[2K\r",
    "a broken object": '{"level": "info", ',
    "a prompt for input": "Allow? [y/n] ",
    "much of it": "x" * 300_000,
}
SAID = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Here."}}}}\n'
)
ENDED = HEAD + '"result":{"stopReason":"end_turn"}}\n'


BEHIND = {
    "the end of a colour": "\x1b[0m",
    "NUL bytes": "\x00\x00",
    "words": " (done in 3 s)",
    "a form feed": "\f",
}


@pytest.mark.parametrize("noise", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("front", ["", "Loading... "], ids=["alone", "and in front"])
def test_a_turn_ends_with_the_answer_that_stands_in_front_of_other_output(
    attack: Attack, front: str, noise: str
) -> None:
    turn = [["raw", SAID], ["raw", f"{front}{ENDED.strip()}{noise}\n"]]
    with attack.run({"session/prompt": [turn]}) as client:
        client.open()
        answer = client.turn()
        assert answer.get("result") == END_TURN, client.story("not its answer")


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_a_turn_ends_with_the_answer_that_stands_behind_other_output(
    attack: Attack, noise: str
) -> None:
    turn = [["raw", noise + SAID], ["raw", noise + ENDED]]
    with attack.run({"session/prompt": [turn]}) as client:
        client.open()
        answer = client.turn()
        assert answer.get("result") == END_TURN, client.story("not its answer")
        (update,) = client.updates()
        assert update["content"]["text"] == "Here."
    (session,) = attack.recorded()
    shown = attack.command("log", session["session_id"]).stdout
    assert shown.count(b"not json") == 2


@pytest.mark.parametrize("method", ["session/new", "session/list", "session/set_mode"])
def test_any_answer_behind_other_output_reaches_the_client(attack: Attack, method: str) -> None:
    line = "noise" + HEAD + '"result":{"sessionId":"s1","sessions":[]}}\n'
    with attack.run({method: [[["raw", line]]]}) as client:
        client.open(sessions=0)
        answer = client.call(method, cwd="/", mcpServers=[], sessionId="s1")
        assert answer["result"] == {"sessionId": "s1", "sessions": []}


def test_the_last_answer_of_an_agent_that_ends_is_found_behind_other_output(
    attack: Attack,
) -> None:
    turn = [["say", "Here."], ["raw", "noise" + ENDED.rstrip("\n")], ["exit", 0]]
    with attack.run({"session/prompt": [turn]}) as client:
        client.open()
        assert client.turn().get("result") == END_TURN


def test_a_log_on_stdout_that_quotes_every_frame_changes_nothing(attack: Attack) -> None:
    received = 'DEBUG received: {"jsonrpc":"2.0","id":$id,"method":"session/prompt","params":{}}\n'
    turn = [
        ["raw", received],
        ["raw", "DEBUG sent: " + SAID],
        ["raw", SAID],
        ["raw", "DEBUG sent: " + ENDED],
        ["raw", ENDED],
    ]
    with attack.run({"session/prompt": [turn]}) as client:
        client.open()
        assert client.turn().get("result") == END_TURN
        client.call("session/list")
        assert len(client.updates()) == 1


@pytest.mark.parametrize("noise", [b"noise ", b"\x00"])
def test_a_request_of_the_clients_behind_other_output_reaches_the_agent(
    attack: Attack, noise: bytes
) -> None:
    with attack.run({"session/prompt": [[["say", "Here."], ["answer", END_TURN]]]}) as client:
        client.open()
        client.expect_answer_to(77)
        client.send_line(
            noise + b'{"jsonrpc":"2.0","id":77,"method":"session/prompt",'
            b'"params":{"sessionId":"s1","prompt":[{"type":"text","text":"Hello"}]}}'
        )
        assert client.answer(77)["result"] == END_TURN
        assert [
            frame["error"]["code"] for frame in client.frames if frame.get("id", 0) is None
        ] == [-32700]
