"""Sessions of two names: an agent that counts from 1 in each process gives an id out again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.restart.state import MAX_NAME_CHARS, Names, exchanged
from tests.kit.wire import cancel, chunk, prompt, reply, request
from tests.unit.restart.crashing import LOADING, Link, reasons

FRESH = "s-lastword-1"


def opened_anew(capabilities: dict[str, Any] | None = None, request_id: int = 9) -> Link:
    """A link whose second agent has given a new session the id of the first one's."""
    link = Link(capabilities if capabilities is not None else {}).die()
    link.time(link.now + 10).client(request(request_id, "session/new", cwd="/w", mcpServers=[]))
    link.greet()
    (asked,) = link.asked()
    assert asked["method"] == "session/new"
    link.answer(request_id, sessionId="s")
    return link


def test_the_old_session_stays_lost_for_every_request() -> None:
    link = opened_anew(LOADING).client(prompt(4))
    assert reasons(link, 4) == ["context_lost"]
    link.client(cancel())
    for request_id, method in enumerate(("session/close", "session/fork", "session/set_mode"), 5):
        link.client(request(request_id, method, sessionId="s"))
        assert reasons(link, request_id) == ["context_lost"]
    assert link.asked() == []


def test_a_new_session_gets_another_id_even_while_the_client_opens_the_old_one() -> None:
    link = Link().die()
    link.time(link.now + 10).client(request(9, "session/new", cwd="/w", mcpServers=[]))
    link.client(request(4, "session/load", sessionId="s", cwd="/w", mcpServers=[])).greet()
    link.answer(9, sessionId="s")
    assert link.answers(9)[0]["result"]["sessionId"] != "s"
    # What the agent tells of this id is what the client opens.
    link.agent(chunk("the past", "s"))
    assert json.loads(link.to_client[-1]) == chunk("the past", "s")


