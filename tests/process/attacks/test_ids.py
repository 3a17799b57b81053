"""Ids: whose a line is that cannot be read whole, and which ids are the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.client import Frame
    from tests.process.attacks.conftest import Attack, Life

LIMIT = "--line-limit=64KiB"
PAD = "x" * 300_000
END_TURN = {"stopReason": "end_turn"}
OTHER = 7
"""The open prompt that a line names somewhere within; the line's own id is 8."""

OWN = 8


def finish(prompt: int, session: str) -> list[object]:
    """The steps by which an open prompt of another session ends well."""
    content = {"type": "text", "text": "Here."}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": session, "update": update}
    return [
        ["send", {"method": "session/update", "params": params}],
        ["send", {"id": prompt, "result": END_TURN}],
    ]


def line(**members: object) -> str:
    """A line with its members in this order."""
    return json.dumps({"jsonrpc": "2.0", **members}) + "\n"


# FRM-4, FAIL-7: who waits for a line that was too long is told, and nobody else.

TOO_LONG = {
    "an id within the result, before its own": line(
        result={"_meta": {"id": OTHER}, "stopReason": "end_turn", "pad": PAD}, id=OWN
    ),
    "an id in a text, before its own": line(
        result={"pad": f'{{"id":{OTHER},"x":1}}' + PAD}, id=OWN
    ),
    "its own id behind a long result": line(result={"stopReason": "end_turn", "pad": PAD}, id=OWN),
    "a method within the result": line(
        id=OWN, result={"_meta": {"method": "session/update"}, "pad": PAD}
    ),
}


@pytest.mark.parametrize("answer", TOO_LONG.values(), ids=TOO_LONG)
def test_an_answer_that_is_too_long_fails_its_own_turn_and_no_other(
    attack: Attack, answer: str
) -> None:
    agent = {
        "session/prompt": [[], [["say", "Here."], ["raw", answer], *finish(OTHER, "s1")]],
        "session/cancel": [[]],
    }
    with attack.run(agent, options=(LIMIT,)) as client:
        client.open(sessions=2)
        client.prompt("One.", session="s1", request_id=OTHER)
        client.prompt("Two.", session="s2", request_id=OWN)
        assert client.answer(OTHER).get("result") == END_TURN
        (failed,) = client.answers(OWN)
        assert payload_of(failed)["reason"] == "line_too_long"


@pytest.mark.parametrize("own_id", ["first", "last"])
def test_a_question_of_the_agents_that_is_too_long_is_an_error_under_its_own_id(
    attack: Attack, own_id: str
) -> None:
    params = {"_meta": {"id": "other"}, "pad": PAD}
    ask = {"id": "own"} if own_id == "first" else {}
    last = {} if own_id == "first" else {"id": "own"}
    long = line(method="fs/read_text_file", params=params, **ask, **last)
    asks: Life = {"session/prompt": [[["raw", long], ["hear", "_test/ping"], ["serve"]]]}
    with attack.run(asks, options=(LIMIT,)) as client:
        client.open()
        prompt = client.prompt("Hello")
        client.notify("_test/ping")
        client.answer(prompt)
        (told,) = attack.reached(None)
        assert told["id"] == "own"


def prompt_line(own_id: str, params: Frame) -> bytes:
    """A prompt as a line, its id before or behind the params."""
    first, last = ({"id": OWN}, {}) if own_id == "first" else ({}, {"id": OWN})
    return line(**first, method="session/prompt", params=params, **last).encode().strip()


@pytest.mark.parametrize("within", ["an open prompt's id", "nothing"])
def test_a_request_of_the_clients_that_is_too_long_is_refused_under_its_own_id(
    attack: Attack, within: str
) -> None:
    meta = {"id": OTHER} if within != "nothing" else {}
    with attack.run({"session/prompt": [[], finish(OTHER, "s1")]}, options=(LIMIT,)) as client:
        client.open(sessions=2)
        client.prompt("One.", session="s1", request_id=OTHER)
        client.expect_answer_to(OWN)
        params = {"_meta": meta, "sessionId": "s2", "prompt": [{"type": "text", "text": PAD}]}
        client.send_line(prompt_line("last", params))
        client.prompt("Three.", session="s1", request_id=9)
        assert client.answer(OTHER).get("result") == END_TURN
        (refused,) = client.answers(OWN)
        assert payload_of(refused)["reason"] == "line_too_long"


