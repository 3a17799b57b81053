"""Clients that break the protocol, on the in-process doors: no turn is lost, none is doubled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.watched import CANCELLED, END_TURN, ask, in_turn, leave, scoped

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

DOORS = ["sdk", "asyncio", "trio"]
LIMITS = {
    "LASTWORD_IDLE_TIMEOUT": "8",
    "LASTWORD_FIRST_UPDATE_TIMEOUT": "8",
    "LASTWORD_CANCEL_GRACE": "0.5",
}
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


def start(attack: Attack, door: str) -> AttackClient:
    return attack.start(*scoped(door), environment=LIMITS)


def serves_on(client: AttackClient, session: str = "s1") -> bool:
    answer = client.turn("say", session=session)
    assert answer.get("result") == END_TURN, client.story("it does not serve on")
    return True


def prompt_line(request_id: str, text: str = '"say"', session: str = '"s1"') -> bytes:
    """A prompt whose members are given as JSON."""
    blocks = f'[{{"type":"text","text":{text}}}]'
    params = f'{{"sessionId":{session},"prompt":{blocks}}}'
    line = f'{{"jsonrpc":"2.0","id":{request_id},"method":"session/prompt","params":{params}}}'
    return line.encode()


# Lines that are none, and ids that nobody expects.

NO_MESSAGE = {
    "half a frame": b'{"jsonrpc":"2.0","id":7,"method":"session/pro',
    "UTF-16": '{"jsonrpc":"2.0","id":7}'.encode("utf-16"),
    "a batch": b"[" + prompt_line("7") + b"," + prompt_line("8") + b"]",
    "an empty batch": b"[]",
    "a text": b'"session/prompt"',
    "a number of a million digits": b"9" * 1_000_000,
    "two frames on a line": prompt_line("7") + prompt_line("8"),
    "NUL bytes": b"\0" * 100,
    "nesting without end": b'{"id":7,"params":' + b"[" * 200_000,
    "no method": b'{"jsonrpc":"2.0","params":{}}',
    "a method that is a number": b'{"jsonrpc":"2.0","id":7,"method":7}',
    "an HTTP request": b"POST / HTTP/1.1\r",
    "a form feed": b"\x0c",
}


@pytest.mark.parametrize(("door", "what"), in_turn(DOORS, NO_MESSAGE))
def test_a_line_that_is_no_message_costs_no_turn(watched: Attack, door: str, what: str) -> None:
    with start(watched, door) as client:
        client.open()
        hanging = client.prompt("nap 0.5")
        client.expect_method("session/update")
        client.expect_answer_to(7)
        client.expect_answer_to(8)
        client.send_line(NO_MESSAGE[what])
        assert client.answer(hanging).get("result") == END_TURN, client.story(what)
        assert serves_on(client)
        refusals = [f["error"]["code"] for f in client.frames if "error" in f]
        assert set(refusals) <= {PARSE_ERROR, INVALID_REQUEST}, client.story(what)
        assert len(refusals) <= 1, client.story(what)
        leave(client)


MENDED = {
    "bytes that are no UTF-8": prompt_line("7", '"say "').replace(b"say ", b"say \xff\xfe"),
    "a character cut in two": prompt_line("7", '"say "').replace(b"say ", b"say \xc3"),
    "UTF-16 in UTF-8": prompt_line("7", '"say "').replace(b"say ", b"say \xed\xa0\x80"),
    "NaN": prompt_line("7", "NaN"),
    "Infinity beside it": prompt_line("7").replace(b'"id"', b'"at":-Infinity,"id"'),
}


@pytest.mark.parametrize(("door", "what"), in_turn(DOORS, MENDED))
def test_a_line_that_is_read_all_the_same_is_answered_once(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open()
        client.expect_answer_to(7)
        client.send_line(MENDED[what])
        client.answer(7)
        assert serves_on(client)
        leave(client, tells_its_author=True)


IDS = {
    "a number of 400 digits": "9" * 400,
    "a text of a million": json.dumps("i" * 1_000_000),
    "a fraction": "1.5",
    "minus one": "-1",
    "an exponent": "1e2",
    "an empty text": '""',
    "escapes": '"\\u0000\\ud83d\\ude00\\n"',
    "half a character": '"\\ud83d"',
    "2 to the 64th": str(2**64),
}


@pytest.mark.parametrize(("door", "what"), in_turn(DOORS, IDS))
def test_a_prompt_is_answered_once_under_whatever_id_it_has(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open()
        before = len(client.frames)
        value = json.loads(IDS[what])
        # A number may come back in another writing of itself.
        for same in (value, None, *([int(value)] if isinstance(value, float) else [])):
            client.expect_answer_to(same)
        client.send_line(prompt_line(IDS[what]))
        client.read_until_true(
            lambda: any("method" not in frame for frame in client.frames[before:]), "an answer"
        )
        assert serves_on(client)
        answers = [f for f in client.frames[before:] if "method" not in f]
        assert len(answers) == 2, client.story("one prompt, one answer")
        leave(client)


NO_IDS = {"null": "null", "true": "true", "an object": "{}", "a list": "[1]"}


@pytest.mark.parametrize(("door", "what"), in_turn(DOORS, NO_IDS))
def test_a_prompt_under_what_is_no_id_disturbs_nobody(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open()
        client.expect_answer_to(json.loads(NO_IDS[what]))
        client.send_line(prompt_line(NO_IDS[what]))
        assert serves_on(client)
        leave(client)


# Order, repetition, and what is said of sessions that are not there.


def twice_the_same_id(client: AttackClient) -> None:
    """The second is refused, or both are answered; never is one of them without an answer."""
    client.open()
    client.expect_answer_to(7)
    client.send_line(prompt_line("7", '"nap 0.3"'))
    client.send_line(prompt_line("8", '"nap 0.3"'))
    client.expect_answer_to(8)
    client.send_line(prompt_line("7", '"nap 0.3"'))
    client.answer(7)
    client.answer(8)


def the_id_of_an_answered_prompt(client: AttackClient) -> None:
    client.open()
    ask(client, "session/prompt", text("say"), request_id="again")
    client.answer("again")
    client.send(method="$/cancel_request", params={"requestId": "again"})
    client.send(id="again", result=END_TURN)


def prompts_before_initialize(client: AttackClient) -> None:
    client.answer(client.prompt("say", session="s9"))
    client.open()


def initializes_twice(client: AttackClient) -> None:
    client.open()
    hanging = client.prompt("nap 0.3")
    client.open(sessions=0)
    assert client.answer(hanging).get("result") == END_TURN


def cancels_what_is_not_there(client: AttackClient) -> None:
    client.open()
    for session in ("s2", "", "s1 ", "\0", "s" * 100_000):
        client.cancel(session)
    for params in ([], "s1", None, {"sessionId": 1}, {"sessionId": None}, {}):
        client.send(method="session/cancel", params=params)
    for request in (7, "s1", None, [], {}, 2**70):
        client.send(method="$/cancel_request", params={"requestId": request})


def cancels_a_hundred_times(client: AttackClient) -> None:
    client.open()
    prompt = client.prompt("hang")
    client.expect_method("session/update")
    for _ in range(100):
        client.cancel()
        client.send(method="$/cancel_request", params={"requestId": prompt})
    assert client.answer(prompt).get("result") == CANCELLED


def prompts_without_an_id(client: AttackClient) -> None:
    client.open()
    client.send(method="session/prompt", params=text("say"))


def cancels_by_a_request(client: AttackClient) -> None:
    client.open()
    prompt = client.prompt("nap 0.5")
    client.expect_method("session/update")
    client.answer(ask(client, "session/cancel", {"sessionId": "s1"}, request_id="c"))
    assert "result" in client.answer(prompt)


def answers_its_own_prompt(client: AttackClient) -> None:
    client.open()
    prompt = client.prompt("nap 0.3")
    client.send(id=prompt, result=END_TURN)
    client.send(id=prompt, error={"code": 1, "message": "no"})
    assert client.answer(prompt).get("result") == END_TURN


def answers_what_nobody_asked(client: AttackClient) -> None:
    client.open()
    for number in (0, 1, 99, "x", None, -1, 1.5):
        client.send(id=number, result={"outcome": {"outcome": "selected", "optionId": "yes"}})
        client.send(id=number, result=None, error=None)


def prompts_twice_at_once(client: AttackClient) -> None:
    client.open()
    one, two = client.prompt("nap 0.2"), client.prompt("nap 0.1")
    assert client.answer(one).get("result") == END_TURN
    assert client.answer(two).get("result") == END_TURN


def a_byte_at_a_time(client: AttackClient) -> None:
    client.open()
    client.expect_answer_to(7)
    for byte in prompt_line("7") + b"\r\n\n \r\n":
        client.peer.queue(bytes([byte]))
        client.peer.pump(0.0)
    assert client.answer(7).get("result") == END_TURN


def the_same_member_twice(client: AttackClient) -> None:
    client.open()
    for number in (7, 8):
        client.expect_answer_to(number)
    client.send_line(prompt_line("7").replace(b'"method"', b'"id":8,"method"'))
    client.expect(lambda f: f.get("id") in {7, 8} and "method" not in f)


def params_of_every_kind(client: AttackClient) -> None:
    client.open()
    odd: list[Any] = [[], "s1", 1, True, {}, {"sessionId": 1}, {"sessionId": "s1"}]
    odd += [
        {"sessionId": "s1", "prompt": each} for each in ("say", [], [1], [{}], {"type": "text"})
    ]
    for number, params in enumerate(odd):
        client.answer(ask(client, "session/prompt", params, request_id=f"odd{number}"))


def half_a_character(client: AttackClient) -> None:
    client.open()
    client.expect_answer_to(7)
    client.send_line(prompt_line("7", '"say \\ud83d"'))
    client.answer(7)


def versions_of_every_kind(client: AttackClient) -> None:
    for version in (0, -1, 2, 99, 2**70, "1", None, 1.5, [], {}):
        asked = ask(client, "initialize", {"protocolVersion": version, "clientCapabilities": {}})
        client.answer(asked)
    client.open()


def capabilities_of_every_kind(client: AttackClient) -> None:
    odd: list[Any] = [None, [], {"_meta": 1}, {"_meta": {"agent_error": []}}]
    odd += [{"_meta": {"agent_error": {"version": each}}} for each in (0, "1", True, None, 2**70)]
    odd += [{"_meta": {"jetbrains": {"air": each}}} for each in (1, [], {"version": "1"})]
    for capabilities in odd:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities}
        client.answer(ask(client, "initialize", params))
    client.open()


def methods_of_every_kind(client: AttackClient) -> None:
    client.open()
    for method in ("", "rpc.discover", "_", "session/", "session/update", "m" * 100_000, "\u2028"):
        client.answer(ask(client, method, {}, request_id=f"of {method[:20]}"))
    for method in ("session/update", "initialize", "exit", "$/"):
        client.send(method=method, params={"sessionId": "s1"})


ORDER: list[Callable[[AttackClient], None]] = [
    twice_the_same_id,
    the_id_of_an_answered_prompt,
    prompts_before_initialize,
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
    half_a_character,
    versions_of_every_kind,
    capabilities_of_every_kind,
    methods_of_every_kind,
]


def text(words: str) -> dict[str, Any]:
    return {"sessionId": "s1", "prompt": [{"type": "text", "text": words}]}


@pytest.mark.parametrize(
    ("door", "misbehaves"),
    [("trio", each) for each in ORDER] + [("sdk", each) for each in ORDER[::2]],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_client_that_breaks_the_rules_is_served_on(
    watched: Attack, door: str, misbehaves: Callable[[AttackClient], None]
) -> None:
    with start(watched, door) as client:
        misbehaves(client)
        ask(client, "session/new", {"cwd": "/", "mcpServers": []}, request_id="last")
        session = client.answer("last")["result"]["sessionId"]
        assert serves_on(client, session)
        # The author's own log tells of params that the handler does not take.
        leave(client, tells_its_author=True)


# What the agent asks the client.


@pytest.mark.parametrize("door", DOORS)
def test_a_question_that_is_answered_twice_is_answered_once(watched: Attack, door: str) -> None:
    with start(watched, door) as client:
        client.open()
        prompt = client.prompt("ask")
        asked = client.expect_method("session/request_permission")
        for option in ("selected", "cancelled", "selected"):
            client.send(id=asked["id"], result={"outcome": outcome(option)})
        assert client.answer(prompt).get("result") == END_TURN
        assert [u["content"]["text"] for u in client.updates()] == ["selected"]
        assert serves_on(client)
        leave(client)


def outcome(option: str) -> dict[str, str]:
    return {"outcome": option} | ({"optionId": "yes"} if option == "selected" else {})


@pytest.mark.parametrize("door", DOORS)
def test_questions_may_be_answered_in_any_order(watched: Attack, door: str) -> None:
    with start(watched, door) as client:
        client.open()
        prompt = client.prompt("ask_thrice")

        def asked() -> list[Any]:
            return [f["id"] for f in client.frames if "permission" in f.get("method", "")]

        client.read_until_true(lambda: len(asked()) == 3, "three questions")
        for number in reversed(asked()):
            client.send(id=number, result={"outcome": outcome("selected")})
        assert client.answer(prompt).get("result") == END_TURN
        assert client.updates()[-1]["content"]["text"] == "selected,selected,selected"
        leave(client)


NO_ANSWERS: dict[str, dict[str, Any]] = {
    "neither": {},
    "both": {"result": {}, "error": {"code": 1, "message": "no"}},
    "a result that is a list": {"result": []},
    "a result without its outcome": {"result": {}},
    "an error that is a text": {"error": "no"},
    "an error without its code": {"error": {}},
}


@pytest.mark.parametrize(("door", "what"), in_turn(DOORS, NO_ANSWERS))
def test_an_answer_that_is_none_ends_the_turn_that_asked_and_no_other(
    watched: Attack, door: str, what: str
) -> None:
    with start(watched, door) as client:
        client.open()
        prompt = client.prompt("ask")
        asked = client.expect_method("session/request_permission")
        client.send(id=asked["id"], **NO_ANSWERS[what])
        assert client.answer(prompt), client.story(what)
        assert serves_on(client)
        leave(client, tells_its_author=True)


@pytest.mark.parametrize("door", ["asyncio", "trio"])
def test_a_question_whose_scope_ran_out_is_taken_back_and_its_late_answer_is_nobodys(
    watched: Attack, door: str
) -> None:
    with start(watched, door) as client:
        client.open()
        prompt = client.prompt("ask_in_a_hurry")
        asked = client.expect_method("session/request_permission")
        assert client.answer(prompt).get("result") == END_TURN
        assert client.expect_method("$/cancel_request")["params"]["requestId"] == asked["id"]
        client.send(id=asked["id"], result={"outcome": outcome("selected")})
        assert serves_on(client)
        leave(client)


# A client that leaves.


def half_a_line(client: AttackClient) -> None:
    client.expect_answer_to(7)
    client.peer.queue(prompt_line("7")[:-20])
    client.peer.pump(0.0)


def a_whole_last_line_without_its_end(client: AttackClient) -> None:
    client.expect_answer_to(7)
    client.peer.queue(prompt_line("7"))
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


def without_reading(client: AttackClient) -> None:
    client.prompt("hang")
    client.expect_method("session/update")
    client.peer.let_go(client.peer.stdout)


LEAVES = [
    half_a_line,
    a_whole_last_line_without_its_end,
    in_mid_prompt,
    with_a_question_open,
    with_a_prompt_unread,
]


@pytest.mark.parametrize("leaves", LEAVES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("door", ["sdk", "trio"])
def test_a_client_that_leaves_however_it_does_ends_the_agent_well(
    watched: Attack, door: str, leaves: Callable[[AttackClient], None]
) -> None:
    with start(watched, door) as client:
        client.open()
        leaves(client)
        # The SDK logs what its own connection says of a client that is gone.
        leave(client, tells_its_author=door == "sdk")
