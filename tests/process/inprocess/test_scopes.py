"""Handlers on structured concurrency, clients that break the rules: each turn still ends once.

All stories of a door are told to one agent behind it (`scoped.py`), beside another session's turn.
What a handler raises or returns `test_failures` has on asyncio; here trio fails as much.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.kit import left_behind
from tests.kit.desk import SCRIPTED
from tests.kit.doors import DOORS, DoorClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.process.inprocess.conftest import Start

END_TURN = {"stopReason": "end_turn"}


def scoped(door: str) -> list[str]:
    return [sys.executable, "-m", "tests.process.inprocess.scoped", door]


class Told(NamedTuple):
    """A client of an agent behind one door, which is told all stories of a file."""

    door: str
    client: DoorClient


@pytest.fixture(scope="module", params=DOORS)
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Told]:
    state = str(tmp_path_factory.mktemp("state"))
    client = DoorClient(*scoped(request.param), LASTWORD_STATE_DIR=state)
    try:
        client.initialize()
        yield Told(request.param, client)
        begin_anew(client)
        assert client.end() == 0
        assert left_behind.wait_for_none(client.mark) == {}
    finally:
        client.kill()


def new_session(client: DoorClient) -> str:
    return str(client.call("session/new", cwd="/", mcpServers=[])["result"]["sessionId"])


def begin_anew(client: DoorClient) -> None:
    """Hold that nothing was answered twice so far, and forget it: each story is its own."""
    answered = Counter(repr(f["id"]) for f in client.frames if "method" not in f)
    assert {i for i, times in answered.items() if times > 1} <= {"None"}, client.story("twice")
    client.peer.forget()


def serves_on(client: DoorClient, session: str) -> bool:
    """Hold that the next turn of a session is an ordinary one."""
    assert client.take("say", session).get("result") == END_TURN, client.story("it serves no more")
    return True


WELL = ["nap 0.05", "cancel_own_scope", "keep_generator", "thread", "move_on_after"]
FAILS = {
    "fail_after": {"timeout"},
    "group": {"rate_limit"},
    "stop_iteration": {"internal", "unknown"},
    "generator_exit": {"internal", "unknown"},
    "return_coroutine": {"internal", "protocol_error"},
}
OF_TRIO = {"too_slow": {"timeout"}}


def type_of(answer: dict[str, Any]) -> str:
    found: str = answer["error"]["data"]["agent_error"]["type"]
    return found


def test_a_turn_ends_as_its_handler_left_it_without_affecting_others(told: Told) -> None:
    door, client = told
    fails = FAILS | (OF_TRIO if door == "trio" else {})
    other = client.prompt("wait", new_session(client))
    client.expect_method("session/update")
    for what in [*WELL, *fails]:
        session = new_session(client)
        answer = client.take(what, session)
        if what in fails:
            assert type_of(answer) in fails[what], client.story(what)
        else:
            assert answer.get("result") == END_TURN, client.story(what)
        assert serves_on(client, session), what
    assert not client.answers(other)
    client.go_on()
    assert client.answer(other).get("result") == END_TURN


@pytest.mark.parametrize(
    ("door", "what"), [("asyncio", "keep_scope"), ("trio", "scope_over_a_yield")]
)
def test_a_scope_that_a_generator_keeps_open_ends_only_its_turn(
    start: Start, door: str, what: str
) -> None:
    client = start.run(*scoped(door))
    client.open()
    other = client.prompt("nap 0.3", new_session(client))
    client.expect_method("session/update")
    assert type_of(client.take(what)) in {"rate_limit", "internal"}
    assert client.answer(other).get("result") == END_TURN, client.story(what)
    assert client.end() == 0


@pytest.mark.parametrize(
    ("door", "what"),
    [("asyncio", "cancel_the_door"), ("trio", "system_task"), ("trio", "exit_and_error")],
)
def test_a_handler_that_crashes_the_door_leaves_no_turn_unanswered(
    start: Start, door: str, what: str
) -> None:
    # Where the door itself lives on, the clock of silence ends what is open.
    client = start.run(*scoped(door), LASTWORD_IDLE_TIMEOUT="2")
    client.open()
    other = client.prompt("hang", new_session(client))
    client.expect_method("session/update")
    prompt = client.prompt(what)
    for each in (prompt, other):
        assert "error" in client.answer(each), client.story("no failure")
    status = client.end()
    assert "exit" not in what or status == 7
    assert client.is_whole
    assert left_behind.wait_for_none(client.mark) == {}


# --- clients that break the rules. What each line means, `tests/unit` and the vectors decide.


def prompt_line(request_id: str, text: str = '"say"', session: str = "s1") -> bytes:
    """A prompt whose id and text are given as JSON."""
    blocks = f'[{{"type":"text","text":{text}}}]'
    params = f'{{"sessionId":"{session}","prompt":{blocks}}}'
    line = f'{{"jsonrpc":"2.0","id":{request_id},"method":"session/prompt","params":{params}}}\n'
    return line.encode()


def twice_the_same_id(client: DoorClient, session: str) -> None:
    """The second is refused, or both are answered; never is one of them without an answer."""
    for request_id in ("7007", "7008", "7007"):
        client.send_bytes(prompt_line(request_id, '"nap 0.3"', session=session))
    client.answer(7007)
    client.answer(7008)


def writes_prompts_oddly(client: DoorClient, session: str) -> None:
    odd = [prompt_line(i, session=session) for i in ("9" * 400, "1.5", '""', '"\\ud83d"')]
    odd.append(prompt_line("7", '"say "', session).replace(b"say ", b"say \xff\xfe"))
    odd.append(prompt_line("8", session=session).replace(b'"id"', b'"at":-Infinity,"id"'))
    for number, line in enumerate(odd, answers_in(client) + 1):
        client.send_bytes(line)
        client.read_until_true(lambda n=number: answers_in(client) == n, "one answer")
    for written in ("null", "[1]"):  # no id: whether it is answered is the door's
        client.send_bytes(prompt_line(written, session=session))


def answers_in(client: DoorClient) -> int:
    return sum("method" not in frame for frame in client.frames)


def initializes_twice(client: DoorClient, session: str) -> None:
    hanging = client.prompt("nap 0.3", session)
    client.initialize()
    assert client.answer(hanging).get("result") == END_TURN


def cancels_what_is_not_there(client: DoorClient, session: str) -> None:
    for nobody in ("s99", "", f"{session} ", "s" * 100_000):
        client.notify("session/cancel", sessionId=nobody)
    for params in ([], "s1", None, {"sessionId": 1}, {}):
        client.send(method="session/cancel", params=params)
    for request in (7, "s1", None, [], 2**70):
        client.send(method="$/cancel_request", params={"requestId": request})


def cancels_by_a_request(client: DoorClient, session: str) -> None:
    prompt = client.prompt("nap 0.5", session)
    client.expect_method("session/update")
    client.answer(client.request("session/cancel", request_id="c", sessionId=session))
    assert "result" in client.answer(prompt)


def answers_its_own_prompt_and_what_nobody_asked(client: DoorClient, session: str) -> None:
    prompt = client.prompt("nap 0.3", session)
    for number in (prompt, 0, "x", None, 1.5):
        client.send(id=number, result={"outcome": {"outcome": "selected", "optionId": "yes"}})
        client.send(id=number, error={"code": 1, "message": "no"})
    assert client.answer(prompt).get("result") == END_TURN


def params_of_every_kind(client: DoorClient, session: str) -> None:
    client.send(method="session/prompt", params={"sessionId": session, "prompt": []})
    odd: list[Any] = [[], "s1", 1, {}, {"sessionId": 1}, {"sessionId": "s99", "prompt": []}]
    odd += [{"sessionId": session, "prompt": each} for each in ("say", [1], [{}])]
    for number, params in enumerate(odd):
        client.send(id=f"odd{number}", method="session/prompt", params=params)
        client.answer(f"odd{number}")


def methods_of_every_kind(client: DoorClient, session: str) -> None:
    for method in ("", "_", "session/update", "m" * 100_000, "\u2028"):
        client.answer(client.request(method, request_id=f"of {method[:20]}"))
    for method in ("session/update", "initialize", "exit"):
        client.notify(method, sessionId=session)


def test_a_client_that_breaks_the_rules_is_still_served(told: Told) -> None:
    client = told.client
    for misbehaves in (
        twice_the_same_id,
        writes_prompts_oddly,
        initializes_twice,
        cancels_what_is_not_there,
        cancels_by_a_request,
        answers_its_own_prompt_and_what_nobody_asked,
        params_of_every_kind,
        methods_of_every_kind,
    ):
        client.peer.forget()  # an id of its own may have been answered twice
        session = new_session(client)
        misbehaves(client, session)
        assert serves_on(client, session), misbehaves.__name__
        assert serves_on(client, new_session(client)), misbehaves.__name__
    client.peer.forget()


YES = {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
NO_ANSWERS: dict[str, dict[str, Any]] = {
    "both": {"result": {}, "error": {"code": 1, "message": "no"}},
    "a result that is a list": {"result": []},
    "an error that is a text": {"error": "no"},
}
OF_SERVE_ALONE = "an error that is a text"
"""The official SDK's own reader dies of it, bare or guarded."""