def test_opening_the_old_session_restores_it_and_loses_the_other() -> None:
    link = opened_anew(LOADING)
    link.client(request(4, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
    assert [asked["method"] for asked in link.asked()] == ["session/load"]
    link.agent(chunk("the past", "s"))
    assert json.loads(link.to_client[-1]) == chunk("the past", "s")
    link.answer(4).client(prompt(5))
    assert link.asked() == [prompt(5)]
    link.client(prompt(6, session_id=FRESH))
    assert (reasons(link, 6), link.asked()) == (["context_lost"], [])


def test_the_other_session_continues_if_the_old_one_cannot_be_opened() -> None:
    link = opened_anew(LOADING)
    link.client(request(4, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
    link.agent({"jsonrpc": "2.0", "id": 4, "error": {"code": -32002, "message": "No"}})
    link.asked()
    link.client(prompt(5))
    assert reasons(link, 5) == ["context_lost"]
    link.client(prompt(6, session_id=FRESH))
    assert link.asked() == [prompt(6)]


def test_a_session_of_two_names_comes_back_by_its_agents_own() -> None:
    link = opened_anew(LOADING).die()
    link.time(link.now + 100).client(prompt(4, session_id=FRESH)).greet()
    (load,) = link.asked()
    assert (load["method"], load["params"]["sessionId"]) == ("session/load", "s")
    before = list(link.to_client)
    link.agent(chunk("the past", "s"))
    assert link.to_client == before
    link.answer(load["id"])
    assert link.asked() == [prompt(4)]


def test_a_third_session_of_that_id_gets_a_name_too_and_the_second_is_lost() -> None:
    link = opened_anew().die()
    link.time(link.now + 100).client(request(10, "session/new", cwd="/w", mcpServers=[]))
    link.greet().answer(10, sessionId="s")
    assert link.answers(10)[0]["result"] == {"sessionId": "s-lastword-2"}
    link.asked()
    link.client(prompt(5, session_id=FRESH))
    assert reasons(link, 5) == ["context_lost"]
    link.client(prompt(6, session_id="s-lastword-2"))
    assert link.asked() == [prompt(6)]


def test_an_agent_that_repeats_an_id_within_one_life_means_the_same_session() -> None:
    link = opened_anew().client(request(10, "session/new", cwd="/w", mcpServers=[]))
    link.answer(10, sessionId="s")
    assert link.answers(10)[0]["result"] == {"sessionId": FRESH}


def test_the_id_of_a_session_being_restored_counts_as_used() -> None:
    link = Link(LOADING).die_and_be_greeted()
    (load,) = link.asked()
    link.client(request(9, "session/new", cwd="/w", mcpServers=[])).answer(9, sessionId="s")
    assert link.answers(9)[0]["result"] == {"sessionId": FRESH}
    assert reasons(link, 2) == ["context_lost"]
    link.answer(load["id"])
    assert len(link.answers(2)) == 1


@pytest.mark.parametrize("given", ["t", 7, None])
def test_any_other_id_is_left_unchanged(given: Any) -> None:
    link = opened_anew().client(request(10, "session/new", cwd="/w", mcpServers=[]))
    line = json.dumps(reply(10, sessionId=given))
    link.agent(line.encode())
    assert link.to_client[-1] == line.encode()


def test_a_list_of_sessions_is_under_the_clients_names() -> None:
    link = opened_anew().client(request(10, "session/list"))
    link.answer(10, sessions=[{"sessionId": "s", "cwd": "/w"}, {"sessionId": "x"}, 3])
    told = link.answers(10)[0]["result"]["sessions"]
    assert told == [{"sessionId": FRESH, "cwd": "/w"}, {"sessionId": "x"}, 3]


def test_our_own_requests_use_the_agents_names() -> None:
    link = opened_anew().client(prompt(4, session_id=FRESH))
    link.asked()
    link.time(link.now + 10_000)
    assert link.asked() == [cancel()]


def test_a_question_and_its_answer_use_each_sides_names() -> None:
    link = opened_anew().client(prompt(4, session_id=FRESH))
    link.asked()
    link.agent(request(0, "session/request_permission", sessionId="s", toolCall={}))
    question = json.loads(link.to_client[-1])
    assert question["params"]["sessionId"] == FRESH
    link.client(reply(question["id"], outcome={}))
    (answer,) = link.asked()
    assert answer == reply(0, outcome={})


def test_a_name_of_ours_belongs_to_no_other_session() -> None:
    names = Names()
    assert names.give("s", {"s", "s-lastword-1"}) == "s-lastword-2"
    assert names.give("s", ()) == "s-lastword-3"
    assert (names.ours, names.theirs) == ({"s": "s-lastword-3"}, {"s-lastword-3": "s"})
    assert names.give("x" * 9999, ()) == "x" * MAX_NAME_CHARS + "-lastword-4"
    assert names.release("s") == "s-lastword-3"
    assert names.release("s") is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"a","params":{"sessionId":"other","n":1.50}}',
        b'{"method":"a","params":["s"]}',
        b'{"id":1,"result":null}',
        b'{"id":1,"result":{"sessions":{"sessionId":"s"}}}',
        b'{"id":1,"result":{"sessions":[{"sessionId":"other"},"s"]}}',
        b'{"id":1,"\\ud83d":1,"result":{"sessionId":"other"}}',
        b'{"method":"a","params":{"sessionId":["s"],"text":"s"}}',
        b'{"method":"a","params":{"sessionId":"other","text":"\\ud83d"}}',
        b'{"method":"a","params":[{"text":"\\ud83d"}],"sessionId":"s"}',
    ],
)
def test_a_line_without_these_names_is_returned_unchanged(line: bytes) -> None:
    assert exchanged(line, {"s": "t"}) is line


def test_all_else_in_a_line_stays_as_it_came() -> None:
    line = b'{"jsonrpc":"2.0","id":1e2,"params":{"a":1.50,"sessionId":"s","b":[ 1 ]},"x":0.10}'
    assert exchanged(line, {"s": "t"}) == line.replace(b'"s"', b'"t"')


def test_a_line_with_a_lone_surrogate_gets_its_sessions_name_too() -> None:
    line = b'{"id":1,"\\ud83d":1,"result":{"sessionId":"s","sessions":[{"sessionId":"s"},4]}}'
    told = json.loads(exchanged(line, {"s": "t"}))
    assert told["result"] == {"sessionId": "t", "sessions": [{"sessionId": "t"}, 4]}


def test_a_session_whose_id_was_reused_during_its_restore_is_given_up_once() -> None:
    link = Link(LOADING).die_and_be_greeted()
    link.client(request(9, "session/new", cwd="/w", mcpServers=[])).answer(9, sessionId="s")
    link.time(link.now + 400)
    assert len(link.answers(2)) == 1
