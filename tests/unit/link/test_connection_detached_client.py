"""A client that is away for a while: the link goes on, and is not ended as by one that leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.effects import Effect, Kill, Record, Restart
from tests.kit.wire import chunk, failure, permission, prompt, result
from tests.unit.restart.crashing import LOADING, Link, reasons

if TYPE_CHECKING:
    from collections.abc import Callable

HOURS = 3600.0
ALLOW = {"outcome": {"outcome": "selected", "optionId": "yes"}}


def detach(link: Link) -> None:
    link.carry_out(link.core.client_detached(link.now))


def attach(link: Link) -> None:
    link.carry_out(link.core.client_attached(link.now))


def begun() -> Link:
    """A link with a turn under way."""
    return Link().client(prompt(2)).agent(chunk())


def after_a_restart() -> Link:
    """The same with an agent that is not the first."""
    return Link().come_back().agent(chunk())


both = pytest.mark.parametrize("start", [begun, after_a_restart])


@both
def test_a_turn_continues_while_no_client_is_attached(start: Callable[[], Link]) -> None:
    link = start()
    link.asked()
    detach(link)
    assert link.asked() == []
    link.agent(chunk("more"), result(2))
    attach(link)
    assert link.answers(2) == [result(2)]


@both
def test_a_question_stays_open_for_the_next_client(start: Callable[[], Link]) -> None:
    link = start().agent(permission(9))
    asked = link.to_client[-1]
    detach(link)
    link.time(link.now + 10 * HOURS)
    attach(link)
    assert (link.answers(2), link.to_client[-1]) == ([], asked)
    link.asked()
    link.client({"jsonrpc": "2.0", "id": json.loads(asked)["id"], "result": ALLOW})
    assert [frame["id"] for frame in link.asked()] == [9]
    link.agent(result(2))
    assert link.answers(2) == [result(2)]


@both
def test_an_agents_silence_without_a_question_still_counts(start: Callable[[], Link]) -> None:
    link = start()
    detach(link)
    link.time(link.now + 901)
    assert "cancel" in link.kinds
    link.time(link.now + 11)
    assert reasons(link, 2) == ["idle_timeout"]


def test_a_crash_while_detached_ends_the_turn_and_the_next_request_restarts_the_agent() -> None:
    link = begun()
    link.asked()
    detach(link)
    link.time(10).die()
    assert reasons(link, 2) == ["killed"]
    assert failure(link, 2)["action"] != "restart"
    link.time(1000)
    attach(link)
    link.client(prompt(3))
    assert link.orders == [Restart()]
    link.greet()


def test_a_waiting_prompt_reaches_the_agent_although_the_client_has_detached() -> None:
    link = Link(LOADING).die().client(prompt(2))
    detach(link)
    link.time(10)
    assert link.orders == [Restart()]
    link.greet()
    (load,) = link.asked()
    link.answer(load["id"])
    assert link.asked() == [prompt(2)]


def test_a_client_that_leaves_while_detached_has_left() -> None:
    link = begun()
    detach(link)
    link.eof(Side.CLIENT).die().time(1000)
    assert (link.answers(2)[0]["result"], link.orders) == ({"stopReason": "cancelled"}, [])


def test_a_client_that_left_does_not_come_back() -> None:
    link = begun().eof(Side.CLIENT)
    assert (link.core.client_attached(1.0), link.core.client_detached(1.0)) == ([], [])
    link.die()
    assert Kill() not in link.orders


def test_detaching_and_attaching_are_recorded_once_each() -> None:
    link = begun()
    effects: list[Effect] = []
    for _ in range(2):
        effects += link.core.client_detached(5.0)
    for _ in range(2):
        effects += link.core.client_attached(6.0)
    entries = [effect.entry for effect in effects if isinstance(effect, Record)]
    assert [(entry.kind.value, entry.at_seconds) for entry in entries] == [
        ("client_detached", 5.0),
        ("client_attached", 6.0),
    ]
    assert len(effects) == 2