def test_questions_are_answered_once_in_any_order_and_an_invalid_answer_ends_only_its_turn(
    told: Told,
) -> None:
    door, client = told
    session = new_session(client)
    begin_anew(client)

    def asked() -> list[Any]:
        return [f["id"] for f in client.frames if "permission" in f.get("method", "")]

    prompt = client.prompt("ask_thrice", session)
    client.read_until_true(lambda: len(asked()) == 3, "three questions")
    for number in reversed(asked()):
        for _ in range(2):
            client.send(id=number, **YES)
    assert client.answer(prompt).get("result") == END_TURN
    assert client.texts[-1] == "selected,selected,selected"
    for what, answer in NO_ANSWERS.items():
        if what == OF_SERVE_ALONE and door == "sdk":
            continue
        begin_anew(client)
        prompt = client.prompt("ask", session)
        client.send(id=client.expect_method("session/request_permission")["id"], **answer)
        assert client.answer(prompt), client.story(what)
        assert serves_on(client, session), what


@pytest.mark.parametrize("told", ["asyncio", "trio"], indirect=True)
def test_a_question_whose_scope_ran_out_is_withdrawn_and_its_late_answer_ignored(
    told: Told,
) -> None:
    client = told.client
    session = new_session(client)
    begin_anew(client)
    prompt = client.prompt("ask_in_a_hurry", session)
    asked = client.expect_method("session/request_permission")
    assert client.answer(prompt).get("result") == END_TURN
    assert client.expect_method("$/cancel_request")["params"]["requestId"] == asked["id"]
    client.send(id=asked["id"], **YES)
    assert serves_on(client, session)


