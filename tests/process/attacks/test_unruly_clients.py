"""Clients that break the protocol, on the in-process doors: no turn is lost, none is doubled.

What each line means, `tests/unit/protocol` and the vectors decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import END_TURN, ask, leave, scoped, serves_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


def prompt_line(request_id: str, text: str = '"say"', session: str = "s1") -> bytes:
    """A prompt whose id and text are given as JSON."""
    blocks = f'[{{"type":"text","text":{text}}}]'
    params = f'{{"sessionId":"{session}","prompt":{blocks}}}'
    line = f'{{"jsonrpc":"2.0","id":{request_id},"method":"session/prompt","params":{params}}}'
    return line.encode()


NO_MESSAGE = {
    "half a frame": b'{"jsonrpc":"2.0","id":7007,"method":"session/pro',
    "UTF-16": '{"jsonrpc":"2.0","id":7007}'.encode("utf-16"),
    "a batch": b"[" + prompt_line("7007") + b"," + prompt_line("7008") + b"]",
    "a text": b'"session/prompt"',
    "two frames on a line": prompt_line("7007") + prompt_line("7008"),
    "nesting without end": b'{"id":7007,"params":' + b"[" * 200_000,
    "a method that is a number": b'{"jsonrpc":"2.0","id":7007,"method":7}',
}


def test_a_line_that_is_not_a_message_costs_no_turn(door: AttackClient) -> None:
    others = door.new_session()
    for what, line in NO_MESSAGE.items():
        door.begin_anew()
        hanging = door.prompt("wait", session=others)
        door.expect_method("session/update")
        door.send_line(line)
        assert serves_on(door, door.new_session()), what
        assert not door.answers(hanging), door.story(what)
        door.notify("_agent/go")
        assert door.answer(hanging).get("result") == END_TURN, door.story(what)
        refusals = [f["error"]["code"] for f in door.frames if "error" in f]
        assert set(refusals) <= {PARSE_ERROR, INVALID_REQUEST}, door.story(what)
        assert len(refusals) <= 1, door.story(what)


# Order, repetition, and what is said of sessions that are not there.


def twice_the_same_id(client: AttackClient, session: str) -> None:
    """The second is refused, or both are answered; never is one of them without an answer."""
    for request_id in ("7007", "7008", "7007"):
        client.send_line(prompt_line(request_id, '"nap 0.3"', session=session))
    client.answer(7007)
    client.answer(7008)


def writes_prompts_oddly(client: AttackClient, session: str) -> None:
    odd = [prompt_line(i, session=session) for i in ("9" * 400, "1.5", '""', '"\\ud83d"')]
    odd.append(prompt_line("7", '"say "', session).replace(b"say ", b"say \xff\xfe"))
    odd.append(prompt_line("8", session=session).replace(b'"id"', b'"at":-Infinity,"id"'))
    for number, line in enumerate(odd, answers_in(client) + 1):
        client.send_line(line)
        client.read_until_true(lambda n=number: answers_in(client) == n, "one answer")
    for written in ("null", "[1]"):  # no id: whether it is answered is the door's
        client.send_line(prompt_line(written, session=session))


def answers_in(client: AttackClient) -> int:
    return sum("method" not in frame for frame in client.frames)


def initializes_twice(client: AttackClient, session: str) -> None:
    hanging = client.prompt("nap 0.3", session=session)
    client.initialize()
    assert client.answer(hanging).get("result") == END_TURN


def cancels_what_is_not_there(client: AttackClient, session: str) -> None:
    for nobody in ("s99", "", f"{session} ", "s" * 100_000):
        client.cancel(nobody)
    for params in ([], "s1", None, {"sessionId": 1}, {}):
        client.send(method="session/cancel", params=params)
    for request in (7, "s1", None, [], 2**70):
        client.send(method="$/cancel_request", params={"requestId": request})


def cancels_by_a_request(client: AttackClient, session: str) -> None:
    prompt = client.prompt("nap 0.5", session=session)
    client.expect_method("session/update")
    client.answer(ask(client, "session/cancel", {"sessionId": session}, request_id="c"))
    assert "result" in client.answer(prompt)


def answers_its_own_prompt_and_what_nobody_asked(client: AttackClient, session: str) -> None:
    prompt = client.prompt("nap 0.3", session=session)
    for number in (prompt, 0, "x", None, 1.5):
        client.send(id=number, result={"outcome": {"outcome": "selected", "optionId": "yes"}})
        client.send(id=number, error={"code": 1, "message": "no"})
    assert client.answer(prompt).get("result") == END_TURN


def params_of_every_kind(client: AttackClient, session: str) -> None:
    client.send(method="session/prompt", params={"sessionId": session, "prompt": []})
    odd: list[Any] = [[], "s1", 1, {}, {"sessionId": 1}, {"sessionId": "s99", "prompt": []}]
    odd += [{"sessionId": session, "prompt": each} for each in ("say", [1], [{}])]
    for number, params in enumerate(odd):
        client.answer(ask(client, "session/prompt", params, request_id=f"odd{number}"))


def methods_of_every_kind(client: AttackClient, session: str) -> None:
    for method in ("", "_", "session/update", "m" * 100_000, "\u2028"):
        client.answer(ask(client, method, {}, request_id=f"of {method[:20]}"))
    for method in ("session/update", "initialize", "exit"):
        client.send(method=method, params={"sessionId": session})


ORDER: list[Callable[[AttackClient, str], None]] = [
    twice_the_same_id,
    writes_prompts_oddly,
    initializes_twice,
    cancels_what_is_not_there,
    cancels_by_a_request,
    answers_its_own_prompt_and_what_nobody_asked,
    params_of_every_kind,
    methods_of_every_kind,
]


def test_a_client_that_breaks_the_rules_is_still_served(door: AttackClient) -> None:
    for misbehaves in ORDER:
        door.begin_anew()
        session = door.new_session()
        misbehaves(door, session)
        assert serves_on(door, session), misbehaves.__name__
        assert serves_on(door, door.new_session()), misbehaves.__name__


# What the agent asks the client.

YES = {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
NO_ANSWERS: dict[str, dict[str, Any]] = {
    "both": {"result": {}, "error": {"code": 1, "message": "no"}},
    "a result that is a list": {"result": []},
    "an error that is a text": {"error": "no"},
}
OF_SERVE_ALONE = "an error that is a text"
"""The official SDK's own reader dies of it, bare or guarded."""


