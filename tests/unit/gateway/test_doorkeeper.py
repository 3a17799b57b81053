"""The doorkeeper: every refusal, with its status, its code and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.gateway.doorkeeper import COOKIE, Asked, Doorkeeper, Refusal, for_session
from lastword.gateway.tokens import Grant, Keeper
from lastword.gateway.viewers import Role

KEEPER = Keeper(b"k" * 32)
TOKEN = KEEPER.token(Grant(Role.CONTROLLER))
HOST = "127.0.0.1:7780"


def asked(token: str = TOKEN, **headers: str) -> Asked:
    known = {"host": HOST} | ({"authorization": f"Bearer {token}"} if token else {})
    return Asked(peer="10.0.0.1", headers=known | headers)


def keeper(**options: Any) -> Doorkeeper:
    return Doorkeeper(KEEPER, clock=lambda: 1000.0, waits=lambda: 5.0, **options)


def refusal(request: Asked, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        keeper(**options).admit(request)
    return caught.value


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7780", "localhost:1", "LOCALHOST", "[::1]:7780", "[::1]", "127.1.2.3"]
)
def test_loopback_is_known_by_all_its_names(host: str) -> None:
    assert keeper().admit(asked(host=host)).role is Role.CONTROLLER


@pytest.mark.parametrize("host", ["evil.example", "", "localhost.evil.example:80", "[", "1.2.3.4"])
def test_a_name_that_resolves_to_this_machine_is_refused(host: str) -> None:
    refused = refusal(asked(host=host))
    assert (refused.status, refused.code, refused.reason) == (403, 4403, "host")
    assert "--allow-host" in refused.said


def test_a_name_that_was_allowed_is_let_in() -> None:
    assert keeper(hosts=["Gate.Example"]).admit(asked(host="gate.example:443"))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1:1", "http://[", "file://"]
)
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    refused = refusal(asked(origin=origin))
    assert (refused.status, refused.code, refused.reason) == (403, 4403, "origin")
    assert "--allow-origin" in refused.said


def test_a_page_of_its_own_and_one_that_was_allowed_are_let_in() -> None:
    assert keeper().admit(asked(origin=f"http://{HOST}"))
    page = keeper(origins=["https://Page.example/"])
    assert page.admit(asked(origin="https://page.example"))


def test_a_missing_and_a_wrong_and_an_expired_token_are_refused() -> None:
    missing = refusal(asked(""))
    assert (missing.status, missing.code) == (401, 4401)
    assert "missing" in missing.said
    wrong = refusal(asked("wrong"))
    assert (wrong.status, wrong.code, wrong.reason) == (401, 4401, "unauthorized")
    assert "wrong" in wrong.said
    expired = refusal(asked(KEEPER.token(Grant(Role.CONTROLLER, "", 999))))
    assert "expired" in expired.said
    assert "lastword gateway token" in expired.said


def test_ten_wrong_tokens_have_their_sender_wait_even_with_a_right_one() -> None:
    door = keeper()
    for _ in range(10):
        with pytest.raises(Refusal):
            door.admit(asked("wrong"))
    with pytest.raises(Refusal) as caught:
        door.admit(asked())
    assert (caught.value.status, caught.value.code) == (429, 4429)
    assert caught.value.retry_after == 61
    other = Asked(peer="10.0.0.2", headers=asked().headers)
    assert door.admit(other)


def test_a_missing_token_counts_as_no_failure() -> None:
    door = keeper()
    for _ in range(20):
        with pytest.raises(Refusal):
            door.admit(asked(""))
    assert door.admit(asked())


def test_a_token_is_read_from_header_subprotocol_and_cookie() -> None:
    bare = {"host": HOST}
    offered = ["acp.lastword.v1", f"bearer.{TOKEN}"]
    assert keeper().admit(Asked(peer="", headers=bare, subprotocols=offered))
    assert keeper().admit(Asked(peer="", headers=bare, cookies={COOKIE: TOKEN}))
    assert keeper().admit(asked("", authorization=f"bearer  {TOKEN} "))
    assert refusal(asked("", authorization="Basic abc")).status == 401


def test_a_token_for_one_session_is_for_no_other() -> None:
    grant = Grant(Role.CONTROLLER, "mine")
    for_session(grant, "mine")
    for_session(Grant(Role.CONTROLLER), "any")
    with pytest.raises(Refusal) as caught:
        for_session(grant, "other")
    assert (caught.value.status, caught.value.code) == (403, 4403)
