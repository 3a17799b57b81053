"""Lines that cannot be read, where there has been a restart: whoever waits is told at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.effects import Kill
from lastword.core.protocol import jsonrpc
from tests.kit.wire import chunk, prompt, request, result
from tests.unit.restart.crashing import Link, reasons

HEAD = b'{"jsonrpc":"2.0","id":"%s","result":{'
OF_THE_CLIENT = b'{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{},}'


def break_off(link: Link, request_id: str, *, long: bool) -> None:
    """The agent's answer is broken, or over the limit."""
    head = HEAD % request_id.encode()
    if long:
        ends = head + b'"a":"yyy\nyyy"}}'
        link.carry_out(link.core.receive_oversized(Side.AGENT, ends, link.now))
    else:
        send(link, Side.AGENT, head + b'"a":1,}}')


def send(link: Link, side: Side, line: bytes) -> None:
    """Let a side send this line."""
    link.carry_out(link.core.receive(side, jsonrpc.decode(line), link.now))


@pytest.mark.parametrize("long", [False, True])
def test_a_handshake_with_an_unreadable_answer_has_failed(long: bool) -> None:
    link = Link().die().time(10).client(prompt(2))
    (greeting,) = link.asked()
    break_off(link, greeting["id"], long=long)
    assert reasons(link, 2) == ["line_too_long" if long else "broken_answer"]
    assert Kill() in link.orders


@pytest.mark.parametrize("long", [False, True])
def test_a_session_is_lost_if_the_answer_to_its_load_is_unreadable(long: bool) -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    break_off(link, load["id"], long=long)
    assert reasons(link, 2) == ["context_lost"]


@pytest.mark.parametrize("long", [False, True])
def test_a_session_continues_if_the_answer_to_its_mode_is_unreadable(long: bool) -> None:
    link = Link().client(request(7, "session/set_mode", sessionId="s", modeId="plan")).answer(7)
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    link.answer(load["id"])
    (mode,) = link.asked()
    break_off(link, mode["id"], long=long)
    assert link.asked() == [prompt(2)]


@pytest.mark.parametrize("long", [False, True])
def test_an_unreadable_answer_to_the_client_fails_as_before_a_restart(long: bool) -> None:
    link = Link().come_back()
    break_off(link, "2", long=long)
    assert reasons(link, 2) == ["line_too_long" if long else "broken_answer"]


def nameless(link: Link) -> list[Any]:
    """The ids of what the client was told, none of which may be its prompt's."""
    return [frame["id"] for frame in map(json.loads, link.to_client) if "id" in frame]


def test_a_broken_line_of_the_client_answers_no_prompt_that_waits() -> None:
    link = Link().die().client(prompt(2))
    link.to_client.clear()
    send(link, Side.CLIENT, OF_THE_CLIENT)
    assert nameless(link) == [None]
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    send(link, Side.CLIENT, OF_THE_CLIENT)
    assert nameless(link) == [None]
    link.answer(load["id"]).agent(chunk(), result(2))
    assert len(link.answers(2)) == 1


def test_a_clients_broken_line_under_a_free_id_is_refused_under_it() -> None:
    link = Link().die_and_be_greeted()
    send(link, Side.CLIENT, OF_THE_CLIENT.replace(b":2,", b":5,"))
    assert nameless(link) == [5]


def test_a_line_that_is_not_an_object_answers_nothing_of_ours() -> None:
    link = Link().die_and_be_greeted()
    send(link, Side.AGENT, b"[1]")
    assert link.answers(2) == []