# --- unusual surroundings

GONE = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'
ODD = 'mkdir "$0" && cd "$0" && exec "$@"'
C = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
SURROUNDINGS = {
    "a directory that is deleted, a relative state": (GONE, {"LASTWORD_STATE_DIR": "state"}),
    "C, and no home": (ODD, {**C, "HOME": "", "PATH": os.defpath}),
    "UTF-16, and warnings are errors": (
        ODD,
        {"PYTHONIOENCODING": "utf-16", "PYTHONWARNINGS": "error"},
    ),
    "a language that is not there, no docstrings, a meaningless number": (
        ODD,
        {
            "LC_ALL": "xx_XX.nowhere",
            "LANG": "\udcff",
            "PYTHONOPTIMIZE": "2",
            "LASTWORD_RECORD_DAYS": "nan",
        },
    ),
}
HARMLESS = [signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG, signal.SIGCONT, signal.SIGPIPE]


@pytest.mark.parametrize(
    ("door", "where"),
    [
        *(("trio", where) for where in SURROUNDINGS),
        *(("run", where) for where in list(SURROUNDINGS)[:2]),
    ],
)
def test_a_turn_is_the_same_in_any_surroundings_of_python(
    start: Start, tmp_path: Path, door: str, where: str
) -> None:
    """Whatever signals come that mean nothing here."""
    enters, variables = SURROUNDINGS[where]
    odd = str(tmp_path / "\u00e9\u4e2d\U0001f600\n\u202e it's")
    run = [sys.executable, "-m", "lastword", "run", "--", *SCRIPTED, "healthy"]
    client = start.run(
        "sh", "-c", enters, odd, *(run if door == "run" else scoped(door)), **variables
    )
    client.open()
    for number in HARMLESS * 5:
        client.signal(number)
    for _ in range(2):
        assert client.take("say \u00e9\u4e2d\U0001f600").get("result") == END_TURN
    assert door == "run" or client.texts[-1] == "\u00e9\u4e2d\U0001f600"
    assert client.end() == 0
    assert "Traceback" not in client.said
