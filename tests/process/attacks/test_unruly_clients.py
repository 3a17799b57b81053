"""Clients that break the protocol, on the in-process doors: no turn is lost, none is doubled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.watched import (
    CANCELLED,
    END_TURN,
    ask,
    in_turn,
    leave,
    scoped,
    serves_on,
)

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


# Lines that are none, and ids that nobody expects.

NO_MESSAGE = {
    "half a frame": b'{"jsonrpc":"2.0","id":7007,"method":"session/pro',
    "UTF-16": '{"jsonrpc":"2.0","id":7007}'.encode("utf-16"),
    "a batch": b"[" + prompt_line("7007") + b"," + prompt_line("7008") + b"]",
    "an empty batch": b"[]",
    "a text": b'"session/prompt"',
    "a number of a million digits": b"9" * 1_000_000,
    "two frames on a line": prompt_line("7007") + prompt_line("7008"),
    "NUL bytes": b"\0" * 100,
    "nesting without end": b'{"id":7007,"params":' + b"[" * 200_000,
    "no method": b'{"jsonrpc":"2.0","params":{}}',
    "a method that is a number": b'{"jsonrpc":"2.0","id":7007,"method":7}',
    "an HTTP request": b"POST / HTTP/1.1\r",
    "a form feed": b"\x0c",
}


def test_a_line_that_is_not_a_message_costs_no_turn(door: AttackClient) -> None:
    others = door.new_session()
    for what, line in NO_MESSAGE.items():
        door.begin_anew()
        hanging = door.prompt("wait", session=others)
        door.expect_method("session/update")
        for number in (7007, 7008):
            door.expect_answer_to(number)
        door.send_line(line)
        assert serves_on(door, door.new_session()), what
        assert not door.answers(hanging), door.story(what)
        door.notify("_agent/go")
        assert door.answer(hanging).get("result") == END_TURN, door.story(what)
        refusals = [f["error"]["code"] for f in door.frames if "error" in f]
        assert set(refusals) <= {PARSE_ERROR, INVALID_REQUEST}, door.story(what)
        assert len(refusals) <= 1, door.story(what)


MENDED = {
    "bytes that are no UTF-8": prompt_line("7007", '"say "').replace(b"say ", b"say \xff\xfe"),
    "a character cut in two": prompt_line("7007", '"say "').replace(b"say ", b"say \xc3"),
    "UTF-16 in UTF-8": prompt_line("7007", '"say "').replace(b"say ", b"say \xed\xa0\x80"),
    "half a character in a text": prompt_line("7007", '"say \\ud83d"'),
    "NaN": prompt_line("7007", "NaN"),
    "Infinity beside it": prompt_line("7007").replace(b'"id"', b'"at":-Infinity,"id"'),
}


IDS = {
    "a number of 400 digits": "9" * 400,
    "a text of a million": json.dumps("i" * 1_000_000),
    "a fraction": "1.5",
    "minus one": "-1",
    "an exponent": "1e12",
    "an empty text": '""',
    "escapes": '"\\u0000\\ud83d\\ude00\\n"',
    "half a character": '"\\ud83d"',
    "2 to the 64th": str(2**64),
}


NO_IDS = {"null": "null", "true": "true", "an object": "{}", "a list": "[1]"}


def test_a_prompt_is_answered_once_whatever_its_id_and_its_formatting(
    door: AttackClient,
) -> None:
    session = door.new_session()
    lines = {what: prompt_line(written, session=session) for what, written in IDS.items()}
    mended = {what: line.replace(b'"s1"', f'"{session}"'.encode()) for what, line in MENDED.items()}
    for what, line in (lines | mended).items():
        door.begin_anew()
        value = json.loads(IDS.get(what, "7007"))
        # A number may come back in another writing of itself.
        for same in (value, None, *([int(value)] if isinstance(value, float) else [])):
            door.expect_answer_to(same)
        door.send_line(line)
        door.read_until_true(lambda: any("method" not in f for f in door.frames), what)
        assert serves_on(door, session), what
        answers = [f for f in door.frames if "method" not in f]
        assert len(answers) == 2, door.story(f"one prompt, one answer: {what}")
    for what, written in NO_IDS.items():
        door.begin_anew()
        door.expect_answer_to(json.loads(written))
        door.send_line(prompt_line(written, session=session))
        assert serves_on(door, session), what


# Order, repetition, and what is said of sessions that are not there.


def twice_the_same_id(client: AttackClient, session: str) -> None:
    """The second is refused, or both are answered; never is one of them without an answer."""
    client.expect_answer_to(7007)
    client.send_line(prompt_line("7007", '"nap 0.3"', session=session))
    client.send_line(prompt_line("7008", '"nap 0.3"', session=session))
    client.expect_answer_to(7008)
    client.send_line(prompt_line("7007", '"nap 0.3"', session=session))
    client.answer(7007)
    client.answer(7008)


def the_id_of_an_answered_prompt(client: AttackClient, session: str) -> None:
    ask(client, "session/prompt", text("say", session), request_id="again")
    client.answer("again")
    client.send(method="$/cancel_request", params={"requestId": "again"})
    client.send(id="again", result=END_TURN)


def prompts_a_session_that_is_not_there(client: AttackClient, session: str) -> None:
    client.answer(client.prompt("say", session="s99"))


def initializes_twice(client: AttackClient, session: str) -> None:
    hanging = client.prompt("nap 0.3", session=session)
    client.initialize()
    assert client.answer(hanging).get("result") == END_TURN


def cancels_what_is_not_there(client: AttackClient, session: str) -> None:
    for nobody in ("s99", "", f"{session} ", "\0", "s" * 100_000):
        client.cancel(nobody)
    for params in ([], "s1", None, {"sessionId": 1}, {"sessionId": None}, {}):
        client.send(method="session/cancel", params=params)
    for request in (7, "s1", None, [], {}, 2**70):
        client.send(method="$/cancel_request", params={"requestId": request})


def cancels_a_hundred_times(client: AttackClient, session: str) -> None:
    prompt = client.prompt("hang", session=session)
    client.expect_method("session/update")
    for _ in range(100):
        client.cancel(session)
        client.send(method="$/cancel_request", params={"requestId": prompt})
    assert client.answer(prompt).get("result") == CANCELLED


def prompts_without_an_id(client: AttackClient, session: str) -> None:
    client.send(method="session/prompt", params=text("say", session))


def cancels_by_a_request(client: AttackClient, session: str) -> None:
    prompt = client.prompt("nap 0.5", session=session)
    client.expect_method("session/update")
    client.answer(ask(client, "session/cancel", {"sessionId": session}, request_id="c"))
    assert "result" in client.answer(prompt)


def answers_its_own_prompt(client: AttackClient, session: str) -> None:
    prompt = client.prompt("nap 0.3", session=session)
    client.send(id=prompt, result=END_TURN)
    client.send(id=prompt, error={"code": 1, "message": "no"})
    assert client.answer(prompt).get("result") == END_TURN


def answers_what_nobody_asked(client: AttackClient, session: str) -> None:
    for number in (0, 1, 99, "x", None, -1, 1.5):
        client.send(id=number, result={"outcome": {"outcome": "selected", "optionId": "yes"}})
        client.send(id=number, result=None, error=None)


def prompts_twice_at_once(client: AttackClient, session: str) -> None:
    one, two = client.prompt("nap 0.2", session=session), client.prompt("nap 0.1", session=session)
    assert client.answer(one).get("result") == END_TURN
    assert client.answer(two).get("result") == END_TURN


def a_byte_at_a_time(client: AttackClient, session: str) -> None:
    client.expect_answer_to(7007)
    for byte in prompt_line("7007", session=session) + b"\r\n\n \r\n":
        client.peer.queue(bytes([byte]))
        client.peer.pump(0.0)
    assert client.answer(7007).get("result") == END_TURN


def the_same_member_twice(client: AttackClient, session: str) -> None:
    for number in (7007, 7008):
        client.expect_answer_to(number)
    line = prompt_line("7007", session=session)
    client.send_line(line.replace(b'"method"', b'"id":7008,"method"'))
    client.expect(lambda f: f.get("id") in {7007, 7008} and "method" not in f)


def params_of_every_kind(client: AttackClient, session: str) -> None:
    odd: list[Any] = [[], "s1", 1, True, {}, {"sessionId": 1}, {"sessionId": session}]
    odd += [
        {"sessionId": session, "prompt": each} for each in ("say", [], [1], [{}], {"type": "text"})
    ]
    for number, params in enumerate(odd):
        client.answer(ask(client, "session/prompt", params, request_id=f"odd{number}"))


def versions_of_every_kind(client: AttackClient, session: str) -> None:
    for version in (0, -1, 2, 99, 2**70, "1", None, 1.5, [], {}):
        asked = ask(client, "initialize", {"protocolVersion": version, "clientCapabilities": {}})
        client.answer(asked)
    client.initialize()


def capabilities_of_every_kind(client: AttackClient, session: str) -> None:
    odd: list[Any] = [None, [], {"_meta": 1}, {"_meta": {"agent_error": []}}]
    odd += [{"_meta": {"agent_error": {"version": each}}} for each in (0, "1", True, None, 2**70)]
    odd += [{"_meta": {"jetbrains": {"air": each}}} for each in (1, [], {"version": "1"})]
    for capabilities in odd:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities}
        client.answer(ask(client, "initialize", params))
    client.initialize()


def methods_of_every_kind(client: AttackClient, session: str) -> None:
    for method in ("", "rpc.discover", "_", "session/", "session/update", "m" * 100_000, "\u2028"):
        client.answer(ask(client, method, {}, request_id=f"of {method[:20]}"))
    for method in ("session/update", "initialize", "exit", "$/"):
        client.send(method=method, params={"sessionId": session})


ORDER: list[Callable[[AttackClient, str], None]] = [
    twice_the_same_id,
    the_id_of_an_answered_prompt,
    prompts_a_session_that_is_not_there,
    initializes_twice,
    cancels_what_is_not_there,
    cancels_a_hundred_times,
    prompts_without_an_id,
    cancels_by_a_request,
    answers_its_own_prompt,
    answers_what_nobody_asked,
    prompts_twice_at_once,
    a_byte_at_a_time,
    the_same_member_twice,
    params_of_every_kind,
    versions_of_every_kind,
    capabilities_of_every_kind,
    methods_of_every_kind,
]


def text(words: str, session: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": words}]}


def test_a_client_that_breaks_the_rules_is_still_served(door: AttackClient) -> None:
    for misbehaves in ORDER:
        door.begin_anew()
        session = door.new_session()
        misbehaves(door, session)
        assert serves_on(door, session), misbehaves.__name__
        assert serves_on(door, door.new_session()), misbehaves.__name__


# What the agent asks the client.


def outcome(option: str) -> dict[str, str]:
    return {"outcome": option} | ({"optionId": "yes"} if option == "selected" else {})


NO_ANSWERS: dict[str, dict[str, Any]] = {
    "neither": {},
    "both": {"result": {}, "error": {"code": 1, "message": "no"}},
    "a result that is a list": {"result": []},
    "a result without its outcome": {"result": {}},
    "an error that is a text": {"error": "no"},
    "an error without its code": {"error": {}},
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
        for option in ("selected", "cancelled", "selected"):
            door.send(id=number, result={"outcome": outcome(option)})
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
    door.send(id=asked["id"], result={"outcome": outcome("selected")})
    assert serves_on(door, session)


# A client that leaves.


def half_a_line(client: AttackClient) -> None:
    client.expect_answer_to(7007)
    client.peer.queue(prompt_line("7007")[:-20])
    client.peer.pump(0.0)


def a_whole_last_line_without_its_end(client: AttackClient) -> None:
    client.expect_answer_to(7007)
    client.peer.queue(prompt_line("7007"))
    client.peer.pump(0.0)


def in_mid_prompt(client: AttackClient) -> None:
    client.prompt("hang")
    client.expect_method("session/update")


def with_a_question_open(client: AttackClient) -> None:
    client.prompt("ask")
    client.expect_method("session/request_permission")


def with_a_prompt_unread(client: AttackClient) -> None:
    for _ in range(20):
        client.prompt("hang")


LEAVES = [
    half_a_line,
    a_whole_last_line_without_its_end,
    in_mid_prompt,
    with_a_question_open,
    with_a_prompt_unread,
]


@pytest.mark.parametrize(
    ("name", "leaves"),
    in_turn(["sdk", "trio"], LEAVES),
    ids=lambda each: getattr(each, "__name__", each),
)
def test_the_agent_ends_properly_however_its_client_leaves(
    watched: Attack, name: str, leaves: Callable[[AttackClient], None]
) -> None:
    with watched.start(*scoped(name)) as client:
        client.open()
        leaves(client)
        # The SDK logs what its own connection says of a client that is gone.
        leave(client, tells_its_author=name == "sdk")
