"""Codes that answer a question, and the links in notifications, without a gateway."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.front.doorkeeper import Doorkeeper, Refusal, Requester
from lastword.gateway.front.tokens import (
    LINK_SECONDS,
    NOTIFIED_SECONDS,
    Grant,
    Keeper,
    Links,
    TokenError,
    TokenExpiredError,
)
from lastword.gateway.viewing.access import AnswerCode, answer_to, choices_of, title_of
from lastword.gateway.viewing.reader import Role

if TYPE_CHECKING:
    from pathlib import Path

KEEPER = Keeper(b"k" * 32)
CODE = AnswerCode("a session / of Ünicode", "run", 3, 1, 1000, "reject_once")
HERE = Requester(peer="127.0.0.1", headers={"host": "127.0.0.1:7780"})
QUESTION = (
    b'{"method": "session/request_permission", "params": {"toolCall": {"title": "Edit"}, "options":'
    b' [{"optionId": 7}, {"optionId": "a", "kind": "allow_once", "name": "Yes"}, null,'
    b' {"optionId": "b", "kind": "reject_once"}]}}'
)


@pytest.mark.parametrize("place", [0, 1])
def test_a_choice_with_an_ambiguous_id_cancels_the_question(place: int) -> None:
    options = [{"optionId": "x", "kind": kind} for kind in ("reject_once", "allow_once")]
    question = json.dumps({"params": {"options": options}}).encode()
    answer = answer_to("session/request_permission", question, place)
    assert answer is not None
    assert json.loads(answer)["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_code_is_read_as_it_was_made_until_it_expires() -> None:
    text = KEEPER.answer_code(CODE)
    assert KEEPER.read_answer_code(text, 999) == CODE
    with pytest.raises(TokenExpiredError):
        KEEPER.read_answer_code(text, 1000)


@pytest.mark.parametrize("change", [0, 10, -1])
def test_a_changed_code_is_refused(change: int) -> None:
    text = KEEPER.answer_code(CODE)
    other = "A" if text[change] != "A" else "B"
    changed = text[:change] + other + text[change:][1:]
    with pytest.raises(TokenError, match="wrong"):
        KEEPER.read_answer_code(changed, 0)


@pytest.mark.parametrize("text", ["", ".", "x", "\ud800.\ud800", "é.é", "a.b.c.d"])
def test_an_invalid_code_is_refused(text: str) -> None:
    with pytest.raises(TokenError, match="wrong"):
        KEEPER.read_answer_code(text, 0)


def test_tokens_codes_and_those_of_another_gateway_are_not_interchangeable() -> None:
    token, code = KEEPER.token(Grant(Role.CONTROLLER)), KEEPER.answer_code(CODE)
    with pytest.raises(TokenError):
        KEEPER.read_answer_code(token, 0)
    with pytest.raises(TokenError):
        KEEPER.read(code, 0)
    with pytest.raises(TokenError):
        Keeper(b"j" * 32).read_answer_code(code, 0)


def test_wrong_codes_must_wait_and_the_right_one_never_does() -> None:
    door = Doorkeeper(KEEPER, clock=lambda: 0.0, waits=lambda: 0.0)
    statuses = []
    for _ in range(11):
        with pytest.raises(Refusal) as refused:
            door.read_answer(HERE, "wrong")
        statuses.append(refused.value.status)
    assert statuses == [401] * 10 + [429]
    assert door.read_answer(HERE, KEEPER.answer_code(CODE)) == CODE


def test_a_question_is_answered_by_the_place_of_an_option_that_can_be_chosen() -> None:
    assert [(each.place, each.kind, each.name) for each in choices_of(QUESTION)] == [
        (1, "allow_once", "Yes"),
        (3, "reject_once", ""),
    ]
    assert title_of(QUESTION) == "Edit"
    permission = "session/request_permission"
    answer = answer_to(permission, QUESTION, 3)
    assert answer is not None
    assert b'"optionId":"b"' in answer
    assert answer_to(permission, QUESTION, 0) is None
    assert answer_to("elicitation/create", QUESTION, 3) is None


def test_links_in_notifications_wait_longer_and_displace_no_other(tmp_path: Path) -> None:
    now = [0.0]
    links = Links(str(tmp_path), lambda: now[0], KEEPER)
    notified = Links.notified(str(tmp_path), lambda: now[0], KEEPER)
    door = Doorkeeper(KEEPER, links=links, notified=notified)
    grant = Grant(Role.OBSERVER, "s")
    first, second, plain = notified.make(grant), notified.make(grant), links.make(grant)
    now[0] = LINK_SECONDS + 1.0
    assert asyncio.run(door.follow(HERE, first)) == grant
    for code in (first, plain):
        with pytest.raises(Refusal):
            asyncio.run(door.follow(HERE, code))
    now[0] = NOTIFIED_SECONDS + 1.0
    with pytest.raises(Refusal):
        asyncio.run(door.follow(HERE, second))


def test_links_removed_at_the_same_time_do_not_prevent_making_one(tmp_path: Path) -> None:
    now = [0.0]
    links = Links(str(tmp_path), lambda: now[0], KEEPER)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            now[0] += time.time()  # each one that waits is too old
            codes = [*pool.map(lambda _: links.make(Grant(Role.OBSERVER, "s")), range(16))]
            assert len(set(codes)) == 16