def test_questions_are_answered_once_in_any_order_and_an_invalid_answer_ends_only_its_turn(
    door: AttackClient,
) -> None:
    session = door.new_session()
    door.begin_anew()

    def asked() -> list[Any]:
        return [f["id"] for f in door.frames if "permission" in f.get("method", "")]

    prompt = door.prompt("ask_thrice", session=session)
    door.read_until_true(lambda: len(asked()) == 3, "three questions")
    for number in reversed(asked()):
        for _ in range(2):
            door.send(id=number, **YES)
    assert door.answer(prompt).get("result") == END_TURN
    assert door.updates()[-1]["content"]["text"] == "selected,selected,selected"
    for what, answer in NO_ANSWERS.items():
        if what == OF_SERVE_ALONE and "sdk" in door.command:
            continue
        door.begin_anew()
        prompt = door.prompt("ask", session=session)
        door.send(id=door.expect_method("session/request_permission")["id"], **answer)
        assert door.answer(prompt), door.story(what)
        assert serves_on(door, session), what


@pytest.mark.parametrize("door", ["asyncio", "trio"], indirect=True)
def test_a_question_whose_scope_ran_out_is_withdrawn_and_its_late_answer_ignored(
    door: AttackClient,
) -> None:
    session = door.new_session()
    door.begin_anew()
    prompt = door.prompt("ask_in_a_hurry", session=session)
    asked = door.expect_method("session/request_permission")
    assert door.answer(prompt).get("result") == END_TURN
    assert door.expect_method("$/cancel_request")["params"]["requestId"] == asked["id"]
    door.send(id=asked["id"], **YES)
    assert serves_on(door, session)


@pytest.mark.parametrize("last", [prompt_line("7007"), prompt_line("7007")[:-20]])
def test_the_agent_ends_properly_whatever_its_clients_last_line(
    watched: Attack, last: bytes
) -> None:
    with watched.start(*scoped("trio")) as client:
        client.open()
        client.send_bytes(last)
        leave(client)