def test_a_client_whose_line_was_too_long_is_not_told_that_it_was_the_agents(
    attack: Attack,
) -> None:
    with attack.run({}, options=(LIMIT,)) as client:
        client.open()
        refused = payload_of(client.answer(client.prompt(PAD)))
        assert refused["reason"] == "line_too_long"
        assert refused["origin"] == "client"
        assert "agent sent" not in refused["message"].lower()


# FRM-3: the id of the client's broken line is the line's own, or `null`.

BROKEN_PROMPTS = {
    "an id within": '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"id":7},},"id":8}',
    "an id in a text": '{"jsonrpc":"2.0","method":"x","params":{"text":"{\\"id\\":7,"},,"id":8}',
    "an id within alone": '{"jsonrpc":"2.0","method":"session/prompt","params":{"id":7,}}',
    "its own first": '{"jsonrpc":"2.0","id":8,"method":"session/prompt","params":{"id":7,}}',
}


@pytest.mark.parametrize(
    ("broken", "names_it"),
    [pytest.param(broken, "8" in broken, id=case) for case, broken in BROKEN_PROMPTS.items()],
)
def test_a_broken_request_of_the_clients_is_refused_under_its_own_id(
    attack: Attack, broken: str, *, names_it: bool
) -> None:
    with attack.run({"session/prompt": [[], finish(OTHER, "s1")]}) as client:
        client.open()
        client.prompt("One.", request_id=OTHER)
        client.expect_answer_to(OWN)
        client.send_line(broken.encode())
        client.prompt("Three.", request_id=9)
        assert client.answer(OTHER).get("result") == END_TURN
        refused = client.answers(OWN) if names_it else client.answers(None)
        assert [answer["error"]["code"] for answer in refused] == [-32700]


# ID-4: only a number and its text are the same id.

NOT_THE_SAME = [("v1", "v1.0"), ("11", "11.0"), (11, "11.0"), ("true", True)]


@pytest.mark.parametrize(("asked", "other"), NOT_THE_SAME)
def test_an_answer_under_an_id_that_only_looks_like_a_prompts_is_none_of_its(
    attack: Attack, asked: object, other: object
) -> None:
    refusal = {"stopReason": "refusal"}
    agent = {"session/prompt": [[["send", {"id": other, "result": refusal}], ["serve"]]]}
    with attack.run(agent) as client:
        client.open()
        prompt = client.prompt("Hello", request_id=asked)
        assert client.answer(prompt)["result"] == END_TURN


@pytest.mark.parametrize(("asked", "other"), NOT_THE_SAME)
def test_a_clients_answer_under_an_id_that_only_looks_like_a_questions_is_none_of_its(
    attack: Attack, asked: object, other: object
) -> None:
    question = ["send", {"id": asked, "method": "fs/read_text_file", "params": {"path": "/a"}}]
    asks: Life = {"session/prompt": [[question, ["hear", "_test/ping"], ["serve"]]]}
    with attack.run(asks) as client:
        client.open()
        prompt = client.prompt("Hello")
        client.expect_method("fs/read_text_file")
        client.send(id=other, result={"content": "not this"})
        client.send(id=asked, result={"content": "this"})
        client.notify("_test/ping")
        client.answer(prompt)
        assert [answer["result"] for answer in attack.reached(None)] == [{"content": "this"}]


@pytest.mark.parametrize(("asked", "same"), [(5, "5"), ("5", 5)])
def test_a_number_and_its_text_are_the_same_id(attack: Attack, asked: object, same: object) -> None:
    agent = {"session/prompt": [[["say", "Here."], ["send", {"id": same, "result": END_TURN}]]]}
    with attack.run(agent) as client:
        client.open()
        assert client.answer(client.prompt("Hello", request_id=asked))["result"] == END_TURN
